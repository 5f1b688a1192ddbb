//! Removes the temporary folders of links that were killed before they could.
//!
//! A link holds a lock on its folder, which the system lets go however the process ends. A folder of ours
//! that nobody holds, and that has been left alone for a while (a new one is not locked yet), belongs to no
//! link any more.

use std::fs::{self, DirEntry, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::process::getuid;

/// How the name of a link's folder starts.
pub(super) const PREFIX: &str = "wrapgen-link-";

/// How long nothing has been added to a folder that is removed.
const LEFT_ALONE: Duration = Duration::from_mins(10);

/// So many entries of the folder for temporary files are looked at: there may be very many, and this is not
/// what the link is for.
const LOOKED_AT: usize = 1024;

/// Takes the lock of a link's own folder. It is held as long as the file is open; without it, others may
/// remove the folder after a while.
pub(super) fn hold(folder: &Path) -> Option<File> {
    let file = File::open(folder).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(file)
}

/// Removes the folders in `parent` that were left. What cannot be removed stays: this is no business of the
/// link at hand.
pub(super) fn remove(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.take(LOOKED_AT).flatten() {
        if is_left(&entry) && hold(&entry.path()).is_some() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_left(entry: &DirEntry) -> bool {
    // The metadata are those of the entry itself: links are not followed.
    entry
        .file_name()
        .as_encoded_bytes()
        .starts_with(PREFIX.as_bytes())
        && entry.metadata().is_ok_and(|metadata| {
            let age = metadata.modified().ok().and_then(|time| time.elapsed().ok());
            metadata.is_dir()
                && metadata.uid() == getuid().as_raw()
                && age.is_some_and(|age| age > LEFT_ALONE)
        })
}
