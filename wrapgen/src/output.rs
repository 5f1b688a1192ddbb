//! Writes files so that nobody ever sees half of one: without a name, or beside their final name, then put
//! into place.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use offloom_whole_file::WholeFile;
pub(crate) use offloom_whole_file::folder_of;
use rustix::fs::{FallocateFlags, fallocate};

use crate::error::{Error, Result};
use crate::inputs::{Piece, Source};
use crate::interrupt;

/// Writes to the standard output. A reader that has seen enough, as of `wrapgen inspect ... | head`, is no
/// error.
///
/// # Errors
/// It cannot be written to.
pub fn print(text: &str) -> Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::write(Path::new("standard output"))(error))
        }
        _ => Ok(()),
    }
}

/// A file being written. Dropped without [`OutputFile::commit`], it leaves nothing behind.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    target: Target,
}

#[derive(Debug)]
enum Target {
    /// A file that will get its name when it is whole.
    Whole(WholeFile),
    /// Something that is no regular file, such as `/dev/null` or a pipe: renaming onto it would replace it.
    /// Or a file that nobody else sees.
    Direct(File),
}

impl OutputFile {
    /// Starts a file that will get the name `path`, with the permissions that the process gives new files.
    ///
    /// # Errors
    /// The folder does not exist or cannot be written.
    pub fn create(path: &Path) -> Result<Self> {
        Self::with_mode(path, 0o666)
    }

    /// Starts an executable file that will get the name `path`.
    ///
    /// # Errors
    /// The folder does not exist or cannot be written.
    pub fn create_executable(path: &Path) -> Result<Self> {
        Self::with_mode(path, 0o777)
    }

    /// Opens a file of a work folder that has been begun already, to be written from its start. It is not
    /// cut.
    ///
    /// # Errors
    /// There is none.
    pub fn open_begun(path: &Path) -> Result<Self> {
        let file = File::options()
            .write(true)
            .open(path)
            .map_err(Error::write(path))?;
        Ok(Self {
            path: path.to_owned(),
            target: Target::Direct(file),
        })
    }

    /// Leaves the next `count` bytes as they are.
    ///
    /// # Errors
    /// The file cannot be positioned in, as a pipe cannot.
    pub fn skip(&mut self, count: u64) -> Result<()> {
        let distance = i64::try_from(count).unwrap_or(i64::MAX);
        let moved = self.file_mut().seek_relative(distance);
        moved.map_err(|source| Error::Write {
            path: self.path.clone(),
            source,
        })
    }

    fn with_mode(path: &Path, mode: u32) -> Result<Self> {
        let target = Target::open(path, mode).map_err(Error::write(path))?;
        Ok(Self {
            path: path.to_owned(),
            target,
        })
    }

    /// The open file, for writes that want a file rather than a [`Write`].
    pub fn file_mut(&mut self) -> &mut File {
        match &mut self.target {
            Target::Whole(file) => file.file_mut(),
            Target::Direct(file) => file,
        }
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// The system cannot take them, for instance because the disk is full.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file_mut().write_all(bytes).map_err(|source| Error::Write {
            path: self.path.clone(),
            source,
        })
    }

    /// Writes a piece.
    ///
    /// # Errors
    /// The system cannot take it, or the file it lies in cannot be read or was cut short.
    pub fn write_piece(&mut self, piece: Piece<'_>) -> Result<()> {
        match piece.source() {
            Some(source) => self.copy(source, piece.size()),
            None => self.write(piece.bytes()),
        }
    }

    /// Has the system copy `size` bytes from a file. It does so without a detour through this process.
    ///
    /// # Errors
    /// As [`OutputFile::write_piece`].
    pub fn copy(&mut self, source: Source<'_>, size: u64) -> Result<()> {
        let Source {
            mut file,
            path,
            offset,
        } = source;
        self.reserve(size);
        let copied = file
            .seek(SeekFrom::Start(offset))
            .and_then(|_| io::copy(&mut file.take(size), self.file_mut()));
        match copied {
            Ok(found) if found == size => Ok(()),
            Ok(found) => Err(Error::Changed {
                path: path.to_owned(),
                expected: size,
                found,
            }),
            Err(source) => Err(Error::Copy {
                from: path.to_owned(),
                to: self.path.clone(),
                source,
            }),
        }
    }

    /// Has the system find the space for the next `size` bytes now, if the file will replace another one:
    /// ext4 otherwise does so, and writes all of it, when one is renamed onto the other, and that takes
    /// longer. Where it fails, writing will say why.
    fn reserve(&mut self, size: u64) {
        if let Target::Whole(file) = &self.target
            && file.place().exists()
            && let Ok(position) = self.file_mut().stream_position()
        {
            let _ = fallocate(self.file_mut(), FallocateFlags::KEEP_SIZE, position, size);
        }
    }

    /// Puts the file in its place, replacing what was there.
    ///
    /// # Errors
    /// It cannot be renamed, or a signal asked to stop.
    pub fn commit(self) -> Result<()> {
        interrupt::check()?;
        let put = match self.target {
            Target::Whole(file) => file.commit(),
            Target::Direct(_) => Ok(()),
        };
        put.map_err(Error::write(&self.path))
    }
}

impl Target {
    fn open(path: &Path, mode: u32) -> io::Result<Self> {
        // A link is followed, as it would be by writing to it.
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match fs::metadata(&place) {
            Ok(metadata) if metadata.is_dir() => Err(ErrorKind::IsADirectory.into()),
            Ok(metadata) if !metadata.is_file() => {
                Ok(Self::Direct(File::options().write(true).open(&place)?))
            }
            _ => Ok(Self::Whole(WholeFile::create(
                place,
                mode,
                NAME_PREFIX,
                interrupt::watch,
            )?)),
        }
    }
}

/// How the names of files start that have not got their final one yet.
const NAME_PREFIX: &str = ".wrapgen-";

/// Writes a whole file.
///
/// # Errors
/// It cannot be written; what was there before is then still there.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = OutputFile::create(path)?;
    file.write(bytes)?;
    file.commit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::InputFile;

    #[test]
    fn pieces_of_files_are_copied_to_where_they_belong() {
        let folder = tempfile::tempdir().unwrap();
        let [input, output] = ["input", "output"].map(|name| folder.path().join(name));
        let contents: Vec<u8> = (0..100_000u32).map(|number| (number * 7 / 8) as u8).collect();
        fs::write(&input, &contents).unwrap();
        let file = InputFile::open_to_copy(&input).unwrap();
        let part = file.piece(&file.bytes()[1_001..90_000]);
        assert_eq!(part.source().unwrap().offset, 1_001);
        // Once as a new file, once in the place of one.
        for _ in 0..2 {
            let mut written = OutputFile::create(&output).unwrap();
            written.write(b"front").unwrap();
            written.write_piece(part).unwrap();
            written.write_piece(Piece::from(&b"back"[..])).unwrap();
            written.commit().unwrap();
            let expected = [b"front", &contents[1_001..90_000], b"back"].concat();
            assert!(fs::read(&output).unwrap() == expected);
        }

        File::options()
            .write(true)
            .open(&input)
            .unwrap()
            .set_len(50_000)
            .unwrap();
        let mut written = OutputFile::create(&output).unwrap();
        let error = written.write_piece(part).unwrap_err().to_string();
        assert!(
            error.ends_with("it had 88999 bytes, 48999 were copied"),
            "{error}"
        );
        drop(written);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
