//! Folders: whose they are, what is in their place, what is removed.

use crate::helpers::*;

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
fn what_cannot_be_read_or_removed_is_said_and_holds_up_no_program() {
    if ran_as_nobody("folders::what_cannot_be_read_or_removed_is_said_and_holds_up_no_program") {
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
