//! Launches beside the verdict, in every order that the memory model allows: code is freed once nobody runs
//! it, and somebody frees it.
//!
//! `cargo test -p offloom-jit-cache --features loom --lib orders`.

use loom::cell::UnsafeCell;

use super::{Entered, Trial};
use crate::atomics::{AtomicUsize, Ordering};
use crate::testing::in_every_order;

/// How often at most a thread is stopped in the middle.
const SWITCHES: usize = 3;

/// A variant whose code is there or not. Loom finds a launch that runs it while it is freed.
struct Variant {
    trial: Trial,
    code: UnsafeCell<bool>,
    freed: AtomicUsize,
}

impl Variant {
    fn new() -> Self {
        Self {
            trial: Trial::new(true, u64::MAX),
            code: UnsafeCell::new(true),
            freed: AtomicUsize::new(0),
        }
    }

    fn run(&self) {
        self.code.with(|_code| ());
        assert_eq!(self.freed.load(Ordering::SeqCst), 0, "it runs what was freed");
    }

    /// A launch that takes `nanoseconds` with the variant, one without it.
    fn launch(&self, nanoseconds: u64) {
        match self.trial.enter() {
            Entered::TimedVariant => {
                self.run();
                self.trial.note(true, nanoseconds);
                self.leave();
            }
            Entered::TimedAheadOfTime => {
                self.trial.note(false, 1);
                self.leave();
            }
            Entered::Kept => {
                self.leave();
                self.run();
            }
            Entered::Retired => self.leave(),
        }
    }

    fn evict(&self) {
        self.trial.abandon();
        self.leave();
    }

    fn leave(&self) {
        // Whoever is first takes the code away, as with the lock that holds it.
        if self.trial.leave() && self.freed.fetch_add(1, Ordering::SeqCst) == 0 {
            self.code.with_mut(|_code| ());
        }
    }
}

/// Runs `one` on a thread of its own beside `other`, with a variant that `begin` made, then looks at it.
fn beside(begin: fn() -> Variant, one: fn(&Variant), other: fn(&Variant), look: fn(&Variant)) {
    in_every_order(SWITCHES, begin, other, one, look);
}

/// One launch of either kind short of a verdict: the variant takes `nanoseconds`, the AOT code one.
fn nearly_judged(nanoseconds: u64) -> Variant {
    let variant = Variant::new();
    for _ in 0..5 {
        variant.launch(nanoseconds);
    }
    variant
}

#[test]
fn what_is_retired_by_a_launch_is_freed_after_the_last_one() {
    beside(
        || nearly_judged(100),
        |variant| variant.launch(100),
        |variant| variant.launch(100),
        |variant| {
            assert!(variant.trial.is_retired());
            assert_ne!(variant.freed.load(Ordering::SeqCst), 0);
        },
    );
}

#[test]
fn what_is_evicted_is_freed_after_the_last_launch() {
    beside(
        Variant::new,
        |variant| variant.launch(100),
        Variant::evict,
        |variant| assert_ne!(variant.freed.load(Ordering::SeqCst), 0),
    );
}

#[test]
fn what_is_kept_is_never_freed() {
    let begin = || {
        let variant = Variant::new();
        for _ in 0..6 {
            let of_variant = variant.trial.enter() == Entered::TimedVariant;
            variant.trial.note(of_variant, if of_variant { 1 } else { 100 });
            variant.leave();
        }
        variant
    };
    beside(
        begin,
        |variant| variant.launch(100),
        Variant::evict,
        |variant| {
            assert!(variant.trial.is_kept());
            assert_eq!(variant.freed.load(Ordering::SeqCst), 0);
        },
    );
}
