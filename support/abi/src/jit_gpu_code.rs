//! What a program linked with `--jit=only` holds for NVIDIA GPUs in the place of an image: the device
//! bitcode, and what an image is made of besides.
//!
//! For LLVM, it is bitcode in the wrapper that Darwin uses (`llvm/Bitcode/BitcodeReader.h`): a header that
//! says where in the file the bitcode lies. The rest lies before it:
//!
//! | field | bytes |
//! | --- | --- |
//! | the wrapper's magic, its version, the offset and the size of the bitcode, a processor that is not used | 20 |
//! | [`MAGIC`], [`VERSION`] | 12 |
//! | the processor; the assembler's arguments, each with a NUL behind it; the device runtime's bitcode: each behind its 32-bit length | |
//! | zeros, up to a multiple of 16; then the bitcode | |

use crate::wire::{Damage, Fields, put_run, put_string};

/// The wrapper's magic.
const WRAPPER_MAGIC: u32 = 0x0b17_c0de;
/// Bytes of the wrapper's header.
const WRAPPER_SIZE: usize = 20;
/// Tells the fields from what another producer puts there.
const MAGIC: [u8; 8] = *b"OFGPUBC\x1a";
/// Version of the fields.
pub const VERSION: u32 = 1;
/// What the bitcode starts at a multiple of.
const ALIGNMENT: usize = 16;

/// Device code that images for NVIDIA GPUs are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuCode<'a> {
    /// The processor that the code was compiled for, as `sm_80`.
    pub processor: &'a str,
    /// Arguments for the assembler, each with a NUL behind it ([`words`](crate::jit_compile::words)).
    pub assembler_arguments: &'a str,
    /// The device runtime's bitcode; empty: the program has none, or has it in its own.
    pub device_runtime: &'a [u8],
    /// The program's bitcode, merged.
    pub bitcode: &'a [u8],
}

/// Why bytes that begin as such code are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GpuCodeError {
    /// The program was linked by another version of Offloom.
    #[error(
        "device code of version {0} for NVIDIA GPUs, and this is version {VERSION}: link the program again"
    )]
    OtherVersion(u32),
    /// A field does not fit.
    #[error("damaged device code for NVIDIA GPUs: {what} at offset {offset:#x}")]
    Damaged {
        /// The field.
        what: &'static str,
        /// Where it is, in bytes.
        offset: usize,
    },
}

impl From<Damage> for GpuCodeError {
    fn from(damage: Damage) -> Self {
        Self::Damaged {
            what: damage.what,
            offset: damage.offset,
        }
    }
}

impl<'a> GpuCode<'a> {
    /// The bytes that stand in the place of an image. `None`: they are more than the wrapper's 32-bit numbers
    /// can say.
    pub fn encode(&self) -> Option<Vec<u8>> {
        let mut fields = MAGIC.to_vec();
        fields.extend_from_slice(&VERSION.to_le_bytes());
        put_string(&mut fields, self.processor);
        put_string(&mut fields, self.assembler_arguments);
        put_run(&mut fields, self.device_runtime);
        let offset = (WRAPPER_SIZE + fields.len()).next_multiple_of(ALIGNMENT);
        let header = [
            WRAPPER_MAGIC,
            0,
            u32::try_from(offset).ok()?,
            u32::try_from(self.bitcode.len()).ok()?,
            0,
        ];
        let mut bytes: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
        bytes.extend_from_slice(&fields);
        bytes.resize(offset, 0);
        bytes.extend_from_slice(self.bitcode);
        Some(bytes)
    }

    /// Reads the bytes in place. `None`: they are something else.
    ///
    /// # Errors
    /// When they begin as such code and do not go on as it.
    pub fn parse(bytes: &'a [u8]) -> Result<Option<Self>, GpuCodeError> {
        let mut fields = Fields::new(bytes);
        let mut header = [0; 5];
        for number in &mut header {
            match fields.u32("the header") {
                Ok(read) => *number = read,
                Err(_) => return Ok(None),
            }
        }
        let [magic, _, offset, size, _] = header;
        if magic != WRAPPER_MAGIC || fields.array("the magic") != Ok(MAGIC) {
            return Ok(None);
        }
        let version = fields.u32("the version")?;
        if version != VERSION {
            return Err(GpuCodeError::OtherVersion(version));
        }
        let processor = fields.string("the processor")?;
        let assembler_arguments = fields.string("the assembler's arguments")?;
        let device_runtime = fields.run("the device runtime")?;
        let skipped = (offset as usize)
            .checked_sub(fields.offset())
            .ok_or(Damage::at("the bitcode", fields.offset()))?;
        fields.take(skipped, "the bitcode")?;
        Ok(Some(Self {
            processor,
            assembler_arguments,
            device_runtime,
            bitcode: fields.take(size as usize, "the bitcode")?,
        }))
    }

    /// The processor to compile this code for where it is to run on a device of this compute capability,
    /// major and minor. `None`: it does not run there. Code for a processor with a letter in its name
    /// (`sm_90a`) is for that one alone.
    pub fn processor_for(&self, [major, minor]: [u32; 2]) -> Option<String> {
        let own = number_of(self.processor)?;
        let device = major.checked_mul(10)?.checked_add(minor)?;
        match self.processor.ends_with(char::is_alphabetic) {
            false => (own <= device).then(|| format!("sm_{device}")),
            true => (own == device).then(|| self.processor.to_owned()),
        }
    }

    /// Of several codes the one that the image for a device of this compute capability is made of: that for
    /// the latest processor. Its number, and the processor to compile it for. `None`: none runs there.
    pub fn best_for(codes: impl IntoIterator<Item = Self>, capability: [u32; 2]) -> Option<(usize, String)> {
        let codes = codes.into_iter().enumerate();
        let fitting =
            codes.filter_map(|(number, code)| Some((number, code, code.processor_for(capability)?)));
        // Names are as long as their numbers, but for those of ten and more.
        let best = fitting.max_by_key(|(_, code, _)| (code.processor.len(), code.processor));
        best.map(|(number, _, processor)| (number, processor))
    }
}

/// Major and minor number of the compute capability of a processor, as `sm_90` or `sm_90a`.
pub fn capability(processor: &str) -> Option<[u32; 2]> {
    let number = number_of(processor)?;
    Some([number / 10, number % 10])
}

fn number_of(processor: &str) -> Option<u32> {
    let number = processor.strip_prefix("sm_")?;
    number.trim_end_matches(char::is_alphabetic).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CODE: GpuCode<'_> = GpuCode {
        processor: "sm_80",
        assembler_arguments: "-lineinfo\0",
        device_runtime: b"BC\xc0\xderuntime",
        bitcode: b"BC\xc0\xdeprogram.",
    };

    #[test]
    fn for_llvm_it_is_wrapped_bitcode() {
        let bytes = CODE.encode().unwrap();
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!(bytes[..4], [0xde, 0xc0, 0x17, 0x0b]);
        assert_eq!(&bytes[number(8)..number(8) + number(12)], CODE.bitcode);
        assert_eq!(bytes.len(), number(8) + number(12));
    }

    #[test]
    fn other_bytes_are_something_else() {
        let mut other = CODE.encode().unwrap();
        other[WRAPPER_SIZE] ^= 1;
        for bytes in [&b"BC\xc0\xde"[..], b"", b"\x7fELF", &other, &other[..20]] {
            assert_eq!(GpuCode::parse(bytes), Ok(None));
        }
    }

    #[test]
    fn another_version_is_refused() {
        let mut bytes = CODE.encode().unwrap();
        bytes[WRAPPER_SIZE + MAGIC.len()] = 9;
        assert_eq!(GpuCode::parse(&bytes), Err(GpuCodeError::OtherVersion(9)));
    }

    #[test]
    fn it_runs_on_its_own_processor_and_later_ones() {
        let of = |processor| GpuCode { processor, ..CODE };
        assert_eq!(of("sm_80").processor_for([8, 0]).as_deref(), Some("sm_80"));
        assert_eq!(of("sm_80").processor_for([9, 0]).as_deref(), Some("sm_90"));
        assert_eq!(of("sm_80").processor_for([12, 0]).as_deref(), Some("sm_120"));
        assert_eq!(of("sm_80").processor_for([7, 5]), None);
        assert_eq!(of("sm_90a").processor_for([9, 0]).as_deref(), Some("sm_90a"));
        assert_eq!(of("sm_90a").processor_for([10, 0]), None);
        assert_eq!(of("gfx90a").processor_for([9, 0]), None);
        assert_eq!(of("sm_80").processor_for([u32::MAX, 0]), None);
    }

    #[test]
    fn the_code_for_the_latest_processor_that_fits_is_taken() {
        let best = |processors: &[&'static str], capability| {
            let codes = processors.iter().map(|processor| GpuCode { processor, ..CODE });
            GpuCode::best_for(codes, capability)
        };
        let named = |number, processor: &str| Some((number, processor.to_owned()));
        assert_eq!(best(&["sm_90", "sm_80"], [9, 0]), named(0, "sm_90"));
        assert_eq!(best(&["sm_90", "sm_80"], [8, 6]), named(1, "sm_86"));
        assert_eq!(best(&["sm_80", "sm_100"], [12, 0]), named(1, "sm_120"));
        assert_eq!(best(&["sm_80", "sm_90a"], [9, 0]), named(1, "sm_90a"));
        assert_eq!(best(&["sm_80", "sm_90a"], [10, 0]), named(0, "sm_100"));
        assert_eq!(best(&["sm_80"], [7, 5]), None);
        assert_eq!(capability("sm_90a"), Some([9, 0]));
        assert_eq!(capability("sm_120"), Some([12, 0]));
        assert_eq!(capability("gfx90a"), None);
    }

    proptest! {
        #[test]
        fn code_is_read_as_written(
            processor in ".{0,8}",
            arguments in ".{0,20}",
            runtime in prop::collection::vec(any::<u8>(), 0..50),
            bitcode in prop::collection::vec(any::<u8>(), 0..50),
        ) {
            let code = GpuCode {
                processor: &processor,
                assembler_arguments: &arguments,
                device_runtime: &runtime,
                bitcode: &bitcode,
            };
            let bytes = code.encode().unwrap();
            prop_assert_eq!(GpuCode::parse(&bytes), Ok(Some(code)));
        }

        #[test]
        fn hostile_bytes_give_errors(at in 0_usize..90, value in any::<u8>(), end in 0_usize..200) {
            let mut bytes = CODE.encode().unwrap();
            let at = at.min(bytes.len() - 1);
            bytes[at] = value;
            bytes.truncate(end);
            // It must come back, whatever it answers.
            let _ = GpuCode::parse(&bytes);
        }
    }
}
