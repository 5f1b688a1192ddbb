//! How the key of a launch is read under one shape: what is specialised, sorted by where it comes from, so
//! that a launch decides nothing and reads nothing that does not count.

use std::ops::Range;

use crate::signature::{Field, Launch, Source, alignment_classes};

/// The reads that make a key.
#[derive(Debug, Default)]
pub(crate) struct Program {
    arguments: Box<[Step]>,
    alignments: Box<[Step]>,
    teams: Option<Place>,
    threads: Option<Place>,
    /// Objects that are in memory as a whole: words and fields.
    objects: Box<[(usize, Field)]>,
    partial_objects: Box<[PartialObject]>,
}

/// An object of which a part may be in no memory.
#[derive(Debug)]
struct PartialObject {
    argument: usize,
    /// From the first byte that counts to the last.
    bytes: Range<usize>,
    /// Words and fields.
    words: Vec<(usize, Field)>,
}

/// One read of an argument word.
#[derive(Debug, Clone, Copy)]
struct Step {
    argument: u32,
    place: Place,
}

/// Where what is read goes.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The word of the key.
    word: u32,
    /// The bits that count.
    mask: u64,
}

impl Place {
    #[inline]
    fn put(self, value: u64, words: &mut [u64]) {
        if let Some(word) = words.get_mut(self.word as usize) {
            *word = value & self.mask;
        }
    }
}

impl Program {
    /// The reads of these fields, of which only the bits in `masks` count.
    pub(crate) fn new(fields: &[Field], masks: &[u64]) -> Self {
        let (mut arguments, mut alignments, mut objects) = (Vec::new(), Vec::new(), Vec::new());
        let (mut teams, mut threads) = (None, None);
        let mut partial_objects: Vec<PartialObject> = Vec::new();
        let fields = fields.iter().zip(masks).enumerate();
        for (word, (field, &mask)) in fields.filter(|(_, (_, mask))| **mask != 0) {
            let place = Place {
                word: word as u32,
                mask,
            };
            let step = |argument: usize| Step {
                argument: argument as u32,
                place,
            };
            match field.source {
                Source::Argument(argument) => arguments.push(step(argument)),
                Source::Alignment(argument) => alignments.push(step(argument)),
                Source::Object {
                    argument,
                    offset,
                    length,
                    are_there: false,
                } => {
                    let read = (word, Field { mask, ..*field });
                    match partial_objects.last_mut() {
                        // The words of an object follow one another.
                        Some(object) if object.argument == argument => {
                            object.bytes.end = offset + length;
                            object.words.push(read);
                        }
                        _ => partial_objects.push(PartialObject {
                            argument,
                            bytes: offset..offset + length,
                            words: vec![read],
                        }),
                    }
                }
                Source::Object { .. } => objects.push((word, Field { mask, ..*field })),
                Source::Teams => teams = Some(place),
                Source::Threads => threads = Some(place),
            }
        }
        Self {
            arguments: arguments.into(),
            alignments: alignments.into(),
            teams,
            threads,
            objects: objects.into(),
            partial_objects: partial_objects.into(),
        }
    }

    /// Reads a launch's key into `words`, which are zero and as many as there are fields, or more.
    #[inline]
    pub(crate) fn read(&self, launch: &impl Launch, words: &mut [u64]) {
        for step in &self.arguments {
            step.place.put(launch.argument(step.argument as usize), words);
        }
        for step in &self.alignments {
            let address = launch.argument(step.argument as usize);
            step.place.put(alignment_classes(address), words);
        }
        if let Some(place) = self.teams {
            place.put(launch.teams().into(), words);
        }
        if let Some(place) = self.threads {
            place.put(launch.threads().into(), words);
        }
        for (word, field) in &self.objects {
            if let Some(word) = words.get_mut(*word) {
                *word = field.read(launch);
            }
        }
        for object in &self.partial_objects {
            object.read(launch, words);
        }
    }
}

impl PartialObject {
    /// Asks once for the whole object, and for each word where that is not all there.
    #[inline(never)]
    fn read(&self, launch: &impl Launch, words: &mut [u64]) {
        let are_there = launch.is_readable(self.argument, self.bytes.clone());
        for (word, field) in &self.words {
            if let Some(word) = words.get_mut(*word) {
                let field = if are_there { field.there() } else { *field };
                *word = field.read(launch);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::{Parameter, Signature};
    use crate::testing::Words;
    use offloom_descriptor::ScalarType;

    #[test]
    fn a_key_has_the_bits_of_each_field_that_count_and_zeros_elsewhere() {
        let parameters = vec![
            Parameter::Scalar(ScalarType::integer(32).unwrap()),
            Parameter::Pointer {
                declared_alignment: Some(1),
                useful_alignment: 128,
                contents: vec![true; 12],
                contents_are_there: true,
            },
            Parameter::Scalar(ScalarType::Double),
            Parameter::Pointer {
                declared_alignment: None,
                useful_alignment: 128,
                contents: vec![true; 30],
                contents_are_there: false,
            },
        ];
        let signature = Signature::new(parameters, true);
        let launch = Words {
            arguments: vec![0xffff_0000_1234_5678, 0x1230, u64::MAX, 0],
            // The second one ends in the middle of its words.
            objects: vec![(1, (1..=12).collect()), (3, (1..=20).collect())],
            teams: 3,
            threads: 4,
        };
        let fields = &signature.fields;
        let masks_of_all: Vec<_> = fields.iter().map(|field| field.mask).collect();
        // Each field megamorphic in turn.
        for megamorphic in 0..=fields.len() {
            let mut masks = masks_of_all.clone();
            if let Some(mask) = masks.get_mut(megamorphic) {
                *mask = 0;
            }
            let mut words = vec![0; fields.len()];
            Program::new(fields, &masks).read(&launch, &mut words);
            let expected = fields.iter().zip(&masks);
            let expected: Vec<_> = expected.map(|(field, mask)| field.read(&launch) & mask).collect();
            assert_eq!(words, expected);
            let is_of_second = |field: &Field| matches!(field.source, Source::Object { argument: 3, .. });
            let of_second = words.iter().zip(fields).filter(|(_, field)| is_of_second(field));
            let missing: Vec<_> = of_second.skip(2).map(|(word, _)| *word).collect();
            assert_eq!(missing, [0, 0]);
        }
    }
}
