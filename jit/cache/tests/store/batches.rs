//! Images that came together, in one file.

use crate::helpers::*;
use offloom_jit_cache::store::{Batch, KeyHash, Place};

/// The files of so many images, as another machine's cache gives them.
fn made(count: u64) -> Vec<(KeyHash, Vec<u8>)> {
    let (_folder, _, maker) = new_store();
    let make = |value| {
        maker.publish(&key(value), &image(value)).unwrap();
        let hash = key(value).hash();
        (hash, maker.image_of(hash).unwrap())
    };
    (0..count).map(make).collect()
}

fn together(store: &Store, images: &[(KeyHash, Vec<u8>)], measured: Option<(KeyHash, Measured)>) -> Batch {
    let images: Vec<_> = images.iter().map(|(hash, bytes)| (*hash, &bytes[..])).collect();
    let of = |hash| {
        measured
            .filter(|(known, _)| *known == hash)
            .map(|(_, times)| times)
    };
    store.accept_together(&images, of).unwrap()
}

fn files_being_written(directory: &Path) -> Vec<PathBuf> {
    let folder = fs::read_dir(directory.join("v2/temporary")).unwrap();
    folder.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn images_of_a_batch_are_read_from_one_file_until_each_has_its_own() {
    let (_folder, directory, store) = new_store();
    let images = made(20);
    let times = times(1, 2);
    let measured = Measured {
        timed: times,
        at: SystemTime::now(),
    };
    let batch = together(&store, &images, Some((images[7].0, measured)));
    assert_eq!(files_being_written(&directory).len(), 1);
    assert_eq!(store.list().unwrap(), []);
    assert_eq!(batch.images().len(), 20);
    let expected = |value| match value {
        7 => Record::Timed(times, vec![7; 1000]),
        _ => image(value),
    };
    // Another process that was told.
    let other = open(&options(&directory));
    for (value, (hash, place)) in (0..).zip(batch.images()) {
        assert_eq!(*hash, key(value).hash());
        assert_eq!(other.load(&key(value)), None);
        assert_eq!(other.load_from_batch(*hash, place), Some(expected(value)));
        // Not under another key.
        assert_eq!(other.load_from_batch(key(99).hash(), place), None);
    }
    for (value, (hash, place)) in (0..).zip(batch.images()) {
        let measured = (value == 7).then_some(measured);
        assert!(store.part_from_batch(*hash, place, measured).unwrap());
        assert_eq!(other.load(&key(value)), Some(expected(value)));
    }
    let places: Vec<_> = batch.images().to_vec();
    drop(batch);
    assert_eq!(files_being_written(&directory), [] as [PathBuf; 0]);
    assert_eq!(store.list().unwrap().len(), 20);
    for (hash, place) in &places {
        assert_eq!(other.load_from_batch(*hash, place), None);
        assert!(!store.part_from_batch(*hash, place, None).unwrap());
    }
}

#[test]
fn what_is_no_image_of_its_key_is_left_out_of_a_batch() {
    let (_folder, _, store) = new_store();
    let mut images = made(4);
    images[0].1[500] ^= 1;
    images[1].0 = key(99).hash();
    images[2].1.pop();
    let batch = together(&store, &images, None);
    let held: Vec<_> = batch.images().iter().map(|(hash, _)| *hash).collect();
    assert_eq!(held, [images[3].0]);
    assert_eq!(
        store.load_from_batch(held[0], &batch.images()[0].1),
        Some(image(3))
    );
}

#[test]
fn nothing_is_read_at_places_that_no_batch_has() {
    let (_folder, directory, store) = new_store();
    let images = made(3);
    let batch = together(&store, &images, None);
    let (hash, place) = batch.images()[1].clone();
    let is_read = |place: &Place| {
        let record = store.load_from_batch(hash, place);
        assert_eq!(
            record.is_some(),
            store.part_from_batch(hash, place, None).unwrap()
        );
        record.is_some()
    };
    let elsewhere = |offset, size| {
        is_read(&Place {
            offset,
            size,
            ..place.clone()
        })
    };
    assert!(elsewhere(place.offset, place.size));
    for (offset, size) in [
        (place.offset + 1, place.size),
        (place.offset, place.size - 1),
        (place.offset, u64::MAX),
        (u64::MAX, place.size),
        (1 << 40, 0),
    ] {
        assert!(!elsewhere(offset, size), "{size} bytes at {offset}");
    }
    // Files that are not among those that are being written, and what is no file of the cache.
    let name = &place.batch;
    fs::copy(
        directory.join("v2/temporary").join(&**name),
        directory.join(&**name),
    )
    .unwrap();
    let path = directory.join(&**name);
    for batch in [
        format!("../../{name}"),
        format!("{name}/../../../{name}"),
        path.display().to_string(),
        "batch".to_owned(),
        String::new(),
    ] {
        let batch = batch.into();
        assert!(!is_read(&Place {
            batch,
            ..place.clone()
        }));
    }
    // Altered, and writable for others.
    let written = directory.join("v2/temporary").join(&**name);
    fs::set_permissions(&written, Permissions::from_mode(0o622)).unwrap();
    assert!(!is_read(&place));
    fs::set_permissions(&written, Permissions::from_mode(0o600)).unwrap();
    assert!(is_read(&place));
    let mut bytes = fs::read(&written).unwrap();
    bytes[place.offset as usize + 700] ^= 1;
    fs::write(&written, bytes).unwrap();
    assert!(!is_read(&place));
}
