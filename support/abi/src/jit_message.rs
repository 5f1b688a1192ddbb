//! What every message begins with that `liboffloom_jit.so` and its worker process exchange.
//!
//! A message is a [`Header`] and as many bytes as it says. Both ends come from the same build of Offloom: one
//! that speaks otherwise is recognised by [`VERSION`]. Strings and byte runs are a 32-bit length and that
//! many bytes; all numbers are little-endian. A request's first number is its kind.

use crate::wire::{Damage, Fields};

/// Version of the messages; in every header.
pub const VERSION: u32 = 8;

const MAGIC: [u8; 4] = *b"OFJC";

/// The kind of a request for a kernel's code.
pub(crate) const KERNEL_REQUEST: u32 = 0;
/// The kind of a request for a base image.
pub(crate) const BASE_IMAGE_REQUEST: u32 = 1;

/// What every message begins with: four bytes of magic, the version, the message's length behind the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Bytes that follow.
    pub length: u64,
}

impl Header {
    /// Bytes of an encoded header.
    pub const SIZE: usize = 16;

    /// The header's bytes.
    pub fn encode(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&VERSION.to_le_bytes());
        bytes[8..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    /// Reads a header.
    ///
    /// # Errors
    /// When the bytes are not a header of this version.
    pub fn parse(bytes: [u8; Self::SIZE]) -> Result<Self, MessageError> {
        let mut fields = Fields::new(&bytes);
        let magic: [u8; 4] = fields.array("the magic")?;
        let version = fields.u32("the version")?;
        if magic != MAGIC || version != VERSION {
            return Err(MessageError::OtherVersion);
        }
        Ok(Self {
            length: fields.u64("the length")?,
        })
    }
}

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The other end is not of this build.
    #[error("the compile worker is of another version of Offloom")]
    OtherVersion,
    /// A field does not fit.
    #[error("damaged message of the compile worker: {what} at offset {offset:#x}")]
    Damaged {
        /// The field.
        what: &'static str,
        /// Its offset behind the header, in bytes.
        offset: usize,
    },
}

impl From<Damage> for MessageError {
    fn from(damage: Damage) -> Self {
        Self::Damaged {
            what: damage.what,
            offset: damage.offset,
        }
    }
}

/// Fills in the header of a message that begins with room for it; `more` bytes will follow.
pub(crate) fn put_header(message: &mut [u8], more: usize) {
    let length = (message.len() - Header::SIZE + more) as u64;
    message[..Header::SIZE].copy_from_slice(&Header { length }.encode());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_refused() {
        let mut header = Header { length: 3 }.encode();
        header[4] ^= 1;
        assert_eq!(Header::parse(header), Err(MessageError::OtherVersion));
    }
}
