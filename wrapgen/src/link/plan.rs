//! What a link with device code is to do, decided from the command line and the inputs before anything is
//! made: [`LinkPlan`] for the whole, with a [`TargetPlan`] for each device image.
//!
//! This is the last that sees the options. The phases that follow do what the plan says.

pub mod device_options;
pub mod host_libraries;
mod sanitizer_runtime;
pub mod start_files;
pub mod target_plan;

use std::path::{Path, PathBuf};

use offloom_abi::OffloadKind;

use self::target_plan::ImageMaking;
pub use self::target_plan::TargetPlan;
use super::command_line::{JitForm, Options};
use super::group::Group;
use super::host_command::HostCommand;
use super::host_link;
use super::jobs::Jobs;
use crate::error::{Error, Result};

/// What a whole link is to do.
#[derive(Debug)]
pub struct LinkPlan<'a> {
    /// What it makes.
    pub product: Product,
    /// The file to write.
    pub output: PathBuf,
    /// The host link.
    pub host: &'a HostCommand,
    /// Images to be linked, in the order of their groups.
    pub targets: Vec<TargetPlan<'a>>,
    /// Images that are there already, by programming model and file.
    pub override_images: &'a [(String, PathBuf)],
    /// Whether the only image is linked to its place in the registration object, without a file of its own.
    pub image_in_wrapper: bool,
    /// How images are wrapped.
    pub wrap: WrapPlan<'a>,
    /// How many images may be made at the same time.
    pub jobs: Jobs,
    /// Whether intermediate files stay, in the current folder.
    pub keeps_files: bool,
}

/// What a link makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// A program or a shared library.
    Program,
    /// `-r`: an object to be linked again.
    Object,
    /// `--emit-fatbin-only`: the images, without a host link.
    Images,
}

/// How images are wrapped for registration.
#[derive(Debug)]
pub struct WrapPlan<'a> {
    /// Target triple of the host.
    pub host_triple: &'a str,
    /// Whether the objects are to be linked again with `-r`.
    pub relocatable: bool,
    /// Whether the module that LLVM's wrapper would compile is printed.
    pub prints_module: bool,
    /// How the fat binaries of CUDA and HIP are made.
    pub fat_binary: FatBinaryPlan<'a>,
}

/// How fat binaries are made.
#[derive(Debug)]
pub struct FatBinaryPlan<'a> {
    /// Where CUDA is, if somebody said.
    pub cuda_path: Option<&'a Path>,
    /// Whether HIP's images are compressed.
    pub compress: bool,
    /// How much, in the compressor's words.
    pub compression_level: Option<&'a str>,
}

impl<'a> LinkPlan<'a> {
    /// The plan for a link of `groups`.
    ///
    /// # Errors
    /// Options exclude each other, no host linker is named, or something that an image is linked with is not
    /// found.
    pub fn new(options: &'a Options, host: &'a HostCommand, groups: &'a [Group<'a>]) -> Result<Self> {
        check(options, host)?;
        let plan = |group| TargetPlan::new(group, options, host);
        let targets = groups.iter().map(plan).collect::<Result<Vec<_>>>()?;
        Ok(Self {
            product: product(options),
            output: host.output(),
            host,
            image_in_wrapper: image_in_wrapper(options, &targets),
            targets,
            override_images: &options.override_images,
            wrap: WrapPlan::new(options, host),
            jobs: options.jobs,
            keeps_files: options.save_temps,
        })
    }

    /// Whether the JIT library makes images when the program starts.
    pub fn makes_images_at_start(&self) -> bool {
        let mut targets = self.targets.iter();
        targets.any(|target| matches!(target.image, ImageMaking::AtStart))
    }
}

impl<'a> WrapPlan<'a> {
    fn new(options: &'a Options, host: &'a HostCommand) -> Self {
        Self {
            host_triple: &host.triple,
            relocatable: options.relocatable,
            prints_module: options.print_wrapped_module,
            fat_binary: FatBinaryPlan {
                cuda_path: options.cuda_path.as_deref(),
                compress: options.compress,
                compression_level: options.compression_level.as_deref(),
            },
        }
    }
}

/// Reports options that cannot be followed.
fn check(options: &Options, host: &HostCommand) -> Result<()> {
    if !options.emit_fatbin_only {
        host_link::host_linker(host)?;
    }
    if options.embed_bitcode && options.jit.is_some() {
        return Err(Error::Usage(
            "--embed-bitcode and --jit exclude each other: libomptarget compiles the bitcode of the one, the JIT library that of the \
             other"
                .to_owned(),
        ));
    }
    if options.jit == Some(JitForm::Only)
        && let Some(runtime) = sanitizer_runtime::of_program(host)
    {
        return Err(Error::Usage(format!(
            "--jit=only and '{}' exclude each other: an image that is made when the program starts finds no functions of the program's own; \
             link with --jit",
            runtime.display()
        )));
    }
    Ok(())
}

/// What a link with these options makes.
pub(super) fn product(options: &Options) -> Product {
    match options {
        _ if options.emit_fatbin_only => Product::Images,
        _ if options.relocatable => Product::Object,
        _ => Product::Program,
    }
}

/// Whether there is one image alone, whose linker can write it there, and which libomptarget alone gets to
/// see.
fn image_in_wrapper(options: &Options, targets: &[TargetPlan<'_>]) -> bool {
    let needs_file = options.emit_fatbin_only
        || options.embed_bitcode
        || options.jit.is_some()
        || options.print_wrapped_module
        || !options.override_images.is_empty();
    match targets {
        [target] => !needs_file && target.takes_parts && target.group.kinds().eq([OffloadKind::OpenMp]),
        _ => false,
    }
}
