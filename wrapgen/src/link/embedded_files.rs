//! Device objects that stay in the host objects they lie in, and an image that is linked into its
//! registration object: `wrapgen-lld` takes such parts of files in the place of files, so that an image of
//! hundreds of megabytes is written once before the host link, not three times.
//!
//! Where people look on (`--save-temps`, printed commands), and for other linkers, each has a file of its
//! own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use offloom_abi::OffloadKind;

use super::plan::LinkPlan;
use super::work_folder::WorkFolder;
use super::wrap_images;
use crate::error::{Error, Result};
use crate::inputs::{EmbeddedMember, InputFile, Piece};

/// Where in the registration object the image is linked to.
#[derive(Debug)]
pub struct ImagePlace {
    /// The object.
    pub object: PathBuf,
    /// Offset of the image in it, in bytes.
    pub offset: u64,
}

impl ImagePlace {
    /// The option with which `wrapgen-lld` writes the image there. If bitcode turns up, LLVM's linker takes
    /// over and writes the file that `-o` names.
    pub fn option(&self) -> OsString {
        let mut option = OsString::from(format!("--offload-into={},", self.offset));
        option.push(&self.object);
        option
    }
}

/// The word with which `wrapgen-lld` reads a member's image where it lies in `file`; none if it does not lie
/// there.
pub fn input_word(found: &EmbeddedMember<'_>, file: &InputFile) -> Option<PathBuf> {
    let image = found.member.image();
    let (path, offset) = file.place_of(image)?;
    let mut word = OsString::from(format!("offload-slice={offset},{},", image.len()));
    word.push(path);
    Some(PathBuf::from(word))
}

/// The place for the image, if it is linked into its registration object.
///
/// # Errors
/// The host's processor is unknown.
pub fn image_place(plan: &LinkPlan<'_>, folder: &WorkFolder) -> Result<Option<ImagePlace>> {
    match &plan.targets[..] {
        [target] if plan.image_in_wrapper => Ok(Some(ImagePlace {
            offset: wrap_images::image_offset(target.group, &plan.wrap)?,
            object: folder.wrapper(OffloadKind::OpenMp, "o"),
        })),
        _ => Ok(None),
    }
}

/// A linked image: a file, or the end of one.
#[derive(Debug)]
pub struct ImageFile {
    file: InputFile,
    start: usize,
}

impl ImageFile {
    /// Opens the image that was linked to `path`, or to its place in the registration object.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(path: &Path, folder: &WorkFolder) -> Result<Self> {
        match folder.used_image_place(path) {
            None => Ok(Self {
                file: InputFile::open_to_copy(path)?,
                start: 0,
            }),
            Some(place) => Ok(Self {
                file: InputFile::open(&place.object)?,
                start: usize::try_from(place.offset)
                    .map_err(|error| Error::read(path)(std::io::Error::other(error)))?,
            }),
        }
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.file.bytes().get(self.start..).unwrap_or_default()
    }

    /// Its bytes as a part of an output.
    pub fn piece(&self) -> Piece<'_> {
        self.file.piece(self.bytes())
    }
}
