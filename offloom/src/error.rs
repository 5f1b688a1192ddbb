//! What can go wrong: one line each, for the user.

use std::fmt;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use offloom_jit_cache::dump::DumpError;
use offloom_jit_cache::stats::StatsError;
use offloom_jit_cache::store::StoreError;
use offloom_text_table::{counted, printable};

use crate::installation::LLVM_MAJOR;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The cache.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Files of the cache that no launch would use.
    #[error(
        "{}; `offloom cache clear` removes everything, a launch makes what it needs again",
        counted(*.0 as u64, "damaged file", "damaged files")
    )]
    Damaged(usize),
    /// There is no cache directory.
    #[error("no cache directory: set OFFLOOM_JIT_CACHE_DIR, XDG_CACHE_HOME or HOME to an absolute path")]
    NoDirectory,
    /// There is nothing to read.
    #[error("there is no cache in `{}`; OFFLOOM_JIT_CACHE_DIR says where it is", .0.display())]
    NoCache(PathBuf),
    /// The cache may not be changed.
    #[error("the cache `{}` is only read, since OFFLOOM_JIT_CACHE_MODE is `ro`; set it to `rw` for this", .0.display())]
    OnlyRead(PathBuf),
    /// The statistics.
    #[error(transparent)]
    Stats(#[from] StatsError),
    /// A file of statistics that is not there.
    #[error(
        "{0}; a program that is linked with --jit writes it where OFFLOOM_JIT_STATS says, when it ends; `No file of statistics` in troubleshooting.md says why there may be none, and `offloom run PROGRAM` runs one and explains it"
    )]
    NoStatistics(StatsError),
    /// There is no place for statistics.
    #[error("cannot write statistics to `{}`: {source}", path.display())]
    Statistics {
        /// The folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The dump of a launch.
    #[error(transparent)]
    Dump(#[from] DumpError),
    /// The launch cannot be run.
    #[error("cannot replay `{}`: {reason}", path.display())]
    Replay {
        /// The dump.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// Variants cannot be made of the program.
    #[error("cannot precompile {0}")]
    Precompile(String),
    /// Some were not made.
    #[error("{} not be compiled", counted(*.0 as u64, "variant could", "variants could"))]
    NotPrecompiled(usize),
    /// What was named holds dumps and is none.
    #[error("`{}` is no dump, but a folder of them: name one that is in it, such as `{}`", folder.display(), dump.display())]
    ManyDumps {
        /// The folder.
        folder: PathBuf,
        /// A dump in it.
        dump: PathBuf,
    },
    /// The variant is not right.
    #[error(
        "the variant leaves other bits than the ahead-of-time code in {}; that is a bug, unless the kernel's result depends on the order of its threads",
        counted(*.0, "word", "words")
    )]
    OtherBits(u64),
    /// A configuration file of the installation.
    #[error("cannot read `{}`: {source}; install Offloom again, with all of its folders side by side", path.display())]
    Configuration {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The installation is the part that runs programs.
    #[error(
        "this installation runs programs and builds none; the package offloom-{LLVM_MAJOR} has what builds them"
    )]
    OnlyRuns,
    /// The page cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Page {
        /// The page.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The page would take the place of what it is made of.
    #[error("`{}` holds the statistics: name another file for the page", .0.display())]
    PageOverStatistics(PathBuf),
    /// JSON was asked for, and a page is something else.
    #[error("a report is an HTML page; leave out --json, or have `offloom --json explain` print the numbers")]
    PageAsJson,
    /// The installation is not whole.
    #[error("{} failed; each says what to do", counted(*.0 as u64, "check", "checks"))]
    Unhealthy(usize),
    /// This program does not know where it is.
    #[error("cannot tell where this program is installed: {0}")]
    NoInstallation(io::Error),
    /// JSON is text, and a path need not be.
    #[error("`{}` cannot be printed as JSON, since it is not UTF-8; leave out --json, or give it another name", .0.display())]
    NotText(PathBuf),
    /// The program that talks to remote stores.
    #[error(
        "cannot start offloom-jit-remote: {0}; install Offloom again, with all of its folders side by side"
    )]
    NoRemoteProgram(io::Error),
    /// Nobody reads what is printed.
    #[error("cannot write to the standard output: {0}")]
    Output(io::Error),
}

impl Error {
    /// What is wrong with a file of statistics, and what to do where it is not there.
    pub(crate) fn from_statistics(error: StatsError) -> Self {
        match &error {
            StatsError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Self::NoStatistics(error)
            }
            _ => Self::Stats(error),
        }
    }
}

/// The result of a command.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Says something on the error stream, if anyone listens.
pub(crate) fn warn(what: impl fmt::Display) {
    let line = format!("offloom: {}\n", printable(&what.to_string()));
    let _ = io::stderr().write_all(line.as_bytes());
}

/// A path as JSON has it.
///
/// # Errors
/// It is not UTF-8.
pub(crate) fn json_path(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| Error::NotText(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_path_that_is_no_text_is_one_error() {
        assert_eq!(json_path(Path::new("/a")).unwrap(), "/a");
        let error = json_path(Path::new(OsStr::from_bytes(b"/\xff"))).unwrap_err();
        let message = error.to_string();
        assert!(
            message.starts_with("`/\u{fffd}` cannot be printed as JSON"),
            "{message}"
        );
    }
}
