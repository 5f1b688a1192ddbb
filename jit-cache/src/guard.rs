//! Whether a launch has one certain key, asked of its argument words alone: no key is made, hashed or looked up.

use crate::signature::{Field, Launch, Source};

/// The conditions under which a launch has a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Guard(Box<[Condition]>);

/// The bits in `mask` of an argument word are those of `value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Condition {
    argument: usize,
    mask: u64,
    value: u64,
}

impl Guard {
    /// For the key `words` of these fields, of which only the bits in `masks` count. None if more than argument words decides, or an
    /// alignment of which less is known than could be.
    pub(crate) fn new(fields: &[Field], masks: &[u64], words: &[u64]) -> Option<Self> {
        let fields = fields.iter().zip(masks.iter().zip(words));
        let counting = fields.filter(|(_, (mask, _))| **mask != 0);
        counting
            .map(|(field, (&mask, &word))| match field.source {
                Source::Argument(argument) => Some(Condition {
                    argument,
                    mask,
                    value: word,
                }),
                // The address is divisible by the strictest of the alignments: bit n of the word is 8 << n bytes.
                Source::Alignment(argument) if word == mask => Some(Condition {
                    argument,
                    mask: (8 << mask.ilog2()) - 1,
                    value: 0,
                }),
                Source::Alignment(_) | Source::Object { .. } | Source::Teams | Source::Threads => None,
            })
            .collect::<Option<_>>()
            .map(Self)
    }

    /// Whether the launch has the key.
    #[inline]
    pub(crate) fn admits(&self, launch: &impl Launch) -> bool {
        // Branches once: mostly all of them hold.
        let differences = self.0.iter().map(|condition| {
            let word = launch.argument(condition.argument);
            (word & condition.mask) ^ condition.value
        });
        differences.fold(0, |all, difference| all | difference) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::ScalarType;
    use crate::program::Program;
    use crate::signature::{Parameter, Signature};
    use crate::testing::Words;

    fn signature(contents: Vec<bool>) -> Signature {
        let pointer = |contents| Parameter::Pointer {
            declared_alignment: Some(1),
            contents,
        };
        let scalar = Parameter::Scalar(ScalarType::integer(32).unwrap());
        Signature::new(vec![scalar, pointer(Vec::new()), pointer(contents)], false)
    }

    /// Every launch, under every shape, by the key of every launch.
    #[test]
    fn a_guard_admits_the_launches_that_have_the_key() {
        let signature = signature(Vec::new());
        let mut launches = Vec::new();
        for scalar in [0, 1, 1 << 31, 1 << 32, u64::MAX] {
            for address in [0, 1, 8, 16, 24, 32, 64, 96, 128, 256, 0x1230] {
                launches.push(Words::of([scalar, address, 3 * address]));
            }
        }
        let (mut admitted, mut refused, mut none) = (0, 0, 0);
        for scalar_mask in [0, u64::from(u32::MAX)] {
            for alignments in [[0, 0], [1, 0b11], [0b111, 0b1111], [0b11111, 0b11111]] {
                let masks = [scalar_mask, alignments[0], alignments[1]];
                let program = Program::new(&signature.fields, &masks);
                let key = |launch: &Words| {
                    let mut words = [0; 3];
                    program.read(launch, &mut words);
                    words
                };
                for made_for in &launches {
                    let Some(guard) = Guard::new(&signature.fields, &masks, &key(made_for)) else {
                        none += 1;
                        continue;
                    };
                    for launch in &launches {
                        let same = key(launch) == key(made_for);
                        assert_eq!(guard.admits(launch), same, "{made_for:?} {launch:?} {masks:x?}");
                        *(if same { &mut admitted } else { &mut refused }) += 1;
                    }
                }
            }
        }
        assert!(admitted > 0 && refused > 0 && none > 0);
    }

    #[test]
    fn what_is_behind_a_pointer_is_not_guarded() {
        let signature = signature(vec![true; 4]);
        let masks: Vec<_> = signature.fields.iter().map(|field| field.mask).collect();
        assert_eq!(Guard::new(&signature.fields, &masks, &masks), None);
        // Unless it no longer counts.
        let without = [&masks[..3], &[0]].concat();
        assert!(Guard::new(&signature.fields, &without, &without).is_some());
    }
}
