//! One directory of the cache: whether it may be trusted, and the names in it.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::error::StoreError;
use super::key::KeyHash;
use super::listing::{Kind, Listing, entries, images_in, is_absence, is_absent};
use crate::process::{Process, is_hexadecimal};

/// The folder that holds files of this version of the format. Another version has another, and each leaves
/// the other's alone.
pub const FORMAT_FOLDER: &str = "v2";
/// The folder of files that are being written.
const TEMPORARY_FOLDER: &str = "temporary";
/// The folder of claims.
const CLAIM_FOLDER: &str = "claims";

/// The folder of empty files that say what has started.
const STARTED_FOLDER: &str = "started";

/// The file of what was found in this layer, and what not.
const USES_FILE: &str = "uses";

/// How many folders images are in, by the first two digits of their key's hash: about as many in each.
pub(super) const IMAGE_FOLDERS: u64 = 256;

/// A directory that may be read, and written if it is private.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    root: PathBuf,
    /// The user that its files must belong to.
    owner: u32,
    /// Whether it is the user's own, not one of those that are shared.
    private: bool,
}

impl Layer {
    /// The user's own directory, made if it is not there: it must belong to the user and be closed to all
    /// others. So are folders above it that are made, as the XDG base directory specification says: whoever
    /// could rename it could put another in its place.
    pub(super) fn private(root: &Path) -> Result<Self, StoreError> {
        if let Some(parent) = root.parent() {
            let mut parents = DirBuilder::new();
            parents
                .recursive(true)
                .mode(0o700)
                .create(parent)
                .map_err(StoreError::io("make", parent))?;
        }
        match DirBuilder::new().mode(0o700).create(root) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(StoreError::io("make", root)(error));
            }
            _ => {}
        }
        let layer = Self::existing(root)?;
        layer.make_folders()?;
        Ok(layer)
    }

    /// The user's own directory where it is only read: nothing is made, and one that is not there is none.
    pub(super) fn private_to_read(root: &Path) -> Result<Option<Self>, StoreError> {
        if is_absent(root) {
            return Ok(None);
        }
        let layer = Self::existing(root)?;
        let folder = layer.folder();
        match fs::symlink_metadata(&folder) {
            Ok(metadata) if !metadata.is_dir() => Err(StoreError::NotAFolder { path: folder }),
            _ => Ok(Some(layer)),
        }
    }

    /// A private directory that is there.
    fn existing(root: &Path) -> Result<Self, StoreError> {
        let user = rustix::process::geteuid().as_raw();
        let metadata = directory(root)?;
        if metadata.uid() != user || metadata.mode() & 0o077 != 0 {
            return Err(StoreError::NotPrivate {
                path: root.to_owned(),
                owner: metadata.uid(),
                mode: metadata.mode() & 0o7777,
            });
        }
        Ok(Self {
            root: root.to_owned(),
            owner: user,
            private: true,
        })
    }

    /// Makes the folders that every private layer has, where they are not there. What is in their place and
    /// no directory is refused: a link would lead to files that are not the cache's, and they would be
    /// cleaned up.
    pub(super) fn make_folders(&self) -> Result<(), StoreError> {
        // It may have been removed while the program runs, with its parents.
        if !self.root.is_dir() {
            let root = DirBuilder::new().recursive(true).mode(0o700).create(&self.root);
            root.map_err(StoreError::io("make", &self.root))?;
        }
        let inner = [
            self.temporary_folder(),
            self.claim_folder(),
            self.started_folder(),
        ];
        make_folder(&self.folder())?;
        inner.iter().try_for_each(|folder| make_folder(folder))
    }

    /// Makes the folder of an image, if it is not there, and those above it. What is in their place and no
    /// directory is refused.
    pub(super) fn make_folder_of(&self, image: &Path) -> Result<PathBuf, StoreError> {
        self.make_folders()?;
        let folder = image.parent().unwrap_or(&self.root).to_owned();
        make_folder(&folder)?;
        Ok(folder)
    }

    /// A directory that is only read: nobody but its owner, who is the user or root, may be able to write to
    /// it, and the user must be able to look into it.
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
        let layer = Self {
            root: root.to_owned(),
            owner: metadata.uid(),
            private: false,
        };
        let folder = layer.folder();
        // What is behind the name takes the right to search it as well.
        match fs::read_dir(folder.join(".")) {
            Err(_) if folder.symlink_metadata().is_ok_and(|found| !found.is_dir()) => {
                Err(StoreError::NotAFolder { path: folder })
            }
            Err(error) if !is_absence(&error) => Err(StoreError::io("read", &folder)(error)),
            _ => Ok(layer),
        }
    }

    /// Whether it is the user's own.
    pub(super) fn is_private(&self) -> bool {
        self.private
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

    /// The folder of what has started.
    fn started_folder(&self) -> PathBuf {
        self.folder().join(STARTED_FOLDER)
    }

    /// The file of what was found in this layer, and what not.
    pub(super) fn uses_path(&self) -> PathBuf {
        self.folder().join(USES_FILE)
    }

    /// The file of a key, by the key's hash.
    pub(super) fn image_path(&self, key: &str) -> PathBuf {
        self.image_path_of(KeyHash::of(key))
    }

    /// The file of the key with this hash.
    pub(super) fn image_path_of(&self, hash: KeyHash) -> PathBuf {
        let digits = hash.to_string();
        let (folder, name) = digits.split_at(2);
        self.folder().join(folder).join(name)
    }

    /// The claim on a key.
    pub(super) fn claim_path(&self, key: &str) -> PathBuf {
        self.claim_folder().join(KeyHash::of(key).to_string())
    }

    /// The file that says that something with this key has started.
    pub(super) fn started_path(&self, key: &str) -> PathBuf {
        self.started_folder().join(KeyHash::of(key).to_string())
    }

    /// Opens and reads a file of this layer. A file that someone else could have written counts as absent.
    pub(super) fn read(&self, path: &Path) -> io::Result<(File, Vec<u8>)> {
        let (mut file, size) = self.open(path)?;
        // Read, not mapped: a file of another process may be cut short, which kills whoever has it mapped.
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).min(1 << 20));
        file.read_to_end(&mut bytes)?;
        Ok((file, bytes))
    }

    /// So many bytes of a file of this layer, from there on, as [`Self::read`].
    pub(super) fn read_part(&self, path: &Path, offset: u64, size: u64) -> io::Result<Vec<u8>> {
        let (file, whole) = self.open(path)?;
        let is_there = offset.checked_add(size).is_some_and(|end| end <= whole);
        let size = usize::try_from(size).ok().filter(|_| is_there);
        let mut bytes = vec![0; size.ok_or(io::ErrorKind::UnexpectedEof)?];
        file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// Opens a file of this layer, and tells its size, in bytes.
    fn open(&self, path: &Path) -> io::Result<(File, u64)> {
        // Neither a link out of the directory nor a pipe that never ends.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits() as i32)
            .open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.uid() != self.owner || metadata.mode() & 0o022 != 0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok((file, metadata.len()))
    }

    /// The files of images in this layer.
    pub(super) fn image_paths(&self) -> Listing {
        let folders = entries(&self.folder(), Kind::Directory, |name| is_hexadecimal(name, 2));
        let mut all = Listing {
            files: Vec::new(),
            unreadable: folders.unreadable,
        };
        for folder in &folders.files {
            let images = images_in(folder);
            all.files.extend(images.files);
            all.unreadable.extend(images.unreadable);
        }
        all
    }

    /// The files that were, or are, being written.
    pub(super) fn temporary_paths(&self) -> Vec<PathBuf> {
        entries(&self.temporary_folder(), Kind::Other, |name| {
            Process::from_name(name).is_some()
        })
        .files
    }

    /// The claims.
    pub(super) fn claim_paths(&self) -> Vec<PathBuf> {
        entries(&self.claim_folder(), Kind::Other, |name| is_hexadecimal(name, 64)).files
    }

    /// What has started.
    pub(super) fn started_paths(&self) -> Vec<PathBuf> {
        entries(&self.started_folder(), Kind::Other, |name| {
            is_hexadecimal(name, 64)
        })
        .files
    }
}

/// Makes a folder for the user alone, if nothing is there. Nearly always it is there, and looking takes less
/// than trying to make it: six times for each file that is written.
fn make_folder(folder: &Path) -> Result<(), StoreError> {
    if is_directory(folder) {
        return Ok(());
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(_) if is_directory(folder) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(StoreError::NotAFolder {
            path: folder.to_owned(),
        }),
        made => made.map_err(StoreError::io("make", folder)),
    }
}

/// Whether something is a directory, not a link to one.
pub(super) fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
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
