//! Whether a launch has one certain key, asked of its argument words alone: no key is made, hashed or looked
//! up.

use crate::signature::{Field, Source};

/// The condition under which a launch has a key: the bits in `masks` of its argument words are those of
/// `values`. Keys of one shape have the same masks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Guard {
    masks: Box<[u64]>,
    values: Box<[u64]>,
}

impl Guard {
    /// For the key `words` of these fields, of which only the bits in `masks` count. None if more than
    /// argument words decides, or an alignment of which less is known than could be.
    pub(crate) fn new(fields: &[Field], masks: &[u64], words: &[u64]) -> Option<Self> {
        let mut guard = (Vec::new(), Vec::new());
        let fields = fields.iter().zip(masks.iter().zip(words));
        for (field, (&mask, &word)) in fields.filter(|(_, (mask, _))| **mask != 0) {
            let (argument, mask, value) = match field.source {
                Source::Argument(argument) => (argument, mask, word),
                // The address is divisible by the strictest of the alignments: bit n of the word is 8 << n
                // bytes.
                Source::Alignment(argument) if word == mask => (argument, (8 << mask.ilog2()) - 1, 0),
                Source::Alignment(_) | Source::Object { .. } | Source::Teams | Source::Threads => {
                    return None;
                }
            };
            let (masks, values) = &mut guard;
            if masks.len() <= argument {
                masks.resize(argument + 1, 0);
                values.resize(argument + 1, 0);
            }
            masks[argument] |= mask;
            values[argument] |= value;
        }
        let (masks, values) = guard;
        Some(Self {
            masks: masks.into(),
            values: values.into(),
        })
    }

    /// For each argument word, up to the last of which bits count, the bits that count and what they are.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = (u64, u64)> {
        self.masks.iter().copied().zip(self.values.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Program;
    use crate::signature::{Parameter, Signature};
    use crate::testing::Words;
    use offloom_descriptor::ScalarType;

    fn signature(contents: Vec<bool>) -> Signature {
        let pointer = |contents| Parameter::Pointer {
            declared_alignment: Some(1),
            useful_alignment: 128,
            contents,
            contents_are_there: true,
        };
        let scalar = Parameter::Scalar(ScalarType::integer(32).unwrap());
        Signature::new(vec![scalar, pointer(Vec::new()), pointer(contents)], false)
    }

    fn admits(guard: &Guard, launch: &Words) -> bool {
        let mut conditions = guard.conditions().enumerate();
        conditions.all(|(index, (mask, value))| {
            launch
                .arguments
                .get(index)
                .is_some_and(|word| word & mask == value)
        })
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
                        assert_eq!(admits(&guard, launch), same, "{made_for:?} {launch:?} {masks:x?}");
                        *(if same { &mut admitted } else { &mut refused }) += 1;
                        if let Some(other) = Guard::new(&signature.fields, &masks, &key(launch)) {
                            assert_eq!(guard.masks, other.masks, "all keys of a shape have the same");
                        }
                    }
                    assert!(guard.masks.is_empty() || !admits(&guard, &Words::default()));
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
