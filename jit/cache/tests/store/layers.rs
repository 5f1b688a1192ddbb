//! Shared layers beside the private one, and caches that are packed.

use crate::helpers::*;

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
    assert!(store.accept(hash, &made, None).unwrap());
    assert!(has_image(&store));
    fs::write(only_file(&store), "damaged").unwrap();
    assert!(!has_image(&store));
    assert!(store.accept(hash, &made, None).unwrap());
    assert!(has_image(&store));
    assert_eq!(store.load(&key(1)), Some(image(1)));
}

#[test]
fn a_packed_cache_warms_another() {
    let (folder, _, store) = new_store();
    for value in 0..5 {
        store.publish(&key(value), &image(value)).unwrap();
    }
    store.publish(&key(9), &failure("only here")).unwrap();
    let times = times(1, 2);
    store.remember_times(&key(3), times).unwrap();
    store.remember_megamorphic(&key(8), &[Subject::Teams]).unwrap();
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
    if ran_as_nobody("layers::a_shared_layer_that_cannot_be_read_costs_only_itself") {
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
