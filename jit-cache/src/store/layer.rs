//! One directory of the cache: whether it may be trusted, and the names in it.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::error::StoreError;

/// The folder that holds files of this version of the format. Another version has another, and each leaves the other's alone.
pub const FORMAT_FOLDER: &str = "v1";
/// The folder of files that are being written.
const TEMPORARY_FOLDER: &str = "temporary";
/// The folder of claims.
const CLAIM_FOLDER: &str = "claims";

/// How many folders images are in, by the first two digits of their key's hash: about as many in each.
pub(super) const IMAGE_FOLDERS: u64 = 256;

/// A directory that may be read, and written if it is private.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    root: PathBuf,
    /// The user that its files must belong to.
    owner: u32,
}

impl Layer {
    /// The user's own directory, made if it is not there: it must belong to the user and be closed to all others. So are folders above it
    /// that are made, as the XDG base directory specification says: whoever could rename it could put another in its place.
    pub(super) fn private(root: &Path) -> Result<Self, StoreError> {
        let failed = StoreError::io("make", root);
        if let Some(parent) = root.parent() {
            let mut parents = DirBuilder::new();
            parents
                .recursive(true)
                .mode(0o700)
                .create(parent)
                .map_err(&failed)?;
        }
        match DirBuilder::new().mode(0o700).create(root) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
            _ => {}
        }
        let user = rustix::process::geteuid().as_raw();
        let metadata = directory(root)?;
        if metadata.uid() != user || metadata.mode() & 0o077 != 0 {
            return Err(StoreError::NotPrivate {
                path: root.to_owned(),
                owner: metadata.uid(),
                mode: metadata.mode() & 0o7777,
            });
        }
        let layer = Self {
            root: root.to_owned(),
            owner: user,
        };
        for folder in [TEMPORARY_FOLDER, CLAIM_FOLDER] {
            let folder = layer.folder().join(folder);
            let mut builder = DirBuilder::new();
            builder.recursive(true).mode(0o700);
            builder.create(&folder).map_err(StoreError::io("make", &folder))?;
        }
        Ok(layer)
    }

    /// A directory that is only read: nobody but its owner, who is the user or root, may be able to write to it.
    pub(super) fn shared(root: &Path) -> Result<Self, StoreError> {
        let metadata = directory(root)?;
        let user = rustix::process::geteuid().as_raw();
        let trusted = metadata.uid() == 0 || metadata.uid() == user;
        if !trusted || metadata.mode() & 0o022 != 0 {
            return Err(StoreError::Writable {
                path: root.to_owned(),
                owner: metadata.uid(),
                mode: metadata.mode() & 0o7777,
            });
        }
        Ok(Self {
            root: root.to_owned(),
            owner: metadata.uid(),
        })
    }

    /// The directory as it was named.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of this version of the format.
    pub(super) fn folder(&self) -> PathBuf {
        self.root.join(FORMAT_FOLDER)
    }

    /// The folder of files that are being written.
    pub(super) fn temporary_folder(&self) -> PathBuf {
        self.folder().join(TEMPORARY_FOLDER)
    }

    /// The folder of claims.
    pub(super) fn claim_folder(&self) -> PathBuf {
        self.folder().join(CLAIM_FOLDER)
    }

    /// The file of a key, by the key's hash.
    pub(super) fn image_path(&self, key: &str) -> PathBuf {
        let hash = blake3::hash(key.as_bytes()).to_hex();
        self.folder().join(&hash[..2]).join(&hash[2..])
    }

    /// The claim on a key.
    pub(super) fn claim_path(&self, key: &str) -> PathBuf {
        self.claim_folder()
            .join(blake3::hash(key.as_bytes()).to_hex().as_str())
    }

    /// Opens and reads a file of this layer. A file that someone else could have written counts as absent.
    pub(super) fn read(&self, path: &Path) -> io::Result<(File, Vec<u8>)> {
        // Neither a link out of the directory nor a pipe that never ends.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut file = OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits() as i32)
            .open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.uid() != self.owner || metadata.mode() & 0o022 != 0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        // Read, not mapped: a file of another process may be cut short, which kills whoever has it mapped.
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0).min(1 << 20));
        file.read_to_end(&mut bytes)?;
        Ok((file, bytes))
    }

    /// The files of images in this layer, in no order.
    pub(super) fn image_paths(&self) -> Vec<PathBuf> {
        let folders = entries(&self.folder()).into_iter().filter(|folder| {
            let name = folder.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.len() == 2)
        });
        folders.flat_map(|folder| entries(&folder)).collect()
    }
}

/// What is in a folder; nothing if it cannot be read.
pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

/// The metadata of something that must be a directory, not a link to one.
fn directory(path: &Path) -> Result<Metadata, StoreError> {
    let metadata = fs::symlink_metadata(path).map_err(StoreError::io("open", path))?;
    if !metadata.is_dir() {
        return Err(StoreError::NotADirectory {
            path: path.to_owned(),
        });
    }
    Ok(metadata)
}
