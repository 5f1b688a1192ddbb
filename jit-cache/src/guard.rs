//! Whether a launch has one certain key, asked of its argument words alone: no key is made, hashed or looked up.

use crate::signature::{Field, Launch, Source};

/// The condition under which a launch has a key: the bits in `masks` of its argument words are those of `values`. All words are compared,
/// also those of which no bit counts: then nothing says which ones, and the processor compares several at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Guard {
    masks: Box<[u64]>,
    values: Box<[u64]>,
}

impl Guard {
    /// For the key `words` of these fields, of which only the bits in `masks` count. None if more than argument words decides, or an
    /// alignment of which less is known than could be.
    pub(crate) fn new(fields: &[Field], masks: &[u64], words: &[u64]) -> Option<Self> {
        let mut guard = (Vec::new(), Vec::new());
        let fields = fields.iter().zip(masks.iter().zip(words));
        for (field, (&mask, &word)) in fields.filter(|(_, (mask, _))| **mask != 0) {
            let (argument, mask, value) = match field.source {
                Source::Argument(argument) => (argument, mask, word),
                // The address is divisible by the strictest of the alignments: bit n of the word is 8 << n bytes.
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

    /// Whether the launch has the key.
    #[inline]
    pub(crate) fn admits(&self, launch: &impl Launch) -> bool {
        self.admits_as(&self.values, launch)
    }

    /// Whether the launch has another key of the same shape, whose guard has these values: the masks are the same.
    #[inline]
    pub(crate) fn admits_as(&self, values: &[u64], launch: &impl Launch) -> bool {
        let Some(words) = launch.arguments().get(..self.masks.len()) else {
            return false;
        };
        let conditions = words.iter().zip(&self.masks).zip(values);
        // Branches once: mostly all of them hold.
        conditions.fold(0, |all, ((word, mask), value)| all | (word & mask) ^ value) == 0
    }

    /// The bits of a launch that count: the values of the guard that admits it.
    #[inline]
    pub(crate) fn values_of(&self, launch: &impl Launch) -> impl Iterator<Item = u64> {
        let words = launch.arguments().iter().zip(&self.masks);
        words.map(|(word, mask)| word & mask)
    }

    /// The values alone.
    pub(crate) fn into_values(self) -> Box<[u64]> {
        self.values
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
            contents_are_there: true,
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
                        if let Some(other) = Guard::new(&signature.fields, &masks, &key(launch)) {
                            assert!(guard.admits_as(&other.values, launch));
                            assert!(guard.values_of(launch).eq(other.values.iter().copied()));
                            assert_eq!(guard.admits_as(&other.values, made_for), same);
                        }
                    }
                    assert!(guard.masks.is_empty() || !guard.admits(&Words::default()));
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
