//! Writes a file for the user: beside its place and then renamed, and through what is no regular file.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use offloom_whole_file::WholeFile;

/// Has `write` write a file that appears at `path` whole or not at all, with the permissions that the process
/// gives new files. A symbolic link is followed, also where nothing is behind it yet. What is no regular
/// file, such as `/dev/null` or a pipe, is written to as it is, and so is a file that is the standard output
/// or the error stream: what the program printed is in it.
///
/// # Errors
/// The file or its folder cannot be written, or `write` failed. Nothing is left behind then.
pub fn write_whole<T>(path: &Path, write: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
    let behind = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        // A link that the system does not follow, since others put it into a folder that is everyone's, is
        // not followed here either.
        found => Some(found?),
    };
    if let Some(metadata) = behind {
        if let Some(mut stream) = standard_stream(&metadata) {
            return write(&mut stream);
        }
        if !metadata.is_file() {
            return write(&mut File::options().write(true).open(path)?);
        }
    }
    let place = behind_links(path)?;
    let mut file = WholeFile::create(place, 0o666, SCRATCH_PREFIX, || {})?;
    let written = write(file.file_mut())?;
    file.commit()?;
    Ok(written)
}

/// How the names of files start that have not got their own yet.
const SCRATCH_PREFIX: &str = ".offloom-";

/// The path of the file itself, which need not be there.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_owned();
    // As many as Linux follows.
    for _ in 0..40 {
        match fs::read_link(&place) {
            Ok(target) => place = place.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(place),
        }
    }
    Err(io::Error::from(io::ErrorKind::TooManyLinks))
}

/// The standard output or the error stream, if that is the file. Opened again it would be written from its
/// start.
fn standard_stream(metadata: &Metadata) -> Option<File> {
    let (output, errors) = (io::stdout(), io::stderr());
    of_stream(output.as_fd(), metadata).or_else(|| of_stream(errors.as_fd(), metadata))
}

/// A stream, if it is this file.
fn of_stream(stream: BorrowedFd<'_>, metadata: &Metadata) -> Option<File> {
    let file = File::from(stream.try_clone_to_owned().ok()?);
    let found = file.metadata().ok()?;
    let same = (found.dev(), found.ino()) == (metadata.dev(), metadata.ino());
    same.then_some(file)
}

/// Whether a path leads to the standard output. Who has a file written there puts messages elsewhere, or they
/// would be in the file.
pub fn is_standard_output(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| of_stream(io::stdout().as_fd(), &metadata).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    fn write(path: &Path, text: &str) -> io::Result<()> {
        write_whole(path, |file| file.write_all(text.as_bytes()))
    }

    #[test]
    fn a_new_file_has_the_permissions_that_the_process_gives() {
        let folder = tempfile::tempdir().unwrap();
        let [expected, path] = ["expected", "path"].map(|name| folder.path().join(name));
        fs::write(&expected, "").unwrap();
        write(&path, "text").unwrap();
        let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&expected));
        assert_eq!(fs::read(&path).unwrap(), b"text");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_process_that_ends_while_it_writes_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let entries = || fs::read_dir(folder.path()).unwrap().count();
        for before in 0..2 {
            write_whole(&path, |file| {
                file.write_all(b"text")?;
                assert_eq!(entries(), before, "it has no name yet");
                Ok(())
            })
            .unwrap();
            assert_eq!(entries(), 1);
        }
        assert_eq!(fs::read(&path).unwrap(), b"text");
    }

    #[test]
    fn a_link_stays_and_its_file_is_written() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("elsewhere")).unwrap();
        let file = folder.path().join("elsewhere/file");
        let link = folder.path().join("link");
        fs::write(&file, "what was there").unwrap();
        symlink("elsewhere/file", &link).unwrap();
        write(&link, "text").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"text");
        assert_eq!(fs::read_dir(folder.path().join("elsewhere")).unwrap().count(), 1);
    }

    #[test]
    fn the_file_behind_a_link_is_made_if_it_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second, file, around] =
            ["first", "second", "file", "around"].map(|name| folder.path().join(name));
        symlink("second", &first).unwrap();
        symlink(&file, &second).unwrap();
        write(&first, "text").unwrap();
        assert!(first.is_symlink() && second.is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"text");

        symlink("around", &around).unwrap();
        assert!(write(&around, "text").is_err());
        assert!(around.is_symlink());
    }

    #[test]
    fn what_is_no_regular_file_stays_and_is_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("null");
        symlink("/dev/null", &link).unwrap();
        write(&link, "text").unwrap();
        let metadata = fs::metadata(&link).unwrap();
        assert!(link.is_symlink() && metadata.file_type().is_char_device());

        let (mut reader, writer) = io::pipe().unwrap();
        let pipe = writer.as_raw_fd();
        write(Path::new(&format!("/proc/self/fd/{pipe}")), "text").unwrap();
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");

        let error = write(folder.path(), "text").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    }

    #[test]
    fn what_fails_leaves_what_was_there_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "what was there").unwrap();
        let failed = write_whole(&path, |file| {
            file.write_all(b"half")?;
            Err::<(), _>(io::ErrorKind::StorageFull.into())
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"what was there");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        // The scratch file is nobody's business.
        let error = write(&folder.path().join("absent/file"), "text").unwrap_err();
        assert!(!error.to_string().contains(".offloom-"), "{error}");
    }
}
