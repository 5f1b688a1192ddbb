//! Warm caches as one file, to move between machines: a magic number, then the files of the cache, each after its size.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use super::Store;
use super::error::StoreError;
use super::record::{HEADER, Record};
use crate::output::write_whole;

/// The first eight bytes of a pack.
const MAGIC: [u8; 8] = *b"OFFLOOMP";
/// The largest file that is believed to be one: a hostile size must not reserve memory.
const LARGEST: u64 = 1 << 30;

impl Store {
    /// Writes every image of every layer, neither failures nor what launches changed, to one file, as
    /// [`write_whole`] does.
    /// Returns how many images.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn pack(&self, path: &Path) -> Result<u64, StoreError> {
        write_whole(path, |file| self.write_pack(file)).map_err(StoreError::io("write", path))
    }

    fn write_pack(&self, file: &mut File) -> io::Result<u64> {
        file.write_all(&MAGIC)?;
        let mut count = 0;
        for layer in &self.layers {
            for image in layer.image_paths() {
                let Ok((_, bytes)) = layer.read(&image) else {
                    continue;
                };
                let bytes = match Record::decode(&bytes) {
                    Some((_, Record::Image(_))) => bytes,
                    // How fast it is elsewhere, nobody knows.
                    Some((key, Record::Timed(_, image))) => Record::Image(image).encode(key),
                    _ => continue,
                };
                file.write_all(&(bytes.len() as u64).to_le_bytes())?;
                file.write_all(&bytes)?;
                count += 1;
            }
        }
        // The end is marked, so that a pack cut short between two files is noticed.
        file.write_all(&0_u64.to_le_bytes())?;
        Ok(count)
    }

    /// Takes the images of a pack into the private layer. Returns how many. Each is checked as if it were read from a cache;
    /// those before a damaged one are kept.
    ///
    /// # Errors
    /// The pack cannot be read or is damaged, or there is no directory to write.
    pub fn unpack(&self, path: &Path) -> Result<u64, StoreError> {
        self.writable()?;
        let failed = StoreError::io("read", path);
        let mut file = BufReader::new(File::open(path).map_err(&failed)?);
        let mut count = 0;
        let damaged = |record| StoreError::BadPack {
            path: path.to_owned(),
            record,
        };
        let mut word = [0; 8];
        file.read_exact(&mut word).map_err(|_| damaged(0))?;
        if word != MAGIC {
            return Err(damaged(0));
        }
        loop {
            let here = damaged(count + 1);
            let Ok(()) = file.read_exact(&mut word) else {
                return Err(here);
            };
            let size = u64::from_le_bytes(word);
            if size == 0 {
                return Ok(count);
            }
            if !(HEADER as u64..LARGEST).contains(&size) {
                return Err(here);
            }
            let mut bytes = Vec::new();
            let read = (&mut file).take(size).read_to_end(&mut bytes).map_err(&failed)?;
            match Record::decode(&bytes) {
                Some((key, Record::Image(_))) if read as u64 == size => self.write(key, &bytes)?,
                _ => return Err(here),
            }
            count += 1;
        }
    }
}
