//! What finding the code of a launch costs: ten arguments, 1 to 10,000 variants, 1 to 16 threads.
//!
//! Rounds are short and the fastest counts, so that other work of the machine matters little. What counts are
//! the ratios to one thread with one variant. `cargo bench -p offloom-jit-variants`.
#![expect(clippy::unwrap_used, reason = "a benchmark")]

use std::hint::black_box;
use std::ops::Range;
use std::thread;
use std::time::Instant;

use offloom_descriptor::ScalarType;
use offloom_jit_variants::signature::{Launch, Parameter, Signature};
use offloom_jit_variants::tracker::{Decision, Limits, Tracker};
use offloom_jit_variants::variants::{Code, Entry, Found, Variants};

const ARGUMENTS: usize = 10;
const LAUNCHES: u64 = 20_000;
const ROUNDS: usize = 101;

/// Argument words as a stub stores them.
struct Words([u64; ARGUMENTS]);

impl Launch for Words {
    fn arguments(&self) -> &[u64] {
        &self.0
    }

    fn object(&self, _: usize, _: usize, _: usize) -> u64 {
        0
    }

    fn is_readable(&self, _: usize, _: Range<usize>) -> bool {
        true
    }
}

/// Launch number `value`: half of the arguments are pointers.
fn words(value: u64) -> Words {
    let mut words = [0x1000; ARGUMENTS];
    words[0] = value;
    words[1] = 64;
    words[2] = value ^ 5;
    Words(words)
}

fn kernel(variants: u64) -> (Tracker, Variants) {
    let parameters = (0..ARGUMENTS)
        .map(|index| match index % 2 {
            0 => Parameter::Scalar(ScalarType::integer(64).unwrap()),
            _ => Parameter::Pointer {
                declared_alignment: Some(1),
                useful_alignment: 128,
                contents: Vec::new(),
                contents_are_there: true,
            },
        })
        .collect();
    let limits = Limits {
        threshold: u64::MAX,
        ratio: 1.0,
    };
    let tracker = Tracker::new(Signature::new(parameters, false), limits);
    let found = Variants::new(&tracker);
    for value in 0..variants {
        loop {
            if let Decision::Specialize(key) = tracker.decide(&words(value)) {
                found.insert(&key, Entry::Code(Code::at(0x1000 + value * 16).unwrap()));
                break;
            }
        }
    }
    (tracker, found)
}

/// Nanoseconds for one look-up by each of so many threads: the fastest of the rounds.
fn time(tracker: &Tracker, variants: &Variants, count: u64, threads: u64) -> f64 {
    (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            thread::scope(|scope| {
                for thread in 0..threads {
                    scope.spawn(move || {
                        for launch in 0..LAUNCHES {
                            // A stride that does not repeat soon.
                            let value = (launch.wrapping_mul(7919) + thread) % count;
                            let found = variants.find(tracker, black_box(&words(value)));
                            assert!(matches!(black_box(found), Found::Code(_)));
                        }
                    });
                }
            });
            let work = LAUNCHES * threads;
            let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
            start.elapsed().as_nanos() as f64 / work as f64 * cores.min(threads) as f64
        })
        .fold(f64::INFINITY, f64::min)
}

fn main() {
    println!("{:>8}  {:>7}  {:>6}  {:>5}", "variants", "threads", "ns", "ratio");
    let mut base = None;
    for count in [1, 100, 1_000, 10_000] {
        let (tracker, variants) = kernel(count);
        for threads in [1, 2, 4, 16] {
            let nanoseconds = time(&tracker, &variants, count, threads);
            let base = *base.get_or_insert(nanoseconds);
            println!(
                "{count:>8}  {threads:>7}  {nanoseconds:>6.1}  {:>5.2}",
                nanoseconds / base
            );
        }
    }
}
