//! One copy of a device image, on one device.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::backend::{Backend, Done, LoadFailure};
use crate::bundle::AttachedBundle;
use crate::process::lock::lock;
use crate::variant::Variant;

/// One copy of a base image: what libomptarget loaded for one device.
pub struct ImageCopy<B: Backend> {
    /// The bundle it was linked with.
    pub bundle: &'static AttachedBundle,
    /// Its number among the copies of this image, from 0.
    pub number: u32,
    /// What the backend knows of it.
    pub device: B::Image,
    /// All variants that were loaded for it, retired ones too.
    variants: Mutex<Vec<&'static Variant<B>>>,
    withdrawn: AtomicBool,
}

impl<B: Backend> ImageCopy<B> {
    /// A copy that was just announced.
    pub fn new(bundle: &'static AttachedBundle, device: B::Image) -> Self {
        Self {
            bundle,
            number: bundle.number_copy(),
            device,
            variants: Mutex::default(),
            withdrawn: AtomicBool::new(false),
        }
    }

    /// Notes that a variant was loaded for this copy.
    pub(crate) fn add_variant(&self, variant: &'static Variant<B>) {
        lock(&self.variants).push(variant);
    }

    /// Notes that the copy is being unloaded.
    pub(crate) fn withdraw(&self) {
        self.withdrawn.store(true, Ordering::Relaxed);
    }

    /// Whether the copy is gone, or about to be.
    pub fn is_withdrawn(&self) -> bool {
        self.withdrawn.load(Ordering::Relaxed)
    }

    /// Frees the code that was loaded for this copy, and then the rest of it.
    ///
    /// # Safety
    /// No thread runs the code, and none loads more or uses the variants after this.
    pub(crate) unsafe fn free(self, done: Done<Result<(), LoadFailure>>) {
        let first = Arc::new(Mutex::new(Ok(())));
        for variant in self.variants.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let first = Arc::clone(&first);
            let note = move |result| {
                let mut first = lock(&first);
                if first.is_ok() {
                    *first = result;
                }
            };
            // SAFETY: as the caller promises; it was a box when it was made.
            unsafe {
                variant.free_code(Box::new(note));
                drop(Box::from_raw((&raw const *variant).cast_mut()));
            }
        }
        // SAFETY: as the caller promises; what was loaded for it is unloaded before.
        unsafe {
            B::release(
                self.device,
                Box::new(move |result| done(lock(&first).clone().and(result))),
            );
        }
    }
}
