//! What keeps the cache small and clean, and what people want to know about it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::Builder;

use super::Store;
use super::claim;
use super::error::StoreError;
use super::layer::{IMAGE_FOLDERS, Layer, images_in};
use super::process::Process;
use super::record::Record;

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
}

/// What a look at every file showed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Keys of images that are whole, as they are stored.
    pub images: Vec<String>,
    /// Keys of failures that are remembered, each with its reason.
    pub failures: Vec<(String, String)>,
    /// Keys under which it is remembered what launches of a kernel change too often.
    pub given_up: Vec<String>,
    /// Files that are damaged, have another key's name or another owner; a launch would take none of them.
    pub damaged: Vec<PathBuf>,
}

impl Store {
    /// The files of the first layer: the private one, where there is one.
    pub fn list(&self) -> Vec<Stored> {
        self.layers.first().map(files).unwrap_or_default()
    }

    /// The key of a file in the list, as it is stored, and what is kept for it. Nothing if no launch would use it.
    pub fn read(&self, stored: &Stored) -> Option<(String, Record)> {
        let layer = self.layers.first()?;
        let (_, bytes) = layer.read(&stored.path).ok()?;
        let (key, record) = Record::decode(&bytes)?;
        Some((key.to_owned(), record)).filter(|_| layer.image_path(key) == stored.path)
    }

    /// How much there is.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        for (index, layer) in self.layers.iter().enumerate() {
            let files = files(layer);
            let bytes = files.iter().map(|file| file.size).sum::<u64>();
            if index == 0 {
                (stats.files, stats.bytes) = (files.len() as u64, bytes);
            } else {
                stats.shared_files += files.len() as u64;
                stats.shared_bytes += bytes;
            }
        }
        stats
    }

    /// Looks at every file of every layer.
    pub fn verify(&self) -> Verified {
        let mut verified = Verified::default();
        for layer in &self.layers {
            for path in layer.image_paths() {
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
                        Record::GivenUp(_) => verified.given_up.push(key.to_owned()),
                    },
                    _ => verified.damaged.push(path),
                }
            }
        }
        verified
    }

    /// Removes what was used least recently until the private layer has at most `size_limit` bytes, and what killed processes left.
    /// Returns the bytes removed.
    ///
    /// # Errors
    /// There is no directory to write, or it cannot be written.
    pub fn prune(&self, size_limit: u64) -> Result<u64, StoreError> {
        let layer = self.writable()?;
        clear_left_behind(layer, self.claim_limit)?;
        let mut files = files(layer);
        let mut size = files.iter().map(|file| file.size).sum::<u64>();
        if size <= size_limit {
            return Ok(0);
        }
        // Some more, so that it is not done again at once.
        let goal = size_limit - size_limit / 8;
        let before = size;
        files.sort_by_key(|file| file.last_use);
        for file in files {
            if size <= goal {
                break;
            }
            // Another process may have removed it.
            let _ = fs::remove_file(&file.path);
            size -= file.size;
        }
        Ok(before - size)
    }

    /// As [`Store::prune`] to the cache's own limit, but where `sample`, one of the folders of images, says that much less than that is there, images
    /// are neither listed nor removed: a program may be waiting, and its first compile is not to depend on how many there are.
    pub(super) fn keep_small(&self, sample: &Path) -> Result<(), StoreError> {
        let bytes: u64 = stored(images_in(sample)).map(|file| file.size).sum();
        if bytes.saturating_mul(IMAGE_FOLDERS) <= self.size_limit / 2 {
            return clear_left_behind(self.writable()?, self.claim_limit);
        }
        self.prune(self.size_limit).map(drop)
    }

    /// Removes every file of this format from the private layer; returns how many there were.
    ///
    /// # Errors
    /// There is no directory to write, or a file cannot be removed.
    pub fn clear(&self) -> Result<u64, StoreError> {
        let paths = self.writable()?.image_paths();
        for path in &paths {
            match fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(StoreError::io("remove", path)(error));
                }
                _ => {}
            }
        }
        Ok(paths.len() as u64)
    }
}

fn files(layer: &Layer) -> Vec<Stored> {
    stored(layer.image_paths()).collect()
}

/// The files of these that are still there.
fn stored(paths: Vec<PathBuf>) -> impl Iterator<Item = Stored> {
    paths.into_iter().filter_map(|path| {
        let metadata = fs::symlink_metadata(&path).ok()?;
        Some(Stored {
            path,
            size: metadata.len(),
            last_use: metadata.modified().ok()?,
        })
    })
}

/// Removes temporary files and claims of processes that are gone, or that are older than anything takes.
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
    Ok(())
}
