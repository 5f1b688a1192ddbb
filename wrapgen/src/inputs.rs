//! Reads the files given on a command line and finds the device images in them.
//!
//! [`InputFile`] owns a file's bytes, mapped where that is possible. [`InputFile::parts`] gives what it consists of:
//! the file itself, or the members of an archive. [`InputPart::embedded`] gives the OffloadBinary members in a part.
//! Everything after opening borrows from the file and copies nothing.

mod archive;
mod bytes;
pub(crate) mod elf;
mod kind;

use std::fmt;
use std::path::{Path, PathBuf};

use offloom_abi::offload_binary::{Member, members};

pub use bytes::FileBytes;
pub use kind::InputKind;
pub(crate) use kind::is_bitcode;

use crate::error::{Error, Result};

/// A file, open and mapped.
#[derive(Debug)]
pub struct InputFile {
    path: PathBuf,
    bytes: FileBytes,
    thin_members: Vec<InputFile>,
}

/// A file, or one member of an archive.
#[derive(Debug, Clone, Copy)]
pub struct InputPart<'a> {
    /// Where the bytes come from.
    pub origin: Origin<'a>,
    /// The bytes.
    pub bytes: &'a [u8],
    /// What the bytes are.
    pub kind: InputKind,
}

/// Where some bytes come from; prints as `lib.a(member.o)` or `file.o`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Origin<'a> {
    /// The file, as it was named.
    pub path: &'a Path,
    /// The member's name, if the file is an archive.
    pub member: Option<&'a str>,
}

/// An OffloadBinary member and where it was found.
#[derive(Debug, Clone, Copy)]
pub struct EmbeddedMember<'a> {
    /// The file or archive member that holds it.
    pub origin: Origin<'a>,
    /// The member.
    pub member: Member<'a>,
}

impl fmt::Display for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.member {
            Some(member) => write!(f, "{}({member})", self.path.display()),
            None => write!(f, "{}", self.path.display()),
        }
    }
}

impl InputFile {
    /// Opens `path`; of a thin archive, its members too. `-` is the standard input.
    ///
    /// # Errors
    /// A file cannot be read, or a thin archive is malformed.
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = FileBytes::open(path)?;
        let mut file = Self {
            path: path.to_owned(),
            bytes,
            thin_members: Vec::new(),
        };
        if file.kind() == InputKind::ThinArchive {
            for member in archive::thin_member_paths(&file.path, &file.bytes)? {
                file.thin_members.push(Self::open_thin_member(member)?);
            }
        }
        Ok(file)
    }

    /// Opens a member of a thin archive; an archive in there would be one that `ar` does not write.
    fn open_thin_member(path: PathBuf) -> Result<Self> {
        let bytes = FileBytes::open(&path)?;
        Ok(Self {
            path,
            bytes,
            thin_members: Vec::new(),
        })
    }

    /// The file as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Everything in it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What it is.
    pub fn kind(&self) -> InputKind {
        InputKind::of(&self.bytes)
    }

    /// The file itself, or the members of the archive that it is, in order.
    ///
    /// # Errors
    /// The archive is malformed.
    pub fn parts(&self) -> Result<Vec<InputPart<'_>>> {
        let part = |member, bytes| InputPart {
            origin: Origin {
                path: &self.path,
                member,
            },
            bytes,
            kind: InputKind::of(bytes),
        };
        match self.kind() {
            InputKind::Archive => {
                let members = archive::members(&self.path, &self.bytes)?;
                Ok(members
                    .into_iter()
                    .map(|(name, bytes)| part(Some(name), bytes))
                    .collect())
            }
            InputKind::ThinArchive => Ok(self
                .thin_members
                .iter()
                .map(|file| part(file.path.to_str(), file.bytes()))
                .collect()),
            _ => Ok(vec![part(None, self.bytes())]),
        }
    }

    /// Every OffloadBinary member in the file, in order.
    ///
    /// # Errors
    /// A container in the file is malformed, or LLVM is needed to look into it.
    pub fn embedded(&self) -> Result<Vec<EmbeddedMember<'_>>> {
        let mut found = Vec::new();
        for part in self.parts()? {
            found.extend(part.embedded()?);
        }
        Ok(found)
    }
}

impl<'a> InputPart<'a> {
    /// Every OffloadBinary member in this part, in order; none in a part of unknown kind.
    ///
    /// # Errors
    /// The ELF file or OffloadBinary is malformed, or the part is LLVM bitcode.
    pub fn embedded(&self) -> Result<Vec<EmbeddedMember<'a>>> {
        match self.kind {
            InputKind::OffloadBinary => self.members_of(0, self.bytes),
            kind if kind.is_elf() => {
                let mut found = Vec::new();
                let sections = elf::offloading_sections(self.bytes);
                for section in sections.map_err(|problem| problem.in_input(&self.origin))? {
                    found.extend(self.members_of(section.offset, section.bytes)?);
                }
                Ok(found)
            }
            InputKind::Bitcode => Err(Error::Bitcode {
                input: self.origin.to_string(),
            }),
            _ => Ok(Vec::new()),
        }
    }

    fn members_of(&self, offset: u64, bytes: &'a [u8]) -> Result<Vec<EmbeddedMember<'a>>> {
        members(bytes)
            .map(|member| match member {
                Ok(member) => Ok(EmbeddedMember {
                    origin: self.origin,
                    member,
                }),
                Err(error) => Err(Error::OffloadBinary {
                    input: self.origin.to_string(),
                    source: error.at_base(offset),
                }),
            })
            .collect()
    }
}
