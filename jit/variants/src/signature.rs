//! What of a launch can be specialised: a kernel's parameters, flattened into the words that identify a
//! launch.
//!
//! The link step says of each parameter whether a constant can matter ([`Parameter`]); what cannot matter is
//! not read at a launch and never splits a variant. [`Signature`] turns that into a list of [`Field`]s, one
//! 64-bit word each.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use offloom_descriptor::ScalarType;

/// The most words that identify a launch; bounds the work of a launch. Objects and parameters past it are not
/// specialised.
pub const MAX_KEY_WORDS: usize = 64;

/// What may be specialised of one kernel parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parameter {
    /// Nothing: a constant would not make the code better, or is not possible.
    Unused,
    /// The value of a scalar.
    Scalar(ScalarType),
    /// A pointer.
    Pointer {
        /// The alignment in bytes that the kernel declares already, if alignment may be specialised.
        declared_alignment: Option<u64>,
        /// The alignment in bytes above which no code is better, at most 128.
        useful_alignment: u64,
        /// For each byte of the object, from its start, whether its value may be specialised: the kernel only
        /// reads it, and it is no part of a pointer. Empty: none.
        contents: Vec<bool>,
        /// Whether these bytes are in memory at every launch.
        contents_are_there: bool,
    },
}

/// Something that is specialised or not as a whole, and that the tracker counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The value of the argument at this index.
    Value(usize),
    /// The alignment of the pointer at this index.
    Alignment(usize),
    /// The contents of the object that the pointer at this index leads to.
    Contents(usize),
    /// The number of teams.
    Teams,
    /// The number of threads in a team.
    Threads,
}

/// Between what is specialised of an argument and the argument's index.
const OF_ARGUMENT: &str = " of argument ";

impl Subject {
    /// The argument that it is about, if there is one.
    pub const fn argument(self) -> Option<usize> {
        match self {
            Self::Value(index) | Self::Alignment(index) | Self::Contents(index) => Some(index),
            Self::Teams | Self::Threads => None,
        }
    }

    /// What of the argument, or of the launch.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Value(_) => "value",
            Self::Alignment(_) => "alignment",
            Self::Contents(_) => "contents",
            Self::Teams => "teams",
            Self::Threads => "threads",
        }
    }
}

impl fmt::Display for Subject {
    /// For people and for files: `value of argument 3`, `teams`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.what())?;
        match self.argument() {
            Some(index) => write!(formatter, "{OF_ARGUMENT}{index}"),
            None => Ok(()),
        }
    }
}

/// A text that names no subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not something that can be specialised")]
pub struct NoSubject;

impl FromStr for Subject {
    type Err = NoSubject;

    fn from_str(text: &str) -> Result<Self, NoSubject> {
        let (what, index) = match text.split_once(OF_ARGUMENT) {
            Some((what, index)) => (what, Some(index.parse().map_err(|_| NoSubject)?)),
            None => (text, None),
        };
        let known: &[Self] = match index {
            Some(index) => &[Self::Value(index), Self::Alignment(index), Self::Contents(index)],
            None => &[Self::Teams, Self::Threads],
        };
        let subject = known.iter().find(|subject| subject.what() == what);
        subject.copied().ok_or(NoSubject)
    }
}

/// One word that identifies a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    /// Index of its subject.
    pub(crate) subject: usize,
    /// Where the word comes from.
    pub(crate) source: Source,
    /// The bits that count.
    pub(crate) mask: u64,
}

/// Where a word comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// An argument word.
    Argument(usize),
    /// The alignment of an argument word: bit n is set if the pointer is aligned to `8 << n` bytes.
    Alignment(usize),
    /// Bytes of an object.
    Object {
        /// The pointer's argument.
        argument: usize,
        /// Offset of the bytes in the object.
        offset: usize,
        /// How many, 1 to 8.
        length: usize,
        /// Whether they are in memory at every launch.
        are_there: bool,
    },
    /// The number of teams.
    Teams,
    /// The number of threads in a team.
    Threads,
}

/// How a launch's values are read. Implemented by the runtime over the argument words that a kernel's stub
/// stored.
pub trait Launch {
    /// The argument words; bits past an argument's size are unspecified.
    fn arguments(&self) -> &[u64];

    /// The argument word at `index`; zero if there is none.
    #[inline]
    fn argument(&self, index: usize) -> u64 {
        self.arguments().get(index).copied().unwrap_or(0)
    }

    /// `length` (1 to 8) bytes at `offset` of the object that the pointer argument at `index` leads to, as
    /// they are now on the device, in a little-endian word. Only asked for bytes that the kernel's
    /// [`Parameter`] declares, and that are there.
    fn object(&self, index: usize, offset: usize, length: usize) -> u64;

    /// Whether bytes of the object, from the first that is asked for to the last, are in memory.
    fn is_readable(&self, index: usize, bytes: Range<usize>) -> bool;

    /// The number of teams; zero where it is not decided before the launch.
    fn teams(&self) -> u32 {
        0
    }

    /// The number of threads in a team; zero where it is not decided before the launch.
    fn threads(&self) -> u32 {
        0
    }
}

/// What of the launches of one kernel can be specialised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) subjects: Vec<Subject>,
    pub(crate) fields: Vec<Field>,
}

impl Signature {
    /// Flattens a kernel's parameters. `launch_parameters` says whether code may rely on numbers of teams and
    /// threads: on GPUs; on x86_64 they are decided inside libomp.
    pub fn new(parameters: Vec<Parameter>, launch_parameters: bool) -> Self {
        let mut signature = Self {
            parameters: Vec::new(),
            subjects: Vec::new(),
            fields: Vec::new(),
        };
        if launch_parameters {
            signature.add(Subject::Teams, &[(Source::Teams, u64::from(u32::MAX))]);
            signature.add(Subject::Threads, &[(Source::Threads, u64::from(u32::MAX))]);
        }
        for (index, parameter) in parameters.iter().enumerate() {
            match parameter {
                Parameter::Unused => {}
                Parameter::Scalar(scalar_type) => {
                    signature.add(
                        Subject::Value(index),
                        &[(Source::Argument(index), scalar_type.mask())],
                    );
                }
                Parameter::Pointer {
                    declared_alignment,
                    useful_alignment,
                    contents,
                    contents_are_there,
                } => {
                    if let Some(declared) = declared_alignment {
                        let mask = alignment_classes_above(*declared) & alignment_classes(*useful_alignment);
                        signature.add(Subject::Alignment(index), &[(Source::Alignment(index), mask)]);
                    }
                    let words = object_words(index, contents, *contents_are_there);
                    signature.add(Subject::Contents(index), &words);
                }
            }
        }
        signature.parameters = parameters;
        signature
    }

    /// Adds a subject, unless there is nothing of it that counts or no room for all of it.
    fn add(&mut self, subject: Subject, words: &[(Source, u64)]) {
        let counts = words.iter().any(|(_, mask)| *mask != 0);
        if !counts || self.fields.len() + words.len() > MAX_KEY_WORDS {
            return;
        }
        let index = self.subjects.len();
        self.subjects.push(subject);
        self.fields.extend(words.iter().map(|&(source, mask)| Field {
            subject: index,
            source,
            mask,
        }));
    }

    /// What may be specialised, in the order in which the tracker counts it.
    pub fn subjects(&self) -> &[Subject] {
        &self.subjects
    }
}

impl Field {
    /// The same where it is known that the bytes are there.
    pub(crate) const fn there(mut self) -> Self {
        if let Source::Object { are_there, .. } = &mut self.source {
            *are_there = true;
        }
        self
    }

    /// The word as it is in a launch, with only the bits that count. Bytes that are in no memory are zeros: a
    /// launch that came to read them would end the program, so whatever code takes them for is right.
    #[inline]
    pub(crate) fn read(&self, launch: &impl Launch) -> u64 {
        let word = match self.source {
            Source::Argument(index) => launch.argument(index),
            Source::Alignment(index) => alignment_classes(launch.argument(index)),
            Source::Object {
                argument,
                offset,
                length,
                are_there,
            } => {
                if are_there || launch.is_readable(argument, offset..offset + length) {
                    launch.object(argument, offset, length)
                } else {
                    0
                }
            }
            Source::Teams => u64::from(launch.teams()),
            Source::Threads => u64::from(launch.threads()),
        };
        word & self.mask
    }
}

/// The alignment classes that an address belongs to: bit n for `8 << n` bytes. The stricter the alignment,
/// the more bits.
#[inline]
pub(crate) const fn alignment_classes(address: u64) -> u64 {
    // Bit 7 stands in for all the higher ones.
    let zeros = (address | 128).trailing_zeros();
    ((1 << (zeros + 1)) - 1) >> 3
}

/// The classes that say more than an alignment to `declared` bytes.
const fn alignment_classes_above(declared: u64) -> u64 {
    let mut classes = 0;
    let mut class = 0;
    while class < 5 {
        if 8 << class > declared {
            classes |= 1 << class;
        }
        class += 1;
    }
    classes
}

/// The words that cover the bytes that may be specialised. Each begins and ends with one: the kernel reads no
/// others, which may be in no memory.
fn object_words(argument: usize, bytes: &[bool], are_there: bool) -> Vec<(Source, u64)> {
    let words = bytes.chunks(8).enumerate().filter_map(|(number, bytes)| {
        let first = bytes.iter().position(|counts| *counts)?;
        let last = bytes.iter().rposition(|counts| *counts)?;
        let counting = bytes[first..=last]
            .iter()
            .enumerate()
            .filter(|(_, counts)| **counts);
        let mask = counting.fold(0, |mask, (byte, _)| mask | (0xff << (8 * byte)));
        let source = Source::Object {
            argument,
            offset: 8 * number + first,
            length: last + 1 - first,
            are_there,
        };
        Some((source, mask))
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use offloom_descriptor::Alignment;

    #[test]
    fn the_classes_of_an_address_are_those_that_divide_it() {
        for address in (0..1024).chain([u64::MAX, u64::MAX - 127]) {
            let classes = alignment_classes(address);
            for (bit, class) in Alignment::ALL.iter().rev().enumerate() {
                let belongs = address % class.bytes() == 0;
                assert_eq!(classes >> bit & 1 == 1, belongs, "{address:#x} {class:?}");
            }
            assert!(classes < 32);
        }
        assert_eq!(alignment_classes_above(1), 0b11111);
        assert_eq!(alignment_classes_above(8), 0b11110);
        assert_eq!(alignment_classes_above(128), 0);
    }

    #[test]
    fn unused_parameters_and_pointer_fields_are_no_part_of_the_key() {
        let mut contents = vec![true; 8];
        contents.extend([false; 8]);
        contents.extend([true, false, true]);
        contents.extend([false; 10]);
        contents.extend([true, true, false]);
        let signature = Signature::new(
            vec![
                Parameter::Unused,
                Parameter::Scalar(ScalarType::integer(8).unwrap()),
                Parameter::Pointer {
                    declared_alignment: None,
                    useful_alignment: 128,
                    contents,
                    contents_are_there: true,
                },
                Parameter::Pointer {
                    declared_alignment: Some(128),
                    useful_alignment: 128,
                    contents: vec![false; 16],
                    contents_are_there: false,
                },
            ],
            false,
        );
        assert_eq!(signature.subjects(), [Subject::Value(1), Subject::Contents(2)]);
        let words: Vec<_> = signature
            .fields
            .iter()
            .map(|field| (field.source, field.mask))
            .collect();
        let object = |offset, length| Source::Object {
            argument: 2,
            offset,
            length,
            are_there: true,
        };
        let expected = [
            (Source::Argument(1), 0xff),
            (object(0, 8), u64::MAX),
            (object(16, 3), 0xff00ff),
            (object(29, 2), 0xffff),
        ];
        assert_eq!(words, expected);
    }

    #[test]
    fn a_subject_is_read_as_it_is_printed() {
        for (subject, text) in [
            (Subject::Value(3), "value of argument 3"),
            (Subject::Alignment(0), "alignment of argument 0"),
            (Subject::Contents(40), "contents of argument 40"),
            (Subject::Teams, "teams"),
            (Subject::Threads, "threads"),
        ] {
            assert_eq!(subject.to_string(), text);
            assert_eq!(text.parse(), Ok(subject));
        }
        for text in [
            "",
            "value",
            "teams of argument 1",
            "value of argument -1",
            "size of argument 1",
        ] {
            assert_eq!(text.parse::<Subject>(), Err(NoSubject), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_the_key_is_left_out_whole() {
        let scalar = Parameter::Scalar(ScalarType::Double);
        let object = Parameter::Pointer {
            declared_alignment: None,
            useful_alignment: 128,
            contents: vec![true; 8 * 60],
            contents_are_there: true,
        };
        let signature = Signature::new(vec![scalar.clone(), object.clone(), object, scalar], false);
        assert_eq!(
            signature.subjects(),
            [Subject::Value(0), Subject::Contents(1), Subject::Value(3)]
        );
        assert_eq!(signature.fields.len(), 62);
    }
}
