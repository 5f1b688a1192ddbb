//! An attached bundle.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use offloom_abi::jit_bundle::{Bundle, BundleId};
use offloom_descriptor::Descriptor;
use offloom_jit_cache::store::ImageKey;

use crate::backend::{Backend, Compiler};
use crate::disk_cache;

/// A bundle as the process keeps it, for ever.
pub struct AttachedBundle {
    /// Its identity.
    pub id: BundleId,
    /// All of it.
    pub bytes: &'static [u8],
    /// Its contents, in memory of our own: the library that brought it may be closed.
    pub contents: Bundle<'static>,
    /// As [`Backend::ARCHITECTURE`].
    architecture: &'static str,
    compiler: &'static Compiler,
    copies: AtomicU32,
    has_long_launches: OnceLock<bool>,
}

impl AttachedBundle {
    /// Takes over a parsed bundle.
    pub fn new<B: Backend>(id: BundleId, bytes: &'static [u8], contents: Bundle<'static>) -> Self {
        Self {
            id,
            bytes,
            contents,
            architecture: B::ARCHITECTURE,
            compiler: B::compiler(),
            copies: AtomicU32::new(0),
            has_long_launches: OnceLock::new(),
        }
    }

    /// What is made of this bundle is kept in the cache under this key.
    pub fn cache_key(
        &self,
        target_features: String,
        options: String,
        source: &str,
        descriptor: Descriptor,
    ) -> ImageKey {
        let triple = self.contents.target_triple;
        ImageKey {
            source: source.to_owned(),
            ..disk_cache::key(
                self.compiler,
                self.id,
                triple,
                target_features,
                options,
                descriptor,
            )
        }
    }

    /// Under this the cache knows that a program with this bundle has started.
    pub fn key_of_start(&self) -> ImageKey {
        let any_kernel = Descriptor::unspecialized("", self.architecture);
        self.cache_key(String::new(), "start".to_owned(), "", any_kernel)
    }

    /// Under this the cache knows that a kernel of this bundle has launches so long that they may wait for a
    /// variant.
    fn key_of_long_launches(&self) -> ImageKey {
        let any_kernel = Descriptor::unspecialized("", self.architecture);
        self.cache_key(String::new(), "long launches".to_owned(), "", any_kernel)
    }

    /// Has the cache remember that.
    pub(crate) fn note_long_launches(&self) {
        disk_cache::note_long_launches(&self.key_of_long_launches());
    }

    /// Whether an earlier run has found that, as the cache knows when this is asked first.
    pub(crate) fn has_long_launches(&self) -> bool {
        *self
            .has_long_launches
            .get_or_init(|| disk_cache::has_long_launches(&self.key_of_long_launches()))
    }

    /// The number of the next copy of the bundle's image to be loaded, from 0. libomptarget loads one copy
    /// per device, on the device's first use, and tells no copy which device it is for.
    pub fn number_copy(&self) -> u32 {
        self.copies.fetch_add(1, Ordering::Relaxed)
    }
}
