//! Tests of dumps: what is written is read, and nothing else.

use super::*;

fn launch() -> Launch {
    let run = |start, length| Run { start, length };
    Launch {
        version: VERSION,
        offloom: "1".to_owned(),
        llvm: "19".to_owned(),
        kernel: "k".to_owned(),
        descriptor: "kernel=k;arch=x86-64".to_owned(),
        arguments: vec![1, u64::MAX],
        processor: [String::new(), String::new()],
        match_floating_point: true,
        environment: BTreeMap::new(),
        device: Device::Host {
            libraries: Vec::new(),
            image: run(0x10_0000, 0x3000),
        },
        variables: vec![run(0x10_2000, 4)],
        regions: vec![Region {
            extent: run(0x20_0000, 0x2000),
            runs: vec![run(0x20_0000, 3), run(0x20_1000, 5)],
        }],
        checksums: BTreeMap::new(),
    }
}

fn write(folder: &Path) -> PathBuf {
    let mut writer = Writer::create(folder).unwrap();
    writer.add_memory(b"threefive!four").unwrap();
    // The runs are 3, 5 and 4 bytes.
    assert_eq!(writer.memory_size(), 14);
    drop(writer);
    let mut writer = Writer::create(folder).unwrap();
    writer.add_memory(b"abcdefghijkl").unwrap();
    writer.finish(launch(), b"bundle", b"image", "one").unwrap()
}

#[test]
fn what_is_read_is_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let dump = write(folder.path());
    assert_eq!(dump, folder.path().join("one"));
    let read = Launch::read(&dump).unwrap();
    let expected = Launch {
        checksums: read.checksums.clone(),
        ..launch()
    };
    assert_eq!(read, expected);
    assert_eq!(read.checksums.len(), 3);
    // The dump that was given up left nothing.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_a_process_left_that_ended_while_it_wrote_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let made = |process: &str| {
        let unfinished = folder.path().join(format!("{UNFINISHED}{process}x"));
        fs::create_dir(&unfinished).unwrap();
        fs::write(unfinished.join(MEMORY_FILE), "some").unwrap();
        unfinished
    };
    let own = Process::current().name();
    // No process was started before the system was.
    let mut ended: Vec<_> = own.split('.').collect();
    ended[2] = "0";
    let ended = made(&ended.join("."));
    let others = [made(&own), made("0123456789abcdef.1.1."), made("")];
    drop(Writer::create(folder.path()).unwrap());
    assert!(!ended.exists());
    assert!(others.iter().all(|other| other.exists()));
}

#[test]
fn only_the_user_may_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made/here");
    let dump = write(&made);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for folder in [made.parent().unwrap(), &made, &dump] {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    for name in [LAUNCH_FILE, BUNDLE_FILE, IMAGE_FILE, MEMORY_FILE] {
        assert_eq!(mode(&dump.join(name)), 0o600, "{name}");
    }
    // A folder that was there is the user's to close.
    let open = folder.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o755)).unwrap();
    assert_eq!(mode(&write(&open)), 0o700);
    assert_eq!(mode(&open), 0o755);
}

#[test]
fn every_file_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let dump = write(folder.path());
    for name in [BUNDLE_FILE, IMAGE_FILE, MEMORY_FILE] {
        let path = dump.join(name);
        let bytes = fs::read(&path).unwrap();
        let mut changed = bytes.clone();
        changed[2] ^= 1;
        for damaged in [&changed[..], &bytes[..3], b""] {
            fs::write(&path, damaged).unwrap();
            let error = Launch::read(&dump).unwrap_err().to_string();
            assert!(error.contains(&format!("{name}` is damaged")), "{error}");
        }
        fs::remove_file(&path).unwrap();
        let error = Launch::read(&dump).unwrap_err().to_string();
        assert!(error.contains("cannot read"), "{error}");
        fs::write(&path, bytes).unwrap();
    }
    assert!(Launch::read(&dump).is_ok());
}

#[test]
fn a_launch_that_cannot_be_is_refused() {
    let faults: [fn(&mut Launch); 8] = [
        |launch| launch.regions[0].extent.start += 1,
        |launch| launch.regions[0].extent.start = u64::MAX - PAGE + 1,
        |launch| launch.regions[0].extent.length = 0,
        |launch| launch.regions[0].runs[1].length = u64::MAX,
        |launch| launch.regions[0].runs.swap(0, 1),
        |launch| launch.variables[0].start = 0x10_3000,
        |launch| launch.regions.push(launch.regions[0].clone()),
        |launch| launch.regions[0].extent.start = 0x10_0000,
    ];
    assert_eq!(launch().fault(), None);
    for fault in faults {
        let mut launch = launch();
        fault(&mut launch);
        assert!(launch.fault().is_some(), "{launch:?}");
    }
}

#[test]
fn allocations_of_a_gpu_may_lie_anywhere_and_are_of_a_bearable_size() {
    let on_gpu = || Launch {
        device: Device::Gpu(Gpu {
            name: "GPU".to_owned(),
            capability: [8, 0],
            blocks: 1,
            threads: 32,
            dynamic_shared_bytes: 0,
            stack_bytes: 1024,
            heap_bytes: 8 << 20,
        }),
        regions: vec![Region {
            extent: Run {
                start: (1 << 48) + 512,
                length: 12,
            },
            runs: Vec::new(),
        }],
        ..launch()
    };
    assert_eq!(on_gpu().fault(), None);
    assert_eq!(on_gpu().image_file(), GPU_IMAGE_FILE);
    let faults: [fn(&mut Launch); 4] = [
        |launch| launch.regions[0].extent.length = MOST_BYTES,
        |launch| launch.variables[0].length = MOST_BYTES,
        |launch| launch.variables[0].start = u64::MAX,
        |launch| launch.regions.push(launch.regions[0].clone()),
    ];
    for fault in faults {
        let mut launch = on_gpu();
        fault(&mut launch);
        assert!(launch.fault().is_some(), "{launch:?}");
    }
}

#[test]
fn another_version_and_another_file_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(LAUNCH_FILE);
    for (text, message) in [
        ("{\"version\": 7}", "is of version 7 of dumps"),
        ("{\"version\": 2}", "is no launch of the JIT: missing field"),
        ("[", "is no launch of the JIT"),
    ] {
        fs::write(&path, text).unwrap();
        let error = Launch::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn what_is_no_folder_is_named_so() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = Writer::create(file.path()).unwrap_err().to_string();
    assert_eq!(
        error,
        format!("cannot write `{}`: not a directory", file.path().display())
    );
}

#[test]
fn words_are_those_that_are_aligned_and_whole() {
    let bytes: Vec<u8> = (0..22).collect();
    let words: Vec<_> = words_of(13, &bytes).collect();
    assert_eq!(words, [(16, 0x0a09_0807_0605_0403), (24, 0x1211_100f_0e0d_0c0b)]);
    assert!(words_of(13, &bytes[..2]).next().is_none());
}
