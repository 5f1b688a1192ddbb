//! Each setting is read, the environment wins, and nothing asked for in vain is passed over in silence.

use super::*;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn read(variables: &[(&str, &str)]) -> Found {
    let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
    Found::read(variables)
}

/// A value that is not the default, and one that cannot be, for each setting.
const VALUES: [(&str, &str, &str); 27] = [
    ("OFFLOOM_JIT", "sync", "always"),
    ("OFFLOOM_JIT_SPECIALIZE", "args,align", "args,speed"),
    ("OFFLOOM_JIT_FP", "source", "fast"),
    ("OFFLOOM_JIT_THRESHOLD", "0", "-1"),
    ("OFFLOOM_JIT_RATIO", "0.25", "nan"),
    ("OFFLOOM_JIT_TARGET", "x86-64-v3", ""),
    ("OFFLOOM_JIT_PTXAS", "/opt/cuda/bin/ptxas", "ptxas"),
    ("OFFLOOM_JIT_CACHE_DIR", "/a", "a"),
    ("OFFLOOM_JIT_CACHE_PATH", "/a:/b", "/a::/b"),
    ("OFFLOOM_JIT_CACHE_MODE", "ro", "readonly"),
    ("OFFLOOM_JIT_CACHE_SIZE", "3K", "99999999999G"),
    ("OFFLOOM_JIT_REMOTE", "redis://head:6379/1", "ftp://head/cache"),
    ("OFFLOOM_JIT_REMOTE_KEYS", "/a", "a"),
    ("OFFLOOM_JIT_REMOTE_CREDENTIALS", "/a", "a"),
    ("OFFLOOM_JIT_REMOTE_DEADLINE", "200", "1s"),
    ("OFFLOOM_JIT_REMOTE_LIMIT", "2M", "33M"),
    ("OFFLOOM_JIT_RETIRE", "0", "never"),
    ("OFFLOOM_JIT_AMDGPU", "1", "perhaps"),
    ("OFFLOOM_JIT_WORKER", "0", "none"),
    ("OFFLOOM_JIT_TIME_LIMIT", "500", "1s"),
    ("OFFLOOM_JIT_MEMORY_LIMIT", "1G", "all"),
    ("OFFLOOM_JIT_DEVICE_MEMORY", "3M", "all"),
    ("OFFLOOM_JIT_STATS", "stats.json", ""),
    ("OFFLOOM_JIT_DUMP_DIR", "dumps", ""),
    ("OFFLOOM_JIT_LOG", "1", "maybe"),
    ("OFFLOOM_JIT_PERF", "1", "y"),
    ("OFFLOOM_JIT_STRICT", "1", "2"),
];

#[test]
fn every_setting_takes_its_values_and_keeps_its_default_otherwise() {
    assert_eq!(SETTINGS.len(), VALUES.len());
    for (index, (name, good, bad)) in VALUES.into_iter().enumerate() {
        assert_eq!(SETTINGS[index].name, name);
        let found = read(&[(name, good)]);
        assert_ne!(found.settings, Settings::default(), "{name}");
        assert_eq!(SETTINGS[index].value(&found.settings), good);
        assert_eq!(found.origins[index], Origin::Environment);
        assert_eq!(found.warnings, []);

        let found = read(&[(name, bad)]);
        assert_eq!(found.settings, Settings::default(), "{name}");
        assert_eq!(found.origins[index], Origin::Default);
        let [warning] = &found.warnings[..] else {
            panic!("one warning for {name}: {:?}", found.warnings)
        };
        assert!(
            warning
                .to_string()
                .starts_with(&format!("{name}=`{bad}` is ignored"))
        );
    }
}

#[test]
fn a_password_in_a_url_is_refused_and_is_not_printed() {
    let found = read(&[("OFFLOOM_JIT_REMOTE", "rediss://me:hush@head/x@y")]);
    assert_eq!(found.settings.remote, None);
    let [warning] = &found.warnings[..] else {
        panic!("{:?}", found.warnings)
    };
    let warning = format!("{warning} {warning:?}");
    assert!(warning.contains("rediss://...@head/x@y"), "{warning}");
    assert!(!warning.contains("hush"), "{warning}");
}

#[test]
fn what_is_shown_of_a_default_gives_the_default() {
    let settings = Settings::default();
    for setting in SETTINGS {
        let value = setting.value(&settings);
        let mut again = settings.clone();
        let set = setting.set(&mut again, value.as_ref());
        // The processor that is there can be named, and is then asked for.
        let expected = match setting.name {
            "OFFLOOM_JIT_TARGET" => Some("native".to_owned()),
            _ => None,
        };
        assert!(set.is_some() || value.is_empty(), "{}", setting.name);
        assert_eq!(again.target, expected, "{}", setting.name);
        again.target = None;
        assert_eq!(again, settings, "{}", setting.name);
    }
}

#[test]
fn what_is_wrong_in_a_file_is_said_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    let warnings = |text: &str| {
        fs::write(&path, text).unwrap();
        let found = Found::read([(CONFIG_VARIABLE.into(), path.clone().into())]);
        let warnings = found.warnings.iter().map(ToString::to_string);
        warnings.collect::<Vec<_>>()
    };
    let bad = warnings("OFFLOOM_JIT_LOG = 1\n  OFFLOOM_JIT_FP = match\n");
    assert!(
        matches!(&bad[..], [one] if one.contains("is ignored: line 2, column 20: ")),
        "{bad:?}"
    );
    // What says where file and library are does so in the environment alone.
    for (name, ..) in OTHER_VARIABLES {
        let other = warnings(&format!("{name} = \"/a\"\n"));
        assert!(
            matches!(&other[..], [one] if one.starts_with(&format!("{name} in the file of OFFLOOM_CONFIG is ignored"))),
            "{other:?}"
        );
    }
}

#[test]
fn paths_need_not_be_text() {
    let path = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
    let values = [
        ("OFFLOOM_JIT_CACHE_DIR", path(b"/\xff")),
        ("OFFLOOM_JIT_CACHE_PATH", path(b"/\xfe:/\xfd")),
        ("OFFLOOM_JIT_STATS", path(b"\xfc")),
        ("OFFLOOM_JIT_DUMP_DIR", path(b"\xfb")),
    ];
    let found = Found::read(values.map(|(name, value)| (name.into(), value)));
    assert_eq!(found.warnings, []);
    let expected = Settings {
        cache_directory: Some(path(b"/\xff").into()),
        cache_path: vec![path(b"/\xfe").into(), path(b"/\xfd").into()],
        stats: Some(path(b"\xfc").into()),
        dump_directory: Some(path(b"\xfb").into()),
        ..Settings::default()
    };
    assert_eq!(found.settings, expected);

    let found = Found::read([("OFFLOOM_JIT_TARGET".into(), path(b"\xff"))]);
    assert_eq!(found.settings, Settings::default());
    let [warning] = &found.warnings[..] else {
        panic!("one warning: {:?}", found.warnings)
    };
    assert_eq!(
        warning.to_string(),
        "OFFLOOM_JIT_TARGET=`\u{fffd}` is ignored: the value must be a processor, as LLVM names it, or native"
    );
}

#[test]
fn a_file_of_settings_need_not_have_a_name_that_is_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(OsStr::from_bytes(b"\xff.toml"));
    fs::write(&path, "OFFLOOM_JIT = 'sync'").unwrap();
    let found = Found::read([(CONFIG_VARIABLE.into(), path.into_os_string())]);
    assert_eq!(found.warnings, []);
    assert_eq!(found.settings.mode, Mode::Sync);
}

#[test]
fn values_mean_what_they_say() {
    let all: Vec<_> = VALUES.iter().map(|(name, good, _)| (*name, *good)).collect();
    let expected = Settings {
        mode: Mode::Sync,
        specialize: Specializations {
            arguments: true,
            alignments: true,
            ..Specializations::default()
        },
        floating_point: FloatingPoint::Source,
        threshold: 0,
        ratio: 0.25,
        target: Some("x86-64-v3".to_owned()),
        ptxas: Some("/opt/cuda/bin/ptxas".into()),
        cache_directory: Some("/a".into()),
        cache_path: vec!["/a".into(), "/b".into()],
        cache_mode: CacheMode::ReadOnly,
        cache_size: 3072,
        remote: Some("redis://head:6379/1".to_owned()),
        remote_keys: Some("/a".into()),
        remote_credentials: Some("/a".into()),
        remote_deadline: 200,
        remote_limit: 2 << 20,
        retire: false,
        amdgpu: true,
        worker: false,
        time_limit: 500,
        memory_limit: 1 << 30,
        device_memory: 3 << 20,
        stats: Some("stats.json".into()),
        dump_directory: Some("dumps".into()),
        log: true,
        perf: true,
        strict: true,
    };
    assert_eq!(read(&all).settings, expected);
}

#[test]
fn a_name_that_no_setting_has_is_told() {
    let found = read(&[
        ("OFFLOOM_JIT_TRESHOLD", "3"),
        ("OFFLOOM_JIT_LIBRARY", "/lib/liboffloom_jit.so"),
        ("OFFLOOM_JITTER", "not ours"),
        ("HOME", "/"),
    ]);
    let messages: Vec<_> = found.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        ["OFFLOOM_JIT_TRESHOLD is ignored: there is no such setting; did you mean OFFLOOM_JIT_THRESHOLD?"]
    );
}

#[test]
fn a_name_that_is_like_a_settings_is_taken_for_it() {
    for (name, meant) in [
        ("OFFLOOM_JIT_STAT", Some("OFFLOOM_JIT_STATS")),
        ("OFFLOOM_JIT_CAHCE_DIR", Some("OFFLOOM_JIT_CACHE_DIR")),
        ("OFFLOOM_JIT_LIBRARRY", Some("OFFLOOM_JIT_LIBRARY")),
        ("OFFLOOM_STATS", Some("OFFLOOM_JIT_STATS")),
        ("OFFLOOM_JTI_LOG", Some("OFFLOOM_JIT_LOG")),
        ("OFFLOOM_JIT_SPEED", None),
    ] {
        let found = read(&[(name, "1")]);
        let [Warning::UnknownName { meant: found, .. }] = &found.warnings[..] else {
            panic!("one warning for {name}: {:?}", found.warnings)
        };
        assert_eq!(*found, meant, "{name}");
    }
    // Nothing is said of what is not ours.
    for name in ["OFFLOOM_PASSES", "OFFLOOM_TEST_SEEDS", "OFFLOOM", "OFFLOOM_HOME"] {
        assert_eq!(read(&[(name, "1")]).warnings, [], "{name}");
    }
}

#[test]
fn usual_words_are_taken() {
    let mode = |text| read(&[("OFFLOOM_JIT", text)]).settings.mode;
    for (texts, expected) in [
        (&["off", "OFF", "0", "no", "False"][..], Mode::Off),
        (&["sync", "SYNC"], Mode::Sync),
        (&["async", "on", "On", "1", "yes", "true"], Mode::Async),
    ] {
        for text in texts {
            assert_eq!(mode(text), expected, "{text}");
        }
    }
    for text in ["on", "1", "ON", "yes", "true"] {
        assert!(read(&[("OFFLOOM_JIT_LOG", text)]).settings.log, "{text}");
    }
    for text in ["off", "0", "No", "false"] {
        assert!(!read(&[("OFFLOOM_JIT_RETIRE", text)]).settings.retire, "{text}");
    }
    let cache_mode = |text| read(&[("OFFLOOM_JIT_CACHE_MODE", text)]).settings.cache_mode;
    assert_eq!(cache_mode("RO"), CacheMode::ReadOnly);
    assert_eq!(cache_mode("1"), CacheMode::ReadWrite);
    assert_eq!(cache_mode("0"), CacheMode::Off);
}

#[test]
fn sizes_are_taken_as_they_are_written() {
    for (text, bytes) in [
        ("7", Some(7)),
        ("3K", Some(3 << 10)),
        ("3k", Some(3 << 10)),
        ("2MiB", Some(2 << 20)),
        ("2 mib", Some(2 << 20)),
        ("1gib", Some(1 << 30)),
        ("1G", Some(1 << 30)),
        // Ten to the ninth, or two to the thirtieth? Who writes it has to say.
        ("1GB", None),
        ("G", None),
        ("-1", None),
        ("+1", None),
        ("1.5G", None),
        ("", None),
        ("99999999999G", None),
    ] {
        assert_eq!(parse_size(text), bytes, "{text}");
    }
}

#[test]
fn the_environment_wins_over_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("offloom.toml");
    let config = file.to_str().unwrap();
    fs::write(
        &file,
        "OFFLOOM_JIT = 'off'\nOFFLOOM_JIT_THRESHOLD = 5\nOFFLOOM_JIT_RATIO = 0.75\nOFFLOOM_JIT_STRICT = true\n\
         OFFLOOM_JIT_SPECIALIZE = ['args', 'align']\nOFFLOOM_JIT_CACHE_PATH = ['/a', '/b']\n\
         OFFLOOM_JIT_LOG = 7\nthreshold = 3\n",
    )
    .unwrap();
    let found = read(&[(CONFIG_VARIABLE, config), ("OFFLOOM_JIT_THRESHOLD", "9")]);
    assert_eq!(found.settings.mode, Mode::Off);
    assert_eq!(found.settings.threshold, 9);
    assert!((found.settings.ratio - 0.75).abs() < f64::EPSILON);
    assert!(found.settings.strict && found.settings.specialize.alignments);
    assert_eq!(found.settings.cache_path.len(), 2);
    assert_eq!(found.origins[0], Origin::File);
    assert_eq!(found.origins[3], Origin::Environment);
    let messages: Vec<_> = found.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "OFFLOOM_JIT_LOG=`7` in the file of OFFLOOM_CONFIG is ignored: the value must be on or off, 1 or 0",
            "threshold in the file of OFFLOOM_CONFIG is ignored: there is no such setting; did you mean OFFLOOM_JIT_THRESHOLD?",
        ]
    );
    fs::write(&file, "not = toml = at all").unwrap();
    for path in [config, "/nowhere/offloom.toml"] {
        let found = read(&[(CONFIG_VARIABLE, path)]);
        assert_eq!(found.settings, Settings::default());
        assert!(matches!(&found.warnings[..], [Warning::BadFile { .. }]));
    }
}

#[test]
fn of_a_file_without_end_no_more_is_read_than_settings_can_be() {
    let found = Found::read([("OFFLOOM_CONFIG".into(), "/dev/zero".into())]);
    assert!(matches!(&found.warnings[..], [Warning::BadFile { reason, .. }] if reason.contains("bytes")));
}

#[test]
fn a_home_that_is_not_there_has_no_cache() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let settings = Settings::default();
    let with = |name: &'static str, value: &Path| {
        let value = value.as_os_str().to_owned();
        settings.private_cache_directory(move |asked| (asked == name).then(|| value.clone()))
    };
    assert_eq!(with("HOME", &missing), None);
    assert_eq!(
        with("HOME", folder.path()),
        Some(folder.path().join(".cache/offloom"))
    );
    assert_eq!(
        with("XDG_CACHE_HOME", &missing),
        Some(missing.join("offloom")),
        "asked for by name"
    );
}
