//! What is in the folders of a layer, and what of them cannot be read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::StoreError;
use crate::process::is_hexadecimal;

/// Files of a layer, and what of it cannot be read.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The files, in no order.
    pub(super) files: Vec<PathBuf>,
    /// Folders and files that are there and cannot be looked at.
    pub(super) unreadable: Vec<(PathBuf, io::Error)>,
}

impl Listing {
    /// Takes note of what cannot be looked at, unless it is gone.
    fn cannot_read(&mut self, path: &Path, error: io::Error) {
        if !is_absence(&error) {
            self.unreadable.push((path.to_owned(), error));
        }
    }

    /// The files, and why these are not all of them, if they are not.
    pub(super) fn found(self) -> (Vec<PathBuf>, Option<StoreError>) {
        let first = self.unreadable.into_iter().next();
        let failed = first.map(|(path, error)| StoreError::io("read", &path)(error));
        (self.files, failed)
    }

    /// The files, if that is all of them.
    pub(super) fn whole(self) -> Result<Vec<PathBuf>, StoreError> {
        let (files, failed) = self.found();
        failed.map_or(Ok(files), Err)
    }
}

/// The files of images in one of the folders of images.
pub(super) fn images_in(folder: &Path) -> Listing {
    entries(folder, Kind::Other, |name| is_hexadecimal(name, 62))
}

/// Whether an error says that something is not there.
pub(super) fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Whether nothing is there. What cannot be looked at may be, and a link that leads nowhere is.
pub fn is_absent(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| is_absence(&error))
}

/// What an entry of a folder is. A link to a directory is none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A directory.
    Directory,
    /// Anything else.
    Other,
}

/// What is in a folder, of one kind and with names that `is_name` knows: whatever else is there is not the
/// cache's. Of a folder that is not there, nothing.
pub(super) fn entries(folder: &Path, kind: Kind, is_name: impl Fn(&str) -> bool) -> Listing {
    let mut listing = Listing::default();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            listing.cannot_read(folder, error);
            return listing;
        }
    };
    for entry in entries {
        match entry {
            Ok(entry) if !entry.file_name().to_str().is_some_and(&is_name) => {}
            Ok(entry) => match entry.file_type() {
                Ok(found) if found.is_dir() == (kind == Kind::Directory) => listing.files.push(entry.path()),
                Ok(_) => {}
                Err(error) => listing.cannot_read(&entry.path(), error),
            },
            Err(error) => listing.cannot_read(folder, error),
        }
    }
    listing
}
