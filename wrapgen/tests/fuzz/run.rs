//! One target's run: its corpus, then mutations of it, until the run's number of inputs or its time is over.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::mutation::{self, Mutator};

/// Inputs of each target in a test run.
const INPUTS: u64 = 3_000;

/// Largest input that is tried, in bytes.
const MAX_INPUT: usize = 1 << 16;

/// Runs the target `name`: first its corpus, then mutations of it.
pub(crate) fn fuzz(name: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz/corpus")
        .join(name);
    let corpus = corpus(&folder);
    assert!(!corpus.is_empty(), "nothing in {}", folder.display());
    // An input that ends the whole process can still be looked at here.
    let current = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}"));
    let current = File::create(current).unwrap();
    let run = |input: &[u8]| {
        current.write_all_at(input, 0).unwrap();
        current.set_len(input.len() as u64).unwrap();
        if catch_unwind(|| target(input)).is_err() {
            let found = folder.join(format!("found-{:016x}", mutation::hash(input)));
            fs::write(&found, input).unwrap();
            panic!("the parser panicked; the input is {}", found.display());
        }
    };
    corpus.iter().for_each(|input| run(input));

    let time = std::env::var("OFFLOOM_FUZZ_SECONDS")
        .ok()
        .and_then(|seconds| seconds.parse().ok())
        .map(Duration::from_secs);
    let seed = match time {
        Some(_) => SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .subsec_nanos()
            .into(),
        None => 1,
    };
    let start = Instant::now();
    let mut mutator = Mutator::new(seed);
    let (mut count, mut slowest) = (0, Duration::ZERO);
    while time.map_or(count < INPUTS, |time| start.elapsed() < time) {
        let input = mutator.mutate(&corpus, MAX_INPUT);
        let begin = Instant::now();
        run(&input);
        slowest = slowest.max(begin.elapsed());
        count += 1;
    }
    println!("{name}: {count} inputs from the seed {seed}, the slowest in {slowest:.1?}");
}

/// The contents of every file in `folder`, in the order of their names.
fn corpus(folder: &Path) -> Vec<Vec<u8>> {
    let files = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}
