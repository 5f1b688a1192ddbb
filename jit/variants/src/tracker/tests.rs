//! The JIT paper's conditions for when launches share a variant and when an argument is megamorphic.

use super::*;
use crate::testing::Words;
use offloom_descriptor::ScalarType;

const NEVER: Limits = Limits {
    threshold: u64::MAX,
    ratio: 0.5,
};

fn i32() -> Parameter {
    Parameter::Scalar(ScalarType::integer(32).unwrap())
}

fn aligned() -> Parameter {
    Parameter::Pointer {
        declared_alignment: Some(1),
        useful_alignment: 128,
        contents: Vec::new(),
        contents_are_there: true,
    }
}

fn tracker(parameters: Vec<Parameter>, limits: Limits) -> Tracker {
    Tracker::new(Signature::new(parameters, false), limits)
}

/// The key under which code for this launch is made.
fn key(tracker: &Tracker, launch: &Words) -> LaunchKey {
    loop {
        if let Decision::Specialize(key) = tracker.decide(launch) {
            return key;
        }
    }
}

fn items(tracker: &Tracker, launch: &Words) -> String {
    let descriptor = tracker
        .descriptor(&key(tracker, launch), "k", "x86-64")
        .to_string();
    descriptor.replace("kernel=k;arch=x86-64;", "")
}

#[test]
fn a_launch_is_described_by_what_counts_of_it() {
    let parameters = vec![
        Parameter::Unused,
        Parameter::Scalar(ScalarType::integer(8).unwrap()),
        Parameter::Scalar(ScalarType::Float),
        Parameter::Pointer {
            declared_alignment: Some(16),
            useful_alignment: 128,
            contents: vec![true, true, false, false, false, false, false, false, false, true],
            contents_are_there: true,
        },
        aligned(),
    ];
    let launch = Words {
        arguments: vec![u64::MAX, 0xabcd_ef01, 0x1111_2222_3f80_0000, 0x1040, 0x1004],
        objects: vec![(3, vec![10, 11, 12, 13, 14, 15, 16, 17, 18, 19])],
        ..Words::default()
    };
    assert_eq!(
        items(&tracker(parameters, NEVER), &launch),
        "0=any;1=i8:0x1;2=float:0x3f800000;3=align:64+contents:0a0b??????????????13;4=any"
    );
}

#[test]
fn numbers_of_teams_and_threads_count_only_where_code_may_rely_on_them() {
    let launch = Words {
        teams: 80,
        threads: 0,
        ..Words::default()
    };
    for (launch_parameters, expected) in [
        (true, "kernel=k;arch=sm_90;teams=80"),
        (false, "kernel=k;arch=sm_90"),
    ] {
        let tracker = Tracker::new(Signature::new(Vec::new(), launch_parameters), NEVER);
        let descriptor = tracker.descriptor(&key(&tracker, &launch), "k", "sm_90");
        assert_eq!(descriptor.to_string(), expected);
    }
}

#[test]
fn the_papers_two_pointers_share_a_variant_in_either_order() {
    for order in [[0x1230, 0x4560], [0x4560, 0x1230]] {
        let tracker = tracker(vec![aligned()], NEVER);
        let keys = order.map(|address| key(&tracker, &Words::of([address])));
        let last = key(&tracker, &Words::of([order[0]]));
        assert_eq!(keys[1], last, "both run the same code from the second launch on");
        assert_eq!(items(&tracker, &Words::of([order[1]])), "0=align:16");
    }
}

#[test]
fn a_pointer_costs_at_most_one_variant_for_each_class() {
    let tracker = tracker(vec![aligned()], NEVER);
    let mut keys = HashSet::new();
    for address in (0..4096).rev() {
        keys.insert(key(&tracker, &Words::of([address])));
    }
    assert!(keys.len() <= 6, "{}", keys.len());
    assert!(!tracker.specializes(Subject::Alignment(0)));
}

#[test]
fn what_each_of_several_devices_asks_for_is_counted_once() {
    let limits = Limits {
        threshold: 10,
        ratio: 0.5,
    };
    for same_on_all in [true, false] {
        let tracker = tracker(vec![i32()], limits);
        let mut values = 0;
        while tracker.specializes(Subject::Value(0)) && values < 100 {
            values += 1;
            for device in 0..4 {
                let value = if same_on_all { values } else { values % 4 + device };
                key(&tracker, &Words::of([value]));
            }
        }
        // After the eleventh it is too much, as the next one finds; devices that take turns with seven values
        // need seven.
        assert_eq!(values, if same_on_all { 12 } else { 100 });
    }
}

#[test]
fn nothing_is_megamorphic_before_more_than_t_specializations() {
    let limits = Limits {
        threshold: 10,
        ratio: 0.5,
    };
    let tracker = tracker(vec![i32()], limits);
    for value in 0..=10 {
        assert!(tracker.specializes(Subject::Value(0)), "after {value}");
        assert!(matches!(
            tracker.decide(&Words::of([value])),
            Decision::Specialize(_)
        ));
    }
    // N is 11 now, so N > T.
    let megamorphic = Decision::Megamorphic(vec![Subject::Value(0)]);
    assert_eq!(tracker.decide(&Words::of([11])), megamorphic);
    assert!(!tracker.specializes(Subject::Value(0)));
}

#[test]
fn only_the_argument_that_changes_is_megamorphic_and_then_all_launches_share_a_key() {
    let limits = Limits {
        threshold: 4,
        ratio: 0.5,
    };
    let tracker = tracker(vec![i32(), i32()], limits);
    for value in 0..5 {
        key(&tracker, &Words::of([7, value]));
    }
    assert_eq!(tracker.counts().of_subject, [1, 5]);
    let shared = key(&tracker, &Words::of([7, 5]));
    for value in 6..1000 {
        assert_eq!(key(&tracker, &Words::of([7, value])).words, shared.words);
    }
    assert_eq!(items(&tracker, &Words::of([7, 1])), "0=i32:0x7;1=any");
}

#[test]
fn the_ratio_must_be_exceeded_not_reached() {
    // The arguments change by turns: of the second one n_i / N is 1/2 whenever N is even.
    for (ratio, kept) in [(0.5, true), (0.49, false)] {
        let tracker = tracker(vec![i32(), i32()], Limits { threshold: 5, ratio });
        for value in 0..6_u64 {
            assert!(matches!(
                tracker.decide(&Words::of([value.div_ceil(2), value / 2])),
                Decision::Specialize(_)
            ));
        }
        assert_eq!(tracker.counts().total, 6);
        assert_eq!(tracker.counts().of_subject, [4, 3]);
        tracker.decide(&Words::of([3, 3]));
        assert_eq!(tracker.specializes(Subject::Value(1)), kept, "R = {ratio}");
    }
}

#[test]
fn contents_of_an_object_are_counted_once_and_megamorphic_as_a_whole() {
    let limits = Limits {
        threshold: 2,
        ratio: 0.5,
    };
    let object = Parameter::Pointer {
        declared_alignment: None,
        useful_alignment: 128,
        contents: vec![true; 24],
        contents_are_there: true,
    };
    let tracker = tracker(vec![object], limits);
    let launch = |byte| Words {
        arguments: vec![0],
        objects: vec![(0, vec![byte; 24])],
        ..Words::default()
    };
    for byte in 0..3 {
        assert!(matches!(tracker.decide(&launch(byte)), Decision::Specialize(_)));
    }
    assert_eq!(tracker.counts().of_subject, [3]);
    let megamorphic = Decision::Megamorphic(vec![Subject::Contents(0)]);
    assert_eq!(tracker.decide(&launch(3)), megamorphic);
    assert_eq!(items(&tracker, &launch(4)), "0=any");
}

#[test]
fn what_an_earlier_run_gave_up_is_megamorphic_at_its_first_change() {
    let tracker = tracker(vec![i32(), i32()], NEVER);
    let earlier = || vec![Subject::Value(1), Subject::Contents(7)];
    tracker.expect_changes(|| unreachable!("nothing was specialised yet"));
    let first = key(&tracker, &Words::of([7, 1]));
    tracker.expect_changes(earlier);
    tracker.expect_changes(|| unreachable!("it was asked"));
    assert!(tracker.expects_change(Subject::Value(1)) && !tracker.expects_change(Subject::Value(0)));
    // Other launches may differ in something else, and with one value it is specialised.
    assert_eq!(items(&tracker, &Words::of([8, 1])), "0=i32:0x8;1=i32:0x1");
    assert_eq!(key(&tracker, &Words::of([7, 1])), first);
    assert!(!tracker.is_outdated(&first));
    assert_eq!(tracker.decide(&Words::of([7, 2])), Decision::LookAgain);
    assert!(!tracker.specializes(Subject::Value(1)) && tracker.is_outdated(&first));
    for value in 2..100 {
        assert_eq!(items(&tracker, &Words::of([7, value])), "0=i32:0x7;1=any");
    }
}

#[test]
fn what_is_megamorphic_for_other_reasons_is_told_once() {
    let limits = Limits {
        threshold: 2,
        ratio: 0.0,
    };
    let tracker = tracker(vec![i32(), i32(), aligned()], limits);
    key(&tracker, &Words::of([1, 1, 128]));
    tracker.expect_changes(|| vec![Subject::Value(0)]);
    assert_eq!(
        tracker.decide(&Words::of([2, 2, 128])),
        Decision::LookAgain,
        "known already"
    );
    assert_eq!(
        tracker.decide(&Words::of([2, 2, 64])),
        Decision::LookAgain,
        "less aligned"
    );
    key(&tracker, &Words::of([2, 2, 64]));
    key(&tracker, &Words::of([2, 3, 64]));
    let megamorphic = vec![Subject::Value(1), Subject::Alignment(2)];
    assert_eq!(
        tracker.decide(&Words::of([2, 4, 64])),
        Decision::Megamorphic(megamorphic)
    );
    assert_eq!(items(&tracker, &Words::of([2, 5, 64])), "0=any;1=any;2=any");
}

#[test]
fn a_launch_that_was_counted_gives_nothing_up() {
    let limits = Limits {
        threshold: 1,
        ratio: 0.5,
    };
    let tracker = tracker(vec![i32()], limits);
    let first = key(&tracker, &Words::of([1]));
    let second = key(&tracker, &Words::of([2]));
    // Other threads that missed it before its code was there.
    for (launch, counted) in [(2, second), (1, first)] {
        assert_eq!(
            tracker.decide(&Words::of([launch])),
            Decision::Specialize(counted)
        );
    }
    assert_eq!(tracker.counts().total, 2);
    let megamorphic = Decision::Megamorphic(vec![Subject::Value(0)]);
    assert_eq!(tracker.decide(&Words::of([3])), megamorphic);
}
