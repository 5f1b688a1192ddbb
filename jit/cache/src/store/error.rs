//! Why the cache cannot be used as asked.

use std::io;
use std::path::{Path, PathBuf};

/// Why a directory cannot be used, or an operation on it failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system said no.
    #[error("cannot {what} `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// With which file or directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Something else than a directory, or a symbolic link.
    #[error("the cache `{}` is not a directory; name one that is no symbolic link", path.display())]
    NotADirectory {
        /// What was named.
        path: PathBuf,
    },
    /// Something else than a directory, or a symbolic link, in the place of one of the cache's own folders.
    #[error("`{}` is not a directory of the cache's, or is a symbolic link: remove it, or name another cache", path.display())]
    NotAFolder {
        /// What is there.
        path: PathBuf,
    },
    /// Others could change the private directory.
    #[error(
        "the cache `{}` (owner {owner}, mode {mode:o}) is not private: it must belong to you and have mode 700",
        path.display()
    )]
    NotPrivate {
        /// The directory.
        path: PathBuf,
        /// Its owner's number.
        owner: u32,
        /// Its mode.
        mode: u32,
    },
    /// Others could change a directory that is only read.
    #[error(
        "the cache layer `{}` (owner {owner}, mode {mode:o}) is not trusted: it must belong to you or to root, and only its owner may write to it",
        path.display()
    )]
    Writable {
        /// The directory.
        path: PathBuf,
        /// Its owner's number.
        owner: u32,
        /// Its mode.
        mode: u32,
    },
    /// There is no directory that may be written.
    #[error(
        "there is no cache directory that may be written: it takes OFFLOOM_JIT_CACHE_MODE=rw and a private directory (OFFLOOM_JIT_CACHE_DIR)"
    )]
    ReadOnly,
    /// A file to unpack goes on after its end.
    #[error(
        "`{}` goes on after the end of the pack, whose images are kept: packs cannot be joined, unpack each by itself",
        path.display()
    )]
    AfterPack {
        /// The file.
        path: PathBuf,
    },
    /// A file to unpack is not a pack, or is damaged.
    #[error(
        "`{}` is not a whole pack of cached images: record {record} is damaged or missing; images before it are kept. \
         Copy the pack again, or have `offloom cache pack` make it anew",
        path.display()
    )]
    BadPack {
        /// The file.
        path: PathBuf,
        /// The record, from 1; 0 is the header.
        record: u64,
    },
}

impl StoreError {
    pub(super) fn io(what: &'static str, path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io {
            what,
            path: path.clone(),
            source,
        }
    }
}
