//! Phase 6: wraps linked device images for registration.

use std::path::{Path, PathBuf};
use std::process::Command;

use offloom_abi::OffloadKind;
use offloom_abi::offload_binary::{ARCH, ImageKind, MemberDescription, TRIPLE};

use super::command_line::Options;
use super::work_folder::WorkFolder;
use crate::LLVM;
use crate::bitcode_tool::BitcodeTool;
use crate::error::{Error, Result};
use crate::image_argument::ImageArgument;
use crate::inputs::InputFile;
use crate::output::OutputFile;
use crate::process::Runner;
use crate::toolchain;
use crate::wrap::{EmbeddedImage, Registration, WrapArgs, openmp_number};

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

/// Writes the registration object and returns its file.
///
/// # Errors
/// An image cannot be read, or the object cannot be written.
pub fn wrap_images(
    images: &[LinkedImage],
    jit_bundle: Option<&Path>,
    options: &Options,
    folder: &WorkFolder,
    runner: Runner,
) -> Result<PathBuf> {
    let object = folder.wrapper("o");
    if options.print_wrapped_module && !runner.dry_run {
        print_module(images, options, folder)?;
    }
    if runner.shows_commands() {
        runner.print(&as_command(images, jit_bundle, options, &object)?);
    }
    if runner.dry_run {
        return Ok(object);
    }
    let files: Vec<_> = images
        .iter()
        .map(|image| InputFile::open(&image.path))
        .collect::<Result<_>>()?;
    let bundle = jit_bundle.map(InputFile::open).transpose()?;
    let mut embedded = Vec::new();
    for (image, file) in images.iter().zip(&files) {
        let description = MemberDescription {
            image_kind: image.kind,
            offload_kind: openmp_number(),
            flags: 0,
            strings: image.strings(images.len()),
        };
        let image = EmbeddedImage::packed(&description, file.bytes())
            .map_err(|error| Error::Usage(format!("cannot embed '{}': {error}", image.path.display())))?;
        embedded.push(image);
    }
    let registration = Registration {
        llvm: LLVM,
        host_triple: options.host_triple(),
        images: embedded,
        relocatable: options.relocatable,
        jit_bundle: bundle.as_ref().map(InputFile::bytes),
    };
    let mut output = OutputFile::create(&object)?;
    registration.write_object(&mut output)?;
    output.commit()?;
    Ok(object)
}

/// The step as a command that a person can run.
fn as_command(
    images: &[LinkedImage],
    jit_bundle: Option<&Path>,
    options: &Options,
    object: &Path,
) -> Result<Command> {
    let mut command = Command::new(toolchain::program()?);
    command.arg("wrap");
    for image in images {
        command.arg(format!("--image={}", image_argument(image, images.len())));
    }
    if let Some(bundle) = jit_bundle {
        command.arg("--jit-bundle").arg(bundle);
    }
    if options.relocatable {
        command.arg("--relocatable");
    }
    command.arg(format!("--host-triple={}", options.host_triple()));
    command.arg("-o").arg(object);
    Ok(command)
}

fn image_argument(image: &LinkedImage, count: usize) -> String {
    let strings = image.strings(count).into_iter();
    let strings: String = strings.map(|(key, value)| format!(",{key}={value}")).collect();
    format!("file={}{strings},kind=openmp", image.path.display())
}

/// `--print-wrapped-module`: the module that the stock wrapper would compile, on the error output.
fn print_module(images: &[LinkedImage], options: &Options, folder: &WorkFolder) -> Result<()> {
    let output = folder.wrapper("ll");
    let arguments = WrapArgs {
        output: output.clone(),
        emit: None,
        kind: OffloadKind::OpenMp,
        images: images
            .iter()
            .map(|image| ImageArgument::from(image_argument(image, images.len()).as_str()))
            .collect(),
        files: Vec::new(),
        host_triple: options.host_triple().to_owned(),
        relocatable: options.relocatable,
        jit_bundle: None,
    };
    BitcodeTool::find()?.wrapped_module(&arguments)?;
    let mut text = std::fs::File::open(&output).map_err(Error::read(&output))?;
    std::io::copy(&mut text, &mut std::io::stderr()).map_err(Error::write(Path::new("standard error")))?;
    Ok(())
}
