//! How many device targets may be linked at the same time: `--wrapper-jobs=`, with make's jobserver.
//!
//! Protocol of the jobserver: "POSIX Jobserver Interaction" in the manual of GNU make.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;

use crate::LLVM;
use crate::error::{Error, Result};

/// The value of `--wrapper-jobs=`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Jobs {
    /// One for each processor: nothing was said.
    #[default]
    Processors,
    /// So many.
    Number(NonZero<usize>),
    /// One, and one more for each token that make's jobserver has to give.
    JobServer,
}

impl Jobs {
    /// Reads the value of `--wrapper-jobs=`.
    ///
    /// # Errors
    /// It is neither a number from 1 nor, where the release has it, `jobserver`.
    pub fn parse(value: &str) -> Result<Self> {
        match value.parse() {
            Ok(number) => Ok(Self::Number(number)),
            Err(_) if value == "jobserver" && LLVM.job_server => Ok(Self::JobServer),
            Err(_) => Err(Error::Usage(format!(
                "--wrapper-jobs={value}: give a number from 1{}",
                if LLVM.job_server { ", or 'jobserver'" } else { "" }
            ))),
        }
    }

    /// Takes the right to do up to `wanted` things at once.
    pub fn start(self, wanted: usize) -> StartedJobs {
        let free = match self {
            Self::Processors => thread::available_parallelism().map_or(1, NonZero::get),
            Self::Number(number) => number.get(),
            Self::JobServer => 1,
        };
        let tokens = match self {
            Self::JobServer => Tokens::take(wanted.saturating_sub(1)),
            _ => None,
        };
        let taken = tokens.as_ref().map_or(0, |tokens| tokens.taken.len());
        StartedJobs {
            count: (free + taken).clamp(1, wanted.max(1)),
            _tokens: tokens,
        }
    }
}

/// The right to do some things at once, until this value goes.
#[derive(Debug)]
pub struct StartedJobs {
    /// How many.
    pub count: usize,
    _tokens: Option<Tokens>,
}

/// Tokens of make's jobserver: bytes that were read from it, and go back when this value goes.
#[derive(Debug)]
struct Tokens {
    taken: Vec<u8>,
    server: File,
}

impl Tokens {
    /// Takes as many of `wanted` tokens as are there now; `None` without a jobserver.
    fn take(wanted: usize) -> Option<Self> {
        let flags = std::env::var_os("MAKEFLAGS")?;
        Self::take_of(&ServerFiles::of_flags(&flags)?, wanted)
    }

    /// The same, of the jobserver that has these files.
    fn take_of(server: &ServerFiles, wanted: usize) -> Option<Self> {
        let (mut source, server) = server.open()?;
        let mut taken = vec![0; wanted];
        let count = source.read(&mut taken).unwrap_or(0);
        taken.truncate(count);
        Some(Self { taken, server })
    }
}

impl Drop for Tokens {
    fn drop(&mut self) {
        // If make is gone, nobody misses them.
        let _ = self.server.write_all(&self.taken);
    }
}

/// Where tokens are read and written.
#[derive(Debug, PartialEq, Eq)]
enum ServerFiles {
    /// A file that has a name.
    Named(PathBuf),
    /// The numbers of the two ends of make's pipe.
    Pipe { reading: u32, writing: u32 },
}

impl ServerFiles {
    /// Those that the last of make's `flags` for it says.
    fn of_flags(flags: &OsStr) -> Option<Self> {
        let value = flags
            .as_bytes()
            .split(|&byte| byte == b' ')
            .rev()
            .find_map(|word| {
                word.strip_prefix(b"--jobserver-auth=")
                    .or_else(|| word.strip_prefix(b"--jobserver-fds="))
            })?;
        if let Some(path) = value.strip_prefix(b"fifo:") {
            return Some(Self::Named(Path::new(OsStr::from_bytes(path)).to_owned()));
        }
        let (reading, writing) = std::str::from_utf8(value).ok()?.split_once(',')?;
        Some(Self::Pipe {
            reading: reading.parse().ok()?,
            writing: writing.parse().ok()?,
        })
    }

    /// Opens them to read and to write; `None` if they are no jobserver's.
    fn open(&self) -> Option<(File, File)> {
        let (reading, writing) = match self {
            Self::Named(path) => (path.clone(), path.clone()),
            // Make closes its pipe for programs that it does not know to take part, and the numbers may by
            // now be those of other files, also of pipes: then hardly of two ends of one.
            Self::Pipe { reading, writing } => {
                let may_be = access_mode(*reading)? != WRITE_ONLY && access_mode(*writing)? != READ_ONLY;
                may_be.then(|| (descriptor(*reading), descriptor(*writing)))?
            }
        };
        // A file of our own, although it is make's pipe: to wait for nothing is said for each opened file
        // apart.
        let non_blocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let source = OpenOptions::new()
            .read(true)
            .custom_flags(non_blocking)
            .open(reading)
            .ok()?;
        let server = OpenOptions::new().write(true).open(writing).ok()?;
        let (from, to) = (source.metadata().ok()?, server.metadata().ok()?);
        let is_one = (from.dev(), from.ino()) == (to.dev(), to.ino());
        (is_one && from.file_type().is_fifo()).then_some((source, server))
    }
}

fn descriptor(number: u32) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{number}"))
}

const READ_ONLY: u32 = 0;
const WRITE_ONLY: u32 = 1;

/// What an open file may be used for: the two lowest bits of its flags.
fn access_mode(number: u32) -> Option<u32> {
    let about = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).ok()?;
    let flags = about.lines().find_map(|line| line.strip_prefix("flags:"))?;
    Some(u32::from_str_radix(flags.trim(), 8).ok()? & 3)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn the_last_jobserver_counts() {
        let files = |flags: &str| ServerFiles::of_flags(OsStr::new(flags));
        assert_eq!(
            files("rR -j8 --jobserver-auth=3,4 --jobserver-auth=fifo:/run/make"),
            Some(ServerFiles::Named("/run/make".into()))
        );
        assert_eq!(
            files("-j --jobserver-fds=3,14"),
            Some(ServerFiles::Pipe {
                reading: 3,
                writing: 14
            })
        );
        // What make says to children that are not to take part.
        assert_eq!(files("-j --jobserver-auth=-2,-2"), None);
        assert_eq!(files("k"), None);
    }

    /// Takes two tokens of the jobserver that has these files.
    fn take(reading: &impl AsRawFd, writing: &impl AsRawFd) -> Option<Tokens> {
        let number = |file: i32| u32::try_from(file).unwrap();
        let server = ServerFiles::Pipe {
            reading: number(reading.as_raw_fd()),
            writing: number(writing.as_raw_fd()),
        };
        Tokens::take_of(&server, 2)
    }

    #[test]
    fn a_file_of_the_user_is_no_jobserver() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "mine").unwrap();
        assert!(take(file.as_file(), file.as_file()).is_none());
        assert!(Tokens::take_of(&ServerFiles::Named(file.path().into()), 2).is_none());
        assert_eq!(fs::read(file.path()).unwrap(), b"mine");
        let (reading, writing) = std::io::pipe().unwrap();
        (&writing).write_all(b"+++").unwrap();
        assert_eq!(take(&reading, &writing).unwrap().taken, b"++");
        // Pipes, but not two ends of one, or not in this order.
        let (other_reading, other_writing) = std::io::pipe().unwrap();
        assert!(take(&reading, &other_writing).is_none());
        assert!(take(&other_reading, &writing).is_none());
        assert!(take(&writing, &reading).is_none());
        assert!(take(&reading, &reading).is_none());
    }

    #[test]
    fn no_more_jobs_than_work() {
        let number = |count| Jobs::Number(NonZero::new(count).unwrap());
        assert_eq!(number(8).start(3).count, 3);
        assert_eq!(number(2).start(3).count, 2);
        assert_eq!(number(2).start(0).count, 1);
        assert!(Jobs::parse("0").is_err() && Jobs::parse("x").is_err());
        assert_eq!(Jobs::parse("3").unwrap(), number(3));
    }
}
