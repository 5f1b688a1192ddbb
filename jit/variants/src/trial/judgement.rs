//! What timed launches of a variant and of the AOT code say: in which order they are timed, and
//! when it is known which is faster.

use super::Times;

/// Launches of each kind that are timed at most.
const SAMPLES: u32 = 8;
/// From this many on, a clear difference decides.
const SAMPLES_FOR_A_CLEAR_CASE: u32 = 3;
/// What makes a difference clear: this share of the other's time.
const CLEAR: (u64, u64) = (9, 10);
/// A variant that takes more than this share of the other's time in the end is not shown to be faster: the
/// fastest of eight launches of one code differ by as much where memory decides.
const SHOWN: (u64, u64) = (31, 32);
/// From this many launches of each kind on, if they are long, a clear difference keeps the variant, and a
/// large one retires it: what is retired for no reason loses what there was to gain, what is kept for none
/// was nearly as fast.
const SAMPLES_IF_LONG: u32 = 2;
/// From this many on, a large difference keeps it: the variant comes first, and may have found memory that no
/// launch had touched yet, so it is no slower than it seems. For the same reason nothing is retired yet.
const SAMPLES_FOR_A_LARGE_GAIN: u32 = 1;
/// What makes a difference large: this share of the other's time.
const LARGE: (u64, u64) = (4, 5);
/// Less than can be measured: no difference is so large.
const NEVER: (u64, u64) = (0, 1);

/// How the measurement stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Verdict {
    /// Launches are being timed.
    Measuring = 0,
    /// The variant is faster and stays.
    Keep = 1,
    /// It is not shown to be, or it is launched too rarely to know.
    Retire = 2,
}

/// Whether the variant is run when its launches are timed, not the AOT code. First the one, then
/// the other twice, then the one: programs whose launches are long and short by turns favour neither, and one
/// whose launches become shorter favours one by a launch's step.
pub(super) const fn is_turn_of_variant(turn: u32) -> bool {
    matches!(turn % 4, 0 | 3)
}

/// What so many timed launches of each kind say. Those from `long` nanoseconds on are long: what disturbs a
/// launch is small beside one, and a program may have few of them.
pub(super) const fn verdict(samples: u32, fastest: Times, long: u64) -> Verdict {
    let Times {
        variant,
        ahead_of_time,
    } = fastest;
    let are_long = variant >= long && ahead_of_time >= long;
    let (faster, slower) = if samples >= SAMPLES_FOR_A_CLEAR_CASE {
        (CLEAR, CLEAR)
    } else if samples >= SAMPLES_IF_LONG && are_long {
        (CLEAR, LARGE)
    } else if samples >= SAMPLES_FOR_A_LARGE_GAIN && are_long {
        (LARGE, NEVER)
    } else {
        return Verdict::Measuring;
    };
    match difference(fastest, faster, slower) {
        Some(Difference::Faster) => Verdict::Keep,
        Some(Difference::Slower) => Verdict::Retire,
        None if samples < SAMPLES => Verdict::Measuring,
        None if is_below(variant, ahead_of_time, SHOWN) => Verdict::Keep,
        None => Verdict::Retire,
    }
}

/// How a variant compares with the AOT code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// It is faster.
    Faster,
    /// It is slower.
    Slower,
}

/// What is worth remembering of such times: the difference, if it is more than chance may make.
pub const fn clear_difference(fastest: Times) -> Option<Difference> {
    difference(fastest, CLEAR, CLEAR)
}

/// The difference: faster or slower if the one takes less than this share of the other's time.
const fn difference(fastest: Times, faster: (u64, u64), slower: (u64, u64)) -> Option<Difference> {
    if is_below(fastest.variant, fastest.ahead_of_time, faster) {
        Some(Difference::Faster)
    } else if is_below(fastest.ahead_of_time, fastest.variant, slower) {
        Some(Difference::Slower)
    } else {
        None
    }
}

const fn is_below(one: u64, other: u64, (of, all): (u64, u64)) -> bool {
    one.saturating_mul(all) < other.saturating_mul(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    const fn times(variant: u64, ahead_of_time: u64) -> Times {
        Times {
            variant,
            ahead_of_time,
        }
    }

    /// As on the host.
    const LONG: u64 = 20 * MS;

    fn verdict(samples: u32, fastest: Times) -> Verdict {
        super::verdict(samples, fastest, LONG)
    }

    #[test]
    fn short_launches_need_three_of_each() {
        for samples in [0, 1, 2] {
            assert_eq!(verdict(samples, times(1000, 9000)), Verdict::Measuring);
            assert_eq!(verdict(samples, times(9 * MS, 90 * MS)), Verdict::Measuring);
        }
        assert_eq!(verdict(3, times(1000, 9000)), Verdict::Keep);
        assert_eq!(verdict(3, times(1000, 950)), Verdict::Measuring);
        assert_eq!(verdict(3, times(1000, 850)), Verdict::Retire);
    }

    #[test]
    fn one_long_launch_of_each_shows_a_large_gain_and_no_loss() {
        assert_eq!(verdict(0, times(u64::MAX, u64::MAX)), Verdict::Measuring);
        assert_eq!(verdict(0, times(50 * MS, u64::MAX)), Verdict::Measuring);
        assert_eq!(verdict(1, times(79 * MS, 100 * MS)), Verdict::Keep);
        assert_eq!(verdict(1, times(85 * MS, 100 * MS)), Verdict::Measuring);
        assert_eq!(verdict(1, times(100 * MS, 20 * MS)), Verdict::Measuring);
        // What is long is said by whoever asks.
        assert_eq!(super::verdict(1, times(MS, 2 * MS), MS), Verdict::Keep);
    }

    #[test]
    fn two_long_launches_of_each_show_a_clear_gain_and_a_large_loss() {
        assert_eq!(verdict(2, times(50 * MS, 100 * MS)), Verdict::Keep);
        assert_eq!(verdict(2, times(85 * MS, 100 * MS)), Verdict::Keep);
        assert_eq!(verdict(2, times(95 * MS, 100 * MS)), Verdict::Measuring);
        assert_eq!(verdict(2, times(100 * MS, 50 * MS)), Verdict::Retire);
        assert_eq!(verdict(2, times(100 * MS, 85 * MS)), Verdict::Measuring);
        assert_eq!(verdict(3, times(100 * MS, 85 * MS)), Verdict::Retire);
    }

    #[test]
    fn in_the_end_a_variant_stays_if_it_is_shown_to_be_faster() {
        assert_eq!(verdict(SAMPLES - 1, times(960, 1000)), Verdict::Measuring);
        assert_eq!(verdict(SAMPLES, times(960, 1000)), Verdict::Keep);
        assert_eq!(verdict(SAMPLES, times(980, 1000)), Verdict::Retire);
        assert_eq!(verdict(SAMPLES, times(1000, 1000)), Verdict::Retire);
        assert_eq!(verdict(SAMPLES, times(1000, 999)), Verdict::Retire);
        assert_eq!(clear_difference(times(1000, 999)), None);
        assert_eq!(clear_difference(times(1000, 899)), Some(Difference::Slower));
        assert_eq!(clear_difference(times(899, 1000)), Some(Difference::Faster));
        assert_eq!(clear_difference(times(u64::MAX, u64::MAX)), None);
    }

    /// The fastest of each kind among launches that take what `time` says, whoever runs: neither is slower
    /// than the other in truth.
    fn fastest(launches: u32, time: impl Fn(u32) -> u64) -> [u64; 2] {
        [true, false].map(|of_variant| {
            let turns = (0..launches).filter(|turn| is_turn_of_variant(*turn) == of_variant);
            turns.map(&time).min().unwrap_or(u64::MAX)
        })
    }

    #[test]
    fn the_order_favours_neither() {
        let [own, ahead_of_time] = fastest(4, |turn| 100 + u64::from(turn % 2) * 100);
        assert_eq!(own, ahead_of_time, "long and short by turns");
        let [own, ahead_of_time] = fastest(4, |turn| if turn == 0 { 900 } else { 100 });
        assert_eq!(own, ahead_of_time, "the first touches memory");
    }
}
