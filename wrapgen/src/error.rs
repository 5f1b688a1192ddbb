//! What can go wrong in `wrapgen`, each with the file it concerns and, where it can be told, the place in it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use offloom_abi::FormatError;

use crate::LLVM;

/// A failed operation. Its `Display` is the whole message for a person; every error ends the command with
/// status 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be opened, mapped or read.
    #[error("cannot read '{}': {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be created, written or renamed into place.
    #[error("cannot write '{}': {source}", path.display())]
    Write {
        /// The file as the caller named it.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The folder for temporary files takes none.
    #[error("cannot make a temporary file in '{}': {source}; {}", folder.display(), said_of_tmpdir())]
    Temporary {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something failed where a disk is nearly full.
    #[error("{source}; '{}', {role}, has {left} KiB left", folder.display())]
    LittleSpace {
        /// What failed.
        source: Box<Error>,
        /// A folder on the disk.
        folder: PathBuf,
        /// What the folder is for, as an insertion.
        role: &'static str,
        /// Free space, in KiB.
        left: u64,
    },
    /// A file cannot be copied into another.
    #[error("cannot copy '{}' to '{}': {source}", from.display(), to.display())]
    Copy {
        /// The file that is read.
        from: PathBuf,
        /// The file that is written, as the caller named it.
        to: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file changed its size between being measured and being copied.
    #[error("'{}' changed while it was read: it had {expected} bytes, {found} were copied", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// Bytes when it was opened.
        expected: u64,
        /// Bytes that were copied.
        found: u64,
    },
    /// An OffloadBinary is malformed.
    #[error("'{input}' holds a malformed OffloadBinary: {source}")]
    OffloadBinary {
        /// The file, with the archive member in parentheses if it is one.
        input: String,
        /// Where and what; the offset counts from the start of the file or archive member.
        source: FormatError,
    },
    /// A fat binary of CUDA or HIP is malformed.
    #[error("section {section} of '{input}' holds a malformed fat binary: {source}")]
    FatBinary {
        /// The file, with the archive member in parentheses if it is one.
        input: String,
        /// The section.
        section: &'static str,
        /// Where and what; the offset counts from the start of the file or archive member.
        source: FormatError,
    },
    /// An ELF file is malformed.
    #[error("'{input}' is a malformed ELF file: {problem} (at offset {offset:#x})")]
    Elf {
        /// The file, with the archive member in parentheses if it is one.
        input: String,
        /// Byte offset of the header, table or section that cannot be read.
        offset: u64,
        /// What is wrong.
        problem: String,
    },
    /// A COFF or Mach-O file is malformed.
    #[error("'{input}' is a malformed {format} file: {problem}")]
    Foreign {
        /// The file, with the archive member in parentheses if it is one.
        input: String,
        /// What the file claims to be.
        format: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// An archive is malformed.
    #[error("'{}' is a malformed archive: {problem}", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A thin archive has members of other archives.
    #[error(
        "'{}' is a thin archive of archives, as `ar rcT` makes it, which only GNU ld and gold can read: give the archives in it to the link \
         themselves",
        path.display()
    )]
    NestedThinArchive {
        /// The archive.
        path: PathBuf,
    },
    /// An input is nothing that can hold device images.
    #[error(
        "'{input}' is not an OffloadBinary, an object or program (ELF, COFF, Mach-O), an archive or LLVM bitcode, so it cannot hold device images"
    )]
    UnknownInput {
        /// The file.
        input: String,
    },
    /// LLVM bitcode is malformed.
    #[error("'{input}' is malformed LLVM bitcode: {problem} (at offset {offset:#x})")]
    Bitcode {
        /// The file, with the archive member in parentheses if it is one.
        input: String,
        /// Byte offset of the place up to which it could be read.
        offset: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// An `--image=` argument lacks something or cannot be expressed.
    #[error("--image={argument}: {problem}")]
    ImageArgument {
        /// The argument as given.
        argument: String,
        /// What is wrong and how to put it right.
        problem: String,
    },
    /// There is nothing to extract.
    #[error("'{}' holds no device image", path.display())]
    NoImages {
        /// The input.
        path: PathBuf,
    },
    /// There are not as many images.
    #[error("'{}' has no image {number}: it holds {count}, counted from 0; `wrapgen inspect` lists them", path.display())]
    NoSuchImage {
        /// The input.
        path: PathBuf,
        /// The number asked for.
        number: usize,
        /// How many there are.
        count: usize,
    },
    /// No image of the input matches an `--image=` argument.
    #[error("'{}' holds no image that matches --image={argument}; `wrapgen inspect` lists what it holds", path.display())]
    NothingMatches {
        /// The input.
        path: PathBuf,
        /// The argument as given.
        argument: String,
    },
    /// A file name would be made of text from an input that is no plain file name.
    #[error(
        "an image of '{input}' has the {key} '{value}', which cannot be a part of a file name; give file="
    )]
    UnsafeFileName {
        /// The input.
        input: String,
        /// Which of the image's strings.
        key: &'static str,
        /// Its value, escaped.
        value: String,
    },
    /// Device code is for a programming model that is not linked here.
    #[error("'{input}' holds device code of the kind {kind}; only openmp, cuda and hip can be linked")]
    OffloadKind {
        /// The file, with the archive member in parentheses if it is one.
        input: String,
        /// The kind.
        kind: String,
    },
    /// An object for a device is malformed or not of a usable kind.
    #[error("the device object in '{input}' cannot be used: {problem}")]
    DeviceObject {
        /// The file, with the archive member in parentheses if it is one.
        input: String,
        /// What is wrong.
        problem: String,
    },
    /// A host object asks for something that the device images do not have.
    #[error(
        "'{input}' has an offload entry for the {what} '{name}', which {problem} ({triple}): compile it for host and device \
         from the same source with the same macros; a metadirective must choose the same regions for both"
    )]
    OffloadEntry {
        /// The host object, with the archive member in parentheses if it is one.
        input: String,
        /// What the entry stands for.
        what: &'static str,
        /// The device symbol.
        name: String,
        /// What is wrong, with the file that holds the device code, as the rest of a sentence.
        problem: String,
        /// The device target.
        triple: String,
    },
    /// A host object whose entries the runtime would not find.
    #[error(
        "'{input}' has offload entries in the form of LLVM {}, and this link and its libomptarget are of LLVM {}: compile all files with \
         one LLVM",
        LLVM.with_other_entries().map_or(0, offloom_abi::LlvmVersion::major),
        LLVM.major()
    )]
    OtherLlvmEntries {
        /// The host object, with the archive member in parentheses if it is one.
        input: String,
    },
    /// Device code in a container that this LLVM's tools don't know: its kernels may be called otherwise.
    #[error(
        "'{input}' has device code of a later LLVM than {}, which this link and its libomptarget are of: compile all files with one LLVM",
        LLVM.major()
    )]
    LaterDeviceCode {
        /// The object, with the archive member in parentheses if it is one.
        input: String,
    },
    /// `-l` names a library that is in none of the folders.
    #[error(
        "cannot find the library -l{}: searched {}; add its folder with -L{}",
        name.display(),
        quoted(folders),
        said_of_archives(name, shared.as_deref(), *archives_only)
    )]
    LibraryNotFound {
        /// What stands behind `-l`.
        name: OsString,
        /// The folders of `-L`.
        folders: Vec<PathBuf>,
        /// Whether only an archive would have done.
        archives_only: bool,
        /// The shared library of this name, where that would not do.
        shared: Option<PathBuf>,
    },
    /// A program cannot be started.
    #[error("cannot start '{}': {source}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A program that was run failed; its own message was already shown.
    #[error("'{}' {ending}", program.display())]
    Program {
        /// The program.
        program: PathBuf,
        /// How it ended, as the rest of a sentence.
        ending: String,
    },
    /// The user or the system asked to stop.
    #[error("stopped by signal {signal}")]
    Interrupted {
        /// Number of the signal.
        signal: i32,
    },
    /// A command line that does not make sense.
    #[error("{0}")]
    Usage(String),
}

/// What this crate's operations return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Makes a failed read of `path` an error.
    pub fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Read {
            path: path.to_owned(),
            source,
        }
    }

    /// Makes a failure to make a temporary file or folder in `folder` an error.
    pub fn temporary(folder: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Temporary {
            folder: folder.to_owned(),
            source: without_path(source),
        }
    }

    /// Makes a failed write of `path` an error.
    pub fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Write {
            path: path.to_owned(),
            source,
        }
    }
}

/// What the system said, without the path that `tempfile` adds: messages name it in their own way.
fn without_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path \"") {
        Some((system, _)) => io::Error::new(error.kind(), system),
        None => error,
    }
}

/// Where the name of the folder for temporary files comes from.
fn said_of_tmpdir() -> &'static str {
    match std::env::var_os("TMPDIR") {
        Some(_) => "the environment variable TMPDIR names this folder",
        None => "the environment variable TMPDIR can name another folder",
    }
}

/// What a message adds where shared libraries were left aside.
fn said_of_archives(name: &OsStr, shared: Option<&Path>, archives_only: bool) -> String {
    if !archives_only {
        return String::new();
    }
    let archive = format!("lib{}.a", name.display());
    match shared {
        Some(shared) => format!(
            ", or link without -static: only '{archive}' was looked for, and there is only '{}'",
            shared.display()
        ),
        None => format!(", or link without -static: only '{archive}' was looked for"),
    }
}

/// A list of folders for a message.
fn quoted(folders: &[PathBuf]) -> String {
    if folders.is_empty() {
        return "nowhere, as there is no -L".to_owned();
    }
    let folders: Vec<_> = folders
        .iter()
        .map(|folder| format!("'{}'", folder.display()))
        .collect();
    folders.join(", ")
}
