//! Verdicts that travel: what launches of a program's objects took on one model of a device. Machines with
//! such a device need not time them again.
//!
//! A program has one entry of verdicts for each model. Its contents are [`SIZE`] bytes for each verdict: the
//! object's hash, the nanoseconds of the fastest launch of the variant and of the ahead-of-time code, and the
//! seconds since 1970 when that was found out. Numbers are little-endian. A verdict counts for as long as in
//! a folder ([`MEMORY`]), from when it was found out.

use std::time::{Duration, UNIX_EPOCH};

use offloom_abi::jit_remote::Device;
use offloom_jit_cache::store::{KeyHash, MEMORY, Measured, Model, Timed};
use offloom_jit_variants::trial::{Times, clear_difference};

use crate::entry::{self, Kind};
use crate::machine;
use crate::session::{Session, Trusted, now};
use crate::stores::{PREFIX, RemoteStore, StoreFailure};

/// Bytes of a verdict.
const SIZE: usize = 56;
/// The most verdicts of an entry.
const MOST: usize = 4096;

/// What launches of one object took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Which object.
    pub(crate) hash: KeyHash,
    /// The fastest ones.
    pub(crate) times: Times,
    /// When that was found out: seconds since 1970.
    pub(crate) at: u64,
}

impl Verdict {
    pub(crate) fn encode(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        let Times {
            variant,
            ahead_of_time,
        } = self.times;
        bytes[..32].copy_from_slice(&self.hash.0);
        bytes[32..40].copy_from_slice(&variant.to_le_bytes());
        bytes[40..48].copy_from_slice(&ahead_of_time.to_le_bytes());
        bytes[48..].copy_from_slice(&self.at.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; SIZE]) -> Option<Self> {
        let (hash, numbers) = bytes.split_first_chunk()?;
        let [variant, ahead_of_time, at]: [[u8; 8]; 3] = numbers.as_chunks().0.try_into().ok()?;
        Some(Self {
            hash: KeyHash(*hash),
            times: Times {
                variant: u64::from_le_bytes(variant),
                ahead_of_time: u64::from_le_bytes(ahead_of_time),
            },
            at: u64::from_le_bytes(at),
        })
    }

    /// Whether it says something, and still counts. Differences count in both directions, as in a folder.
    fn counts(&self, now: u64) -> bool {
        clear_difference(self.times).is_some() && now.abs_diff(self.at) <= MEMORY.as_secs()
    }

    fn measured(&self, model: Model) -> Option<Measured> {
        let times = self.times;
        Some(Measured {
            timed: Timed { model, times },
            at: UNIX_EPOCH.checked_add(Duration::from_secs(self.at))?,
        })
    }
}

/// The verdicts of an entry's contents that count at this time.
fn decode(contents: &[u8], now: u64) -> Vec<Verdict> {
    let all = contents.as_chunks().0.iter().filter_map(Verdict::decode);
    all.filter(|verdict| verdict.counts(now)).take(MOST).collect()
}

/// All of them, if `more` says something that `known` does not: of an object, that it was timed, or that it
/// is now the other code that is faster.
fn merged(known: &[Verdict], more: &[Verdict]) -> Option<Vec<Verdict>> {
    let mut all = known.to_vec();
    let mut is_new = false;
    for verdict in more {
        let place = all.iter().position(|other| other.hash == verdict.hash);
        if place.is_some_and(|place| clear_difference(all[place].times) == clear_difference(verdict.times)) {
            continue;
        }
        if let Some(place) = place {
            all.remove(place);
        }
        all.push(*verdict);
        is_new = true;
    }
    // The last ones are the ones to keep.
    all.drain(..all.len().saturating_sub(MOST));
    is_new.then_some(all)
}

/// What the entry is for that holds a program's verdicts of such devices. `None`: nobody knows the model.
pub(crate) fn subject(list: KeyHash, device: Device<'_>) -> Option<KeyHash> {
    let model = match device {
        Device::Processor => Some(machine::processor().to_owned()).filter(|model| !model.is_empty())?,
        Device::Gpu(name) => format!("GPU\n{name}"),
    };
    Some(KeyHash::of(&format!("verdicts of {list} on\n{model}")))
}

/// The name of the entry for this subject.
pub(crate) fn name(subject: KeyHash) -> String {
    format!("{PREFIX}/verdicts/{subject}")
}

impl Session {
    /// What the entry for this subject says, if it is to be trusted.
    fn verdicts_in(&self, subject: KeyHash, entry: Option<&[u8]>) -> Trusted<Vec<Verdict>> {
        let Some(entry) = entry else { return Ok(Vec::new()) };
        let contents = entry::verify(entry, Kind::Verdicts, subject, &self.trusted, now())?;
        Ok(decode(contents, now()))
    }

    /// Takes note of what the entry for this subject, which is of this model, says: of objects that come, and
    /// of those that are here. Returns of how many that are here.
    ///
    /// # Errors
    /// The entry is not to be trusted.
    pub(crate) fn note_verdicts(&self, subject: KeyHash, model: Model, entry: Option<&[u8]>) -> Trusted<u32> {
        let verdicts = self.verdicts_in(subject, entry)?;
        let is_new = |verdict: &&Verdict| {
            let remembered = |measured| self.remember(verdict.hash, measured).unwrap_or(false);
            verdict.measured(model).is_some_and(remembered)
        };
        Ok(verdicts.iter().filter(is_new).count() as u32)
    }

    /// Adds verdicts to the entry for this subject, unless it has them all. Where two do so at once, what one
    /// has added may be lost: other machines find it out again.
    ///
    /// # Errors
    /// The store cannot be asked.
    pub(crate) fn add_verdicts(
        &self,
        remote: &mut dyn RemoteStore,
        subject: KeyHash,
        more: &[Verdict],
    ) -> Result<(), StoreFailure> {
        if self.private.is_none() {
            return Ok(());
        }
        let entry = remote.get(&name(subject))?;
        let known = self.verdicts_in(subject, entry.as_deref()).unwrap_or_default();
        let Some(all) = merged(&known, more) else {
            return Ok(());
        };
        let contents: Vec<u8> = all.iter().flat_map(Verdict::encode).collect();
        self.replace(remote, &name(subject), Kind::Verdicts, subject, &contents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: u64 = 1_800_000_000;
    const DAY: u64 = MEMORY.as_secs();

    fn verdict(number: u8, variant: u64, at: u64) -> Verdict {
        Verdict {
            hash: KeyHash([number; 32]),
            times: Times {
                variant,
                ahead_of_time: 100,
            },
            at,
        }
    }

    fn encoded(verdicts: &[Verdict]) -> Vec<u8> {
        verdicts.iter().flat_map(Verdict::encode).collect()
    }

    #[test]
    fn a_verdict_counts_for_a_day_and_only_if_it_says_something() {
        let verdicts = [verdict(1, 50, NOW), verdict(2, 200, NOW - 7)];
        let contents = encoded(&verdicts);
        assert_eq!(decode(&contents, NOW), verdicts);
        assert_eq!(decode(&contents, NOW + DAY), verdicts[..1]);
        assert_eq!(decode(&contents, NOW + DAY + 1), []);
        // Of a clock that is ahead.
        assert_eq!(decode(&contents, NOW - DAY - 1), verdicts[1..]);
        // As fast as the other code.
        assert_eq!(decode(&encoded(&[verdict(1, 100, NOW)]), NOW), []);
        // A piece of one.
        assert_eq!(decode(&contents[..SIZE + 1], NOW), verdicts[..1]);
    }

    #[test]
    fn a_verdict_is_added_once() {
        let [fast, slow] = [verdict(1, 50, NOW), verdict(1, 200, NOW + 1)];
        let other = verdict(2, 50, NOW);
        assert_eq!(merged(&[], &[fast]), Some(vec![fast]));
        assert_eq!(merged(&[fast], &[verdict(1, 60, NOW + 9)]), None);
        assert_eq!(merged(&[fast], &[]), None);
        assert_eq!(merged(&[fast], &[other]), Some(vec![fast, other]));
        // What is found out later counts.
        assert_eq!(merged(&[fast, other], &[slow]), Some(vec![other, slow]));
    }

    #[test]
    fn an_entry_stays_small() {
        let numbered = |number: u32| {
            let mut verdict = verdict(0, 50, NOW);
            verdict.hash.0[..4].copy_from_slice(&number.to_le_bytes());
            verdict
        };
        let all: Vec<_> = (0..MOST as u32).map(numbered).collect();
        let more = merged(&all, &[numbered(u32::MAX)]).unwrap();
        assert_eq!((more.len(), more[0]), (MOST, all[1]));
        assert_eq!(decode(&encoded(&[all, more].concat()), NOW).len(), MOST);
    }

    #[test]
    fn each_program_and_each_model_has_verdicts_of_its_own() {
        let (one, other) = (KeyHash([1; 32]), KeyHash([2; 32]));
        let [first, second] = ["NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB"].map(Device::Gpu);
        let subjects = [
            subject(one, first),
            subject(one, second),
            subject(other, first),
            subject(one, Device::Processor),
            // Whatever GPUs are called.
            subject(one, Device::Gpu(machine::processor())),
        ];
        for (number, subject) in subjects.iter().enumerate() {
            assert!(
                subject.is_some() && !subjects[..number].contains(subject),
                "{number}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_contents_make_the_reader_panic(contents in prop::collection::vec(any::<u8>(), 0..300)) {
            for verdict in decode(&contents, NOW) {
                prop_assert!(NOW.abs_diff(verdict.at) <= DAY);
            }
        }

        #[test]
        fn what_is_written_is_read(hash in any::<[u8; 32]>(), variant in any::<u64>(), at in any::<u64>()) {
            let verdict = Verdict { hash: KeyHash(hash), ..verdict(0, variant, at) };
            prop_assert_eq!(Verdict::decode(&verdict.encode()), Some(verdict));
        }
    }
}
