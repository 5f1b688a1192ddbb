//! Warm caches as one file, to move between machines: a magic number, then the files of the cache, each after
//! its size.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use super::Store;
use super::error::StoreError;
use super::layer::Layer;
use super::record::{HEADER, Record};
use crate::output::write_whole;

/// The first eight bytes of a pack.
const MAGIC: [u8; 8] = *b"OFFLOOMP";
/// The largest file that is believed to be one: a hostile size must not reserve memory.
const LARGEST: u64 = 1 << 30;

/// What came of a pack.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// How many images are in it.
    pub files: u64,
    /// How many of these the private layer had, and has kept as they were, with what is remembered of them.
    pub known: u64,
    /// How many of these the private layer has afterwards: its size limit may not leave room for all.
    pub left: u64,
}

impl Store {
    /// Writes every image of every layer, those of several once, neither failures nor what launches changed,
    /// to one file, as [`write_whole`] does. `done` hears how many images of how many were looked at.
    ///
    /// Returns how many images are in it.
    ///
    /// # Errors
    /// A folder cannot be read, or the file cannot be written.
    pub fn pack(&self, path: &Path, mut done: impl FnMut(usize, usize)) -> Result<u64, StoreError> {
        let mut images = Vec::new();
        for layer in &self.layers {
            let files = layer.image_paths().whole()?.into_iter();
            images.extend(files.map(|image| (layer, image)));
        }
        write_whole(path, |file| write_pack(&images, file, &mut done)).map_err(StoreError::io("write", path))
    }

    /// Takes the images of a pack into the private layer, other than those that it has. Each is checked as if
    /// it were read from a cache; those before a damaged one are kept.
    ///
    /// # Errors
    /// The pack cannot be read or is damaged, or there is no directory to write.
    pub fn unpack(&self, path: &Path) -> Result<Unpacked, StoreError> {
        let layer = self.writable()?;
        let failed = StoreError::io("read", path);
        let mut file = BufReader::new(File::open(path).map_err(&failed)?);
        let mut places = Vec::new();
        let mut known = 0;
        let damaged = |record| StoreError::BadPack {
            path: path.to_owned(),
            record,
        };
        let mut word = [0; 8];
        file.read_exact(&mut word).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => damaged(0),
            _ => failed(error),
        })?;
        if word != MAGIC {
            return Err(damaged(0));
        }
        loop {
            let here = damaged(places.len() as u64 + 1);
            let Ok(()) = file.read_exact(&mut word) else {
                return Err(here);
            };
            let size = u64::from_le_bytes(word);
            if size == 0 {
                break;
            }
            if !(HEADER as u64..LARGEST).contains(&size) {
                return Err(here);
            }
            let mut bytes = Vec::new();
            let read = (&mut file).take(size).read_to_end(&mut bytes).map_err(&failed)?;
            let key = match Record::decode(&bytes) {
                Some((key, Record::Image(_))) if read as u64 == size => key,
                _ => return Err(here),
            };
            match self.load_from(layer, key) {
                Some(Record::Image(_) | Record::Timed(..)) => known += 1,
                _ => self.write(key, &bytes)?,
            }
            places.push(layer.image_path(key));
        }
        // Two packs in one file are not one pack.
        if file.read(&mut word).map_err(&failed)? != 0 {
            return Err(StoreError::AfterPack {
                path: path.to_owned(),
            });
        }
        Ok(Unpacked {
            files: places.len() as u64,
            known,
            left: places.iter().filter(|place| place.exists()).count() as u64,
        })
    }
}

/// Writes these images of these layers. Returns how many are whole.
fn write_pack(
    images: &[(&Layer, PathBuf)],
    file: &mut File,
    done: &mut impl FnMut(usize, usize),
) -> io::Result<u64> {
    file.write_all(&MAGIC)?;
    // Keys, once there was a whole image: a damaged one does not hide that of another layer.
    let mut written = HashSet::new();
    for (number, (layer, image)) in images.iter().enumerate() {
        done(number, images.len());
        let Ok((_, bytes)) = layer.read(image) else {
            continue;
        };
        // How fast it is elsewhere, nobody knows.
        let Some((key, Record::Image(image) | Record::Timed(_, image))) = Record::decode(&bytes) else {
            continue;
        };
        if !written.insert(key.to_owned()) {
            continue;
        }
        let bytes = Record::Image(image).encode(key);
        file.write_all(&(bytes.len() as u64).to_le_bytes())?;
        file.write_all(&bytes)?;
    }
    // The end is marked, so that a pack cut short between two files is noticed.
    file.write_all(&0_u64.to_le_bytes())?;
    Ok(written.len() as u64)
}
