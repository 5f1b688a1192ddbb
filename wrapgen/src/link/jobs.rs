//! How many device targets may be linked at the same time: `--wrapper-jobs=`, with make's jobserver.
//!
//! Protocol of the jobserver: "POSIX Jobserver Interaction" in the manual of GNU make.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
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
        Self::take_of(server_files(&flags)?, wanted)
    }

    /// The same, of the jobserver whose files these are.
    fn take_of((reading, writing): (PathBuf, PathBuf), wanted: usize) -> Option<Self> {
        // A file of our own, although it is make's pipe: to wait for nothing is said for each opened file
        // apart.
        let non_blocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let mut source = OpenOptions::new()
            .read(true)
            .custom_flags(non_blocking)
            .open(reading)
            .ok()?;
        let server = OpenOptions::new().write(true).open(writing).ok()?;
        // Make closes its pipe for programs that it does not know to take part, and the numbers may by now
        // be those of a file of the user's.
        if !is_fifo(&source) || !is_fifo(&server) {
            return None;
        }
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

fn is_fifo(file: &File) -> bool {
    file.metadata().is_ok_and(|about| about.file_type().is_fifo())
}

/// The files to read tokens from and to write them to, as the last of make's `flags` for it says.
fn server_files(flags: &OsStr) -> Option<(PathBuf, PathBuf)> {
    let value = flags
        .as_bytes()
        .split(|&byte| byte == b' ')
        .rev()
        .find_map(|word| {
            word.strip_prefix(b"--jobserver-auth=")
                .or_else(|| word.strip_prefix(b"--jobserver-fds="))
        })?;
    if let Some(path) = value.strip_prefix(b"fifo:") {
        let path = Path::new(OsStr::from_bytes(path));
        return Some((path.to_owned(), path.to_owned()));
    }
    let (reading, writing) = std::str::from_utf8(value).ok()?.split_once(',')?;
    let file = |number: &str| {
        Some(PathBuf::from(format!(
            "/proc/self/fd/{}",
            number.parse::<u32>().ok()?
        )))
    };
    Some((file(reading)?, file(writing)?))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn the_last_jobserver_counts() {
        let files = |flags: &str| server_files(OsStr::new(flags));
        let fifo = PathBuf::from("/run/make");
        assert_eq!(
            files("rR -j8 --jobserver-auth=3,4 --jobserver-auth=fifo:/run/make"),
            Some((fifo.clone(), fifo))
        );
        assert_eq!(
            files("-j --jobserver-fds=3,14"),
            Some(("/proc/self/fd/3".into(), "/proc/self/fd/14".into()))
        );
        // What make says to children that are not to take part.
        assert_eq!(files("-j --jobserver-auth=-2,-2"), None);
        assert_eq!(files("k"), None);
    }

    #[test]
    fn a_file_of_the_user_is_no_jobserver() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "mine").unwrap();
        assert!(Tokens::take_of((file.path().into(), file.path().into()), 2).is_none());
        assert_eq!(std::fs::read(file.path()).unwrap(), b"mine");
        let (reading, writing) = std::io::pipe().unwrap();
        (&writing).write_all(b"+++").unwrap();
        let path = |fd: i32| PathBuf::from(format!("/proc/self/fd/{fd}"));
        let tokens = Tokens::take_of((path(reading.as_raw_fd()), path(writing.as_raw_fd())), 2);
        assert_eq!(tokens.unwrap().taken, b"++");
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
