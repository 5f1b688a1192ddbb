//! What is known of the bytes of a mapped object.

use std::ops::Range;

/// The bytes of an object when a kernel starts, each known or not. A pointer field of an object stays
/// unknown: its value is an address, and code that holds an address cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Contents(Vec<Option<u8>>);

impl Contents {
    /// An object of these bytes.
    pub fn new(bytes: impl IntoIterator<Item = Option<u8>>) -> Self {
        Self(bytes.into_iter().collect())
    }

    /// An object of which every byte is known.
    pub fn known(bytes: &[u8]) -> Self {
        Self::new(bytes.iter().copied().map(Some))
    }

    /// The bytes, from offset 0; their number is what is described of the object, in bytes.
    pub fn bytes(&self) -> &[Option<u8>] {
        &self.0
    }

    /// The bytes at these offsets, if all of them are known.
    pub fn known_bytes(&self, offsets: Range<usize>) -> Option<Vec<u8>> {
        self.0.get(offsets)?.iter().copied().collect()
    }

    /// Whether no byte is known.
    pub fn is_unknown(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// Whether every byte known here is known, with the same value, in `launch`.
    pub(super) fn is_right_for(&self, launch: &Self) -> bool {
        let known = self.0.iter().enumerate().filter(|(_, byte)| byte.is_some());
        known
            .into_iter()
            .all(|(offset, byte)| launch.0.get(offset) == Some(byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_given_only_where_all_are_known() {
        let contents = Contents::new([Some(1), Some(2), None, Some(4)]);
        assert_eq!(contents.known_bytes(0..2), Some(vec![1, 2]));
        assert_eq!(contents.known_bytes(1..3), None);
        assert_eq!(contents.known_bytes(3..5), None, "past the end");
    }
}
