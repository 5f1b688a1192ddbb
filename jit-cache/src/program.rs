//! How the key of a launch is read under one shape: what is specialised, sorted by where it comes from, so that a launch decides
//! nothing and reads nothing that does not count.

use crate::signature::{Field, Launch, Source, alignment_classes};

/// The reads that make a key.
#[derive(Debug, Default)]
pub(crate) struct Program {
    arguments: Box<[Step]>,
    alignments: Box<[Step]>,
    /// Objects, and numbers of teams and threads: words and fields.
    others: Box<[(usize, Field)]>,
}

/// One read of an argument word.
#[derive(Debug, Clone, Copy)]
struct Step {
    argument: u32,
    /// Where it goes in the key.
    word: u32,
    /// The bits that count.
    mask: u64,
}

impl Program {
    /// The reads of these fields, of which only the bits in `masks` count.
    pub(crate) fn new(fields: &[Field], masks: &[u64]) -> Self {
        let (mut arguments, mut alignments, mut others) = (Vec::new(), Vec::new(), Vec::new());
        let fields = fields.iter().zip(masks).enumerate();
        for (word, (field, &mask)) in fields.filter(|(_, (_, mask))| **mask != 0) {
            let step = |argument: usize| Step {
                argument: argument as u32,
                word: word as u32,
                mask,
            };
            match field.source {
                Source::Argument(argument) => arguments.push(step(argument)),
                Source::Alignment(argument) => alignments.push(step(argument)),
                Source::Object { .. } | Source::Teams | Source::Threads => {
                    others.push((word, Field { mask, ..*field }));
                }
            }
        }
        Self {
            arguments: arguments.into(),
            alignments: alignments.into(),
            others: others.into(),
        }
    }

    /// Reads a launch's key into `words`, which are zero and as many as there are fields, or more.
    #[inline]
    pub(crate) fn read(&self, launch: &impl Launch, words: &mut [u64]) {
        for step in &self.arguments {
            if let Some(word) = words.get_mut(step.word as usize) {
                *word = launch.argument(step.argument as usize) & step.mask;
            }
        }
        for step in &self.alignments {
            if let Some(word) = words.get_mut(step.word as usize) {
                *word = alignment_classes(launch.argument(step.argument as usize)) & step.mask;
            }
        }
        for (word, field) in &self.others {
            if let Some(word) = words.get_mut(*word) {
                *word = field.read(launch);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::ScalarType;
    use crate::signature::{Parameter, Signature};
    use crate::testing::Words;

    #[test]
    fn a_key_has_the_bits_of_each_field_that_count_and_zeros_elsewhere() {
        let parameters = vec![
            Parameter::Scalar(ScalarType::integer(32).unwrap()),
            Parameter::Pointer {
                declared_alignment: Some(1),
                contents: vec![true; 12],
            },
            Parameter::Scalar(ScalarType::Double),
        ];
        let signature = Signature::new(parameters, true);
        let launch = Words {
            arguments: vec![0xffff_0000_1234_5678, 0x1230, u64::MAX],
            objects: vec![(1, (1..=12).collect())],
            teams: 3,
            threads: 4,
        };
        let fields = &signature.fields;
        let masks_of_all: Vec<_> = fields.iter().map(|field| field.mask).collect();
        // Each field given up in turn.
        for given_up in 0..=fields.len() {
            let mut masks = masks_of_all.clone();
            if let Some(mask) = masks.get_mut(given_up) {
                *mask = 0;
            }
            let mut words = vec![0; fields.len()];
            Program::new(fields, &masks).read(&launch, &mut words);
            let expected = fields.iter().zip(&masks);
            let expected: Vec<_> = expected.map(|(field, mask)| field.read(&launch) & mask).collect();
            assert_eq!(words, expected);
        }
    }
}
