//! Images for GPUs: what one says of itself, the bundle that it belongs to, how long it is loaded, and the
//! memory that its variants take.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use offloom_abi::jit_bundle::{BundleId, ExecutionMode, Gpu};
use offloom_abi::jit_device_image::{DeviceImage, IMAGE_SYMBOL};

use crate::backend::Backend;
use crate::execution_mode;
use crate::kernel::Kernel;
use crate::registry::Attached;

/// The most bytes that an image may say of itself: a damaged one is not copied.
const MOST_BYTES: usize = 1 << 20;

/// What an image says of itself in the `size` bytes of its [`IMAGE_SYMBOL`], which `read` copies from the
/// device.
///
/// # Errors
/// One line: the bytes are too many, cannot be read, or are damaged.
pub fn read_record<E: Display>(
    size: usize,
    read: impl FnOnce(&mut [u8]) -> Result<(), E>,
) -> Result<DeviceImage, String> {
    if size > MOST_BYTES {
        return Err(format!(
            "`{IMAGE_SYMBOL}` of a device image has {size} bytes, more than {MOST_BYTES}"
        ));
    }
    let mut bytes = vec![0; size];
    read(&mut bytes)
        .map_err(|error| format!("`{IMAGE_SYMBOL}` of a device image cannot be read: {error}"))?;
    DeviceImage::parse(&bytes).map_err(|error| error.to_string())
}

/// The bundle of an image. `None`: none for a GPU is attached.
///
/// # Errors
/// One line: the bundle names other anchors than the image has.
pub fn bundle_of<B: Backend>(
    image: &DeviceImage,
) -> Result<Option<(Attached<B>, &'static Gpu<'static>)>, String> {
    let Some(attached) = B::registry().attached(image.bundle) else {
        return Ok(None);
    };
    if image.anchors.len() != attached.bundle.contents.anchors.len() {
        return Err("a device image does not match its bundle".to_owned());
    }
    Ok(with_gpu(attached))
}

/// The bundle with this id, of which no image is loaded.
///
/// # Errors
/// One line: none for a GPU is attached.
pub fn bundle_without_device<B: Backend>(
    id: BundleId,
) -> Result<(Attached<B>, &'static Gpu<'static>), String> {
    let attached = B::registry().attached(id).and_then(with_gpu);
    attached.ok_or_else(|| "a device image does not match its bundle".to_owned())
}

fn with_gpu<B: Backend>(attached: Attached<B>) -> Option<(Attached<B>, &'static Gpu<'static>)> {
    Some((attached, attached.bundle.contents.gpu.as_ref()?))
}

/// The kernels of a bundle that variants can be made of without a device. `mode_of` says which threads
/// execute a kernel in the device image; that is [noted](execution_mode::note).
pub fn kernels_without_device<B: Backend>(
    attached: Attached<B>,
    mode_of: impl Fn(&str) -> Option<ExecutionMode>,
) -> Vec<&'static Kernel<B>> {
    let kernels = attached.kernels.iter().filter(|kernel| {
        let mode = mode_of(kernel.name).filter(|_| kernel.left_ahead_of_time.is_none());
        mode.is_some_and(|mode| execution_mode::note(kernel.name, mode))
    });
    kernels.collect()
}

/// Whether an image copy is still loaded.
#[derive(Debug, Default)]
pub struct Presence {
    is_withdrawn: RwLock<bool>,
}

/// While this is there, the image copy stays loaded.
#[derive(Debug)]
pub struct Held<'a> {
    _guard: RwLockReadGuard<'a, bool>,
}

/// The image copy is no longer loaded, or what it is loaded in is gone.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the device image was unloaded")]
pub struct Withdrawn;

impl Presence {
    /// Begins work that needs the image copy, and that must not wait for anything that waits for an unload.
    ///
    /// # Errors
    /// When the image copy was withdrawn.
    pub fn hold(&self) -> Result<Held<'_>, Withdrawn> {
        let guard = self.is_withdrawn.read().unwrap_or_else(PoisonError::into_inner);
        match *guard {
            true => Err(Withdrawn),
            false => Ok(Held { _guard: guard }),
        }
    }

    /// Has no more work begun, and waits for what was.
    pub fn withdraw(&self) {
        *self.is_withdrawn.write().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

/// The bytes that variants take of a device's memory, as far as is known: those of their images.
#[derive(Debug, Default)]
pub struct VariantBytes {
    held: AtomicU64,
}

/// The variants would take more memory than they may.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("with its {bytes} bytes, variants would take more than {most} bytes of the device's memory")]
pub struct Full {
    /// Of the variant that there is no room for.
    pub bytes: u64,
    /// Of all.
    pub most: u64,
}

impl VariantBytes {
    /// Makes room for a variant, of `most` bytes for all.
    ///
    /// # Errors
    /// When there is none.
    pub fn take(&self, bytes: u64, most: u64) -> Result<(), Full> {
        let more = |held: u64| held.checked_add(bytes).filter(|held| *held <= most);
        self.held
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .map_or(Err(Full { bytes, most }), |_| Ok(()))
    }

    /// Gives back the room of one that is not loaded, or no longer.
    pub fn give_back(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_withdrawal_waits_for_work_and_no_more_is_begun() {
        let presence = Presence::default();
        let held = presence.hold().unwrap();
        // What a withdrawal takes is not to be had.
        assert!(presence.is_withdrawn.try_write().is_err());
        drop(held);
        assert!(presence.is_withdrawn.try_write().is_ok());
        presence.withdraw();
        assert_eq!(presence.hold().unwrap_err(), Withdrawn);
    }

    #[test]
    fn variants_take_no_more_than_they_may() {
        let bytes = VariantBytes::default();
        bytes.take(60, 100).unwrap();
        assert_eq!(bytes.take(41, 100), Err(Full { bytes: 41, most: 100 }));
        bytes.take(40, 100).unwrap();
        bytes.give_back(60);
        bytes.take(60, 100).unwrap();
        assert!(bytes.take(u64::MAX, u64::MAX).is_err());
    }
}
