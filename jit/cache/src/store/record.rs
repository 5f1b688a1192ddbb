//! One file of the cache: the whole key, and an image (with what its launches took), the reason why there is
//! none, or what a kernel's launches changed too often, under one checksum.
//!
//! | field | size | |
//! | --- | --- | --- |
//! | magic | 8 | [`MAGIC`] |
//! | kind | 8 | 0: an image; 1: making it failed, within [`CompileLimits`] in two numbers, behind which the contents say why; 4: an image behind [`Timed`], in three numbers (2: in two, without the model, by earlier builds: an image); 3: [`Subject`]s as they are printed, one a line |
//! | key size | 8 | bytes |
//! | contents size | 8 | bytes |
//! | checksum | 32 | BLAKE3 of all the other bytes |
//! | key | | UTF-8, as `ImageKey` is printed |
//! | contents | | ends the file |
//!
//! Numbers are little-endian. The version of this format is in the name of the folder
//! ([`super::FORMAT_FOLDER`]), so another version does not even see these files.

use offloom_jit_variants::signature::Subject;
use offloom_jit_variants::trial::Times;

use super::key::ImageKey;
use super::timed::{Model, Timed};

/// The first eight bytes of a file.
pub(super) const MAGIC: [u8; 8] = *b"OFFLOOMI";
/// Bytes before the checksum.
const CHECKSUM: usize = 32;
/// Bytes before the key.
pub(super) const HEADER: usize = 64;

/// What is kept for a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// An image.
    Image(Vec<u8>),
    /// An image whose launches were timed lately.
    Timed(Timed, Vec<u8>),
    /// Making the image failed; it is not to be tried again in a loop.
    Failure(Failure),
    /// No image: what the launches of a kernel changed too often to be specialised any longer.
    Megamorphic(Vec<Subject>),
}

/// Why there is no image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// In one line.
    pub reason: String,
    /// What it happened within.
    pub limits: CompileLimits,
}

/// What making an image may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompileLimits {
    /// Milliseconds.
    pub time: u64,
    /// Bytes.
    pub memory: u64,
}

impl CompileLimits {
    /// Whether what failed within these is to be expected to fail within `others`, since they allow no more.
    pub const fn cover(self, others: Self) -> bool {
        others.time <= self.time && others.memory <= self.memory
    }
}

impl Record {
    /// The bytes of a file.
    pub(super) fn encode(&self, key: &str) -> Vec<u8> {
        let megamorphic;
        let (kind, numbers, contents) = match self {
            Self::Image(image) => (0_u64, Vec::new(), image.as_slice()),
            Self::Failure(Failure { reason, limits }) => {
                (1, vec![limits.time, limits.memory], reason.as_bytes())
            }
            Self::Timed(Timed { model, times }, image) => {
                let numbers = vec![model.0, times.variant, times.ahead_of_time];
                (4, numbers, image.as_slice())
            }
            Self::Megamorphic(subjects) => {
                megamorphic = subjects
                    .iter()
                    .map(|subject| format!("{subject}\n"))
                    .collect::<String>();
                (3, Vec::new(), megamorphic.as_bytes())
            }
        };
        let numbers: Vec<u8> = numbers.into_iter().flat_map(u64::to_le_bytes).collect();
        let mut bytes = Vec::with_capacity(HEADER + key.len() + numbers.len() + contents.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&kind.to_le_bytes());
        bytes.extend_from_slice(&(key.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&((numbers.len() + contents.len()) as u64).to_le_bytes());
        bytes.extend_from_slice(&[0; HEADER - CHECKSUM]);
        bytes.extend_from_slice(key.as_bytes());
        bytes.extend_from_slice(&numbers);
        bytes.extend_from_slice(contents);
        let checksum = checksum(&bytes);
        bytes[CHECKSUM..HEADER].copy_from_slice(checksum.as_bytes());
        bytes
    }

    /// The image, unless it is known what its launches take on this model.
    pub(super) fn without_times_on(self, model: Model) -> Option<Vec<u8>> {
        match self {
            Self::Image(image) => Some(image),
            Self::Timed(timed, image) => (timed.model != model).then_some(image),
            Self::Failure(_) | Self::Megamorphic(_) => None,
        }
    }

    /// Reads a file: its key and its record. Nothing for bytes that are not, to the last one, what was
    /// written.
    pub(super) fn decode(bytes: &[u8]) -> Option<(&str, Self)> {
        let number = |offset: usize| {
            let bytes = bytes.get(offset..offset + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        let header = bytes.get(..HEADER)?;
        let key_size = usize::try_from(number(16)?).ok()?;
        let contents_size = usize::try_from(number(24)?).ok()?;
        let size = HEADER.checked_add(key_size)?.checked_add(contents_size)?;
        if header[..8] != MAGIC || bytes.len() != size || checksum(bytes) != header[CHECKSUM..] {
            return None;
        }
        let (key, contents) = bytes[HEADER..].split_at(key_size);
        let key = std::str::from_utf8(key).ok()?;
        let record = match number(8)? {
            0 => Self::Image(contents.to_vec()),
            1 => {
                let ([time, memory], reason) = numbers(contents)?;
                Self::Failure(Failure {
                    reason: String::from_utf8(reason.to_vec()).ok()?,
                    limits: CompileLimits { time, memory },
                })
            }
            3 => {
                let lines = std::str::from_utf8(contents).ok()?.lines();
                Self::Megamorphic(lines.map(|line| line.parse().ok()).collect::<Option<_>>()?)
            }
            2 => {
                let ([_, _], image) = numbers(contents)?;
                Self::Image(image.to_vec())
            }
            4 => {
                let ([model, variant, ahead_of_time], image) = numbers(contents)?;
                let timed = Timed {
                    model: Model(model),
                    times: Times {
                        variant,
                        ahead_of_time,
                    },
                };
                Self::Timed(timed, image.to_vec())
            }
            _ => return None,
        };
        Some((key, record))
    }
}

/// Bytes of the file that keeps an image for a key.
pub fn file_size(key: &ImageKey, image: &[u8]) -> u64 {
    (HEADER + key.to_string().len() + image.len()) as u64
}

/// The numbers that these bytes begin with, and the rest.
fn numbers<const COUNT: usize>(mut bytes: &[u8]) -> Option<([u64; COUNT], &[u8])> {
    let mut numbers = [0; COUNT];
    for number in &mut numbers {
        let (first, rest) = bytes.split_first_chunk()?;
        (*number, bytes) = (u64::from_le_bytes(*first), rest);
    }
    Some((numbers, bytes))
}

/// The checksum of a file with at least a header.
fn checksum(bytes: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&bytes[..CHECKSUM]);
    hasher.update(&bytes[HEADER..]);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn subject() -> impl Strategy<Value = Subject> {
        prop_oneof![
            any::<usize>().prop_map(Subject::Value),
            any::<usize>().prop_map(Subject::Alignment),
            any::<usize>().prop_map(Subject::Contents),
            Just(Subject::Teams),
            Just(Subject::Threads),
        ]
    }

    fn record() -> impl Strategy<Value = Record> {
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..300).prop_map(Record::Image),
            (".{0,40}", any::<[u64; 2]>()).prop_map(|(reason, [time, memory])| {
                Record::Failure(Failure {
                    reason,
                    limits: CompileLimits { time, memory },
                })
            }),
            prop::collection::vec(subject(), 0..5).prop_map(Record::Megamorphic),
            (any::<[u64; 3]>(), prop::collection::vec(any::<u8>(), 0..300)).prop_map(|(numbers, image)| {
                let [model, variant, ahead_of_time] = numbers;
                let timed = Timed {
                    model: Model(model),
                    times: Times {
                        variant,
                        ahead_of_time,
                    },
                };
                Record::Timed(timed, image)
            }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(key in ".{0,60}", record in record()) {
            let bytes = record.encode(&key);
            prop_assert_eq!(Record::decode(&bytes), Some((key.as_str(), record)));
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut with_magic = MAGIC.to_vec();
            with_magic.extend(&bytes);
            prop_assert_eq!(Record::decode(&bytes), None);
            prop_assert_eq!(Record::decode(&with_magic), None);
        }
    }

    #[test]
    fn a_failure_says_nothing_of_a_try_that_may_use_more() {
        let limits = |time, memory| CompileLimits { time, memory };
        let failed = limits(10, 20);
        assert!(failed.cover(failed) && failed.cover(limits(9, 20)) && failed.cover(limits(10, 19)));
        assert!(
            !failed.cover(limits(11, 20)) && !failed.cover(limits(10, 21)) && !failed.cover(limits(11, 1))
        );
    }

    #[test]
    fn times_of_no_known_model_are_left_out() {
        let mut bytes = Record::Image([&[1; 16], b"image".as_slice()].concat()).encode("key");
        bytes[8] = 2;
        let checksum = checksum(&bytes);
        bytes[CHECKSUM..HEADER].copy_from_slice(checksum.as_bytes());
        assert_eq!(
            Record::decode(&bytes),
            Some(("key", Record::Image(b"image".to_vec())))
        );
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_noticed() {
        let bytes = Record::Image(vec![3; 100]).encode("key");
        for bit in 0..8 * bytes.len() {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Record::decode(&changed), None, "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert_eq!(Record::decode(&bytes[..length]), None, "{length} bytes");
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        assert_eq!(Record::decode(&longer), None);
    }
}
