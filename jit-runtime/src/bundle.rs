//! An attached bundle.

use std::sync::atomic::{AtomicU32, Ordering};

use offloom_abi::jit_bundle::{Bundle, BundleId};

/// A bundle as the process keeps it, for ever.
pub(crate) struct AttachedBundle {
    /// Its identity.
    pub(crate) id: BundleId,
    /// All of it.
    pub(crate) bytes: &'static [u8],
    /// Its contents, in memory of our own: the library that brought it may be closed.
    pub(crate) contents: Bundle<'static>,
    copies: AtomicU32,
}

impl AttachedBundle {
    /// Takes over a parsed bundle.
    pub(crate) const fn new(id: BundleId, bytes: &'static [u8], contents: Bundle<'static>) -> Self {
        Self {
            id,
            bytes,
            contents,
            copies: AtomicU32::new(0),
        }
    }

    /// The number of the next copy of the bundle's image to be loaded, from 0. libomptarget loads one copy per device, on the
    /// device's first use, and tells no copy which device it is for.
    pub(crate) fn number_copy(&self) -> u32 {
        self.copies.fetch_add(1, Ordering::Relaxed)
    }
}
