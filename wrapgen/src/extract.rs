//! `wrapgen extract`: writes device images found in a file to files of their own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use offloom_abi::ContainerFormat;

use crate::LLVM;
use crate::error::{Error, Result};
use crate::image_argument::ImageArgument;
use crate::inputs::{EmbeddedMember, InputFile, InputKind};
use crate::messages::say;
use crate::output::OutputFile;
use crate::static_library;

/// Write device images that a file holds to files of their own.
#[derive(Debug, clap::Args)]
pub struct ExtractArgs {
    /// An OffloadBinary, object (ELF, COFF, Mach-O or LLVM bitcode), program, shared library or archive.
    #[arg(value_name = "FILE")]
    pub input: PathBuf,

    /// Which images, and where to: file=OUT,triple=T,arch=A,kind=openmp; every key but file must match.
    /// Without file, names are made from those of the input and the target. Without --image, every image is
    /// written.
    #[arg(
        long = "image",
        value_name = "KEY=VALUE,...",
        help_heading = "Images by what they are for"
    )]
    pub images: Vec<ImageArgument>,

    /// Write the images of each --image to a static library.
    #[arg(long, help_heading = "Images by what they are for")]
    pub archive: bool,

    /// Write one image, by the number that `wrapgen inspect` gives it, to the file of -o.
    #[arg(long, help_heading = "One image", requires = "output", conflicts_with_all = ["images", "archive"])]
    pub number: Option<usize>,

    /// The file to write the image of --number to.
    #[arg(short, value_name = "FILE", help_heading = "One image", requires = "number")]
    pub output: Option<PathBuf>,
}

impl ExtractArgs {
    /// Writes the files.
    ///
    /// # Errors
    /// The input cannot be read or is malformed, no image matches an argument, or an output cannot be
    /// written.
    pub fn run(&self) -> Result<()> {
        if let (Some(number), Some(output)) = (self.number, &self.output) {
            return extract_one(&self.input, number, output);
        }
        let everything = [ImageArgument::from("")];
        let images = if self.images.is_empty() {
            &everything[..]
        } else {
            &self.images
        };
        match extract(&self.input, images, self.archive)?.first() {
            Some(argument) if argument.is_empty() => Err(Error::NoImages {
                path: self.input.clone(),
            }),
            Some(argument) => Err(Error::NothingMatches {
                path: self.input.clone(),
                argument: argument.display().to_string(),
            }),
            None => Ok(()),
        }
    }
}

/// Writes the image `number` of a file.
fn extract_one(input: &Path, number: usize, output: &Path) -> Result<()> {
    let file = InputFile::open_to_copy(input)?;
    let embedded = file.embedded()?;
    let image = embedded.get(number).ok_or_else(|| Error::NoSuchImage {
        path: input.to_owned(),
        number,
        count: embedded.len(),
    })?;
    write(output, &file, image)?.commit()
}

/// Writes what each of `images` asks for and returns the arguments that no image matches. Nothing is in its
/// place before everything is written.
///
/// # Errors
/// The input cannot be read or is malformed, or an output cannot be written.
pub fn extract<'a>(input: &Path, images: &'a [ImageArgument], archive: bool) -> Result<Vec<&'a OsStr>> {
    let file = InputFile::open_to_copy(input)?;
    if file.kind() == InputKind::Unknown {
        return Err(Error::UnknownInput {
            input: input.display().to_string(),
        });
    }
    let embedded = file.embedded()?;
    let mut written = Vec::new();
    let mut unmatched = Vec::new();
    for image in images {
        let mut matching = Vec::new();
        for candidate in &embedded {
            if image.matches(&candidate.member)? {
                matching.push(candidate);
            }
        }
        let Some(last) = matching.last() else {
            unmatched.push(image.text());
            continue;
        };
        match image.file() {
            Some(output) if archive => {
                let mut output = OutputFile::create(&output)?;
                static_library::write(&matching, &mut output)?;
                written.push(output);
            }
            None if archive => {
                return Err(image.error("file= is missing: give the static library to write"));
            }
            Some(output) => {
                if matching.len() > 1 {
                    say(format_args!(
                        "warning: {} images match --image={}; '{}' gets the last of them",
                        matching.len(),
                        image.text().display(),
                        output.display()
                    ));
                }
                written.push(write(&output, &file, last)?);
            }
            None => {
                for (index, candidate) in matching.iter().enumerate() {
                    written.push(write(&made_up_name(candidate, index)?, &file, candidate)?);
                }
            }
        }
    }
    for output in written {
        output.commit()?;
    }
    Ok(unmatched)
}

fn write(path: &Path, input: &InputFile, found: &EmbeddedMember<'_>) -> Result<OutputFile> {
    let mut output = OutputFile::create(path)?;
    output.write_piece(input.piece(found.member.image()))?;
    Ok(output)
}

/// `<stem>-<triple>-<arch>.<index>.<kind>` in the current folder, as LLVM's packager names it.
fn made_up_name(image: &EmbeddedMember<'_>, index: usize) -> Result<PathBuf> {
    let EmbeddedMember { origin, member, .. } = image;
    for (key, value) in [("triple", member.triple()), ("arch", member.arch())] {
        // The text comes from the file: it must not lead out of the current folder.
        if value.contains('/') {
            return Err(Error::UnsafeFileName {
                input: origin.to_string(),
                key,
                value: value.escape_debug().to_string(),
            });
        }
    }
    let mut name = origin.path.file_stem().unwrap_or_default().to_owned();
    name.push("-");
    name.push(member.triple());
    // LLVM 22 and earlier ones leave it there.
    if !member.arch().is_empty() || LLVM.containers == ContainerFormat::Version1 {
        name.push("-");
    }
    name.push(member.arch());
    name.push(format!(
        ".{index}.{}",
        member.image_kind().name().unwrap_or_default()
    ));
    Ok(name.into())
}
