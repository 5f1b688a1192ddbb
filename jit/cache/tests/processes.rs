//! Several processes on one cache: killed at random moments, short of file handles, short of disk.
//!
//! Started with an argument, this program is one of those processes. `OFFLOOM_TEST_KILLS` says how many are
//! killed.
#![expect(clippy::unwrap_used, reason = "a test without the test harness")]

use std::collections::HashSet;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use offloom_abi::jit_bundle::BundleId;
use offloom_abi::jit_remote::Device;
use offloom_jit_cache::store::{ImageKey, Model, Record, Store, StoreOptions, Timed};
use offloom_jit_variants::signature::Subject;
use offloom_jit_variants::trial::Times;

/// Different images that the processes make.
const KEYS: u64 = 40;
/// Processes at one time.
const PROCESSES: usize = 8;

/// The tests, by the names that a test runner asks for.
const TESTS: [(&str, fn()); 4] = [
    (
        "killed_processes_leave_nothing_wrong_behind",
        killed_processes_leave_nothing_wrong_behind,
    ),
    (
        "one_of_many_processes_makes_an_image",
        one_of_many_processes_makes_an_image,
    ),
    ("a_process_short_of_disk_leaves_nothing", || {
        a_process_that_cannot_write_leaves_nothing("ulimit -f 8");
    }),
    ("a_process_short_of_file_handles_leaves_nothing", || {
        a_process_that_cannot_write_leaves_nothing("ulimit -n 5");
    }),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_given = |option: &str| arguments.iter().any(|argument| argument == option);
    match arguments.first().map(String::as_str) {
        Some("worker") => work(Path::new(&arguments[1]), arguments[2].parse().unwrap()),
        Some("publish") => publish_once(Path::new(&arguments[1])),
        // As the standard harness answers; none is to be left out.
        _ if is_given("--list") && is_given("--ignored") => {}
        _ if is_given("--list") => TESTS.iter().for_each(|(name, _)| println!("{name}: test")),
        _ => {
            let wanted = arguments.iter().find(|argument| !argument.starts_with('-'));
            let mut run = 0;
            for (name, test) in TESTS {
                if wanted.is_none_or(|wanted| name.contains(wanted.as_str())) {
                    println!("{name}");
                    test();
                    run += 1;
                }
            }
            println!("{run} passed");
        }
    }
}

fn store(directory: &Path) -> Store {
    let (store, errors) = Store::open(&StoreOptions {
        directory: Some(directory.to_owned()),
        read_only: false,
        shared: Vec::new(),
        // Small enough that eviction is going on all the time.
        size_limit: 300_000,
        claim_limit: Duration::from_secs(60),
    });
    assert!(errors.is_empty(), "{errors:?}");
    store
}

fn key(value: u64) -> ImageKey {
    ImageKey {
        offloom_version: "0.1.0".to_owned(),
        llvm_version: "19.1.7".to_owned(),
        bundle: BundleId([1; 16]),
        target_triple: "x86_64-pc-linux-gnu".to_owned(),
        target_features: String::new(),
        options: String::new(),
        source: String::new(),
        descriptor: format!("kernel=k;arch=x86-64;0=i64:{value}").parse().unwrap(),
    }
}

/// The one right image of a key: its size and bytes tell the key.
fn bytes(value: u64) -> Vec<u8> {
    let size = 2_000 + 500 * value;
    (0..size).map(|at| (at * 31 + value * 17) as u8).collect()
}

fn image(value: u64) -> Record {
    Record::Image(bytes(value))
}

/// Loads, claims, publishes and remembers until killed; dies if anything wrong is served.
fn work(directory: &Path, seed: u64) {
    let store = store(directory);
    let mut random = seed | 1;
    loop {
        // Xorshift: any sequence will do.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let value = random % KEYS;
        // One that no image has.
        let of_kernel = key(KEYS);
        let subject = Subject::Value(value as usize);
        store.remember_megamorphic(&of_kernel, &[subject]).unwrap();
        match store.load(&of_kernel) {
            Some(Record::Megamorphic(subjects)) => {
                let distinct: HashSet<_> = subjects.iter().collect();
                assert!(distinct.len() == subjects.len() && subjects.len() as u64 <= KEYS);
            }
            // It was evicted meanwhile.
            found => assert_eq!(found, None),
        }
        match store.load(&key(value)) {
            Some(Record::Image(found)) => {
                assert!(found == bytes(value), "a wrong image of {value} was served");
                store.remember_times(&key(value), times(value)).unwrap();
            }
            Some(Record::Timed(found_times, found)) => assert!(
                found_times == times(value) && found == bytes(value),
                "a wrong image of {value}, or wrong times, were served"
            ),
            Some(Record::Failure(failure)) => unreachable!("{failure:?}"),
            Some(Record::Megamorphic(subjects)) => unreachable!("{subjects:?}"),
            None => {
                let claim = store.claim(&key(value)).unwrap();
                if claim.is_some() {
                    store.publish(&key(value), &image(value)).unwrap();
                }
            }
        }
    }
}

/// Publishes a large image, which is to fail, and then a small one where that is possible.
fn publish_once(directory: &Path) {
    let store = Store::open(&StoreOptions {
        directory: Some(directory.to_owned()),
        read_only: false,
        shared: Vec::new(),
        size_limit: 1 << 30,
        claim_limit: Duration::from_secs(60),
    })
    .0;
    // Hold what file handles there are.
    let held: Vec<_> = std::iter::from_fn(|| std::fs::File::open("/dev/null").ok())
        .take(5)
        .collect();
    let large = Record::Image(vec![1; 1 << 20]);
    assert!(
        store.publish(&key(0), &large).is_err(),
        "this cannot have been written"
    );
    assert_eq!(store.load(&key(0)), None);
    drop(held);
    store.publish(&key(1), &image(1)).unwrap();
}

fn times(value: u64) -> Timed {
    Timed {
        model: Model::of(Device::Gpu(&value.to_string())),
        times: Times {
            variant: value,
            ahead_of_time: 3 * value,
        },
    }
}

fn start(mode: &str, directory: &Path, seed: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([mode.as_ref(), directory.as_os_str(), seed.to_string().as_ref()])
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn names(folder: PathBuf) -> Vec<PathBuf> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect()
}

fn killed_processes_leave_nothing_wrong_behind() {
    let kills: u64 = std::env::var("OFFLOOM_TEST_KILLS").map_or(20, |count| count.parse().unwrap());
    let seed: u64 = std::process::id().into();
    println!("{kills} kills, seed {seed}");
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("cache");
    drop(store(&directory));
    let mut running: Vec<_> = (0..PROCESSES as u64)
        .map(|number| start("worker", &directory, seed * 1000 + number))
        .collect();
    for kill in 0..kills {
        thread::sleep(Duration::from_micros((seed + kill * 7919) % 60_000));
        let victim = &mut running[kill as usize % PROCESSES];
        assert!(victim.try_wait().unwrap().is_none(), "a process ended by itself");
        victim.kill().unwrap();
        victim.wait().unwrap();
        *victim = start("worker", &directory, seed * 1000 + 100 + kill);
    }
    for process in &mut running {
        assert!(process.try_wait().unwrap().is_none(), "a process ended by itself");
        process.kill().unwrap();
        process.wait().unwrap();
    }

    let store = store(&directory);
    let verified = store.verify();
    assert!(verified.damaged.is_empty(), "{:?}", verified.damaged);
    assert!(!verified.images.is_empty());
    store.prune(300_000).unwrap();
    assert_eq!(names(directory.join("v2/temporary")), Vec::<PathBuf>::new());
    assert_eq!(names(directory.join("v2/claims")), Vec::<PathBuf>::new());
    for value in 0..KEYS {
        match store.load(&key(value)) {
            Some(Record::Image(found) | Record::Timed(_, found)) => assert!(found == bytes(value)),
            found => assert_eq!(found, None),
        }
        assert!(
            store.claim(&key(value)).unwrap().is_some(),
            "nobody is left to hold it"
        );
    }
}

/// Threads of one process stand in for the ranks of a node: claims know no difference.
fn one_of_many_processes_makes_an_image() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("cache");
    let winners: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    let claim = store(&directory).claim(&key(1)).unwrap();
                    let won = usize::from(claim.is_some());
                    // Nobody gives it back while others still ask.
                    std::mem::forget(claim);
                    won
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(winners, 1);
}

/// Runs a process under a limit of the shell; the signal for files that grow too large is ignored, so that
/// writing fails as on a full disk.
fn a_process_that_cannot_write_leaves_nothing(limit: &str) {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("cache");
    let status = Command::new("/bin/sh")
        .arg0("sh")
        .args([
            "-c",
            &format!("trap '' XFSZ; {limit}; exec \"$0\" publish \"$1\""),
        ])
        .arg(std::env::current_exe().unwrap())
        .arg(&directory)
        .status()
        .unwrap();
    assert!(status.success(), "{limit}: {status}");
    assert_eq!(names(directory.join("v2/temporary")), Vec::<PathBuf>::new());
    let verified = store(&directory).verify();
    assert!(verified.damaged.is_empty());
    assert_eq!(verified.images.len(), 1);
}
