//! Who makes an image: one process at a time, on all machines that share the directory.
//!
//! A claim is a file that is created only if it is not there, which every file system does atomically, NFS
//! too; locks of files are not used. A claim whose process is gone, or that is older than a kernel's compile
//! may take and was not renewed, is taken over. Two processes that take over the same claim at the same
//! moment may both win: then an image is made twice, and published whole twice.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
use tempfile::Builder;

use super::error::StoreError;
use super::layer::Layer;
use crate::process::Process;

/// The right to make an image, given up when dropped.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    owner: String,
}

impl Claim {
    /// Has it count as new: what it is for takes longer than others wait for.
    pub fn renew(&self) {
        // By the clock of the file system. One that is gone was taken over.
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_NOW,
        };
        let times = Timestamps {
            last_access: now,
            last_modification: now,
        };
        if self.is_ours() {
            let _ = utimensat(CWD, &self.path, &times, AtFlags::SYMLINK_NOFOLLOW);
        }
    }

    /// False: another process took it over.
    fn is_ours(&self) -> bool {
        fs::read_to_string(&self.path).is_ok_and(|owner| owner == self.owner)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.is_ours() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Tries to get the claim on a key. Nothing: another process makes the image.
pub(super) fn claim(layer: &Layer, key: &str, limit: Duration) -> Result<Option<Claim>, StoreError> {
    let path = layer.claim_path(key);
    let failed = StoreError::io("write", &path);
    // The file appears with its contents: linked under its name, not written there.
    let file = Builder::new()
        .prefix(&Process::current().name())
        .tempfile_in(layer.temporary_folder())
        .map_err(&failed)?;
    let owner = file.path().file_name().unwrap_or_default().to_string_lossy();
    let owner = owner.into_owned();
    fs::write(file.path(), &owner).map_err(&failed)?;
    for _ in 0..2 {
        match fs::hard_link(file.path(), &path) {
            Ok(()) => return Ok(Some(Claim { path, owner })),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // NFS may have made the link and lost the answer.
                if fs::read_to_string(&path).is_ok_and(|found| found == owner) {
                    return Ok(Some(Claim { path, owner }));
                }
            }
            Err(error) => return Err(failed(error)),
        }
        if !is_abandoned(&path, file.path(), limit) {
            return Ok(None);
        }
        let _ = fs::remove_file(&path);
    }
    Ok(None)
}

/// Whether a claim's process is gone, or the claim is older than `limit` by the clock of the file system,
/// which `fresh`, a file just written, tells.
pub(super) fn is_abandoned(path: &Path, fresh: &Path, limit: Duration) -> bool {
    match fs::read_to_string(path) {
        Ok(owner) if Process::from_name(&owner).is_some_and(|process| process.is_gone()) => true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        _ => is_older(path, fresh, limit),
    }
}

/// Whether two files were written more than `limit` apart, whichever came first: clocks may be set back.
pub(super) fn is_older(path: &Path, fresh: &Path, limit: Duration) -> bool {
    let time = |path: &Path| fs::symlink_metadata(path)?.modified();
    let (Ok(then), Ok(now)) = (time(path), time(fresh)) else {
        return false;
    };
    let apart = now.duration_since(then).unwrap_or_else(|error| error.duration());
    apart > limit
}
