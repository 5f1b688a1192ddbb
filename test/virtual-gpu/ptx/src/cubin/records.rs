//! Records of a cubin about its functions.
//!
//! A record is a byte for its form, one for its attribute, and either two bytes of value or, in form 4, their
//! number and as many bytes. NVIDIA documents neither; the numbers are those that its disassembler names, and
//! what they mean was compared with what `ptxas -v` prints.

use std::collections::HashMap;

use super::CubinKernel;

/// The form of a record with more than two bytes of value.
const LONG: u8 = 4;

/// Attributes of records about one kernel.
const MAX_THREADS: u8 = 0x05;
const REQUIRED_THREADS: u8 = 0x10;
const PARAMETER_BYTES: u8 = 0x19;

/// Attributes of records about all functions: each has the index of a symbol and a number.
const FRAME_SIZE: u8 = 0x11;
const MIN_STACK_SIZE: u8 = 0x12;
const REGISTER_COUNT: u8 = 0x2f;

/// One record: its attribute and its value, of which the short forms have two bytes.
pub(super) type Record<'a> = (u8, &'a [u8]);

/// The records of a section. None: the section ends inside one.
pub(super) fn read(mut section: &[u8]) -> Option<Vec<Record<'_>>> {
    let mut records = Vec::new();
    while let Some((&[form, attribute, low, high], rest)) = section.split_first_chunk::<4>() {
        if form == LONG {
            let (value, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes([low, high])))?;
            records.push((attribute, value));
            section = rest;
        } else {
            records.push((attribute, section.get(2..4)?));
            section = rest;
        }
    }
    section.is_empty().then_some(records)
}

/// What the records about all functions say, by the index of the function's symbol.
pub(super) fn of_functions(records: &[Record<'_>]) -> HashMap<u32, CubinKernel> {
    let mut functions: HashMap<u32, CubinKernel> = HashMap::new();
    for (attribute, value) in records {
        let [Some(symbol), Some(number)] = words(value) else {
            continue;
        };
        let function = functions.entry(symbol).or_default();
        match *attribute {
            FRAME_SIZE => function.frame_bytes = number,
            MIN_STACK_SIZE => function.min_stack_bytes = Some(number),
            REGISTER_COUNT => function.registers = number,
            _ => {}
        }
    }
    functions
}

/// Adds what the records about one kernel say.
pub(super) fn add_to_kernel(kernel: &mut CubinKernel, records: &[Record<'_>]) {
    for (attribute, value) in records {
        let threads = || match words(value) {
            [Some(x), Some(y), Some(z)] => Some([x, y, z]),
            _ => None,
        };
        match *attribute {
            MAX_THREADS => kernel.max_threads = threads(),
            REQUIRED_THREADS => kernel.required_threads = threads(),
            PARAMETER_BYTES => {
                let bytes = value.first_chunk::<2>();
                kernel.parameter_bytes = bytes.map_or(0, |bytes| u32::from(u16::from_le_bytes(*bytes)));
            }
            _ => {}
        }
    }
}

/// The first words of 32 bits of a value.
fn words<const N: usize>(value: &[u8]) -> [Option<u32>; N] {
    let (chunks, _) = value.as_chunks::<4>();
    std::array::from_fn(|index| chunks.get(index).map(|chunk| u32::from_le_bytes(*chunk)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_all_forms_are_read() {
        let section = [
            4,
            REGISTER_COUNT,
            8,
            0,
            7,
            0,
            0,
            0,
            46,
            0,
            0,
            0, // a long one
            3,
            PARAMETER_BYTES,
            0x70,
            1, // a short one
            4,
            MAX_THREADS,
            12,
            0,
            128,
            0,
            0,
            0,
            2,
            0,
            0,
            0,
            1,
            0,
            0,
            0, //
            1,
            0x35,
            0,
            0,
        ];
        let records = read(&section).unwrap();
        assert_eq!(records.len(), 4);
        assert_eq!(of_functions(&records[..1])[&7].registers, 46);
        let mut kernel = CubinKernel::default();
        add_to_kernel(&mut kernel, &records);
        assert_eq!(kernel.parameter_bytes, 0x170);
        assert_eq!(kernel.max_threads, Some([128, 2, 1]));
        for end in [1, 4, 8, 11, 14, 30] {
            assert_eq!(read(&section[..end]), None, "{end}");
        }
    }
}
