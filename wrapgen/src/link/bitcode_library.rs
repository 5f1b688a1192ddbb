//! Bitcode that options name: `--bitcode-library=` and `--builtin-bitcode=` of LLVM 19. It is linked after
//! the inputs' device code.

use offloom_abi::OffloadKind;
use offloom_abi::offload_binary::{ARCH, ImageKind, MemberDescription, TRIPLE, members};

use super::command_line::BitcodeLibrary;
use super::scan::DeviceCode;
use crate::LLVM;
use crate::error::{Error, Result};
use crate::inputs::{EmbeddedMember, InputFile, Origin, is_bitcode};

/// A library in the container that device code comes in.
#[derive(Debug)]
pub struct PackedLibrary<'a> {
    library: &'a BitcodeLibrary,
    bytes: Vec<u8>,
}

/// Opens libraries.
///
/// # Errors
/// One cannot be read, or is no bitcode.
pub fn open(libraries: &[BitcodeLibrary]) -> Result<Vec<PackedLibrary<'_>>> {
    libraries.iter().map(PackedLibrary::open).collect()
}

impl<'a> PackedLibrary<'a> {
    fn open(library: &'a BitcodeLibrary) -> Result<Self> {
        let file = InputFile::open(&library.path)?;
        let unusable = |problem: String| Error::DeviceObject {
            input: library.path.display().to_string(),
            problem,
        };
        if !is_bitcode(file.bytes()) {
            return Err(unusable(
                "it is not LLVM bitcode, which the option that names it takes".to_owned(),
            ));
        }
        let description = MemberDescription {
            image_kind: ImageKind::BITCODE,
            offload_kind: library.kind.number(LLVM).unwrap_or_default(),
            flags: 0,
            strings: vec![(TRIPLE, &library.triple), (ARCH, &library.arch)],
        };
        let header = description
            .header(LLVM.containers, file.bytes().len() as u64)
            .map_err(|error| unusable(error.to_string()))?;
        Ok(Self {
            library,
            bytes: [header.bytes(), file.bytes(), &vec![0; header.padding()]].concat(),
        })
    }

    /// Its code, as if it stood in an object.
    ///
    /// # Errors
    /// Never, as the container is our own.
    pub fn device_code(&self) -> Result<DeviceCode<'_>> {
        let input = || self.library.path.display().to_string();
        let member = members(&self.bytes)
            .next()
            .ok_or_else(|| Error::DeviceObject {
                input: input(),
                problem: "it is empty".to_owned(),
            })?
            .map_err(|source| Error::OffloadBinary {
                input: input(),
                source,
            })?;
        Ok(DeviceCode {
            found: EmbeddedMember {
                origin: Origin {
                    path: &self.library.path,
                    member: None,
                    place: 0,
                },
                number: 0,
                member,
                linked: false,
            },
            // One that belongs to no programming model makes no image of its own.
            lazy: self.library.kind == OffloadKind::None,
        })
    }
}
