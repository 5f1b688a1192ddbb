//! Every parser of foreign bytes against mutations of small real files: whatever comes in, it answers or reports an error, and
//! neither panics nor aborts.
//!
//! Without further words each target runs for a fixed number of inputs from a fixed seed, so a test run is repeatable. With
//! `OFFLOOM_FUZZ_SECONDS` set (`cargo xtask fuzz` does) each runs for that long from a new seed. An input that breaks a parser is
//! put into the target's folder under `corpus/`, where every later run starts with it.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed step of a test ends the test"
)]

mod mutation;
mod targets;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mutation::Mutator;

/// Inputs of each target in a test run.
const INPUTS: u64 = 3_000;

/// Largest input that is tried, in bytes.
const MAX_INPUT: usize = 1 << 16;

/// Runs one target: first its corpus, then mutations of it.
fn fuzz(name: &str, target: fn(&[u8])) {
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

macro_rules! targets {
    ($($name:ident: $target:path;)*) => {$(
        #[test]
        fn $name() {
            fuzz(stringify!($name), $target);
        }
    )*};
}

targets! {
    offload_binary: targets::offload_binary;
    entry_table: targets::entry_table;
    kernel_name: targets::kernel_name;
    jit_bundle: targets::jit_bundle;
    image_argument: targets::image_argument;
    response_file: targets::response_file;
    elf: targets::input;
    archive: targets::input;
    bitcode: targets::input;
    coff: targets::input;
    mach_o: targets::input;
}
