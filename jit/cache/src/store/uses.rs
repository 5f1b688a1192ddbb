//! How often what was wanted of the cache was there: a file to which each process appends a line when it
//! ends.
//!
//! Lines are short enough to be written at once. When they have become many, one that has their sums takes
//! their place; what another process appends just then may be lost: these are numbers for people.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;
use tempfile::Builder;

use super::Store;
use super::error::StoreError;
use super::layer::Layer;
use crate::process::Process;

/// From this size on, in bytes, the sums take the place of the lines.
const MOST_BYTES: u64 = 16 << 10;

/// Objects that were wanted of a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Uses {
    /// Those that were there, failures that are remembered included.
    pub hits: u64,
    /// Those that had to be made.
    pub misses: u64,
}

impl Store {
    /// Adds to what is counted of the private layer.
    ///
    /// # Errors
    /// There is no directory to write, or it cannot be written.
    pub fn note_uses(&self, uses: Uses) -> Result<(), StoreError> {
        let layer = self.writable()?;
        let path = layer.uses_path();
        let failed = StoreError::io("write", &path);
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
            .open(&path)
            .map_err(&failed)?;
        file.write_all(line(uses).as_bytes()).map_err(&failed)?;
        if file.metadata().is_ok_and(|metadata| metadata.len() > MOST_BYTES) {
            let mut sums = Builder::new()
                .prefix(&Process::current().name())
                .tempfile_in(layer.temporary_folder())
                .map_err(&failed)?;
            sums.write_all(line(read(layer)).as_bytes()).map_err(&failed)?;
            sums.persist(&path).map_err(|error| failed(error.error))?;
        }
        Ok(())
    }
}

fn line(uses: Uses) -> String {
    format!("{} {}\n", uses.hits, uses.misses)
}

/// What is counted of a layer. A line that is none is passed over.
pub(super) fn read(layer: &Layer) -> Uses {
    let bytes = layer
        .read(&layer.uses_path())
        .map_or_else(|_| Vec::new(), |(_, bytes)| bytes);
    let text = String::from_utf8_lossy(&bytes);
    let mut sum = Uses::default();
    for (hits, misses) in text.lines().filter_map(|line| line.split_once(' ')) {
        if let (Ok(hits), Ok(misses)) = (hits.parse::<u64>(), misses.parse::<u64>()) {
            sum.hits = sum.hits.saturating_add(hits);
            sum.misses = sum.misses.saturating_add(misses);
        }
    }
    sum
}
