//! Phase 6: wraps linked device images for registration.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use either::Either;
use offloom_abi::OffloadKind;
use offloom_abi::offload_binary::{ARCH, ImageKind, MemberDescription, TRIPLE};

use super::embedded_files::ImageFile;
use super::fat_binary;
use super::group::{Group, LINKED_KINDS};
use super::link_step::LinkStep;
use super::plan::WrapPlan;
use super::work_folder::WorkFolder;
use crate::LLVM;
use crate::bitcode_tool::BitcodeTool;
use crate::error::{Error, Result};
use crate::image_argument::ImageArgument;
use crate::inputs::{InputFile, Piece};
use crate::messages;
use crate::output::OutputFile;
use crate::process::Runner;
use crate::steps::{Phase, Step};
use crate::toolchain;
use crate::wrap::{EmbeddedImage, Registration, WrapArgs, WrapInputs, openmp_number};

/// A linked device image.
#[derive(Debug)]
pub struct LinkedImage {
    /// Target triple that it is for.
    pub triple: String,
    /// Processor that it is for, if that is known; may be empty.
    pub arch: Option<String>,
    /// Its file.
    pub path: PathBuf,
    /// What it holds.
    pub kind: ImageKind,
    /// The programming models whose runtimes it is registered with.
    pub kinds: Vec<OffloadKind>,
}

impl LinkedImage {
    /// What its OffloadBinary says about it, as one of `count` images.
    fn strings(&self, count: usize) -> Vec<(&str, &str)> {
        // The stock wrapper sorts images by these strings, and thereby adds an empty one where there is none.
        let missing = if count > 1 { Some("") } else { None };
        let arch = self.arch.as_deref().or(missing).map(|arch| (ARCH, arch));
        [(TRIPLE, self.triple.as_str())].into_iter().chain(arch).collect()
    }
}

/// What registration has to do with the JIT library.
#[derive(Debug)]
pub struct RegistrationForJit {
    /// Bundles to announce to it first: those of the images that have one.
    pub bundles: Vec<PathBuf>,
    /// Whether it makes images when the program starts, so that registration goes through it.
    pub only: bool,
}

/// Writes the registration objects, one for each programming model that there are images of, and returns
/// their files.
///
/// # Errors
/// An image cannot be read, a fat binary cannot be made, or an object cannot be written.
pub fn wrap_images(
    images: &[LinkedImage],
    jit: &RegistrationForJit,
    plan: &WrapPlan<'_>,
    folder: &WorkFolder,
    runner: Runner,
) -> Result<Vec<PathBuf>> {
    let mut objects = Vec::new();
    for (kind, images) in by_kind(images) {
        let object = folder.wrapper(kind, "o");
        let mut wrap = WrapArgs {
            host_triple: plan.host_triple.to_owned(),
            relocatable: plan.relocatable,
            ..WrapArgs::new(kind, &object)
        };
        match kind {
            OffloadKind::OpenMp => {
                wrap.images = image_arguments(&images);
                wrap.jit_bundles.clone_from(&jit.bundles);
                wrap.jit_only = jit.only;
            }
            _ => wrap.files = vec![bundle(kind, &images, plan, folder, runner)?],
        }
        let wrapped = match kind {
            OffloadKind::OpenMp => Either::Left(images.iter().map(|image| &image.path)),
            _ => Either::Right(wrap.files.iter()),
        };
        let step = Step::new(Phase::Wrap, plan.host_triple, "")
            .reads(wrapped)
            .makes([&object]);
        runner.step(&step, || {
            if plan.prints_module && !runner.dry_run {
                print_module(&wrap, folder)?;
            }
            if runner.shows_commands() {
                runner.print(&as_command(&wrap)?);
            }
            match kind {
                _ if runner.dry_run => Ok(()),
                OffloadKind::OpenMp => register_openmp(&images, jit, plan, folder),
                _ => wrap.run(),
            }
        })?;
        objects.push(object);
    }
    Ok(objects)
}

/// The fat binary of `images`, in a step of its own.
fn bundle(
    kind: OffloadKind,
    images: &[&LinkedImage],
    plan: &WrapPlan<'_>,
    folder: &WorkFolder,
    runner: Runner,
) -> Result<PathBuf> {
    let path = fat_binary::path(kind, folder);
    let step = Step::new(Phase::Bundle, plan.host_triple, "")
        .reads(images.iter().map(|image| &image.path))
        .makes([&path]);
    runner.step(&step, || {
        fat_binary::bundle(kind, images, &plan.fat_binary, &path, runner)
    })?;
    Ok(path)
}

/// `--emit-fatbin-only`: writes to `output` what the registration object would have embedded: the
/// OffloadBinary files of OpenMP images one behind the other, or the fat binary of CUDA or HIP.
///
/// # Errors
/// There are images of more than one programming model, or as [`wrap_images`].
pub fn emit_images(
    images: &[LinkedImage],
    output: &Path,
    plan: &WrapPlan<'_>,
    folder: &WorkFolder,
    runner: Runner,
) -> Result<()> {
    let (kind, images) = match &by_kind(images)[..] {
        [(kind, images)] => (*kind, images.clone()),
        kinds => {
            let names: Vec<_> = kinds.iter().map(|(kind, _)| kind.name()).collect();
            return Err(Error::Usage(format!(
                "--emit-fatbin-only writes device code of one programming model, but the inputs hold code of {}: link them \
                 apart",
                names.join(" and ")
            )));
        }
    };
    if kind != OffloadKind::OpenMp {
        let file = bundle(kind, &images, plan, folder, runner)?;
        runner.print(Command::new("cp").arg(&file).arg(output));
        return match runner.dry_run {
            true => Ok(()),
            false => copy(&file, output),
        };
    }
    let output = output.to_owned();
    let step = Step::new(Phase::Bundle, plan.host_triple, "")
        .reads(images.iter().map(|image| &image.path))
        .makes([&output]);
    runner.step(&step, || {
        if runner.shows_commands() {
            let mut command = LinkStep::command("emit-images", [Path::new("-o"), &output])?;
            for argument in image_arguments(&images) {
                command.arg(argument.to_argument());
            }
            runner.print(&command);
        }
        match runner.dry_run {
            true => Ok(()),
            false => emit_packed(&images, &output, folder),
        }
    })
}

fn copy(file: &Path, output: &Path) -> Result<()> {
    let file = InputFile::open_to_copy(file)?;
    let mut written = OutputFile::create(output)?;
    written.write_piece(file.piece(file.bytes()))?;
    written.commit()
}

fn emit_packed(images: &[&LinkedImage], output: &Path, folder: &WorkFolder) -> Result<()> {
    let files = open(images, folder)?;
    write_images(&pack(images, &files)?, output)
}

/// As [`emit_images`] for OpenMP, with the images as arguments describe them.
///
/// # Errors
/// An argument is incomplete, an image cannot be read, or the output cannot be written.
pub fn emit_given_images(images: &[ImageArgument], output: &Path) -> Result<()> {
    let arguments = WrapArgs {
        images: images.to_vec(),
        ..WrapArgs::new(OffloadKind::OpenMp, output)
    };
    write_images(&WrapInputs::open(&arguments)?.images()?, output)
}

fn write_images(images: &[EmbeddedImage<'_>], output: &Path) -> Result<()> {
    let mut written = OutputFile::create(output)?;
    for image in images {
        for piece in image.pieces() {
            written.write_piece(piece)?;
        }
    }
    written.commit()
}

/// The images of each programming model that there are any of.
fn by_kind(images: &[LinkedImage]) -> Vec<(OffloadKind, Vec<&LinkedImage>)> {
    let of = |kind| -> Vec<_> {
        images
            .iter()
            .filter(|image| image.kinds.contains(&kind))
            .collect()
    };
    LINKED_KINDS
        .into_iter()
        .map(|kind| (kind, of(kind)))
        .filter(|(_, images)| !images.is_empty())
        .collect()
}

fn open(images: &[&LinkedImage], folder: &WorkFolder) -> Result<Vec<ImageFile>> {
    let images = images.iter();
    images.map(|image| ImageFile::open(&image.path, folder)).collect()
}

/// Each image in the OffloadBinary that libomptarget takes it from.
fn pack<'a>(images: &[&LinkedImage], files: &'a [ImageFile]) -> Result<Vec<EmbeddedImage<'a>>> {
    let count = images.len();
    let pairs = images.iter().zip(files);
    pairs
        .map(|(image, file)| pack_one(image, count, file.piece()))
        .collect()
}

/// An image, as one of `count`.
fn pack_one<'a>(image: &LinkedImage, count: usize, bytes: Piece<'a>) -> Result<EmbeddedImage<'a>> {
    let description = MemberDescription {
        image_kind: image.kind,
        offload_kind: openmp_number(),
        flags: 0,
        strings: image.strings(count),
    };
    EmbeddedImage::packed(&description, bytes)
        .map_err(|error| Error::Usage(format!("cannot embed '{}': {error}", image.path.display())))
}

/// Where in its registration object the image of `group` lies, if it is the only one.
///
/// # Errors
/// The host's processor is unknown, or the image cannot be described.
pub fn image_offset(group: &Group<'_>, plan: &WrapPlan<'_>) -> Result<u64> {
    let image = LinkedImage {
        triple: group.target.triple.clone(),
        arch: Some(group.target.image_arch().to_owned()),
        path: PathBuf::new(),
        kind: ImageKind::OBJECT,
        kinds: vec![OffloadKind::OpenMp],
    };
    registration(vec![pack_one(&image, 1, Piece::from(&[][..]))?], &[], false, plan).image_offset()
}

fn registration<'a>(
    images: Vec<EmbeddedImage<'a>>,
    jit_bundles: &'a [InputFile],
    jit_only: bool,
    plan: &'a WrapPlan<'a>,
) -> Registration<'a> {
    Registration {
        llvm: LLVM,
        host_triple: plan.host_triple,
        images,
        relocatable: plan.relocatable,
        jit_bundles: jit_bundles.iter().map(InputFile::bytes).collect(),
        jit_only,
    }
}

/// Writes the object that registers `images` with libomptarget.
fn register_openmp(
    images: &[&LinkedImage],
    jit: &RegistrationForJit,
    plan: &WrapPlan<'_>,
    folder: &WorkFolder,
) -> Result<()> {
    let files = open(images, folder)?;
    let bundles = InputFile::open_all(&jit.bundles)?;
    let registration = registration(pack(images, &files)?, &bundles, jit.only, plan);
    let place = images
        .iter()
        .find_map(|image| folder.used_image_place(&image.path));
    if let Some(place) = place {
        let mut output = OutputFile::open_begun(&place.object)?;
        return registration.write_around_image(&mut output);
    }
    let mut output = OutputFile::create(&folder.wrapper(OffloadKind::OpenMp, "o"))?;
    registration.write_object(&mut output)?;
    output.commit()
}

/// The step as a command that a person can run.
fn as_command(wrap: &WrapArgs) -> Result<Command> {
    let mut command = Command::new(toolchain::program()?);
    command.arg("wrap");
    if wrap.kind != OffloadKind::OpenMp {
        command.arg(format!("--kind={}", wrap.kind.name()));
    }
    for image in &wrap.images {
        command.arg(image.to_argument());
    }
    for bundle in &wrap.jit_bundles {
        command.arg("--jit-bundle").arg(bundle);
    }
    if wrap.jit_only {
        command.arg("--jit-only");
    }
    if wrap.relocatable {
        command.arg("--relocatable");
    }
    command.arg(format!("--host-triple={}", wrap.host_triple));
    command.arg("-o").arg(&wrap.output).args(&wrap.files);
    Ok(command)
}

fn image_arguments(images: &[&LinkedImage]) -> Vec<ImageArgument> {
    let arguments = images.iter().map(|image| image_argument(image, images.len()));
    arguments.map(ImageArgument::from).collect()
}

fn image_argument(image: &LinkedImage, count: usize) -> OsString {
    let strings = image.strings(count).into_iter();
    let strings: String = strings.map(|(key, value)| format!(",{key}={value}")).collect();
    let mut argument = OsString::from("file=");
    argument.push(&image.path);
    argument.push(format!("{strings},kind=openmp"));
    argument
}

/// `--print-wrapped-module`: the module that the stock wrapper would compile, on the error output.
fn print_module(wrap: &WrapArgs, folder: &WorkFolder) -> Result<()> {
    let output = folder.wrapper(wrap.kind, "ll");
    let arguments = WrapArgs {
        output: output.clone(),
        jit_bundles: Vec::new(),
        jit_only: false,
        ..wrap.clone()
    };
    BitcodeTool::find()?.wrapped_module(&arguments)?;
    let text = std::fs::read(&output).map_err(Error::read(&output))?;
    messages::say(String::from_utf8_lossy(&text).trim_end_matches('\n'));
    Ok(())
}
