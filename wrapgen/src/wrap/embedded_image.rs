//! A device image as it lies in the wrapper object: usually inside an OffloadBinary, so that tools can list
//! it.

use offloom_abi::offload_binary::{DescriptionError, Member, MemberDescription, members};

use crate::LLVM;
use crate::error::{Error, Result};
use crate::inputs::{InputFile, InputKind, Piece};

/// The bytes to embed, and where in them the image is that the runtime gets to see.
#[derive(Debug)]
pub struct EmbeddedImage<'a> {
    header: Vec<u8>,
    contents: Piece<'a>,
    padding: &'static [u8],
    image_start: u64,
    image_size: u64,
}

impl<'a> EmbeddedImage<'a> {
    /// Puts `image` into an OffloadBinary of its own, which is where the stock linker wrapper puts it.
    ///
    /// # Errors
    /// The description cannot be expressed in the format.
    pub fn packed(description: &MemberDescription<'_>, image: Piece<'a>) -> Result<Self, DescriptionError> {
        let header = description.header(LLVM.containers, image.size())?;
        Ok(Self {
            image_start: header.bytes().len() as u64,
            image_size: image.size(),
            padding: &[0; 8][..header.padding()],
            header: header.bytes().to_vec(),
            contents: image,
        })
    }

    /// What a file given as it is stands for: each member of an OffloadBinary, or the whole file.
    ///
    /// # Errors
    /// The file is a malformed OffloadBinary.
    pub fn of_file(file: &'a InputFile) -> Result<Vec<Self>> {
        let bytes = file.bytes();
        if file.kind() != InputKind::OffloadBinary {
            return Ok(vec![Self {
                header: Vec::new(),
                contents: file.piece(bytes),
                padding: &[],
                image_start: 0,
                image_size: bytes.len() as u64,
            }]);
        }
        members(bytes)
            .map(|member| {
                let member = member.map_err(|source| Error::OffloadBinary {
                    input: file.path().display().to_string(),
                    source,
                })?;
                if !member.is_alone() || member.format() > LLVM.containers {
                    return Self::repacked(&member, file);
                }
                Ok(Self {
                    header: Vec::new(),
                    contents: file.piece(member.container()),
                    padding: &[],
                    image_start: member.image_offset(),
                    image_size: member.image().len() as u64,
                })
            })
            .collect()
    }

    /// A member of a container with others, or of a later release, in a container of its own.
    fn repacked(member: &Member<'a>, file: &'a InputFile) -> Result<Self> {
        let description = MemberDescription {
            image_kind: member.image_kind(),
            offload_kind: member.offload_kind_number(),
            flags: member.flags(),
            strings: member.strings().collect(),
        };
        Self::packed(&description, file.piece(member.image())).map_err(|error| {
            Error::Usage(format!(
                "cannot embed an image of '{}': {error}",
                file.path().display()
            ))
        })
    }

    /// Everything to embed, in order and without copies.
    pub fn pieces(&self) -> [Piece<'_>; 3] {
        [self.header.as_slice().into(), self.contents, self.padding.into()]
    }

    /// Bytes of everything to embed.
    pub fn size(&self) -> u64 {
        self.pieces().iter().map(Piece::size).sum()
    }

    /// Where in the embedded bytes the image starts and ends.
    pub const fn image_range(&self) -> std::ops::Range<u64> {
        self.image_start..self.image_start + self.image_size
    }
}
