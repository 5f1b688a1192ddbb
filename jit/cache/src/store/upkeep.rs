//! What keeps the cache small and clean, and what people want to know about it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use tempfile::Builder;

use super::claim;
use super::error::StoreError;
use super::layer::{IMAGE_FOLDERS, Layer};
use super::listing::{Listing, images_in, is_absence};
use super::record::Record;
use super::uses::{self, Uses};
use super::{MEMORY, Store};
use crate::process::Process;

/// No file is written for longer than this; of a process on another machine nothing else is known.
const LONGEST_WRITE: Duration = Duration::from_secs(60 * 60);

/// One file of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last used, to the hour.
    pub last_use: SystemTime,
    /// The directory of the layer that it is in.
    pub layer: PathBuf,
    /// Whether that is the private one.
    pub private: bool,
}

/// What is in the cache, over all layers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Files of the private layer.
    pub files: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Files of the other layers.
    pub shared_files: u64,
    /// Their size in bytes.
    pub shared_bytes: u64,
    /// What processes that write to the private layer have found in the cache, all layers together, and what
    /// not, since the layer was cleared.
    pub uses: Uses,
}

/// What a look at every file showed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Keys of images that are whole, as they are stored.
    pub images: Vec<String>,
    /// Keys of failures that are remembered, each with its reason.
    pub failures: Vec<(String, String)>,
    /// Keys under which it is remembered what launches of a kernel change too often.
    pub megamorphic: Vec<String>,
    /// Files that are damaged, have another key's name or another owner, and folders that cannot be read; a
    /// launch would take none of them.
    pub damaged: Vec<PathBuf>,
}

impl Store {
    /// The files of all layers.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn list(&self) -> Result<Vec<Stored>, StoreError> {
        let mut all = Vec::new();
        for layer in &self.layers {
            let (found, failed) = files(layer);
            failed.map_or(Ok(()), Err)?;
            all.extend(found);
        }
        Ok(all)
    }

    /// The key of a file in the list, as it is stored, and what is kept for it. Nothing if no launch would
    /// use it.
    pub fn read(&self, stored: &Stored) -> Option<(String, Record)> {
        let layer = self.layers.iter().find(|layer| layer.root() == stored.layer)?;
        let (_, bytes) = layer.read(&stored.path).ok()?;
        let (key, record) = Record::decode(&bytes)?;
        Some((key.to_owned(), record)).filter(|_| layer.image_path(key) == stored.path)
    }

    /// How much there is.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn stats(&self) -> Result<Stats, StoreError> {
        let mut stats = Stats::default();
        for file in self.list()? {
            let (files, bytes) = match file.private {
                true => (&mut stats.files, &mut stats.bytes),
                false => (&mut stats.shared_files, &mut stats.shared_bytes),
            };
            *files += 1;
            *bytes = bytes.saturating_add(file.size);
        }
        if let Some(private) = self.layers.iter().find(|layer| layer.is_private()) {
            stats.uses = uses::read(private);
        }
        Ok(stats)
    }

    /// Looks at every file of every layer.
    pub fn verify(&self) -> Verified {
        let mut verified = Verified::default();
        for layer in &self.layers {
            let listing = layer.image_paths();
            let unreadable = listing.unreadable.into_iter().map(|(path, _)| path);
            verified.damaged.extend(unreadable);
            for path in listing.files {
                let bytes = match layer.read(&path) {
                    Ok((_, bytes)) => bytes,
                    // Evicted while we looked.
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                    Err(_) => {
                        verified.damaged.push(path);
                        continue;
                    }
                };
                match Record::decode(&bytes) {
                    Some((key, record)) if layer.image_path(key) == path => match record {
                        Record::Image(_) | Record::Timed(..) => verified.images.push(key.to_owned()),
                        Record::Failure(failure) => {
                            verified.failures.push((key.to_owned(), failure.reason));
                        }
                        Record::Megamorphic(_) => verified.megamorphic.push(key.to_owned()),
                    },
                    _ => verified.damaged.push(path),
                }
            }
        }
        verified
    }

    /// Removes what was used least recently until the private layer has at most `size_limit` bytes, and what
    /// killed processes left. Returns the bytes removed.
    ///
    /// # Errors
    /// There is no directory to write, it cannot be written, or a folder cannot be read or a file removed:
    /// then the others still are.
    pub fn prune(&self, size_limit: u64) -> Result<u64, StoreError> {
        let layer = self.writable()?;
        layer.make_folders()?;
        let (found, unread) = files(layer);
        let (removed, failed) = evict(found, size_limit, size_limit);
        // Afterwards: it takes a file, for which there may have been no room.
        let uncleared = clear_left_behind(layer, self.claim_limit).err();
        unread.or(failed).or(uncleared).map_or(Ok(removed), Err)
    }

    /// If much was written, as [`Store::prune`] to the cache's own limit, but where `sample`, one of the
    /// folders of images, says that much less than that is there, images are neither listed nor removed: a
    /// program may be waiting, and its first compile is not to depend on how many there are. What cannot be
    /// read or removed is passed over.
    pub(super) fn keep_small(&self, sample: &Path) -> Result<(), StoreError> {
        let layer = self.writable()?;
        if self.written.load(Ordering::Relaxed) <= self.size_limit / 16 {
            return Ok(());
        }
        self.written.store(0, Ordering::Relaxed);
        let (sampled, _) = stored(layer, images_in(sample));
        if total(&sampled).saturating_mul(IMAGE_FOLDERS) > self.size_limit / 2 {
            // Some more, so that it is not done again at once.
            evict(
                files(layer).0,
                self.size_limit,
                self.size_limit - self.size_limit / 8,
            );
        }
        // Afterwards, as in `prune`.
        clear_left_behind(layer, self.claim_limit)
    }

    /// Removes every file of this format from the private layer; returns how many there were.
    ///
    /// # Errors
    /// There is no directory to write, or a folder cannot be read or a file removed: then the others still
    /// are.
    pub fn clear(&self) -> Result<u64, StoreError> {
        let layer = self.writable()?;
        layer.make_folders()?;
        for path in layer.started_paths() {
            let _ = fs::remove_file(&path);
        }
        let _ = fs::remove_file(layer.uses_path());
        let (paths, mut failed) = layer.image_paths().found();
        for path in &paths {
            failed = failed.or(remove(path).err());
        }
        failed.map_or(Ok(paths.len() as u64), Err)
    }
}

/// The files of a layer, and why these are not all of them, if they are not.
fn files(layer: &Layer) -> (Vec<Stored>, Option<StoreError>) {
    stored(layer, layer.image_paths())
}

/// The files of a layer that are listed and still there, and why these are not all of them, if they are not.
fn stored(layer: &Layer, listing: Listing) -> (Vec<Stored>, Option<StoreError>) {
    let (paths, mut failed) = listing.found();
    let mut all = Vec::new();
    for path in paths {
        let found =
            fs::symlink_metadata(&path).and_then(|metadata| Ok((metadata.len(), metadata.modified()?)));
        match found {
            Ok((size, last_use)) => all.push(Stored {
                path,
                size,
                last_use,
                layer: layer.root().to_owned(),
                private: layer.is_private(),
            }),
            Err(error) if is_absence(&error) => {}
            Err(error) => failed = failed.or(Some(StoreError::io("read", &path)(error))),
        }
    }
    (all, failed)
}

/// Bytes of files together.
fn total(files: &[Stored]) -> u64 {
    files.iter().fold(0, |sum, file| sum.saturating_add(file.size))
}

/// Where files have more bytes than `size_limit`, removes those that were used least recently until at most
/// `goal` bytes are left. Returns the bytes removed, and why a file was not.
fn evict(mut files: Vec<Stored>, size_limit: u64, goal: u64) -> (u64, Option<StoreError>) {
    let before = total(&files);
    if before <= size_limit {
        return (0, None);
    }
    let (mut size, mut failed) = (before, None);
    files.sort_by_key(|file| file.last_use);
    for file in files {
        if size <= goal {
            break;
        }
        match remove(&file.path) {
            Ok(()) => size -= file.size,
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    (before - size, failed)
}

/// Removes a file, which another process may have removed.
fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(StoreError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// Removes temporary files and claims of processes that are gone, or that are older than anything takes, and
/// what started long ago.
fn clear_left_behind(layer: &Layer, claim_limit: Duration) -> Result<(), StoreError> {
    let folder = layer.temporary_folder();
    // Its time is that of the file system's clock.
    let fresh = Builder::new()
        .prefix(&Process::current().name())
        .tempfile_in(&folder)
        .map_err(StoreError::io("write", &folder))?;
    for path in layer.temporary_paths() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let gone = Process::from_name(&name).is_some_and(|process| process.is_gone());
        if gone || claim::is_older(&path, fresh.path(), LONGEST_WRITE) {
            let _ = fs::remove_file(&path);
        }
    }
    for path in layer.claim_paths() {
        if claim::is_abandoned(&path, fresh.path(), claim_limit) {
            let _ = fs::remove_file(&path);
        }
    }
    for path in layer.started_paths() {
        if claim::is_older(&path, fresh.path(), MEMORY) {
            let _ = fs::remove_file(&path);
        }
    }
    Ok(())
}
