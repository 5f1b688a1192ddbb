//! Images on disk: the JIT paper's second level, shared by processes, machines and runs.
//!
//! Layers that are only read lie under one private directory that is written. Nothing read is trusted: a file
//! must belong to the layer's owner, its checksum must hold and its key must be the one asked for; otherwise
//! it counts as absent. Files are written under a temporary name and renamed, so every process sees all of
//! one or nothing.
//!
//! Trouble with the cache is never trouble for a launch: [`Store::load`] finds nothing, the others return
//! errors that can be ignored.

mod batch;
mod claim;
mod error;
mod exchange;
mod key;
mod layer;
mod listing;
mod pack;
mod record;
mod timed;
mod upkeep;
mod uses;

use std::fs::{self, FileTimes, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use offloom_jit_variants::signature::Subject;
use tempfile::Builder;

use crate::process::Process;

pub use batch::{Batch, Place};
pub use claim::Claim;
pub use error::StoreError;
pub use exchange::Measured;
pub use key::{ImageKey, KeyHash, stored_field};
pub use layer::FORMAT_FOLDER;
pub use listing::is_absent;
pub use pack::Unpacked;
pub use record::{CompileLimits, Failure, Record, file_size};
pub use timed::{Model, Timed};
pub use upkeep::{Stats, Stored, Verified};
pub use uses::Uses;

use layer::{Layer, is_directory};

/// How long is remembered what is no image: a failure may have been for want of memory or time; when launches
/// were timed the machine may have done other work; and what launches changed too often others may not
/// change.
pub const MEMORY: Duration = Duration::from_secs(24 * 60 * 60);
/// How much older an image's time of last use may be than its last use: so a hit rarely writes.
const USE_PRECISION: Duration = Duration::from_secs(60 * 60);

/// Where the cache is and what may be done with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreOptions {
    /// The private directory; none: nothing is written.
    pub directory: Option<PathBuf>,
    /// Whether the private directory is only read: then it is not made either.
    pub read_only: bool,
    /// Directories that are only read, asked in this order after the private one.
    pub shared: Vec<PathBuf>,
    /// How large the private directory may be, in bytes.
    pub size_limit: u64,
    /// How long making an image may take before another process tries.
    pub claim_limit: Duration,
}

/// The cache as one process sees it.
#[derive(Debug)]
pub struct Store {
    layers: Vec<Layer>,
    /// The private layer, if it may be written.
    writable: Option<Layer>,
    /// Whether the private directory cannot be opened.
    is_private_refused: bool,
    size_limit: u64,
    claim_limit: Duration,
    /// Bytes written since the size was last looked at.
    written: AtomicU64,
}

impl Store {
    /// Opens what can be opened; what cannot is in the list of errors, one each, for one warning each.
    ///
    /// Not for a program that runs with more rights than its user, whose environment is not to be trusted.
    pub fn open(options: &StoreOptions) -> (Self, Vec<StoreError>) {
        let mut store = Self {
            layers: Vec::new(),
            writable: None,
            is_private_refused: false,
            size_limit: options.size_limit,
            claim_limit: options.claim_limit,
            // The first publication looks at the size, and clears what a killed process left behind.
            written: AtomicU64::new(u64::MAX / 2),
        };
        let mut errors = Vec::new();
        if let Some(directory) = &options.directory {
            let opened = match options.read_only {
                true => Layer::private_to_read(directory),
                false => Layer::private(directory).map(Some),
            };
            match opened {
                Ok(layer) => {
                    store.writable = layer.clone().filter(|_| !options.read_only);
                    store.layers.extend(layer);
                }
                Err(error) => {
                    store.is_private_refused = true;
                    errors.push(error);
                }
            }
        }
        for directory in &options.shared {
            match Layer::shared(directory) {
                Ok(layer) => store.layers.push(layer),
                Err(error) => errors.push(error),
            }
        }
        (store, errors)
    }

    /// Whether the private directory could not be opened: the first error of [`Store::open`] says why.
    pub fn is_private_refused(&self) -> bool {
        self.is_private_refused
    }

    /// What is kept for a key, from the first layer that has an image, or else from the first that has
    /// anything: where making it failed, it may have been made elsewhere. Nothing on any trouble.
    pub fn load(&self, key: &ImageKey) -> Option<Record> {
        let key = key.to_string();
        let mut first = None;
        for layer in &self.layers {
            match self.load_from(layer, &key) {
                Some(image @ (Record::Image(_) | Record::Timed(..))) => return Some(image),
                other => first = first.or(other),
            }
        }
        first
    }

    fn load_from(&self, layer: &Layer, key: &str) -> Option<Record> {
        let path = layer.image_path(key);
        let (file, bytes) = layer.read(&path).ok()?;
        let ours = self
            .writable
            .as_ref()
            .is_some_and(|own| own.root() == layer.root());
        let record = match Record::decode(&bytes) {
            Some((found, record)) if found == key => record,
            _ => {
                // Damaged: room for a good one. In a folder that a link leads to, it is not the cache's.
                if ours && path.parent().is_some_and(is_directory) {
                    let _ = fs::remove_file(&path);
                }
                return None;
            }
        };
        let now = SystemTime::now();
        let modified = file.metadata().and_then(|metadata| metadata.modified()).ok()?;
        let age = now
            .duration_since(modified)
            .unwrap_or_else(|error| error.duration());
        match record {
            Record::Failure(_) | Record::Megamorphic(_) if age > MEMORY => None,
            Record::Timed(_, image) if age > MEMORY => {
                let image = Record::Image(image);
                // The time of the file, which was when it was timed, becomes that of its use again.
                if ours {
                    let _ = self.write(key, &image.encode(key));
                }
                Some(image)
            }
            Record::Image(_) if ours && age > USE_PRECISION => {
                let _ = file.set_times(FileTimes::new().set_modified(now));
                Some(record)
            }
            _ => Some(record),
        }
    }

    /// The right to make the image of this key, or nothing: another process is at it. After getting it, look
    /// again: the image may have been published just before.
    ///
    /// # Errors
    /// There is no directory to write, or it cannot be written: then nobody else is told, and the image may
    /// be made anyway.
    pub fn claim(&self, key: &ImageKey) -> Result<Option<Claim>, StoreError> {
        claim::claim(self.writable()?, &key.to_string(), self.claim_limit)
    }

    /// Does what the next publication would do besides writing its file, for one under this key: makes
    /// folders, and keeps the cache small and clean if that is due. For while an image is made.
    ///
    /// # Errors
    /// There is no directory to write, or it cannot be written.
    pub fn expect_publication(&self, key: &ImageKey) -> Result<(), StoreError> {
        let layer = self.writable()?;
        let folder = layer.make_folder_of(&layer.image_path(&key.to_string()))?;
        self.keep_small(&folder)
    }

    /// Keeps a record for all processes, in place of what there was. A failure does not replace an image,
    /// which is returned: another process, which did not wait for this one or could not be told of it, has
    /// made it.
    ///
    /// # Errors
    /// There is no directory to write, or it cannot be written. Nothing is left behind then.
    pub fn publish(&self, key: &ImageKey, record: &Record) -> Result<Option<Record>, StoreError> {
        if matches!(record, Record::Failure(_))
            && let Some(image @ (Record::Image(_) | Record::Timed(..))) = self.load(key)
        {
            return Ok(Some(image));
        }
        let key = key.to_string();
        self.write(&key, &record.encode(&key))?;
        Ok(None)
    }

    /// Remembers for [`MEMORY`] what launches of the image of a key took, in the place of what is known of
    /// another model. False, and nothing is done, where there is no image, or where that is known already: of
    /// many processes that start together on such devices, one writes.
    ///
    /// # Errors
    /// There is no directory to write, or it cannot be written.
    pub fn remember_times(&self, key: &ImageKey, timed: Timed) -> Result<bool, StoreError> {
        self.writable()?;
        match self
            .load(key)
            .and_then(|record| record.without_times_on(timed.model))
        {
            Some(image) => self.publish(key, &Record::Timed(timed, image)).map(|_| true),
            None => Ok(false),
        }
    }

    /// Remembers for [`MEMORY`], under a key that is no image's, what the launches of a kernel changed too
    /// often, besides what is remembered already; where that is all of it, nothing is written: it is
    /// forgotten in time, and found out again.
    ///
    /// # Errors
    /// There is no directory to write, or it cannot be written.
    pub fn remember_megamorphic(&self, key: &ImageKey, subjects: &[Subject]) -> Result<(), StoreError> {
        self.writable()?;
        let mut all = match self.load(key) {
            Some(Record::Megamorphic(known)) => known,
            _ => Vec::new(),
        };
        let known = all.len();
        for subject in subjects {
            if !all.contains(subject) {
                all.push(*subject);
            }
        }
        if all.len() == known {
            return Ok(());
        }
        self.publish(key, &Record::Megamorphic(all)).map(drop)
    }

    /// Notes that what may ask for images has started, and tells whether it is the first that may: nothing
    /// with this key has started since one last made an image ([`Store::forget_starts`]). Of many processes
    /// that start together, one is told so.
    ///
    /// # Errors
    /// There is no directory to write, or it cannot be written.
    pub fn note_start(&self, key: &ImageKey) -> Result<bool, StoreError> {
        let path = self.writable()?.started_path(&key.to_string());
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
        {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(StoreError::io("write", &path)(error)),
        }
    }

    /// Whether something with this key has started and is not forgotten.
    pub fn has_started(&self, key: &ImageKey) -> bool {
        let key = key.to_string();
        self.layers
            .iter()
            .any(|layer| layer.started_path(&key).symlink_metadata().is_ok())
    }

    /// Has the next start with this key be the first: images are being made, so the cache did not have all of
    /// them.
    pub fn forget_starts(&self, key: &ImageKey) {
        if let Some(layer) = &self.writable {
            let _ = fs::remove_file(layer.started_path(&key.to_string()));
        }
    }

    /// Puts the bytes of a whole file in the place of a key.
    fn write(&self, key: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.write_as_of(key, bytes, None)
    }

    /// As [`Self::write`]; the file is said to be of this time, if there is one.
    fn write_as_of(&self, key: &str, bytes: &[u8], time: Option<SystemTime>) -> Result<(), StoreError> {
        let layer = self.writable()?;
        let path = layer.image_path(key);
        let failed = StoreError::io("write", &path);
        let folder = layer.make_folder_of(&path)?;
        let mut file = Builder::new()
            .prefix(&Process::current().name())
            .tempfile_in(layer.temporary_folder())
            .map_err(&failed)?;
        file.write_all(bytes).map_err(&failed)?;
        if let Some(time) = time {
            file.as_file().set_modified(time).map_err(&failed)?;
        }
        file.persist(&path).map_err(|error| failed(error.error))?;
        self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.keep_small(&folder)
    }

    fn writable(&self) -> Result<&Layer, StoreError> {
        self.writable.as_ref().ok_or(StoreError::ReadOnly)
    }
}
