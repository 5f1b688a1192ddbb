//! A folder of a file system that many may write to: what is in it is trusted for its signature, not for its
//! owner.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt};
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::OFlags;

use super::{Put, RemoteStore, StoreFailure};
use crate::entry::MOST_BYTES;

/// The folder.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(path: &str) -> Result<Self, StoreFailure> {
        let path = PathBuf::from(path);
        match path.is_absolute() {
            true => Ok(Self(path)),
            false => Err(StoreFailure::Failing(format!(
                "`file://{}` has no absolute path behind `file://`",
                path.display()
            ))),
        }
    }

    fn place(&self, name: &str) -> PathBuf {
        self.0.join(name.replace('/', "-"))
    }

    fn failed(&self, error: &io::Error) -> StoreFailure {
        StoreFailure::Failing(format!("`{}`: {error}", self.0.display()))
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
    fn connect(&mut self) -> Result<(), StoreFailure> {
        Ok(())
    }

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
        let read = file.take(MOST_BYTES).read_to_end(&mut bytes);
        read.map_err(|error| self.failed(&error))?;
        Ok(Some(bytes))
    }

    fn get_many(&mut self, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreFailure> {
        names.iter().map(|name| self.get(name)).collect()
    }

    fn put(&mut self, name: &str, bytes: &[u8], _: Duration, how: Put) -> Result<bool, StoreFailure> {
        let file = self.written(bytes).map_err(|error| self.failed(&error))?;
        let kept = match how {
            Put::New => file.persist_noclobber(self.place(name)),
            Put::Replacing => file.persist(self.place(name)),
        };
        match kept {
            Ok(_) => Ok(true),
            Err(error) if how == Put::New && error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(self.failed(&error.error)),
        }
    }

    fn claim(&mut self, name: &str, lifetime: Duration) -> Result<bool, StoreFailure> {
        let failed = |error| self.failed(&error);
        let ours = self.written(b"").map_err(failed)?;
        // By the clock of the file server: that of this machine may differ.
        let now = ours.as_file().metadata().and_then(|file| file.modified());
        let now = now.map_err(failed)?;
        let Err(taken) = ours.persist_noclobber(self.place(name)) else {
            return Ok(true);
        };
        if taken.error.kind() != io::ErrorKind::AlreadyExists {
            return Err(failed(taken.error));
        }
        let since = fs::symlink_metadata(self.place(name)).and_then(|file| file.modified());
        // One that is gone meanwhile was that of a machine which is at it, or of one that another took over.
        let is_over = since.is_ok_and(|since| now.duration_since(since).is_ok_and(|age| age >= lifetime));
        if !is_over {
            return Ok(false);
        }
        // Two at once may both take it over: then both make the object.
        let kept = taken.file.persist(self.place(name));
        kept.map(|_| true).map_err(|error| failed(error.error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn a_claim_ends_by_itself() {
        const LIFETIME: Duration = Duration::from_secs(10);
        let place = tempfile::tempdir().unwrap();
        let mut folder = Folder::new(place.path().to_str().unwrap()).unwrap();
        assert_eq!(folder.claim("a/b", LIFETIME), Ok(true));
        assert_eq!(folder.claim("a/b", LIFETIME), Ok(false));
        assert_eq!(folder.claim("a/c", LIFETIME), Ok(true));
        let file = File::open(place.path().join("a-b")).unwrap();
        file.set_modified(SystemTime::now() - LIFETIME - Duration::from_secs(1))
            .unwrap();
        assert_eq!(folder.claim("a/b", LIFETIME), Ok(true));
        assert_eq!(folder.claim("a/b", LIFETIME), Ok(false));
        // Nothing is left beside them.
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
    }
}
