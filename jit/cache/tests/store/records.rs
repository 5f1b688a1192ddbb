//! What is kept, for how long, and what goes first.

use crate::helpers::*;

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
    let times = times(1, 2);
    store.remember_times(&key(1), times).unwrap();
    assert!(matches!(publish(failure("too slow")), Some(Record::Timed(..))));
    assert!(matches!(store.load(&key(1)), Some(Record::Timed(..))));
}

#[test]
fn times_are_remembered_with_an_image_for_a_time() {
    let (_folder, directory, store) = new_store();
    let times = times(u64::MAX, 7);
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
    store.remember_times(&key(1), self::times(1, 7)).unwrap();
    assert_eq!(store.load(&key(1)), Some(timed));
    assert_eq!(store.verify().images.len(), 1);
}

#[test]
fn what_another_machine_has_measured_is_as_old_as_it_was_there() {
    let measured = |variant, age: Duration| Measured {
        timed: times(variant, 7),
        at: SystemTime::now() - age,
    };
    let Record::Image(bytes) = image(1) else {
        unreachable!("made above")
    };
    let timed = |variant| Some(Record::Timed(times(variant, 7), bytes.clone()));
    let hash = key(1).hash();
    let (_folder, _, maker) = new_store();
    maker.publish(&key(1), &image(1)).unwrap();
    let made = maker.image_of(hash).unwrap();
    // Together with the image.
    let (_folder, _, store) = new_store();
    assert!(!store.remember_measured(hash, measured(1, MEMORY / 2)).unwrap());
    assert!(store.accept(hash, &made, Some(measured(1, MEMORY / 2))).unwrap());
    assert_eq!(store.load(&key(1)), timed(1));
    assert!(store.list().unwrap()[0].last_use < SystemTime::now() - MEMORY / 3);
    // What is known here stays, and is forgotten in time.
    assert!(
        !store
            .remember_measured(hash, measured(2, Duration::ZERO))
            .unwrap()
    );
    assert_eq!(store.load(&key(1)), timed(1));
    let file = File::open(only_file(&store)).unwrap();
    file.set_modified(SystemTime::now() - MEMORY - Duration::from_secs(60))
        .unwrap();
    // Later than the image, and of the time that counts.
    assert!(
        store
            .remember_measured(hash, measured(3, Duration::ZERO))
            .unwrap()
    );
    assert_eq!(store.load(&key(1)), timed(3));
    // An image that is here already.
    let (_folder, _, store) = new_store();
    assert!(store.accept(hash, &made, None).unwrap());
    assert!(store.accept(hash, &made, Some(measured(5, MEMORY / 2))).unwrap());
    assert_eq!(store.load(&key(1)), timed(5));
    // Too old.
    let (_folder, _, store) = new_store();
    let old = measured(4, MEMORY + Duration::from_secs(60));
    assert!(store.accept(hash, &made, Some(old)).unwrap());
    assert_eq!(store.load(&key(1)), Some(image(1)));
    // Where there is no image there is nothing to remember.
    store.publish(&key(2), &failure("no registers left")).unwrap();
    assert!(!store.remember_measured(key(2).hash(), old).unwrap());
    assert_eq!(store.load(&key(2)), Some(failure("no registers left")));
}

#[test]
fn times_on_another_model_take_their_place() {
    let on = |name, variant| Timed {
        model: Model::of(Device::Gpu(name)),
        ..times(variant, 7)
    };
    let Record::Image(bytes) = image(1) else {
        unreachable!("made above")
    };
    let (_folder, _, store) = new_store();
    store.publish(&key(1), &image(1)).unwrap();
    let [first, second] = [on("H100", 1), on("H200", 9)];
    let remembered = |timed| Some(Record::Timed(timed, bytes.clone()));
    assert!(store.remember_times(&key(1), first).unwrap());
    assert!(!store.remember_times(&key(1), on("H100", 2)).unwrap());
    assert_eq!(store.load(&key(1)), remembered(first));
    assert!(store.remember_times(&key(1), second).unwrap());
    assert_eq!(store.load(&key(1)), remembered(second));
    // What another machine with the first has found out.
    let at = SystemTime::now() - MEMORY / 2;
    let [known, elsewhere] = [second, first].map(|timed| Measured { timed, at });
    assert!(!store.remember_measured(key(1).hash(), known).unwrap());
    assert!(store.remember_measured(key(1).hash(), elsewhere).unwrap());
    assert_eq!(store.load(&key(1)), remembered(first));
}

#[test]
fn a_failure_has_no_times() {
    let (_folder, _, store) = new_store();
    let failure = failure("the compiler crashed");
    store.publish(&key(1), &failure).unwrap();
    let times = times(1, 2);
    store.remember_times(&key(1), times).unwrap();
    assert_eq!(store.load(&key(1)), Some(failure));
}

#[test]
fn what_launches_changed_is_remembered_for_a_time() {
    let (_folder, directory, store) = new_store();
    let [first, second] = [Subject::Value(1), Subject::Contents(4)];
    store.remember_megamorphic(&key(1), &[first]).unwrap();
    store.remember_megamorphic(&key(1), &[second, first]).unwrap();
    let both = Some(Record::Megamorphic(vec![first, second]));
    let other = open(&options(&directory));
    assert_eq!(other.load(&key(1)), both);
    let at = |age| {
        let file = File::open(only_file(&store)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    };
    // Neither using it nor finding it out again makes it younger.
    at(MEMORY / 2);
    assert_eq!(store.load(&key(1)), both);
    store.remember_megamorphic(&key(1), &[second]).unwrap();
    assert!(store.list().unwrap()[0].last_use < SystemTime::now() - MEMORY / 3);
    at(MEMORY + Duration::from_secs(60));
    assert_eq!(store.load(&key(1)), None);
    let reader = open(&StoreOptions {
        read_only: true,
        ..options(&directory)
    });
    assert!(matches!(
        reader.remember_megamorphic(&key(1), &[second]),
        Err(StoreError::ReadOnly)
    ));
    // What is forgotten does not come back with what is new.
    store.remember_megamorphic(&key(1), &[second]).unwrap();
    assert_eq!(reader.load(&key(1)), Some(Record::Megamorphic(vec![second])));
    let verified = store.verify();
    assert_eq!((verified.megamorphic.len(), verified.images.len()), (1, 0));
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
fn a_claim_that_is_renewed_is_not_taken_over() {
    let (_folder, directory, store) = new_store();
    let other = open(&options(&directory));
    let [renewed, left] = [4, 5].map(|value| store.claim(&key(value)).unwrap().unwrap());
    for file in fs::read_dir(directory.join("v2/claims")).unwrap() {
        let file = File::open(file.unwrap().path()).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(600))
            .unwrap();
    }
    renewed.renew();
    assert!(other.claim(&key(4)).unwrap().is_none());
    let taken = other.claim(&key(5)).unwrap();
    assert!(taken.is_some());
    // Who has lost it does not renew that of the other.
    let claims = || fs::read_dir(directory.join("v2/claims")).unwrap();
    let modified = || {
        claims()
            .map(|file| file.unwrap().metadata().unwrap().modified().unwrap())
            .max()
    };
    let before = modified();
    left.renew();
    assert_eq!(modified(), before);
}
