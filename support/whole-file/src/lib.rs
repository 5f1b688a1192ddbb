//! Files that appear whole or not at all: written without a name, or beside their final name, then put into
//! place.
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, OFlags, linkat};
use tempfile::{Builder, NamedTempFile};

/// A file being written. Dropped without [`WholeFile::commit`], it leaves nothing behind.
#[derive(Debug)]
pub struct WholeFile {
    scratch: Scratch,
    place: PathBuf,
    prefix: &'static str,
}

/// A file in the folder of its final name.
#[derive(Debug)]
enum Scratch {
    /// It has no name yet, so that it vanishes however the process ends.
    Unnamed(File),
    /// It has one, on file systems where each file must.
    Beside(NamedTempFile),
}

impl WholeFile {
    /// Starts a file that will get the name `place`, with the permissions that the process gives new files of
    /// this mode. Where it has another name for a while, that starts with `prefix`, and `before_name` is
    /// called first: such a file stays if a signal ends the process.
    ///
    /// # Errors
    /// The folder does not exist or cannot be written.
    pub fn create(
        place: PathBuf,
        mode: u32,
        prefix: &'static str,
        before_name: impl FnOnce(),
    ) -> io::Result<Self> {
        let scratch = match unnamed(folder_of(&place), mode) {
            Some(file) => Scratch::Unnamed(file),
            None => {
                before_name();
                Scratch::Beside(beside(folder_of(&place), mode, prefix)?)
            }
        };
        Ok(Self {
            scratch,
            place,
            prefix,
        })
    }

    /// The open file, which can be read, too.
    pub fn file_mut(&mut self) -> &mut File {
        match &mut self.scratch {
            Scratch::Unnamed(file) => file,
            Scratch::Beside(file) => file.as_file_mut(),
        }
    }

    /// The name that it will get.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Puts the file in its place, replacing what was there.
    ///
    /// # Errors
    /// It cannot be renamed.
    pub fn commit(self) -> io::Result<()> {
        match self.scratch {
            Scratch::Unnamed(file) => put_in_place(&file, &self.place, self.prefix),
            Scratch::Beside(file) => persist(file, &self.place),
        }
    }
}

/// The folder that holds `path`.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// A file without a name, where there can be one that gets a name later.
fn unnamed(folder: &Path, mode: u32) -> Option<File> {
    let file = File::options()
        .read(true)
        .write(true)
        .mode(mode)
        .custom_flags(OFlags::TMPFILE.bits().cast_signed())
        .open(folder)
        .ok()?;
    // It gets its name through `/proc`, which some closed-off environments lack.
    path_of(&file).exists().then_some(file)
}

fn beside(folder: &Path, mode: u32, prefix: &str) -> io::Result<NamedTempFile> {
    // Opened here, since errors of the crate's own way name the scratch file.
    Builder::new().prefix(prefix).make_in(folder, |scratch| {
        File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(scratch)
    })
}

/// Gives a file without a name the name `place`, replacing what has it.
fn put_in_place(file: &File, place: &Path, prefix: &str) -> io::Result<()> {
    let link = |name: &Path| {
        let linked = linkat(CWD, path_of(file), CWD, name, AtFlags::SYMLINK_FOLLOW);
        linked.map_err(io::Error::from)
    };
    match link(place) {
        // A link does not replace; a rename does, but needs a name to start from.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let beside = Builder::new().prefix(prefix).make_in(folder_of(place), link)?;
            persist(beside, place)
        }
        linked => linked,
    }
}

fn persist<F>(file: NamedTempFile<F>, place: &Path) -> io::Result<()> {
    file.persist(place).map_err(|error| error.error)?;
    Ok(())
}

/// A path that leads to an open file, whether it has a name or not.
fn path_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn both_kinds_get_their_name_with_the_same_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("file");
        let mut modes = Vec::new();
        for named in [false, true, false, true] {
            let scratch = match named {
                true => Scratch::Beside(beside(folder.path(), 0o640, ".scratch-").unwrap()),
                false => Scratch::Unnamed(unnamed(folder.path(), 0o640).unwrap()),
            };
            let mut file = WholeFile {
                scratch,
                place: place.clone(),
                prefix: ".scratch-",
            };
            file.file_mut().write_all(b"text").unwrap();
            file.commit().unwrap();
            assert_eq!(fs::read(&place).unwrap(), b"text");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
            modes.push(fs::metadata(&place).unwrap().permissions().mode());
        }
        assert!(modes.iter().all(|mode| *mode == modes[0]), "{modes:?}");
    }

    #[test]
    fn what_is_not_committed_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        drop(beside(folder.path(), 0o666, ".scratch-").unwrap());
        let place = folder.path().join("file");
        let mut file = WholeFile::create(place, 0o666, ".scratch-", || {}).unwrap();
        file.file_mut().write_all(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let absent = folder.path().join("absent/file");
        let error = WholeFile::create(absent, 0o666, ".scratch-", || {}).unwrap_err();
        assert!(!error.to_string().contains(".scratch-"), "{error}");
    }
}
