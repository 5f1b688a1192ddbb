//! A folder of a file system that many may write to: what is in it is trusted for its signature, not for its
//! owner.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt};
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::OFlags;

use super::{RemoteStore, StoreFailure};
use crate::entry::MOST_BYTES;

/// The folder.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(path: &str) -> Result<Self, StoreFailure> {
        let path = PathBuf::from(path);
        match path.is_absolute() {
            true => Ok(Self(path)),
            false => Err(StoreFailure(format!(
                "`file://{}` has no absolute path behind `file://`",
                path.display()
            ))),
        }
    }

    fn place(&self, name: &str) -> PathBuf {
        self.0.join(name.replace('/', "-"))
    }

    fn failed(&self, error: &io::Error) -> StoreFailure {
        StoreFailure(format!("`{}`: {error}", self.0.display()))
    }

    /// Writes a file beside its place.
    fn written(&self, bytes: &[u8]) -> io::Result<tempfile::NamedTempFile> {
        // Others are to read it.
        let mut file = tempfile::Builder::new()
            .prefix(".")
            .permissions(PermissionsExt::from_mode(0o644))
            .tempfile_in(&self.0)?;
        file.write_all(bytes)?;
        Ok(file)
    }
}

impl RemoteStore for Folder {
    fn get(&mut self, name: &str) -> Result<Option<Vec<u8>>, StoreFailure> {
        let opened = OpenOptions::new()
            .read(true)
            // No pipe that never ends.
            .custom_flags(OFlags::NONBLOCK.bits() as i32)
            .open(self.place(name));
        let file: File = match opened {
            // A folder that is not there is out of order, and not empty.
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.0.is_dir() => return Ok(None),
            opened => opened.map_err(|error| self.failed(&error))?,
        };
        let mut bytes = Vec::new();
        let read = file.take(MOST_BYTES as u64).read_to_end(&mut bytes);
        read.map_err(|error| self.failed(&error))?;
        Ok(Some(bytes))
    }

    fn get_many(&mut self, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreFailure> {
        names.iter().map(|name| self.get(name)).collect()
    }

    fn put_new(&mut self, name: &str, bytes: &[u8], _: Duration) -> Result<bool, StoreFailure> {
        let file = self.written(bytes).map_err(|error| self.failed(&error))?;
        match file.persist_noclobber(self.place(name)) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(self.failed(&error.error)),
        }
    }

    fn put(&mut self, name: &str, bytes: &[u8], _: Duration) -> Result<(), StoreFailure> {
        let file = self.written(bytes).map_err(|error| self.failed(&error))?;
        let kept = file.persist(self.place(name));
        kept.map(drop).map_err(|error| self.failed(&error.error))
    }

    fn claim(&mut self, _: &str, _: Duration) -> Result<bool, StoreFailure> {
        // What is put stays: the claim of a machine that is gone would never end.
        Ok(true)
    }
}
