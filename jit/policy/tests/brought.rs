//! What a remote store brought with others: it is used, and what its launches took is kept, before it has a
//! file of its own.
#![expect(unsafe_code, reason = "settings are in the environment")]

use std::path::Path;
use std::time::Duration;

use offloom_abi::jit_bundle::BundleId;
use offloom_abi::jit_remote::Device;
use offloom_jit_cache::stats::Origin;
use offloom_jit_cache::store::{ImageKey, KeyHash, Model, Record, Store, StoreOptions, Timed};
use offloom_jit_policy::disk_cache::{self, Known};
use offloom_jit_policy::remote::{self, Reply, Transport};
use offloom_jit_variants::trial::Times;

/// A store that has nothing more to say.
struct Silent;

impl Transport for Silent {
    fn fetch(&self, _: KeyHash, _: Duration, _: Duration) -> Reply {
        Reply::Absent
    }

    fn publish(&self, _: KeyHash) {}

    fn expect(&self, _: KeyHash, _: bool) {}

    fn expect_verdicts(&self, _: KeyHash, _: Device<'_>) {}

    fn publish_verdict(&self, _: KeyHash, _: Device<'_>, _: KeyHash, _: Times) {}

    fn catch_up(&self) {}
}

/// The cache in a folder, as other processes see it.
fn store(folder: &str) -> Store {
    let (store, errors) = Store::open(&StoreOptions {
        directory: Some(Path::new(folder).to_owned()),
        read_only: false,
        shared: Vec::new(),
        size_limit: 1 << 30,
        claim_limit: Duration::from_secs(60),
    });
    assert!(errors.is_empty(), "{errors:?}");
    store
}

#[test]
fn what_came_with_others_is_used_and_timed_before_it_has_a_file() {
    const HERE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/brought-cache");
    const ELSEWHERE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/brought-maker");
    let _ = std::fs::remove_dir_all(HERE);
    // SAFETY: this is the only test, and nothing reads the environment beside it.
    unsafe {
        std::env::set_var("OFFLOOM_JIT_CACHE_MODE", "rw");
        std::env::set_var("OFFLOOM_JIT_CACHE_DIR", HERE);
        std::env::set_var("OFFLOOM_JIT_REMOTE", "file:///nowhere");
    }
    remote::use_transport(&Silent);
    let key = ImageKey {
        offloom_version: "0".to_owned(),
        llvm_version: "0".to_owned(),
        bundle: BundleId([7; 16]),
        target_triple: "double".to_owned(),
        target_features: String::new(),
        options: String::new(),
        source: String::new(),
        descriptor: "kernel=came;arch=double;0=i64:1".parse().unwrap(),
    };
    let hash = key.hash();
    let maker = store(ELSEWHERE);
    maker.publish(&key, &Record::Image(vec![7; 100])).unwrap();
    let image = maker.image_of(hash).unwrap();
    let here = store(HERE);
    let batch = here.accept_together(&[(hash, &image)], |_| None).unwrap();
    let found = || match disk_cache::find(&key) {
        Some(Known::Object(object, times)) => Some((object, times)),
        _ => None,
    };
    assert_eq!(found(), None, "nobody was told");

    remote::note_brought(batch.images().iter().cloned());
    assert_eq!(found(), Some((vec![7; 100], None)));
    assert_eq!(disk_cache::tier(&key), Origin::Remote);
    assert!(!here.is_in_private_layer(hash));
    let times = Timed {
        model: Model::OF_KEY,
        times: Times {
            variant: 10,
            ahead_of_time: 1000,
        },
    };
    assert!(disk_cache::remember_times(&key, times));
    assert_eq!(here.load(&key), Some(Record::Timed(times, vec![7; 100])));
    drop(batch);
    assert_eq!(found(), Some((vec![7; 100], Some(times))));
}
