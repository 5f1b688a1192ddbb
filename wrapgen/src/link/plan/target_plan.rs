//! What is to be done for one device image.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use offloom_abi::{OffloadKind, Triple};

use super::super::command_line::{BitcodeLibrary, JitForm, Options};
use super::super::group::Group;
use super::super::host_command::HostCommand;
use super::super::target::DeviceLinker;
use super::device_options::DeviceOptions;
use super::host_libraries::HostLibraries;
use super::start_files::StartFiles;
use crate::error::Result;
use crate::jit::{self, LinkFacts};
use crate::toolchain;

/// What is to be done for one device image.
#[derive(Debug)]
pub struct TargetPlan<'a> {
    /// Its code, and what it is for.
    pub group: &'a Group<'a>,
    /// What links such code.
    pub linker: DeviceLinker,
    /// How it comes about.
    pub image: ImageMaking,
    /// Whether it is bitcode.
    pub image_is_bitcode: bool,
    /// Whether its kernels get stubs for the JIT.
    pub prepares_for_jit: bool,
    /// What compiling its bitcode is told of the link.
    pub facts: LinkFacts,
    /// Options for its compiler, linker and assembler.
    pub options: DeviceOptions,
    /// Where CUDA is, if somebody said.
    pub cuda_path: Option<&'a Path>,
    /// The bitcode libraries that options name, for all targets.
    pub bitcode_libraries: &'a [BitcodeLibrary],
    /// Whether its linker takes parts of files in the place of files.
    pub takes_parts: bool,
}

/// How an image comes about.
#[derive(Debug)]
pub enum ImageMaking {
    /// The JIT library makes it when the program starts (`--jit=only`); the link merges its bitcode.
    AtStart,
    /// Its bitcode is merged and optimised (`--embed-bitcode`), by ourselves: its linker takes no bitcode.
    MergedBitcode,
    /// It is linked.
    Linked(DeviceLink),
}

/// A device link, with what only such a link needs.
#[derive(Debug)]
pub enum DeviceLink {
    /// By lld, for the host's own instructions.
    Lld(Box<LldLink>),
    /// By Clang, for instructions like the host's.
    HostLikeByClang {
        /// What it is linked with.
        libraries: HostLibraries,
        /// How the names start of what the link writes besides the image.
        dump_prefix: OsString,
    },
    /// By `ld.lld`, for AMD GPUs.
    Amdgcn,
    /// By CUDA's tools.
    Nvptx,
    /// By Clang, for any other device or with options that only Clang knows.
    Clang,
}

/// A link by lld for the host's own instructions.
#[derive(Debug)]
pub struct LldLink {
    /// The linker.
    pub program: PathBuf,
    /// Whether there is bitcode among its inputs.
    pub compiles_bitcode: bool,
    /// The files that frame the link.
    pub start_files: StartFiles,
    /// What it is linked with.
    pub libraries: HostLibraries,
}

impl<'a> TargetPlan<'a> {
    /// The plan for the image of `group`.
    ///
    /// # Errors
    /// What the image is linked with is not found or cannot be read.
    pub(super) fn new(group: &'a Group<'a>, options: &'a Options, host: &'a HostCommand) -> Result<Self> {
        let device = DeviceOptions::new(options, &group.target.triple);
        let linker = group.linker(&host.triple, &device);
        let jit = jit_form(group, options, host)?;
        Ok(Self {
            group,
            linker,
            image: image_making(group, linker, jit, options, host)?,
            image_is_bitcode: options.embed_bitcode || jit == Some(JitForm::Only),
            prepares_for_jit: jit == Some(JitForm::WithImage),
            facts: LinkFacts {
                optimization_level: device.level_of_link(),
                own_unwinder: host.has_own_unwinder(),
            },
            options: device,
            cuda_path: options.cuda_path.as_deref(),
            bitcode_libraries: &options.bitcode_libraries,
            takes_parts: takes_parts(linker, options),
        })
    }

    /// Whether the JIT gets bitcode of it.
    pub fn is_for_jit(&self) -> bool {
        self.prepares_for_jit || matches!(self.image, ImageMaking::AtStart)
    }
}

/// What the JIT is to do with a group. Code of another processor than the host's stays as it is: no device of
/// libomptarget's runs it.
///
/// # Errors
/// The JIT is asked for in a program for another processor than wrapgen's own.
fn jit_form(group: &Group<'_>, options: &Options, host: &HostCommand) -> Result<Option<JitForm>> {
    let target = &group.target;
    let is_known = jit::supports(target.triple())
        && (target.triple().is_gpu() || target.is_host(&host.triple))
        && group.kinds().any(|kind| kind == OffloadKind::OpenMp);
    let form = options.jit.filter(|_| is_known);
    if form.is_some() {
        jit::check_host(Triple(&host.triple))?;
    }
    // Nothing makes images for AMD GPUs when a program starts.
    Ok(form.map(|form| match target.triple().is_amd_gpu() {
        true => JitForm::WithImage,
        false => form,
    }))
}

/// Whether a linker takes parts of files: where nobody looks on, since those are no files to look at.
fn takes_parts(linker: DeviceLinker, options: &Options) -> bool {
    let watched = options.save_temps || options.verbose || options.dry_run || options.print_phases;
    !watched && linker == DeviceLinker::HostLike && toolchain::own_device_linker().is_some()
}

fn image_making(
    group: &Group<'_>,
    linker: DeviceLinker,
    jit: Option<JitForm>,
    options: &Options,
    host: &HostCommand,
) -> Result<ImageMaking> {
    if jit == Some(JitForm::Only) {
        return Ok(ImageMaking::AtStart);
    }
    if options.embed_bitcode && !linker.takes_bitcode() {
        return Ok(ImageMaking::MergedBitcode);
    }
    Ok(ImageMaking::Linked(match linker {
        DeviceLinker::HostLike => DeviceLink::Lld(Box::new(LldLink::new(group, false, options, host)?)),
        DeviceLinker::HostLikeWithBitcode => {
            DeviceLink::Lld(Box::new(LldLink::new(group, true, options, host)?))
        }
        DeviceLinker::HostLikeByClang => DeviceLink::HostLikeByClang {
            libraries: HostLibraries::find(host, options.relocatable)?,
            dump_prefix: dump_prefix(group, host),
        },
        DeviceLinker::Amdgcn => DeviceLink::Amdgcn,
        DeviceLinker::Nvptx => DeviceLink::Nvptx,
        DeviceLinker::AmdgcnByClang | DeviceLinker::Clang => DeviceLink::Clang,
    }))
}

/// How the names of what Clang's link writes besides, such as records of optimisations, start: as in LLVM's
/// linker wrapper.
fn dump_prefix(group: &Group<'_>, host: &HostCommand) -> OsString {
    let target = &group.target;
    let mut prefix = OsString::from(host.output().file_name().unwrap_or_default());
    prefix.push(format!(
        ".{}.{}.img.",
        target.triple().architecture(),
        target.image_arch()
    ));
    prefix
}

impl LldLink {
    fn new(group: &Group<'_>, compiles_bitcode: bool, options: &Options, host: &HostCommand) -> Result<Self> {
        Ok(Self {
            start_files: StartFiles::find(host, &group.target.triple)?,
            program: match compiles_bitcode {
                true => toolchain::llvm_program("ld.lld")?,
                false => device_linker(host)?,
            },
            compiles_bitcode,
            libraries: HostLibraries::find(host, options.relocatable)?,
        })
    }
}

/// LLVM's linker; where it is not installed, the one of the host link does as well.
fn device_linker(host: &HostCommand) -> Result<PathBuf> {
    match (toolchain::find_device_linker(), &host.linker) {
        (Some(linker), _) => Ok(linker),
        (None, Some(linker)) => Ok(linker.clone()),
        (None, None) => toolchain::llvm_program("ld.lld"),
    }
}
