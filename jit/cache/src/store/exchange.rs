//! What other tiers of the cache take from a store and put into it: images, named by the hash of their key.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;

use super::Store;
use super::error::StoreError;
use super::key::KeyHash;
use super::layer::Layer;
use super::record::Record;
use super::timed::Timed;
use crate::process::is_hexadecimal;

/// What launches of an image took elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// The fastest ones.
    pub timed: Timed,
    /// When that was found out.
    pub at: SystemTime,
}

impl Store {
    /// The file of the image with this hash, as [`Store::accept`] takes it: of the first layer that has one,
    /// without what is remembered of its launches. Nothing on any trouble.
    pub fn image_of(&self, hash: KeyHash) -> Option<Vec<u8>> {
        let mut images = self.layers.iter().filter_map(|layer| image_in(layer, hash));
        images
            .next()
            .map(|(key, image)| Record::Image(image).encode(&key))
    }

    /// Whether the private layer has the image with this hash.
    pub fn is_in_private_layer(&self, hash: KeyHash) -> bool {
        let mut private = self.layers.iter().filter(|layer| layer.is_private());
        private.any(|layer| image_in(layer, hash).is_some())
    }

    /// Whether any layer has the image with this hash.
    pub fn is_in_any_layer(&self, hash: KeyHash) -> bool {
        self.layers.iter().any(|layer| image_in(layer, hash).is_some())
    }

    /// Takes what [`Store::image_of`] gave elsewhere into the private layer, unless that has an image there;
    /// with what its launches took elsewhere, if that is known and was not. False: it is no image of a key
    /// with this hash.
    ///
    /// # Errors
    /// There is no directory to write, or it cannot be written.
    pub fn accept(
        &self,
        hash: KeyHash,
        bytes: &[u8],
        measured: Option<Measured>,
    ) -> Result<bool, StoreError> {
        let layer = self.writable()?;
        let Some((key, Record::Image(image))) = Record::decode(bytes) else {
            return Ok(false);
        };
        if KeyHash::of(key) != hash {
            return Ok(false);
        }
        if image_in(layer, hash).is_some() {
            if let Some(measured) = measured {
                self.remember_measured(hash, measured)?;
            }
            return Ok(true);
        }
        match measured {
            Some(measured) => self.write_measured(key, image, measured)?,
            None => self.write(key, bytes)?,
        }
        Ok(true)
    }

    /// Remembers what launches of the image with this hash took on another machine, for as long as if it had
    /// been measured here at that time. False, and nothing is done, where there is no image, or where it is
    /// known here what they take on such a model.
    ///
    /// # Errors
    /// There is no directory to write, or it cannot be written.
    pub fn remember_measured(&self, hash: KeyHash, measured: Measured) -> Result<bool, StoreError> {
        self.writable()?;
        let found = self.layers.iter().find_map(|layer| {
            let (key, _) = image_in(layer, hash)?;
            // Without what was remembered too long ago.
            let record = self.load_from(layer, &key)?;
            Some((key, record))
        });
        let Some((key, record)) = found else {
            return Ok(false);
        };
        match record.without_times_on(measured.timed.model) {
            Some(image) => self.write_measured(&key, image, measured).map(|()| true),
            None => Ok(false),
        }
    }

    fn write_measured(&self, key: &str, image: Vec<u8>, measured: Measured) -> Result<(), StoreError> {
        let bytes = Record::Timed(measured.timed, image).encode(key);
        self.write_as_of(key, &bytes, Some(measured.at))
    }

    /// The hashes of all images, and of what else is kept, each once.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn hashes(&self) -> Result<Vec<KeyHash>, StoreError> {
        let mut hashes = Vec::new();
        for layer in &self.layers {
            let files = layer.image_paths().whole()?;
            hashes.extend(files.iter().filter_map(|file| hash_of_file(file)));
        }
        hashes.sort_unstable();
        hashes.dedup();
        Ok(hashes)
    }

    /// Remembers for other processes that something with this name is out of order.
    ///
    /// # Errors
    /// There is no directory to write, or it cannot be written.
    pub fn note_out_of_order(&self, name: &str) -> Result<(), StoreError> {
        let path = self.writable()?.started_path(name);
        let failed = StoreError::io("write", &path);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
            .open(&path)
            .map_err(&failed)?;
        file.set_modified(SystemTime::now()).map_err(failed)
    }

    /// Whether that was noted no longer ago than this.
    pub fn is_out_of_order(&self, name: &str, memory: Duration) -> bool {
        self.writable.as_ref().is_some_and(|layer| {
            let noted = fs::symlink_metadata(layer.started_path(name)).and_then(|found| found.modified());
            noted.is_ok_and(|noted| {
                // A clock that was set back does not keep it for ever.
                let age = SystemTime::now().duration_since(noted);
                age.unwrap_or_else(|error| error.duration()) < memory
            })
        })
    }
}

/// The key and the image that a layer has for this hash. The file alone says nothing: it may be damaged, or
/// hold a failure.
fn image_in(layer: &Layer, hash: KeyHash) -> Option<(String, Vec<u8>)> {
    let (_, bytes) = layer.read(&layer.image_path_of(hash)).ok()?;
    match Record::decode(&bytes)? {
        (key, Record::Image(image) | Record::Timed(_, image)) if KeyHash::of(key) == hash => {
            Some((key.to_owned(), image))
        }
        _ => None,
    }
}

/// The hash that a file of an image is named by, with its folder.
fn hash_of_file(file: &Path) -> Option<KeyHash> {
    let name = file.file_name()?.to_str()?;
    let folder = file.parent()?.file_name()?.to_str()?;
    let digits = format!("{folder}{name}");
    is_hexadecimal(&digits, 64).then(|| digits.parse().ok())?
}
