//! Images that came together: one file holds them until each has one of its own. Making one file takes a
//! program's start as long as making one image's own, and there may be hundreds of images.
//!
//! The file is among those that are being written, and holds what would be the files of the images, one after
//! the other. Who was told where an image is may read it there. Everybody else finds it once it has its file.

use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;

use tempfile::{Builder, NamedTempFile};

use super::Store;
use super::error::StoreError;
use super::exchange::Measured;
use super::key::KeyHash;
use super::record::Record;
use crate::process::Process;

/// Where an image is that came with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The name of the file, in the folder of those that are being written.
    pub batch: Arc<str>,
    /// Where what would be its own file begins, in bytes.
    pub offset: u64,
    /// Bytes of that.
    pub size: u64,
}

/// Images that came together. Dropped, it removes their file.
#[derive(Debug)]
pub struct Batch {
    _file: NamedTempFile,
    images: Vec<(KeyHash, Place)>,
}

impl Batch {
    /// What it holds.
    pub fn images(&self) -> &[(KeyHash, Place)] {
        &self.images
    }
}

impl Store {
    /// Takes what [`Store::image_of`] gave elsewhere into one file of the private layer, with what launches
    /// took, as `measured` says it of each. What is no image of a key with its hash is left out.
    ///
    /// # Errors
    /// There is no directory to write, or it cannot be written.
    pub fn accept_together(
        &self,
        images: &[(KeyHash, &[u8])],
        measured: impl Fn(KeyHash) -> Option<Measured>,
    ) -> Result<Batch, StoreError> {
        let layer = self.writable()?;
        layer.make_folders()?;
        let folder = layer.temporary_folder();
        let failed = StoreError::io("write", &folder);
        let file = Builder::new()
            .prefix(&Process::current().name())
            .tempfile_in(&folder)
            .map_err(&failed)?;
        let name = file.path().file_name().unwrap_or_default().to_string_lossy();
        let batch: Arc<str> = Arc::from(&*name);
        let mut places = Vec::with_capacity(images.len());
        let mut offset = 0;
        let mut writer = BufWriter::with_capacity(1 << 16, file.as_file());
        for (hash, bytes) in images {
            let Some((key, Record::Image(image))) = Record::decode(bytes) else {
                continue;
            };
            if KeyHash::of(key) != *hash {
                continue;
            }
            let timed = measured(*hash).map(|known| Record::Timed(known.timed, image).encode(key));
            let bytes = timed.as_deref().unwrap_or(bytes);
            writer.write_all(bytes).map_err(&failed)?;
            let size = bytes.len() as u64;
            let batch = Arc::clone(&batch);
            places.push((*hash, Place { batch, offset, size }));
            offset += size;
        }
        writer.flush().map_err(&failed)?;
        drop(writer);
        Ok(Batch {
            _file: file,
            images: places,
        })
    }

    /// What is kept at this place for the key with this hash. Nothing on any trouble, as where the batch is
    /// gone: then the image has its own file.
    pub fn load_from_batch(&self, hash: KeyHash, place: &Place) -> Option<Record> {
        let bytes = self.read_from_batch(place)?;
        let (found, record) = Record::decode(&bytes)?;
        (KeyHash::of(found) == hash).then_some(record)
    }

    /// Gives an image of a batch its own file, with what its launches took, if that is known, unless the
    /// private layer has an image there. False: there is no image at this place.
    ///
    /// # Errors
    /// There is no directory to write, or it cannot be written.
    pub fn part_from_batch(
        &self,
        hash: KeyHash,
        place: &Place,
        measured: Option<Measured>,
    ) -> Result<bool, StoreError> {
        let bytes = self.read_from_batch(place);
        match bytes.as_deref().and_then(Record::decode) {
            Some((key, Record::Image(image) | Record::Timed(_, image))) => {
                self.accept(hash, &Record::Image(image).encode(key), measured)
            }
            _ => Ok(false),
        }
    }

    fn read_from_batch(&self, place: &Place) -> Option<Vec<u8>> {
        let layer = self.writable.as_ref()?;
        // Not a path that leads elsewhere.
        Process::from_name(&place.batch).filter(|_| !place.batch.contains('/'))?;
        let path = layer.temporary_folder().join(Path::new(&*place.batch));
        layer.read_part(&path, place.offset, place.size).ok()
    }
}
