//! The cache on disk from outside: what is kept, what is refused, and faults of the file system.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use offloom_abi::jit_bundle::BundleId;
use offloom_jit_cache::store::{
    CompileLimits, Failure, ImageKey, MEMORY, Record, Store, StoreError, StoreOptions, Unpacked,
};
use offloom_jit_variants::probation::Times;
use offloom_jit_variants::signature::Subject;
use proptest::prelude::*;
use tempfile::TempDir;

fn key(value: u64) -> ImageKey {
    ImageKey {
        offloom_version: "0.1.0".to_owned(),
        llvm_version: "19.1.7".to_owned(),
        bundle: BundleId([7; 16]),
        target_triple: "x86_64-pc-linux-gnu".to_owned(),
        target_features: String::new(),
        options: String::new(),
        source: String::new(),
        descriptor: format!("kernel=k;arch=x86-64;0=i64:{value}").parse().unwrap(),
    }
}

fn image(value: u64) -> Record {
    Record::Image(vec![value as u8; 1000])
}

fn failure(reason: &str) -> Record {
    Record::Failure(Failure {
        reason: reason.to_owned(),
        limits: CompileLimits {
            time: 10_000,
            memory: 4 << 30,
        },
    })
}

fn options(directory: &Path) -> StoreOptions {
    StoreOptions {
        directory: Some(directory.to_owned()),
        read_only: false,
        shared: Vec::new(),
        size_limit: 1 << 30,
        claim_limit: Duration::from_secs(60),
    }
}

fn open(options: &StoreOptions) -> Store {
    let (store, errors) = Store::open(options);
    assert!(errors.is_empty(), "{errors:?}");
    store
}

/// A cache in a new folder, which is removed with it.
fn new_store() -> (TempDir, PathBuf, Store) {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("parent/cache");
    let store = open(&options(&directory));
    (folder, directory, store)
}

fn only_file(store: &Store) -> PathBuf {
    let files = store.list().unwrap();
    assert_eq!(files.len(), 1);
    files[0].path.clone()
}

#[test]
fn what_one_process_publishes_another_finds() {
    let (_folder, directory, store) = new_store();
    assert_eq!(store.load(&key(1)), None);
    store.publish(&key(1), &image(1)).unwrap();
    store.publish(&key(2), &failure("no registers left")).unwrap();
    let other = open(&options(&directory));
    assert_eq!(other.load(&key(1)), Some(image(1)));
    assert_eq!(other.load(&key(2)), Some(failure("no registers left")));
    assert_eq!(other.load(&key(3)), None);
    store.publish(&key(1), &image(9)).unwrap();
    assert_eq!(other.load(&key(1)), Some(image(9)), "the last one counts");
    let mode = fs::metadata(&directory).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o700);
    assert_eq!(fs::read_dir(directory.join("v2/temporary")).unwrap().count(), 0);
}

#[test]
fn a_private_directory_that_others_could_change_is_refused() {
    let (_folder, directory, _) = new_store();
    for mode in [0o770, 0o702, 0o755, 0o1777] {
        fs::set_permissions(&directory, Permissions::from_mode(mode)).unwrap();
        let (store, errors) = Store::open(&options(&directory));
        assert!(
            matches!(errors[..], [StoreError::NotPrivate { mode: found, .. }] if found == mode),
            "{mode:o}: {errors:?}"
        );
        assert!(matches!(
            store.publish(&key(1), &image(1)),
            Err(StoreError::ReadOnly)
        ));
    }
}

#[test]
fn folders_that_are_made_above_it_are_closed_to_others() {
    let folder = tempfile::tempdir().unwrap();
    open(&options(&folder.path().join("home/.cache/offloom")));
    for made in ["home", "home/.cache"] {
        let mode = fs::metadata(folder.path().join(made))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700, "{made}");
    }
}

#[test]
fn directories_of_other_users_are_refused() {
    let (_folder, directory, _) = new_store();
    // Only root can give a directory away; everybody else has those of root to try with.
    let foreign = match chown(&directory, Some(12345), None) {
        Ok(()) => directory,
        Err(_) => PathBuf::from("/usr"),
    };
    let (store, errors) = Store::open(&options(&foreign));
    assert!(store.is_private_refused());
    assert!(
        matches!(errors[..], [StoreError::NotPrivate { .. }]),
        "{errors:?}"
    );
}

#[test]
fn links_in_the_place_of_a_directory_or_a_file_are_not_followed() {
    let (folder, directory, store) = new_store();
    let link = folder.path().join("link");
    symlink(&directory, &link).unwrap();
    let (_, errors) = Store::open(&options(&link));
    assert!(
        matches!(errors[..], [StoreError::NotADirectory { .. }]),
        "{errors:?}"
    );

    store.publish(&key(1), &image(1)).unwrap();
    let file = only_file(&store);
    let elsewhere = folder.path().join("elsewhere");
    fs::rename(&file, &elsewhere).unwrap();
    symlink(&elsewhere, &file).unwrap();
    assert_eq!(store.load(&key(1)), None);
}

/// A folder with a file under each of these names, all of them as old as files get.
fn strangers(folder: &Path, names: &[String]) -> Vec<PathBuf> {
    fs::create_dir_all(folder).unwrap();
    let files = names.iter().map(|name| folder.join(name));
    let files: Vec<_> = files.collect();
    for file in &files {
        fs::write(file, "a stranger's").unwrap();
        let file = File::options().write(true).open(file).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    files
}

#[test]
fn what_is_not_the_caches_is_never_removed() {
    let (folder, directory, store) = new_store();
    store.publish(&key(1), &image(1)).unwrap();
    let images = only_file(&store).parent().unwrap().to_owned();
    let digits = |count| "a".repeat(count);
    let names = [
        digits(62),
        digits(64),
        "passwd".to_owned(),
        "A".repeat(62),
        "report.2024.7.txt".to_owned(),
    ];
    let victim = folder.path().join("victim");
    let mut files = strangers(&victim, &names);
    let format = directory.join("v2");
    // Links out of the cache, with names that are like those of images' folders, and with those that are
    // theirs.
    for name in ["zz", "vs"] {
        symlink(&victim, format.join(name)).unwrap();
    }
    let linked = ["ab", "cd"].map(|name| format.join(name));
    for link in linked.iter().filter(|link| !link.exists()) {
        symlink(&victim, link).unwrap();
    }
    // Files of others in folders with other names, and with other names in the cache's own folders.
    files.extend(strangers(&format.join("zy"), &names));
    files.extend(strangers(&format.join("AB"), &names));
    files.extend(strangers(&images, &names[1..]));
    files.extend(strangers(&format.join("temporary"), &names));
    for folder in ["claims", "started"] {
        files.extend(strangers(
            &format.join(folder),
            &[&names[..1], &names[2..]].concat(),
        ));
    }
    // Folders that are named as files of the cache are.
    for place in [
        images.join(digits(62)),
        format.join("claims").join(digits(64)),
        format.join("started").join(digits(64)),
        format.join("temporary").join(format!("{}.1.1.", digits(16))),
    ] {
        files.extend(strangers(&place, &names));
    }

    // The first removes images, by a sample and by the whole; the others keep nothing.
    let small = open(&StoreOptions {
        size_limit: 1,
        ..options(&directory)
    });
    for value in 2..20 {
        // Where a link is in the place of the image's folder, nothing is written through it.
        let _ = small.publish(&key(value), &image(value));
    }
    store.prune(0).unwrap();
    for value in 20..30 {
        let _ = store.publish(&key(value), &image(value));
    }
    let listed = store.list().unwrap().len() as u64;
    assert!(listed > 0);
    assert!(store.verify().damaged.is_empty());
    assert_eq!(store.clear().unwrap(), listed);
    assert_eq!(store.stats().unwrap().files, 0);
    for file in &files {
        assert!(file.exists(), "{} is gone", file.display());
    }
    assert_eq!(fs::read_dir(&victim).unwrap().count(), names.len());
}

#[test]
fn what_dead_processes_left_is_removed() {
    let (_folder, directory, store) = new_store();
    let long_ago = |path: &Path, text: String| {
        fs::write(path, text).unwrap();
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    };
    let process = format!("{}.1.1.", "0".repeat(16));
    let temporary = directory.join("v2/temporary").join(format!("{process}abcdef"));
    let claim = directory.join("v2/claims").join("0".repeat(64));
    long_ago(&temporary, String::new());
    long_ago(&claim, process);
    store.prune(u64::MAX).unwrap();
    assert!(!temporary.exists());
    assert!(!claim.exists());
}

#[test]
fn links_in_the_place_of_the_caches_own_folders_are_refused() {
    for name in ["v2", "v2/temporary", "v2/claims", "v2/started"] {
        let (folder, directory, store) = new_store();
        let victim = folder.path().join("victim");
        let files = strangers(&victim, &["file".to_owned()]);
        let place = directory.join(name);
        fs::rename(&place, folder.path().join("aside")).unwrap();
        symlink(&victim, &place).unwrap();
        let (refused, errors) = Store::open(&options(&directory));
        assert!(
            matches!(&errors[..], [StoreError::NotAFolder { path }] if *path == place),
            "{name}: {errors:?}"
        );
        assert!(matches!(refused.clear(), Err(StoreError::ReadOnly)));
        // A process that has had the cache open all along writes nothing through them either.
        let error = store.publish(&key(1), &image(1)).unwrap_err();
        assert!(matches!(error, StoreError::NotAFolder { .. }), "{name}: {error}");
        let error = store.clear().unwrap_err();
        assert!(matches!(error, StoreError::NotAFolder { .. }), "{name}: {error}");
        let error = store.prune(0).unwrap_err();
        assert!(matches!(error, StoreError::NotAFolder { .. }), "{name}: {error}");
        assert!(files[0].exists());
        assert_eq!(fs::read_dir(&victim).unwrap().count(), 1);

        fs::remove_file(&place).unwrap();
        fs::write(&place, "no folder").unwrap();
        let (_, errors) = Store::open(&options(&directory));
        assert!(
            matches!(errors[..], [StoreError::NotAFolder { .. }]),
            "{name}: {errors:?}"
        );
    }
}

#[test]
fn a_damaged_file_that_a_link_leads_to_is_left_where_it_is() {
    let (folder, _, store) = new_store();
    store.publish(&key(1), &image(1)).unwrap();
    let file = only_file(&store);
    fs::write(&file, "no image").unwrap();
    let elsewhere = folder.path().join("elsewhere");
    fs::rename(file.parent().unwrap(), &elsewhere).unwrap();
    symlink(&elsewhere, file.parent().unwrap()).unwrap();
    assert_eq!(store.load(&key(1)), None);
    assert!(elsewhere.join(file.file_name().unwrap()).exists());
    let error = store.publish(&key(1), &image(1)).unwrap_err();
    assert!(matches!(error, StoreError::NotAFolder { .. }), "{error}");
    let left = fs::read(elsewhere.join(file.file_name().unwrap())).unwrap();
    assert_eq!(left, b"no image");
}

#[test]
fn files_that_others_could_change_are_not_taken() {
    let (_folder, _, store) = new_store();
    store.publish(&key(1), &image(1)).unwrap();
    let file = only_file(&store);
    fs::set_permissions(&file, Permissions::from_mode(0o622)).unwrap();
    assert_eq!(store.load(&key(1)), None);
    assert_eq!(store.verify().damaged, std::slice::from_ref(&file));
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(store.load(&key(1)), Some(image(1)));
    if chown(&file, Some(12345), None).is_ok() {
        assert_eq!(store.load(&key(1)), None);
    }
}

#[test]
fn shared_layers_are_read_and_never_written() {
    let (_folder, site, warm) = new_store();
    warm.publish(&key(1), &image(1)).unwrap();
    let (folder, directory, _) = new_store();
    fs::set_permissions(&site, Permissions::from_mode(0o755)).unwrap();
    let layered = StoreOptions {
        shared: vec![folder.path().join("missing"), site.clone()],
        ..options(&directory)
    };
    let (store, errors) = Store::open(&layered);
    assert!(
        matches!(errors[..], [StoreError::Io { .. }]),
        "one for the missing: {errors:?}"
    );
    assert_eq!(store.load(&key(1)), Some(image(1)));
    store.publish(&key(2), &image(2)).unwrap();
    assert_eq!(warm.load(&key(2)), None);
    let stats = store.stats().unwrap();
    assert_eq!((stats.files, stats.shared_files), (1, 1));
    // A damaged file is not taken, and not removed either.
    let file = only_file(&warm);
    File::options()
        .write(true)
        .open(&file)
        .unwrap()
        .set_len(70)
        .unwrap();
    assert_eq!(store.load(&key(1)), None);
    assert!(file.exists());
    for mode in [0o775, 0o757] {
        fs::set_permissions(&site, Permissions::from_mode(mode)).unwrap();
        let (store, errors) = Store::open(&layered);
        assert!(!store.is_private_refused());
        assert!(
            errors
                .iter()
                .any(|error| matches!(error, StoreError::Writable { .. }))
        );
    }
}

#[test]
fn an_image_of_a_shared_layer_counts_more_than_a_failure_of_ones_own() {
    let (_folder, site, warm) = new_store();
    let (_other_folder, directory, _) = new_store();
    fs::set_permissions(&site, Permissions::from_mode(0o755)).unwrap();
    let store = open(&StoreOptions {
        shared: vec![site],
        ..options(&directory)
    });
    store.publish(&key(1), &failure("no registers left")).unwrap();
    store.publish(&key(2), &failure("no registers left")).unwrap();
    warm.publish(&key(1), &image(1)).unwrap();
    warm.publish(&key(2), &failure("no time left")).unwrap();
    assert_eq!(store.load(&key(1)), Some(image(1)));
    assert_eq!(store.load(&key(2)), Some(failure("no registers left")));
}

#[test]
fn a_failure_and_a_damaged_file_are_no_image() {
    let (_folder, _, maker) = new_store();
    maker.publish(&key(1), &image(1)).unwrap();
    let hash = key(1).hash();
    let made = maker.image_of(hash).unwrap();

    let has_image = |store: &Store| {
        let is_in = [store.is_in_private_layer(hash), store.is_in_any_layer(hash)];
        assert_eq!(is_in, [store.image_of(hash).is_some(); 2]);
        is_in[0]
    };
    let (_folder, _, store) = new_store();
    assert!(!has_image(&store));
    store.publish(&key(1), &failure("no memory")).unwrap();
    assert!(!has_image(&store));
    assert!(store.accept(hash, &made).unwrap());
    assert!(has_image(&store));
    fs::write(only_file(&store), "damaged").unwrap();
    assert!(!has_image(&store));
    assert!(store.accept(hash, &made).unwrap());
    assert!(has_image(&store));
    assert_eq!(store.load(&key(1)), Some(image(1)));
}

#[test]
fn what_publishing_would_do_else_may_be_done_before() {
    let (_folder, directory, store) = new_store();
    // Of a process on another machine, long ago.
    let left_behind = directory.join(format!("v2/temporary/{}.1.1.abcdef", "0".repeat(16)));
    let leave_behind = || {
        fs::write(&left_behind, "half").unwrap();
        let file = File::options().write(true).open(&left_behind).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    };
    leave_behind();
    store.expect_publication(&key(1)).unwrap();
    assert!(!left_behind.exists());
    assert_eq!(store.list().unwrap(), []);
    store.publish(&key(1), &image(1)).unwrap();
    // It is done once.
    leave_behind();
    store.expect_publication(&key(2)).unwrap();
    store.publish(&key(2), &image(2)).unwrap();
    assert!(left_behind.exists());
}

#[test]
fn a_start_is_the_first_until_something_is_made_again() {
    let (_folder, directory, store) = new_store();
    let other = open(&options(&directory));
    assert!(store.note_start(&key(1)).unwrap());
    assert!(!other.note_start(&key(1)).unwrap());
    assert!(other.note_start(&key(2)).unwrap(), "it is of one key");
    store.forget_starts(&key(1));
    assert!(other.note_start(&key(1)).unwrap());
    assert!(!store.note_start(&key(1)).unwrap());
    // Nobody else is to see them.
    assert_eq!(store.list().unwrap(), []);
    assert_eq!(store.verify().damaged, Vec::<PathBuf>::new());
    store.clear().unwrap();
    assert!(store.note_start(&key(1)).unwrap());
    // One of long ago is forgotten when the cache is cleaned.
    for entry in fs::read_dir(directory.join("v2/started")).unwrap() {
        let file = File::open(entry.unwrap().path()).unwrap();
        file.set_modified(SystemTime::now() - 2 * MEMORY).unwrap();
    }
    assert!(other.note_start(&key(2)).unwrap());
    store.prune(u64::MAX).unwrap();
    assert!(store.note_start(&key(1)).unwrap());
    assert!(!store.note_start(&key(2)).unwrap());
    let reader = open(&StoreOptions {
        read_only: true,
        ..options(&directory)
    });
    assert!(matches!(reader.note_start(&key(3)), Err(StoreError::ReadOnly)));
    reader.forget_starts(&key(1));
    assert!(!store.note_start(&key(1)).unwrap());
}

#[test]
fn a_cache_that_is_only_read_is_not_written() {
    let (_folder, directory, store) = new_store();
    store.publish(&key(1), &image(1)).unwrap();
    let read_only = open(&StoreOptions {
        read_only: true,
        ..options(&directory)
    });
    assert_eq!(read_only.load(&key(1)), Some(image(1)));
    assert!(matches!(
        read_only.publish(&key(2), &image(2)),
        Err(StoreError::ReadOnly)
    ));
    assert!(matches!(read_only.claim(&key(2)), Err(StoreError::ReadOnly)));
    assert!(matches!(read_only.clear(), Err(StoreError::ReadOnly)));
}

#[test]
fn a_place_that_cannot_be_written_costs_the_cache_and_nothing_else() {
    // Nobody, not even root, makes directories there.
    let (store, errors) = Store::open(&options(Path::new("/proc/offloom/cache")));
    assert!(matches!(errors[..], [StoreError::Io { .. }]), "{errors:?}");
    assert_eq!(store.load(&key(1)), None);
    assert!(matches!(
        store.publish(&key(1), &image(1)),
        Err(StoreError::ReadOnly)
    ));
}

#[test]
fn a_directory_removed_meanwhile_is_made_again() {
    let (_folder, directory, store) = new_store();
    store.publish(&key(1), &image(1)).unwrap();
    fs::remove_dir_all(&directory).unwrap();
    assert_eq!(store.load(&key(1)), None);
    store.publish(&key(1), &image(1)).unwrap();
    assert_eq!(store.load(&key(1)), Some(image(1)));
}

#[test]
fn files_that_were_swapped_are_not_taken_for_one_another() {
    let (_folder, _, store) = new_store();
    for value in 0..2 {
        store.publish(&key(value), &image(value)).unwrap();
    }
    let files = store.list().unwrap();
    let aside = files[0].path.with_extension("aside");
    fs::rename(&files[0].path, &aside).unwrap();
    fs::rename(&files[1].path, &files[0].path).unwrap();
    fs::rename(&aside, &files[1].path).unwrap();
    assert_eq!(store.verify().damaged.len(), 2);
    assert_eq!(store.load(&key(0)), None);
    assert_eq!(store.load(&key(1)), None);
    store.publish(&key(0), &image(0)).unwrap();
    assert_eq!(
        store.load(&key(0)),
        Some(image(0)),
        "there is room for a good one"
    );
}

#[test]
fn the_least_recently_used_go_first() {
    let (_folder, directory, store) = new_store();
    for value in 0..20 {
        store.publish(&key(value), &image(value)).unwrap();
        let newest = store
            .list()
            .unwrap()
            .into_iter()
            .max_by_key(|file| file.last_use)
            .unwrap();
        assert!(newest.size > 1000);
    }
    let long_ago = SystemTime::now() - Duration::from_secs(1_000_000);
    for file in store.list().unwrap() {
        File::open(&file.path).unwrap().set_modified(long_ago).unwrap();
    }
    for value in 15..20 {
        assert!(store.load(&key(value)).is_some(), "a use is noted");
    }
    let size = store.stats().unwrap().bytes;
    store.prune(size / 2).unwrap();
    let stats = store.stats().unwrap();
    assert!(stats.bytes <= size / 2, "{stats:?}");
    // No more than that is removed: one more image would have been too much.
    assert!(stats.bytes + 2000 > size / 2, "{stats:?}");
    for value in 15..20 {
        assert!(store.load(&key(value)).is_some(), "{value}");
    }
    // The bound holds without being asked for.
    let small = open(&StoreOptions {
        size_limit: 5_000,
        ..options(&directory)
    });
    for value in 0..50 {
        small.publish(&key(value), &image(value)).unwrap();
        assert!(small.stats().unwrap().bytes <= 5_000 + 1_500);
    }
    assert_eq!(small.load(&key(49)), Some(image(49)));
}

#[test]
fn the_first_publication_finds_out_that_there_is_too_much_and_no_other_removes_anything() {
    let (_folder, directory, store) = new_store();
    for value in 0..1000 {
        store.publish(&key(value), &image(value)).unwrap();
    }
    let bytes = store.stats().unwrap().bytes;
    let limited = |size_limit| {
        open(&StoreOptions {
            size_limit,
            ..options(&directory)
        })
    };
    limited(4 * bytes).publish(&key(1000), &image(1000)).unwrap();
    assert_eq!(store.stats().unwrap().files, 1001);
    limited(bytes / 2).publish(&key(1001), &image(1001)).unwrap();
    assert!(
        store.stats().unwrap().bytes <= bytes / 2,
        "{:?}",
        store.stats().unwrap()
    );
    assert_eq!(store.load(&key(1001)), Some(image(1001)));
}

#[test]
fn a_clock_that_goes_backwards_loses_nothing() {
    let (_folder, _, store) = new_store();
    store.publish(&key(1), &image(1)).unwrap();
    let future = SystemTime::now() + Duration::from_secs(1_000_000);
    File::open(only_file(&store))
        .unwrap()
        .set_modified(future)
        .unwrap();
    assert_eq!(store.load(&key(1)), Some(image(1)));
    let (held, again) = (store.claim(&key(2)).unwrap(), store.claim(&key(2)).unwrap());
    assert!(held.is_some() && again.is_none());
    assert_eq!(store.prune(u64::MAX).unwrap(), 0);
}

#[test]
fn a_failure_is_remembered_for_a_time() {
    let (_folder, _, store) = new_store();
    let failure = failure("the compiler crashed");
    store.publish(&key(1), &failure).unwrap();
    let file = File::open(only_file(&store)).unwrap();
    let at = |age| file.set_modified(SystemTime::now() - age).unwrap();
    at(MEMORY / 2);
    assert_eq!(store.load(&key(1)), Some(failure));
    at(MEMORY + Duration::from_secs(60));
    assert_eq!(store.load(&key(1)), None);
}

#[test]
fn a_failure_does_not_replace_what_another_process_made() {
    let (_temporary, _, store) = new_store();
    let publish = |record| store.publish(&key(1), &record).unwrap();
    assert_eq!(publish(failure("too slow")), None);
    assert_eq!(publish(image(1)), None);
    assert_eq!(publish(failure("too slow")), Some(image(1)));
    assert_eq!(store.load(&key(1)), Some(image(1)));
    let times = Times {
        variant: 1,
        ahead_of_time: 2,
    };
    store.remember_times(&key(1), times).unwrap();
    assert!(matches!(publish(failure("too slow")), Some(Record::Timed(..))));
    assert!(matches!(store.load(&key(1)), Some(Record::Timed(..))));
}

#[test]
fn times_are_remembered_with_an_image_for_a_time() {
    let (_folder, directory, store) = new_store();
    let times = Times {
        variant: u64::MAX,
        ahead_of_time: 7,
    };
    store.remember_times(&key(1), times).unwrap();
    assert_eq!(
        store.load(&key(1)),
        None,
        "there is no image to remember them with"
    );
    store.publish(&key(1), &image(1)).unwrap();
    store.remember_times(&key(1), times).unwrap();
    let Record::Image(bytes) = image(1) else {
        unreachable!("made above")
    };
    let timed = Record::Timed(times, bytes);
    let at = |age| {
        let file = File::open(only_file(&store)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    };
    // Using it makes them no younger.
    at(MEMORY / 2);
    assert_eq!(store.load(&key(1)), Some(timed.clone()));
    assert!(store.list().unwrap()[0].last_use < SystemTime::now() - MEMORY / 3);
    // Who may only read forgets them without a trace.
    at(MEMORY + Duration::from_secs(60));
    let reader = open(&StoreOptions {
        read_only: true,
        ..options(&directory)
    });
    let before = fs::read(only_file(&store)).unwrap();
    assert_eq!(reader.load(&key(1)), Some(image(1)));
    assert_eq!(fs::read(only_file(&store)).unwrap(), before);
    assert!(matches!(
        reader.remember_times(&key(1), times),
        Err(StoreError::ReadOnly)
    ));
    // The image is as if it had just been published.
    assert_eq!(store.load(&key(1)), Some(image(1)));
    assert!(store.list().unwrap()[0].last_use > SystemTime::now() - MEMORY / 3);
    assert_eq!(store.load(&key(1)), Some(image(1)));
    // The first that come then stay.
    store.remember_times(&key(1), times).unwrap();
    let later = Times { variant: 1, ..times };
    store.remember_times(&key(1), later).unwrap();
    assert_eq!(store.load(&key(1)), Some(timed));
    assert_eq!(store.verify().images.len(), 1);
}

#[test]
fn a_failure_has_no_times() {
    let (_folder, _, store) = new_store();
    let failure = failure("the compiler crashed");
    store.publish(&key(1), &failure).unwrap();
    let times = Times {
        variant: 1,
        ahead_of_time: 2,
    };
    store.remember_times(&key(1), times).unwrap();
    assert_eq!(store.load(&key(1)), Some(failure));
}

#[test]
fn what_launches_changed_is_remembered_for_a_time() {
    let (_folder, directory, store) = new_store();
    let [first, second] = [Subject::Value(1), Subject::Contents(4)];
    store.remember_given_up(&key(1), &[first]).unwrap();
    store.remember_given_up(&key(1), &[second, first]).unwrap();
    let both = Some(Record::GivenUp(vec![first, second]));
    let other = open(&options(&directory));
    assert_eq!(other.load(&key(1)), both);
    let at = |age| {
        let file = File::open(only_file(&store)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    };
    // Neither using it nor finding it out again makes it younger.
    at(MEMORY / 2);
    assert_eq!(store.load(&key(1)), both);
    store.remember_given_up(&key(1), &[second]).unwrap();
    assert!(store.list().unwrap()[0].last_use < SystemTime::now() - MEMORY / 3);
    at(MEMORY + Duration::from_secs(60));
    assert_eq!(store.load(&key(1)), None);
    let reader = open(&StoreOptions {
        read_only: true,
        ..options(&directory)
    });
    assert!(matches!(
        reader.remember_given_up(&key(1), &[second]),
        Err(StoreError::ReadOnly)
    ));
    // What is forgotten does not come back with what is new.
    store.remember_given_up(&key(1), &[second]).unwrap();
    assert_eq!(reader.load(&key(1)), Some(Record::GivenUp(vec![second])));
    let verified = store.verify();
    assert_eq!((verified.given_up.len(), verified.images.len()), (1, 0));
}

#[test]
fn one_at_a_time_has_the_claim() {
    let (_folder, directory, store) = new_store();
    let other = open(&options(&directory));
    let claim = store.claim(&key(1)).unwrap();
    assert!(claim.is_some());
    assert!(other.claim(&key(1)).unwrap().is_none());
    assert!(other.claim(&key(2)).unwrap().is_some(), "claims are for one key");
    drop(claim);
    assert!(other.claim(&key(1)).unwrap().is_some());
    // A claim that is older than a compile may take is taken over; the first owner then leaves it alone.
    let impatient = open(&StoreOptions {
        claim_limit: Duration::ZERO,
        ..options(&directory)
    });
    let lost = store.claim(&key(3)).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let taken = impatient.claim(&key(3)).unwrap();
    assert!(taken.is_some());
    drop(lost);
    assert!(store.claim(&key(3)).unwrap().is_none());
}

#[test]
fn another_version_of_the_format_lives_beside_this_one() {
    let (_folder, directory, store) = new_store();
    let other = directory.join("v2/ab");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("cdef"), "of another version").unwrap();
    store.publish(&key(1), &image(1)).unwrap();
    assert_eq!(store.stats().unwrap().files, 1);
    assert_eq!(store.clear().unwrap(), 1);
    store.prune(0).unwrap();
    assert!(other.join("cdef").exists());
    assert!(store.verify().damaged.is_empty());
}

#[test]
fn a_packed_cache_warms_another() {
    let (folder, _, store) = new_store();
    for value in 0..5 {
        store.publish(&key(value), &image(value)).unwrap();
    }
    store.publish(&key(9), &failure("only here")).unwrap();
    let times = Times {
        variant: 1,
        ahead_of_time: 2,
    };
    store.remember_times(&key(3), times).unwrap();
    store.remember_given_up(&key(8), &[Subject::Teams]).unwrap();
    let pack = folder.path().join("pack");
    assert_eq!(store.pack(&pack, |_, _| ()).unwrap(), 5);
    let (_folder, _, other) = new_store();
    let unpacked = |known| Unpacked {
        files: 5,
        known,
        left: 5,
    };
    assert_eq!(other.unpack(&pack).unwrap(), unpacked(0));
    for value in 0..5 {
        assert_eq!(other.load(&key(value)), Some(image(value)));
    }
    assert_eq!(other.load(&key(9)), None);
    assert_eq!(other.load(&key(8)), None);
    // Again, it takes nothing away of what is remembered here.
    other.remember_times(&key(2), times).unwrap();
    assert_eq!(other.unpack(&pack).unwrap(), unpacked(5));
    assert!(matches!(other.load(&key(2)), Some(Record::Timed(..))));
    // Where there is no room for all, that is known afterwards.
    let (_folder, directory, _) = new_store();
    let small = open(&StoreOptions {
        size_limit: 2_500,
        ..options(&directory)
    });
    let unpacked = small.unpack(&pack).unwrap();
    assert_eq!((unpacked.files, unpacked.known), (5, 0));
    assert_eq!(unpacked.left, small.list().unwrap().len() as u64);
    assert!(unpacked.left < 5);
    // Two packs in one file.
    let twice = folder.path().join("twice");
    fs::write(&twice, fs::read(&pack).unwrap().repeat(2)).unwrap();
    let folder_of_pack = pack.parent().unwrap();
    let error = other.unpack(folder_of_pack).unwrap_err();
    assert!(
        matches!(error, StoreError::Io { .. }),
        "a folder is not damaged: {error}"
    );
    let error = other.unpack(&twice).unwrap_err();
    assert!(matches!(error, StoreError::AfterPack { .. }), "{error}");
    // Cut short anywhere, also between two files, it is refused.
    let bytes = fs::read(&pack).unwrap();
    for length in 0..bytes.len() {
        if length % 97 != 0 && length + 9 < bytes.len() {
            continue;
        }
        fs::write(&pack, &bytes[..length]).unwrap();
        let error = other.unpack(&pack).unwrap_err();
        assert!(matches!(error, StoreError::BadPack { .. }), "{length}: {error}");
    }
}

#[test]
fn an_image_of_several_layers_is_packed_once() {
    let (folder, site, warm) = new_store();
    let (_other, directory, store) = new_store();
    warm.publish(&key(1), &image(1)).unwrap();
    fs::write(only_file(&warm), "damaged").unwrap();
    store.publish(&key(1), &image(1)).unwrap();
    let whole = folder.path().join("whole");
    for value in [1, 2] {
        open(&options(&whole))
            .publish(&key(value), &image(value))
            .unwrap();
    }
    let all = open(&StoreOptions {
        shared: vec![directory, whole],
        ..options(&site)
    });
    let pack = folder.path().join("pack");
    assert_eq!(all.pack(&pack, |_, _| ()).unwrap(), 2);
    let (_empty, _, empty) = new_store();
    let unpacked = Unpacked {
        files: 2,
        known: 0,
        left: 2,
    };
    assert_eq!(empty.unpack(&pack).unwrap(), unpacked);
    assert_eq!(empty.load(&key(1)), Some(image(1)));
}

#[test]
fn shared_layers_are_not_taken_for_the_private_one() {
    let (folder, site, warm) = new_store();
    warm.publish(&key(1), &image(1)).unwrap();
    let absent = folder.path().join("absent/cache");
    let (_other, empty, _) = new_store();
    for (directory, read_only) in [(None, false), (Some(absent.clone()), true), (Some(empty), false)] {
        let store = open(&StoreOptions {
            directory,
            read_only,
            shared: vec![site.clone()],
            ..options(&absent)
        });
        let stats = store.stats().unwrap();
        assert_eq!((stats.files, stats.shared_files), (0, 1));
        let listed = store.list().unwrap();
        assert!(!listed[0].private);
        assert!(store.read(&listed[0]).is_some());
    }
    assert!(!absent.parent().unwrap().exists(), "who only reads makes nothing");
}

#[test]
fn a_shared_layer_that_cannot_be_read_costs_only_itself() {
    if ran_as_nobody("a_shared_layer_that_cannot_be_read_costs_only_itself") {
        return;
    }
    let (_site, site, warm) = new_store();
    warm.publish(&key(1), &image(1)).unwrap();
    let (_folder, directory, _) = new_store();
    let with_site = StoreOptions {
        shared: vec![site.clone()],
        ..options(&directory)
    };
    for (folder, mode) in [
        ("", 0o000),
        ("", 0o400),
        ("v2", 0o000),
        ("v2", 0o400),
        ("v2", 0o100),
    ] {
        let folder = site.join(folder);
        fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
        let (store, errors) = Store::open(&with_site);
        assert!(
            matches!(&errors[..], [StoreError::Io { what: "read", path, .. }] if *path == site.join("v2")),
            "{mode:o}: {errors:?}"
        );
        store.publish(&key(2), &image(2)).unwrap();
        assert_eq!(store.list().unwrap().len(), 1);
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    }
    assert_eq!(open(&with_site).list().unwrap().len(), 2);
    // There need not be anything in it.
    fs::remove_dir_all(site.join("v2")).unwrap();
    assert_eq!(open(&with_site).list().unwrap().len(), 1);
}

/// Runs this test again as a user who is not root, whom modes of files hold back; whether that is what it
/// takes.
fn ran_as_nobody(test: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        return false;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    let program = folder.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = Command::new(program);
    command.args(["--exact", test]).env("TMPDIR", folder.path());
    match command.uid(65534).gid(65534).output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(said.contains("1 passed"), "{said}");
        }
        // In a container that has root alone there is nobody to be.
        Err(error) => assert!(
            matches!(error.raw_os_error(), Some(1 | 22)),
            "neither EPERM nor EINVAL: {error}"
        ),
    }
    true
}

#[test]
fn what_cannot_be_read_or_removed_is_said_and_holds_up_no_program() {
    if ran_as_nobody("what_cannot_be_read_or_removed_is_said_and_holds_up_no_program") {
        return;
    }
    let (_folder, directory, store) = new_store();
    store.publish(&key(1), &image(1)).unwrap();
    let folder = only_file(&store).parent().unwrap().to_owned();
    let set_mode = |mode| fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
    let small = open(&StoreOptions {
        size_limit: 100,
        ..options(&directory)
    });

    set_mode(0o500);
    let error = store.prune(0).unwrap_err();
    assert!(error.to_string().starts_with("cannot remove `"), "{error}");
    small.publish(&key(2), &image(2)).unwrap();
    assert!(store.clear().is_err());

    set_mode(0o000);
    let errors = [
        store.list().map(drop).unwrap_err(),
        store.stats().map(drop).unwrap_err(),
        store.clear().map(drop).unwrap_err(),
        store.prune(0).map(drop).unwrap_err(),
        store
            .pack(&directory.join("pack"), |_, _| ())
            .map(drop)
            .unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().starts_with("cannot read `"), "{error}");
    }
    assert_eq!(store.verify().damaged, std::slice::from_ref(&folder));
    small.publish(&key(3), &image(3)).unwrap();

    // What can be removed is.
    let remaining = || {
        set_mode(0o700);
        store.list().unwrap().len()
    };
    for mode in [0o500, 0o000] {
        for remove in [|store: &Store| store.prune(0), |store: &Store| store.clear()] {
            for value in 4..8 {
                store.publish(&key(value), &image(value)).unwrap();
            }
            set_mode(mode);
            assert!(remove(&store).is_err());
            assert_eq!(remaining(), 1, "{mode:o}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]
    // 250 cases of 40 mutations each.
    #[test]
    fn a_damaged_file_is_never_served(mutations in prop::collection::vec((any::<prop::sample::Index>(), 0..4, any::<u8>()), 40)) {
        let (_folder, _, store) = new_store();
        for (at, how, byte) in mutations {
            store.publish(&key(1), &image(1)).unwrap();
            let file = only_file(&store);
            let original = fs::read(&file).unwrap();
            let mut bytes = original.clone();
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.truncate(at),
                2 => bytes.insert(at, byte),
                _ => { bytes.remove(at); }
            }
            fs::write(&file, &bytes).unwrap();
            let expected = (bytes == original).then(|| image(1));
            prop_assert_eq!(store.load(&key(1)), expected);
        }
    }
}
