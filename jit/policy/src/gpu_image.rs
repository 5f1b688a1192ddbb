//! Images for GPUs: what one says of itself, and the bundle that it belongs to.

use std::fmt::Display;

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
        mode.inspect(|mode| execution_mode::note(kernel.name, *mode))
            .is_some()
    });
    kernels.collect()
}
