//! What `--jit` adds to a link: dispatch stubs and a bundle from the device bitcode, and the hidden piece of
//! the host program that finds the JIT library and hands it the bundle; or, with `--jit=only`, registers with
//! its help.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::write::{Object, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope};
use offloom_abi::{HostProcessor, Triple};

use crate::bitcode_tool::BitcodeTool;
use crate::error::{Error, Result};
use crate::output::write_file;
use crate::process::Runner;
use crate::toolchain;

/// File name, and soname, of the JIT library.
pub const LIBRARY: &str = "liboffloom_jit.so";

/// The string that tells the hidden piece where the library is.
const LIBRARY_SYMBOL: &[u8] = b"__offloom_jit_library";

/// A hidden piece of C that goes into programs: position-independent, hidden symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum HostPiece {
    /// `jit/attach.c`: hands over the bundle.
    Attach,
    /// `jit/register.c`: registers what the JIT library makes of bitcode.
    Register,
}

impl HostPiece {
    /// Its object.
    const fn object(self) -> &'static [u8] {
        match self {
            Self::Attach => include_bytes!(concat!(env!("OUT_DIR"), "/attach.o")),
            Self::Register => include_bytes!(concat!(env!("OUT_DIR"), "/register.o")),
        }
    }

    /// Its name on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Attach => "attach",
            Self::Register => "register",
        }
    }

    /// How its file's name ends.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Attach => "jit.attach.o",
            Self::Register => "jit.register.o",
        }
    }
}

/// Whether kernels of this device triple can have variants.
pub fn supports(triple: Triple<'_>) -> bool {
    triple.host_processor().is_some() || triple.is_gpu()
}

/// Whether programs for this host can have the JIT: what is put into them is code of wrapgen's own processor.
///
/// # Errors
/// Such a program takes the wrapgen of another host.
pub fn check_host(triple: Triple<'_>) -> Result<()> {
    let own = HostProcessor::NATIVE;
    if triple.host_processor().is_none_or(|host| host == own) {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "--jit: the program is for '{}', and this wrapgen puts the JIT into programs for {} alone: link on such a \
         machine, or without --jit",
        triple.0, own.name
    )))
}

/// Files that a preparation reads and writes.
#[derive(Debug)]
pub struct Preparation<'a> {
    /// Device bitcode, in link order.
    pub bitcode: &'a [PathBuf],
    /// The base image's bitcode, to be written.
    pub base: &'a Path,
    /// The bundle, to be written; it is not when no kernel can have variants.
    pub bundle: &'a Path,
    /// Names that stay visible where all others are hidden before the device link; none where the linker
    /// takes bitcode.
    pub kept_names: Option<&'a [OsString]>,
    /// What is known of the link.
    pub facts: LinkFacts,
    /// Of an image for a GPU, the rest.
    pub gpu: Option<GpuFacts<'a>>,
    /// Whether the image has no other code than the bitcode.
    pub is_all_bitcode: bool,
}

/// What variants for a GPU, and images that are made at the start, are compiled with.
#[derive(Debug)]
pub struct GpuFacts<'a> {
    /// The processor of the image.
    pub processor: &'a str,
    /// Arguments for `ptxas`.
    pub assembler_arguments: Vec<OsString>,
    /// Files of the device runtime: bitcode, or a library of it.
    pub runtime: Vec<PathBuf>,
}

impl GpuFacts<'_> {
    fn add_to(&self, command: &mut Command) {
        command.arg("--gpu").arg(self.processor);
        for argument in &self.assembler_arguments {
            let mut option = OsString::from("--assembler-argument=");
            option.push(argument);
            command.arg(option);
        }
        for file in &self.runtime {
            command.arg("--device-runtime").arg(file);
        }
    }
}

/// What the jobs on device code for the JIT are told of the link.
#[derive(Debug, Clone, Copy)]
pub struct LinkFacts {
    /// Optimisation level of the device link, 0 to 3.
    pub optimization_level: u8,
    /// Whether the program has an unwinder of its own.
    pub own_unwinder: bool,
}

impl LinkFacts {
    fn add_to(self, command: &mut Command) {
        command.arg(format!("--opt-level={}", self.optimization_level));
        if self.own_unwinder {
            command.arg("--own-unwinder");
        }
    }
}

/// Gives the kernels of the device bitcode their stubs. Returns whether there is a bundle.
///
/// # Errors
/// The bitcode cannot be read or merged.
pub fn prepare(files: &Preparation<'_>, runner: Runner) -> Result<bool> {
    let mut command = Command::new(BitcodeTool::find()?.program());
    command.arg("jit-prepare").arg("-o").arg(files.base);
    command.arg("--bundle").arg(files.bundle);
    files.facts.add_to(&mut command);
    if let Some(gpu) = &files.gpu {
        gpu.add_to(&mut command);
        if files.is_all_bitcode {
            command.arg("--all-bitcode");
        }
    }
    if let Some(names) = files.kept_names {
        command.arg("--hide");
        add_kept_names(&mut command, names);
    }
    if runner.verbose {
        command.arg("--verbose");
    }
    command.arg("--").args(files.bitcode);
    runner.run(&mut command)?;
    Ok(runner.dry_run || files.bundle.exists())
}

/// Names that stay visible, for the jobs on device bitcode.
pub(crate) fn add_kept_names(command: &mut Command, names: &[OsString]) {
    for name in names {
        command.arg("--keep-name").arg(name);
    }
}

/// Merges device bitcode to `output`, with notes of what is known of the link and of the names that the image
/// is asked for; for a GPU, with what images are made of besides.
///
/// # Errors
/// The bitcode cannot be read or merged.
pub fn merge(
    bitcode: &[PathBuf],
    output: &Path,
    asked_for: &[OsString],
    facts: LinkFacts,
    gpu: Option<&GpuFacts<'_>>,
    runner: Runner,
) -> Result<()> {
    let mut command = Command::new(BitcodeTool::find()?.program());
    command.arg("jit-merge").arg("-o").arg(output);
    add_kept_names(&mut command, asked_for);
    facts.add_to(&mut command);
    if let Some(gpu) = gpu {
        gpu.add_to(&mut command);
    }
    command.arg("--").args(bitcode);
    runner.run(&mut command)
}

/// Writes the objects that go into the host link: the hidden piece `which` to `piece`, and where the library
/// is installed to `location`.
///
/// # Errors
/// They cannot be written.
pub fn write_host_objects(which: HostPiece, piece: &Path, location: &Path) -> Result<()> {
    write_file(piece, which.object())?;
    let library = installed_library()
        .map(PathBuf::into_os_string)
        .unwrap_or_default();
    write_file(location, &location_object(&library, location)?)
}

/// The JIT library of this installation: in `../lib`, or beside the program in a build folder.
fn installed_library() -> Option<PathBuf> {
    let folder = toolchain::program_dir().ok()?;
    [folder.join("../lib").join(LIBRARY), folder.join(LIBRARY)]
        .into_iter()
        .find_map(|path| path.canonicalize().ok())
}

/// The processor that the pieces are compiled for, in the words of the `object` crate.
const NATIVE: Architecture = match HostProcessor::NATIVE.linker_emulation.as_bytes() {
    b"aarch64linux" => Architecture::Aarch64,
    _ => Architecture::X86_64,
};

/// An object that defines the path of the library, weak and hidden as the piece is.
fn location_object(library: &OsString, file: &Path) -> Result<Vec<u8>> {
    let mut object = Object::new(BinaryFormat::Elf, NATIVE, Endianness::Little);
    let mut text = library.as_bytes().to_vec();
    text.push(0);
    let section = object.add_section(
        Vec::new(),
        b".rodata.offloom_jit".to_vec(),
        SectionKind::ReadOnlyData,
    );
    let symbol = object.add_symbol(Symbol {
        name: LIBRARY_SYMBOL.to_vec(),
        value: 0,
        size: 0,
        kind: SymbolKind::Data,
        scope: SymbolScope::Linkage,
        weak: true,
        section: SymbolSection::Undefined,
        flags: SymbolFlags::None,
    });
    object.add_symbol_data(symbol, section, &text, 1);
    // Without this note the linker takes the stack for executable.
    object.add_section(Vec::new(), b".note.GNU-stack".to_vec(), SectionKind::Other);
    object.write().map_err(|error| Error::DeviceObject {
        input: file.display().to_string(),
        problem: error.to_string(),
    })
}
