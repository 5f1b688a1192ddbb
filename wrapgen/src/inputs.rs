//! Reads the files given on a command line and finds the device images in them.
//!
//! [`InputFile`] owns a file's bytes, mapped or read, whichever takes less. [`InputFile::parts`] gives what
//! it consists of: the file itself, or the members of an archive. [`InputPart::embedded`] gives the
//! OffloadBinary members in a part. Everything after opening borrows from the file and copies nothing. Only
//! device code inside host bitcode, whose bytes do not start at byte boundaries, is copied out of it, on
//! opening.

mod archive;
mod bitcode;
mod bitcode_symbols;
mod bitstream;
mod bytes;
pub(crate) mod elf;
mod entries;
mod foreign;
mod kind;
mod linked_entries;
mod piece;

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use offloom_abi::entry::{self, Entry};
use offloom_abi::offload_binary::{Member, members};
use offloom_abi::{LlvmVersion, OffloadKind};

pub use bitcode_symbols::LinkerSymbol;
use bitstream::Malformed;
pub use bytes::FileBytes;
pub use entries::HostEntry;
pub use kind::InputKind;
pub(crate) use kind::is_bitcode;
pub use piece::{Piece, Source};

use crate::LLVM;
use crate::error::{Error, Result};

/// A file, mapped or read.
#[derive(Debug)]
pub struct InputFile {
    path: PathBuf,
    bytes: FileBytes,
    thin_members: Vec<(PathBuf, FileBytes)>,
    /// For each part, the OffloadBinaries copied out of it, if it is bitcode.
    decoded: Vec<Vec<Vec<u8>>>,
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
    decoded: &'a [Vec<u8>],
}

/// Where some bytes come from; prints as `lib.a(member.o)` or `file.o`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Origin<'a> {
    /// The file, as it was named.
    pub path: &'a Path,
    /// The member's name, if the file is an archive.
    pub member: Option<&'a OsStr>,
    /// Its place in the archive, from 0: members may have the same name.
    pub place: usize,
}

/// An OffloadBinary member and where it was found.
#[derive(Debug, Clone, Copy)]
pub struct EmbeddedMember<'a> {
    /// The file or archive member that holds it.
    pub origin: Origin<'a>,
    /// Its place, from 0, among those of the file or, where only those of a container were asked for, of
    /// that.
    pub number: usize,
    /// The member.
    pub member: Member<'a>,
    /// Whether it is an image that is linked and registered already, in a program or in what `-r` made.
    pub linked: bool,
}

impl EmbeddedMember<'_> {
    /// Whether it is code, yet to be linked, in a container that this LLVM's tools do not know.
    pub fn is_of_later_llvm(&self) -> bool {
        !self.linked && self.member.format() > LLVM.containers
    }
}

impl Origin<'_> {
    /// The member's name for people.
    pub fn member_name(&self) -> Option<String> {
        self.member.map(|member| member.to_string_lossy().into_owned())
    }
}

impl fmt::Display for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.member {
            Some(member) => write!(f, "{}({})", self.path.display(), member.display()),
            None => write!(f, "{}", self.path.display()),
        }
    }
}

impl InputFile {
    /// Opens `path`; of a thin archive, its members too. `-` is the standard input.
    ///
    /// # Errors
    /// A file cannot be read, or an archive or bitcode is malformed.
    pub fn open(path: &Path) -> Result<Self> {
        Self::new(path, FileBytes::open(path)?)
    }

    /// Opens each of `paths`, see [`InputFile::open`].
    ///
    /// # Errors
    /// As [`InputFile::open`].
    pub fn open_all(paths: &[PathBuf]) -> Result<Vec<Self>> {
        paths.iter().map(|path| Self::open(path)).collect()
    }

    /// Opens `path` so that the system can copy from it, see [`InputFile::piece`].
    ///
    /// # Errors
    /// As [`InputFile::open`].
    pub fn open_to_copy(path: &Path) -> Result<Self> {
        Self::new(path, FileBytes::open_to_copy(path)?)
    }

    /// Opens `path` if there is a regular file, see [`InputFile::open`].
    ///
    /// # Errors
    /// As [`InputFile::open`].
    pub fn open_if_regular(path: &Path) -> Result<Option<Self>> {
        let bytes = FileBytes::open_if_regular(path)?;
        bytes.map(|bytes| Self::new(path, bytes)).transpose()
    }

    /// The same of bytes that are already in memory, as if `path` held them.
    ///
    /// # Errors
    /// As [`InputFile::open`].
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        Self::new(path, FileBytes::Stream(bytes))
    }

    fn new(path: &Path, bytes: FileBytes) -> Result<Self> {
        let mut file = Self {
            path: path.to_owned(),
            bytes,
            thin_members: Vec::new(),
            decoded: Vec::new(),
        };
        if file.kind() == InputKind::ThinArchive {
            for path in archive::thin_member_paths(&file.path, &file.bytes)? {
                let bytes = FileBytes::open_regular(&path)?;
                file.thin_members.push((path, bytes));
            }
        }
        file.decoded = file
            .parts_undecoded()?
            .into_iter()
            .map(|(origin, bytes)| decode(origin, bytes))
            .collect::<Result<_>>()?;
        Ok(file)
    }

    /// The file as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Everything in it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The file on disk in which `bytes` lie, and their offset there; none for bytes that were copied.
    pub fn place_of(&self, bytes: &[u8]) -> Option<(&Path, u64)> {
        let thin = self.thin_members.iter();
        let files = thin.map(|(path, bytes)| (path.as_path(), bytes));
        let mut files = files.chain([(self.path(), &self.bytes)]);
        files.find_map(|(path, file)| Some((path, file.offset_of(bytes)?)))
    }

    /// `bytes`, which may lie in this file, as a part of an output.
    pub fn piece<'a>(&'a self, bytes: &'a [u8]) -> Piece<'a> {
        let source = self.bytes.file().and_then(|file| {
            Some(Source {
                file,
                path: &self.path,
                offset: self.bytes.offset_of(bytes)?,
            })
        });
        Piece::new(bytes, source)
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
        let parts = self.parts_undecoded()?.into_iter().zip(&self.decoded);
        let parts = parts.map(|((origin, bytes), decoded)| InputPart {
            origin,
            bytes,
            kind: InputKind::of(bytes),
            decoded,
        });
        Ok(parts.collect())
    }

    /// The bytes of each part.
    fn parts_undecoded(&self) -> Result<Vec<(Origin<'_>, &[u8])>> {
        let named: Vec<(Option<&OsStr>, &[u8])> = match self.kind() {
            InputKind::Archive => {
                let members = archive::members(&self.path, &self.bytes)?;
                members
                    .into_iter()
                    .map(|(name, bytes)| (Some(name), bytes))
                    .collect()
            }
            InputKind::ThinArchive => self
                .thin_members
                .iter()
                .map(|(path, bytes)| (Some(path.as_os_str()), &**bytes))
                .collect(),
            _ => vec![(None, self.bytes())],
        };
        let path = self.path();
        let parts = named.into_iter().enumerate();
        let parts = parts.map(|(place, (member, bytes))| (Origin { path, member, place }, bytes));
        Ok(parts.collect())
    }

    /// Every OffloadBinary member in the file, in order.
    ///
    /// # Errors
    /// A container in the file is malformed.
    pub fn embedded(&self) -> Result<Vec<EmbeddedMember<'_>>> {
        let mut found = Vec::new();
        for part in self.parts()? {
            found.extend(part.embedded()?);
        }
        for (number, member) in found.iter_mut().enumerate() {
            member.number = number;
        }
        Ok(found)
    }
}

impl<'a> InputPart<'a> {
    /// Every OffloadBinary member in this part, in order; none in a part of unknown kind.
    ///
    /// # Errors
    /// The object or OffloadBinary is malformed.
    pub fn embedded(&self) -> Result<Vec<EmbeddedMember<'a>>> {
        match self.kind {
            InputKind::OffloadBinary => self.members_of(&self.origin, 0, self.bytes),
            kind if kind.is_elf() => {
                let mut found = Vec::new();
                for section in self.offloading_sections()? {
                    if is_bare_image(&section) {
                        continue;
                    }
                    let members = self.members_of(&self.origin, section.offset, section.bytes)?;
                    found.extend(members.into_iter().map(|found| EmbeddedMember {
                        linked: section.loaded,
                        ..found
                    }));
                }
                Ok(found)
            }
            InputKind::Coff | InputKind::MachO => {
                let sections =
                    foreign::offloading_sections(self.bytes).map_err(|problem| Error::Foreign {
                        input: self.origin.to_string(),
                        format: if self.kind == InputKind::Coff {
                            "COFF"
                        } else {
                            "Mach-O"
                        },
                        problem: problem.to_string(),
                    })?;
                let mut found = Vec::new();
                for section in sections {
                    found.extend(self.members_of(&self.origin, section.offset, section.bytes)?);
                }
                Ok(found)
            }
            InputKind::Bitcode => {
                // Offsets in a constant mean nothing in the file.
                let input = format!("a constant of {}", self.origin);
                let mut found = Vec::new();
                for bytes in self.decoded {
                    found.extend(self.members_of(&input, 0, bytes)?);
                }
                Ok(found)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Bytes of images that stand in a program, or in an object for one, as they are: libomptarget takes them
    /// with a container around them or without.
    ///
    /// # Errors
    /// The object is malformed.
    pub fn bare_image_bytes(&self) -> Result<usize> {
        if !self.kind.is_elf() {
            return Ok(0);
        }
        let sections = self.offloading_sections()?.into_iter();
        Ok(sections
            .filter(is_bare_image)
            .map(|section| section.bytes.len())
            .sum())
    }

    /// The sections for device code of a part that is an ELF file.
    fn offloading_sections(&self) -> Result<Vec<elf::Section<'a>>> {
        elf::offloading_sections(self.bytes).map_err(|problem| problem.in_input(&self.origin))
    }

    /// Whether this part is an ELF file with a section of this name.
    ///
    /// # Errors
    /// The file is malformed.
    pub fn has_section(&self, name: &str) -> Result<bool> {
        if !self.kind.is_elf() {
            return Ok(false);
        }
        let sections = elf::sections_named(self.bytes, name);
        let sections = sections.map_err(|problem| problem.in_input(&self.origin))?;
        Ok(!sections.is_empty())
    }

    /// The offload entries in this part, in order; none in a part that is no relocatable ELF object.
    ///
    /// # Errors
    /// The object or its entry table is malformed.
    pub fn offload_entries(&self) -> Result<Vec<HostEntry<'a>>> {
        match self.kind {
            InputKind::Object => {
                // Not those of an object that `-r` made, which has its own images.
                let producer = |name: &str| (name == entry::section(LLVM)).then_some(OffloadKind::OpenMp);
                entries::host_entries(LLVM, self.origin, self.bytes, producer)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Whether this part is a relocatable ELF object with entries in the form of the LLVM that this build is
    /// not for.
    pub fn has_entries_of_other_llvm(&self) -> bool {
        self.kind == InputKind::Object
            && LLVM
                .with_other_entries()
                .is_some_and(|other| entries::has_entries(other, self.bytes))
    }

    /// The name and the record of each offload entry of the release `version`, in order; none in a part that
    /// is no ELF object, program or library of a host.
    ///
    /// # Errors
    /// The file or its entry table is malformed.
    pub fn named_entries(&self, version: LlvmVersion) -> Result<Vec<(&'a str, Entry)>> {
        match self.kind {
            InputKind::Object => {
                let producer = |name: &str| entry::producer(version, name);
                let entries = entries::host_entries(version, self.origin, self.bytes, producer)?;
                Ok(entries.iter().map(|entry| (entry.name, entry.record)).collect())
            }
            InputKind::Linked => linked_entries::linked_entries(version, self.origin, self.bytes),
            _ => Ok(Vec::new()),
        }
    }

    fn members_of(
        &self,
        input: &impl ToString,
        offset: u64,
        bytes: &'a [u8],
    ) -> Result<Vec<EmbeddedMember<'a>>> {
        members(bytes)
            .enumerate()
            .map(|(number, member)| match member {
                Ok(member) => Ok(EmbeddedMember {
                    origin: self.origin,
                    number,
                    member,
                    linked: false,
                }),
                Err(error) => Err(Error::OffloadBinary {
                    input: input.to_string(),
                    source: error.at_base(offset),
                }),
            })
            .collect()
    }
}

/// Whether a section of a program holds an image, or several one after the other, instead of OffloadBinary
/// members.
fn is_bare_image(section: &elf::Section<'_>) -> bool {
    let kind = InputKind::of(section.bytes);
    section.loaded && (kind.is_elf() || kind == InputKind::Bitcode)
}

/// The symbols that a linker sees in the bitcode `bytes`.
///
/// # Errors
/// The bitcode is malformed.
pub fn bitcode_symbols(input: &impl ToString, bytes: &[u8]) -> Result<Vec<LinkerSymbol>> {
    bitcode_symbols::symbols(bytes).map_err(|malformed| malformed_bitcode(input, malformed))
}

fn malformed_bitcode(input: &impl ToString, malformed: Malformed) -> Error {
    Error::Bitcode {
        input: input.to_string(),
        offset: malformed.offset,
        problem: malformed.problem,
    }
}

/// The OffloadBinaries to be copied out of a part: only bitcode has any.
fn decode(origin: Origin<'_>, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
    if InputKind::of(bytes) != InputKind::Bitcode {
        return Ok(Vec::new());
    }
    bitcode::embedded_offload_binaries(bytes).map_err(|malformed| malformed_bitcode(&origin, malformed))
}
