//! Finds the OffloadBinary that Clang embeds in the bitcode of a host object compiled with `-flto`.
//!
//! Clang embeds it as a constant array of bytes. Bitcode does not start those at a byte boundary, so they are
//! copied out here. No LLVM is needed for that, and no other part of the module is looked at.

use offloom_abi::offload_binary::MAGIC;

use super::bitstream::{Cursor, Item, Malformed};
use super::kind::{BITCODE_MAGIC, BITCODE_WRAPPER_MAGIC};

pub(super) const MODULE_BLOCK: u64 = 8;
const CONSTANTS_BLOCK: u64 = 11;

/// Record of a constants block: an array of bytes.
const STRING: u64 = 8;

/// How many times as large as a file what is found in it may be: LLVM stores a byte in six bits at least, but
/// others may say by a few bits that hundreds of bytes are meant.
pub(super) const LARGEST_GROWTH: usize = 8;

/// Every constant of the modules in `bytes` that starts as an OffloadBinary does, in order.
pub(super) fn embedded_offload_binaries(bytes: &[u8]) -> Result<Vec<Vec<u8>>, Malformed> {
    let bytes = without_wrapper(bytes)?;
    let mut found = Found {
        binaries: Vec::new(),
        space: LARGEST_GROWTH.saturating_mul(bytes.len()),
    };
    let (mut cursor, mut top_level) = Cursor::new(bytes, BITCODE_MAGIC.len());
    while let Some(item) = cursor.next(&mut top_level)? {
        match item {
            Item::Block {
                id: MODULE_BLOCK,
                width,
                end,
            } => {
                let mut module = cursor.enter(MODULE_BLOCK, width, end);
                while let Some(item) = cursor.next(&mut module)? {
                    match item {
                        Item::Block {
                            id: CONSTANTS_BLOCK,
                            width,
                            end,
                        } => {
                            read_constants(&mut cursor, width, end, &mut found)?;
                        }
                        Item::Block { end, .. } => cursor.skip_to(end),
                        Item::Record(abbreviation) => cursor.record(&module, abbreviation, |_, _| {})?,
                    }
                }
            }
            Item::Block { end, .. } => cursor.skip_to(end),
            Item::Record(abbreviation) => cursor.record(&top_level, abbreviation, |_, _| {})?,
        }
    }
    Ok(found.binaries)
}

/// What was found.
struct Found {
    binaries: Vec<Vec<u8>>,
    /// How many bytes more there may be.
    space: usize,
}

fn read_constants(cursor: &mut Cursor<'_>, width: u32, end: u64, found: &mut Found) -> Result<(), Malformed> {
    let mut block = cursor.enter(CONSTANTS_BLOCK, width, end);
    while let Some(item) = cursor.next(&mut block)? {
        match item {
            Item::Block { end, .. } => cursor.skip_to(end),
            Item::Record(abbreviation) => {
                let mut bytes = Vec::new();
                let mut wanted = true;
                cursor.record(&block, abbreviation, |code, value| {
                    wanted = wanted
                        && code == STRING
                        && MAGIC
                            .get(bytes.len())
                            .is_none_or(|&magic| value == u64::from(magic));
                    if wanted {
                        bytes.push(value as u8);
                    }
                })?;
                if wanted && bytes.starts_with(&MAGIC) {
                    let space = found.space.checked_sub(bytes.len());
                    found.space =
                        space.ok_or_else(|| cursor.malformed("its constants are too large for it"))?;
                    found.binaries.push(bytes);
                }
            }
        }
    }
    Ok(())
}

/// Darwin puts a header of five 32-bit numbers before bitcode: magic, version, offset, size, processor.
pub(super) fn without_wrapper(bytes: &[u8]) -> Result<&[u8], Malformed> {
    if !bytes.starts_with(&BITCODE_WRAPPER_MAGIC) {
        return Ok(bytes);
    }
    let number = |offset: usize| -> Option<usize> {
        let bytes = bytes.get(offset..offset + 4)?;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0, |number, &byte| number << 8 | usize::from(byte)),
        )
    };
    let inside = number(8)
        .zip(number(12))
        .and_then(|(start, size)| bytes.get(start..start.checked_add(size)?));
    inside.ok_or(Malformed {
        offset: 8,
        problem: "its wrapper header points outside of it",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Puts bits together, the lowest first.
    #[derive(Default)]
    struct Bits(Vec<bool>);

    impl Bits {
        fn fixed(&mut self, value: u64, width: u32) -> &mut Self {
            self.0.extend((0..width).map(|bit| value >> bit & 1 == 1));
            self
        }

        fn variable(&mut self, mut value: u64, group: u32) -> &mut Self {
            let payload = group - 1;
            while value >> payload != 0 {
                self.fixed(value & ((1 << payload) - 1) | 1 << payload, group);
                value >>= payload;
            }
            self.fixed(value, group)
        }

        fn block(
            &mut self,
            outer_width: u32,
            id: u64,
            width: u32,
            body: impl FnOnce(&mut Self),
        ) -> &mut Self {
            self.fixed(1, outer_width)
                .variable(id, 8)
                .variable(width.into(), 4)
                .align();
            let length_at = self.0.len();
            self.fixed(0, 32);
            body(self);
            self.fixed(0, width).align();
            let words = (self.0.len() - length_at) / 32 - 1;
            let mut length = Self::default();
            length.fixed(words as u64, 32);
            self.0.splice(length_at..length_at + 32, length.0);
            self
        }

        fn align(&mut self) -> &mut Self {
            self.0.resize(self.0.len().next_multiple_of(32), false);
            self
        }

        fn bytes(&self) -> Vec<u8> {
            let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
            self.0.chunks(8).map(byte).collect()
        }
    }

    /// A module with a record before its constants, and among these `constant` three times: as an
    /// unabbreviated record, abbreviated in the block, and abbreviated by the block information. Once more it
    /// is no string.
    fn module(constant: &[u8]) -> Vec<u8> {
        let mut bits = Bits::default();
        let string_abbreviation = |bits: &mut Bits, width| {
            bits.fixed(2, width).variable(3, 5);
            bits.fixed(1, 1).variable(STRING, 8);
            bits.fixed(0, 1).fixed(3, 3);
            bits.fixed(0, 1).fixed(1, 3).variable(8, 5);
        };
        let abbreviated = |bits: &mut Bits, number| {
            bits.fixed(number, 5).variable(constant.len() as u64, 6);
            for &byte in constant {
                bits.fixed(byte.into(), 8);
            }
        };
        let unabbreviated = |bits: &mut Bits, code| {
            bits.fixed(3, 5)
                .variable(code, 6)
                .variable(constant.len() as u64, 6);
            for &byte in constant {
                bits.variable(byte.into(), 6);
            }
        };
        bits.fixed(u32::from_le_bytes(BITCODE_MAGIC).into(), 32);
        bits.block(2, MODULE_BLOCK, 3, |bits| {
            bits.fixed(3, 3).variable(1, 6).variable(1, 6).variable(2, 6);
            bits.block(3, 0, 2, |bits| {
                bits.fixed(3, 2)
                    .variable(1, 6)
                    .variable(1, 6)
                    .variable(CONSTANTS_BLOCK, 6);
                string_abbreviation(bits, 2);
            });
            bits.block(3, CONSTANTS_BLOCK, 5, |bits| {
                unabbreviated(bits, STRING);
                unabbreviated(bits, 22);
                string_abbreviation(bits, 5);
                abbreviated(bits, 4);
                abbreviated(bits, 5);
            });
        });
        bits.bytes()
    }

    #[test]
    fn constants_are_found_however_they_are_stored() {
        let constant = [&MAGIC[..], &[1, 0, 255]].concat();
        assert_eq!(
            embedded_offload_binaries(&module(&constant)),
            Ok(vec![constant; 3])
        );
        assert_eq!(embedded_offload_binaries(&module(b"other")), Ok(vec![]));
    }

    #[test]
    fn a_wrapper_is_looked_through() {
        let module = module(&MAGIC);
        let mut wrapped = BITCODE_WRAPPER_MAGIC.to_vec();
        for number in [0, 20, module.len() as u32, 7] {
            wrapped.extend(number.to_le_bytes());
        }
        wrapped.extend(&module);
        assert_eq!(
            embedded_offload_binaries(&wrapped).map(|found| found.len()),
            Ok(3)
        );
        wrapped.pop();
        assert!(embedded_offload_binaries(&wrapped).is_err());
    }

    /// What is wrong with a module that holds `body`.
    fn problem_of(body: impl FnOnce(&mut Bits)) -> Option<&'static str> {
        let mut bits = Bits::default();
        bits.fixed(u32::from_le_bytes(BITCODE_MAGIC).into(), 32);
        bits.block(2, MODULE_BLOCK, 3, body);
        let found = embedded_offload_binaries(&bits.bytes());
        found.err().map(|malformed| malformed.problem)
    }

    #[test]
    fn no_block_stands_among_definitions() {
        for id in [0, CONSTANTS_BLOCK] {
            let problem = problem_of(|bits| {
                bits.block(3, 0, 2, |bits| {
                    bits.block(2, id, 2, |_| {});
                });
            });
            assert_eq!(problem, Some("a block stands among definitions"));
        }
    }

    #[test]
    fn definitions_in_definitions_however_deep_are_refused() {
        let mut module = BITCODE_MAGIC.to_vec();
        const LEVELS: u32 = 100_000;
        for level in 0..LEVELS {
            // A block of kind 0 with numbers of two bits, and its length in words.
            module.extend((1_u32 | 2 << 10).to_le_bytes());
            module.extend((2 * (LEVELS - 1 - level) + LEVELS - level).to_le_bytes());
        }
        module.extend(vec![0; 4 * LEVELS as usize]);
        let problem = embedded_offload_binaries(&module).map_err(|malformed| malformed.problem);
        assert_eq!(problem, Err("a block stands among definitions"));
    }

    #[test]
    fn a_record_of_some_bits_stands_for_few_values() {
        let with_operands = |count| {
            problem_of(|bits| {
                bits.block(3, CONSTANTS_BLOCK, 3, |bits| {
                    bits.fixed(2, 3).variable(count, 5);
                    for _ in 0..count {
                        bits.fixed(1, 1).variable(1, 8);
                    }
                    bits.fixed(4, 3);
                });
            })
        };
        assert_eq!(with_operands(256), None);
        assert_eq!(with_operands(257), Some("an abbreviation has too many operands"));
    }

    #[test]
    fn a_block_behind_its_end_is_refused() {
        // A block of no length, with a record in it.
        let problem = problem_of(|bits| {
            bits.fixed(1, 3)
                .variable(CONSTANTS_BLOCK, 8)
                .variable(3, 4)
                .align();
            bits.fixed(0, 32).fixed(3, 3).variable(1, 6).variable(0, 6);
            bits.fixed(0, 3).align();
        });
        assert_eq!(problem, Some("a block ends behind its end"));
    }

    #[test]
    fn few_bits_stand_for_few_bytes() {
        let with_records = |count| {
            problem_of(|bits| {
                bits.block(3, CONSTANTS_BLOCK, 3, |bits| {
                    bits.fixed(2, 3).variable(201, 5);
                    let rest = [0; 196];
                    for &value in [STRING].iter().chain(&MAGIC.map(u64::from)).chain(&rest) {
                        bits.fixed(1, 1).variable(value, 8);
                    }
                    for _ in 0..count {
                        bits.fixed(4, 3);
                    }
                });
            })
        };
        assert_eq!(with_records(5), None);
        assert_eq!(with_records(100), Some("its constants are too large for it"));
    }

    #[test]
    fn symbols_of_few_bits_have_short_names() {
        use super::super::bitcode_symbols::symbols;
        const LENGTH: u64 = 250;
        let with_functions = |count| {
            let mut bits = Bits::default();
            bits.fixed(u32::from_le_bytes(BITCODE_MAGIC).into(), 32);
            bits.block(2, MODULE_BLOCK, 3, |bits| {
                bits.fixed(2, 3).variable(7, 5);
                for value in [8, 0, LENGTH, 0, 0, 0, 0] {
                    bits.fixed(1, 1).variable(value, 8);
                }
                for _ in 0..count {
                    bits.fixed(4, 3);
                }
            });
            bits.block(2, 23, 3, |bits| {
                bits.fixed(3, 3).variable(1, 6).variable(LENGTH, 6);
                for _ in 0..LENGTH {
                    bits.variable(b'a'.into(), 6);
                }
            });
            let found = symbols(&bits.bytes()).map(|symbols| symbols.len());
            found.map_err(|malformed| malformed.problem)
        };
        assert_eq!(with_functions(8), Ok(8));
        assert_eq!(with_functions(40), Err("its names are too long for it"));
        assert_eq!(with_functions(500), Err("it has too many globals for its size"));
    }

    #[test]
    fn a_kind_of_block_has_some_abbreviations() {
        let define = |bits: &mut Bits, count| {
            for _ in 0..count {
                bits.fixed(2, 3).variable(1, 5).fixed(1, 1).variable(1, 8);
            }
        };
        for (own, shared) in [(1025, 0), (0, 1025)] {
            let problem = problem_of(|bits| {
                bits.block(3, 0, 3, |bits| {
                    bits.fixed(3, 3)
                        .variable(1, 6)
                        .variable(1, 6)
                        .variable(CONSTANTS_BLOCK, 6);
                    define(bits, shared);
                });
                bits.block(3, CONSTANTS_BLOCK, 3, |bits| define(bits, own));
            });
            assert_eq!(problem, Some("a kind of block has too many abbreviations"));
        }
    }

    #[test]
    fn truncated_modules_are_refused() {
        let module = module(&MAGIC);
        // Behind the magic number and the header of the module's block.
        for length in 12..module.len() {
            assert!(embedded_offload_binaries(&module[..length]).is_err(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn mutated_modules_never_panic(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)
        ) {
            let mut module = module(&MAGIC);
            for (index, value) in changes {
                let index = index.index(module.len());
                module[index] = value;
            }
            let _ = embedded_offload_binaries(&module);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = embedded_offload_binaries(&[&BITCODE_MAGIC[..], &bytes].concat());
        }
    }
}
