//! Look-ups: the JIT paper's steps, code that fits meanwhile, and readers beside changes.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::thread;

use proptest::prelude::*;

use super::*;
use crate::signature::{Parameter, Signature, Subject};
use crate::testing::Words;
use crate::tracker::{Decision, Limits};
use offloom_descriptor::ScalarType;

fn kernel(arguments: usize, threshold: u64) -> (Tracker, Variants) {
    let parameter = Parameter::Scalar(ScalarType::integer(64).unwrap());
    let limits = Limits {
        threshold,
        ratio: 0.5,
    };
    let tracker = Tracker::new(Signature::new(vec![parameter; arguments], false), limits);
    let variants = Variants::new(&tracker);
    (tracker, variants)
}

/// What a launch finds, and the code that fits where it finds none.
fn found(tracker: &Tracker, variants: &Variants, launch: &Words) -> (Found, Option<Code>) {
    let found = variants.find(tracker, launch);
    let is_settled = matches!(found, Found::Code(_) | Found::AheadOfTime);
    let fitting = (!is_settled).then(|| variants.fitting(tracker, launch));
    (found, fitting.flatten())
}

fn code(address: u64) -> Code {
    Code::at(address).unwrap()
}

fn key(tracker: &Tracker, launch: &Words) -> LaunchKey {
    loop {
        if let Decision::Specialize(key) = tracker.decide(launch) {
            return key;
        }
    }
}

/// A launch that counts how often it is asked whether something is there.
struct Asked<'a>(&'a Words, Cell<usize>);

impl Launch for Asked<'_> {
    fn arguments(&self) -> &[u64] {
        self.0.arguments()
    }

    fn object(&self, index: usize, offset: usize, length: usize) -> u64 {
        self.0.object(index, offset, length)
    }

    fn is_readable(&self, index: usize, bytes: Range<usize>) -> bool {
        self.1.set(self.1.get() + 1);
        self.0.is_readable(index, bytes)
    }
}

#[test]
fn a_launch_without_code_is_asked_once_for_each_object_that_counts() {
    let object = || Parameter::Pointer {
        declared_alignment: None,
        useful_alignment: 128,
        contents: vec![true; 64],
        contents_are_there: false,
    };
    let limits = Limits {
        threshold: 1,
        ratio: 0.5,
    };
    let tracker = Tracker::new(Signature::new(vec![object(), object()], false), limits);
    let variants = Variants::new(&tracker);
    let launch = |changing: u8| Words {
        arguments: vec![0, 0],
        objects: vec![(0, vec![7; 64]), (1, vec![changing; 64])],
        ..Words::default()
    };
    for changing in 0..4 {
        let key = key(&tracker, &launch(changing));
        variants.insert(&key, Entry::Pending);
    }
    assert!(!tracker.specializes(Subject::Contents(1)), "it kept changing");
    let launch = launch(5);
    let asked = Asked(&launch, Cell::default());
    // Its own shape has the first object, the one before has both.
    assert_eq!(variants.find(&tracker, &asked), Found::Pending);
    assert_eq!(asked.1.take(), 1);
    assert_eq!(variants.fitting(&tracker, &asked), None);
    assert_eq!(asked.1.take(), 2);
    let _ = tracker.decide(&asked);
    assert_eq!(asked.1.take(), 1);
}

#[test]
fn a_launch_finds_what_was_said_of_launches_like_it() {
    let (tracker, variants) = kernel(2, u64::MAX);
    let launch = Words::of([1, 2]);
    let find = || found(&tracker, &variants, &launch);
    assert_eq!(find(), (Found::Unknown, None));
    let key = key(&tracker, &launch);
    assert!(variants.claim(&key));
    assert!(!variants.claim(&key), "one makes the code");
    assert_eq!(find(), (Found::Pending, None));
    assert_eq!(
        variants.insert(&key, Entry::Code(code(0x1000))),
        Some(Entry::Pending)
    );
    assert_eq!(find(), (Found::Code(code(0x1000)), None));
    assert_eq!(
        found(&tracker, &variants, &Words::of([2, 1])),
        (Found::Unknown, None)
    );
    variants.insert(&key, Entry::AheadOfTime);
    assert_eq!(find(), (Found::AheadOfTime, None));
    assert_eq!(variants.remove(&key), Some(Entry::AheadOfTime));
    assert_eq!(variants.remove(&key), None);
    assert_eq!(find(), (Found::Unknown, None));
    assert!(variants.is_empty());
}

#[test]
fn an_address_that_is_no_code_is_refused() {
    assert_eq!(Code::at(0), None);
    assert_eq!(Code::at(15), None);
    assert_eq!(code(16).address(), 16);
}

/// Launches, makes code whenever nothing is known; how often that was.
fn made_for(tracker: &Tracker, variants: &Variants, launches: impl IntoIterator<Item = Words>) -> u64 {
    let mut made = 0;
    for launch in launches {
        while matches!(variants.find(tracker, &launch), Found::Unknown) {
            if let Decision::Specialize(key) = tracker.decide(&launch) {
                made += 1;
                variants.insert(&key, Entry::Code(code(0x1000 + made)));
            }
        }
    }
    made
}

#[test]
fn after_t_and_r_are_exceeded_nothing_more_is_made() {
    let (tracker, variants) = kernel(2, 4);
    let made = made_for(&tracker, &variants, (0..1000).map(|value| Words::of([9, value])));
    assert_eq!(made, 6, "five until N > T, and one that holds for every value");
}

#[test]
fn arguments_that_change_in_turn_become_megamorphic_one_after_the_other() {
    let (tracker, variants) = kernel(3, 8);
    let launches = (0..100).flat_map(|outer| (0..100).map(move |inner| Words::of([outer, inner, 1])));
    let made = made_for(&tracker, &variants, launches);
    let specialized = [0, 1, 2].map(|index| tracker.specializes(Subject::Value(index)));
    assert_eq!(specialized, [false, false, true]);
    assert!(made < 30, "{made}");
}

#[test]
fn code_under_another_shape_serves_while_code_is_made() {
    let (tracker, variants) = kernel(2, 2);
    for value in 0..3 {
        variants.insert(
            &key(&tracker, &Words::of([9, value])),
            Entry::Code(code(0x1000 + value)),
        );
    }
    // The fourth value gives the second argument up.
    let launch = Words::of([9, 3]);
    let general = key(&tracker, &launch);
    assert!(variants.claim(&general));
    assert_eq!(found(&tracker, &variants, &launch), (Found::Pending, None));
    assert_eq!(
        found(&tracker, &variants, &Words::of([9, 1])),
        (Found::Pending, Some(code(0x1001))),
        "code made for this very value is still there"
    );
    variants.insert(&general, Entry::Code(code(0x2000)));
    assert_eq!(
        found(&tracker, &variants, &Words::of([9, 1])),
        (Found::Code(code(0x2000)), None)
    );
    // Values that change the first argument find the general code only where it is right.
    assert_eq!(
        found(&tracker, &variants, &Words::of([8, 1])),
        (Found::Unknown, None)
    );
}

#[test]
fn unused_parameters_never_split_a_variant() {
    let signature = Signature::new(
        vec![
            Parameter::Scalar(ScalarType::integer(32).unwrap()),
            Parameter::Unused,
        ],
        false,
    );
    let limits = Limits {
        threshold: 8,
        ratio: 0.5,
    };
    let tracker = Tracker::new(signature, limits);
    let variants = Variants::new(&tracker);
    variants.insert(&key(&tracker, &Words::of([5, 0])), Entry::Code(code(0x1000)));
    for unused in 0..100 {
        // Bytes past the scalar's size are unspecified.
        let launch = Words::of([5 | unused << 32, unused]);
        assert_eq!(variants.find(&tracker, &launch), Found::Code(code(0x1000)));
    }
}

proptest! {
    #[test]
    fn the_table_does_what_a_map_does(
        changes in prop::collection::vec((0u64..40, 0u64..3, prop::option::of(16u64..)), 1..400)
    ) {
        let (tracker, variants) = kernel(2, u64::MAX);
        let mut map = HashMap::new();
        for (first, second, address) in changes {
            let key = key(&tracker, &Words::of([first, second]));
            let entry = address.and_then(Code::at).map(Entry::Code);
            let before = match entry {
                Some(entry) => {
                    let before = map.insert((first, second), entry);
                    prop_assert_eq!(variants.insert(&key, entry), before);
                    continue;
                }
                None => map.remove(&(first, second)),
            };
            prop_assert_eq!(variants.remove(&key), before);
        }
        prop_assert_eq!(variants.len(), map.len());
        for first in 0..40 {
            for second in 0..3 {
                let expected = match map.get(&(first, second)) {
                    Some(Entry::Code(code)) => Found::Code(*code),
                    _ => Found::Unknown,
                };
                prop_assert_eq!(variants.find(&tracker, &Words::of([first, second])), expected);
            }
        }
    }
}

#[test]
fn entries_that_come_and_go_do_not_make_the_table_grow() {
    let (tracker, variants) = kernel(1, u64::MAX);
    for value in 0..100_000 {
        let key = key(&tracker, &Words::of([value]));
        variants.insert(&key, Entry::Code(code(0x1000)));
        if value >= 10 {
            let old = LaunchKey {
                shape: key.shape,
                words: Box::new([value - 10]),
            };
            assert!(variants.remove(&old).is_some());
        }
    }
    assert_eq!(variants.len(), 10);
    // Eleven were there at a time: more than an eighth of the next smaller table.
    assert!(variants.table.slots() <= 128, "{}", variants.table.slots());
}

/// Readers look for keys whose code can be told from the key, while a writer adds, removes and rebuilds.
#[test]
fn readers_beside_changes_never_take_one_key_for_another() {
    let (tracker, variants) = kernel(10, u64::MAX);
    let launch = |value: u64| Words::of([value, 1, value ^ 7, 3, 4, value, 6, 7, 8, value]);
    let address = |value: u64| 0x1000 + value * 16;
    let done = AtomicBool::new(false);
    let last_found = thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut found = 0_u64;
                    let mut value = 0;
                    while !done.load(Ordering::Relaxed) {
                        value = (value + 1) % 300;
                        match variants.find(&tracker, &launch(value)) {
                            Found::Code(code) => {
                                assert_eq!(code.address(), address(value));
                                found += 1;
                            }
                            Found::Unknown => {}
                            other => panic!("{other:?}"),
                        }
                    }
                    found
                })
            })
            .collect();
        let rounds = if cfg!(miri) { 2 } else { 60 };
        for round in 0..rounds {
            for value in 0..300 {
                let key = key(&tracker, &launch(value));
                if (value + round) % 3 == 0 {
                    variants.remove(&key);
                } else {
                    variants.insert(&key, Entry::Code(code(address(value))));
                }
            }
        }
        done.store(true, Ordering::Relaxed);
        readers
            .into_iter()
            .map(|reader| reader.join().unwrap())
            .sum::<u64>()
    });
    assert!(last_found > 0, "the readers never found anything");
}
