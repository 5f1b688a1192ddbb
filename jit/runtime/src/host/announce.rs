//! Copies of device images that the loader brings and takes away.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use offloom_abi::jit_image::{ImageAnnouncement, Slot, VERSION};
use offloom_jit_cache::settings::Mode;
use offloom_jit_policy::backend::Backend;
use offloom_jit_policy::image::ImageCopy;
use offloom_jit_policy::kernel::Kernel;
use offloom_jit_policy::kernel_on_device::KernelOnDevice;
use offloom_jit_policy::process::fork_gate;
use offloom_jit_policy::process::report;
use offloom_jit_policy::process::settings::settings;
use offloom_jit_policy::registry::Attached;

use super::dispatch::{dispatch_function, finished_function};
use super::image::{self, HostImage};
use super::{Host, HostSlot};

/// Fills the slots of an image copy whose bundle is attached.
///
/// # Safety
/// As [`offloom_jit_announce_image`](crate::offloom_jit_announce_image).
pub(crate) unsafe fn announce(announcement: *const ImageAnnouncement) {
    // SAFETY: as the caller promises, the version comes first in every version of the record.
    let version = unsafe { (&raw const (*announcement).version).read() };
    if version != VERSION {
        return report::failure(format_args!(
            "a device image uses version {version} of the JIT's records, this library {VERSION}: its kernels stay ahead of time"
        ));
    }
    // SAFETY: the version is ours, so the layout is; the image keeps the record.
    let announcement = unsafe { &*announcement };
    let Some(_change) = fork_gate::enter() else { return };
    let Some(Attached { bundle, kernels }) = Host::registry().attached(announcement.bundle) else {
        return;
    };
    let contents = &bundle.contents;
    let slot_count = announcement.slot_count as usize;
    let anchor_count = announcement.anchor_count as usize;
    if slot_count != contents.kernels.len() || anchor_count != contents.anchors.len() {
        return report::failure("a device image does not match its bundle: its kernels stay ahead of time");
    }
    // SAFETY: as the caller promises. Other threads do not write slots, and kernels read them atomically.
    let (slots, anchors) = unsafe {
        (
            std::slice::from_raw_parts(announcement.slots, slot_count),
            slice_or_empty(announcement.anchors, anchor_count),
        )
    };
    let device = HostImage::new((&raw const *announcement).addr(), anchors.to_vec());
    let image: &'static ImageCopy<Host> = Box::leak(Box::new(ImageCopy::new(bundle, device)));
    let filled = slots.iter().filter_map(|slot| {
        let kernel = kernels.get(slot.kernel as usize)?;
        // An empty slot is what costs a launch least.
        let is_dispatched =
            kernel.left_ahead_of_time.is_none() && kernel.parameter_count == slot.argument_count;
        is_dispatched.then(|| fill(slot, image, kernel))
    });
    let slots: Vec<_> = filled.collect();
    if settings().mode == Mode::Sync && !slots.is_empty() {
        image::prepare(image);
    }
    Host::registry().announce(image, slots);
}

/// Forgets an image copy that was announced, and has what was made for it freed.
///
/// # Safety
/// As [`offloom_jit_withdraw_image`](crate::offloom_jit_withdraw_image).
pub(crate) unsafe fn withdraw(announcement: *const ImageAnnouncement) {
    // SAFETY: as the caller promises.
    unsafe { Host::registry().withdraw(|image| image.device.announcement == announcement.addr()) };
}

fn fill(
    slot: &'static Slot,
    image: &'static ImageCopy<Host>,
    kernel: &'static Kernel<Host>,
) -> &'static KernelOnDevice<Host> {
    let state = KernelOnDevice::new(HostSlot::new(slot), image, kernel);
    let state: &'static KernelOnDevice<Host> = Box::leak(Box::new(state));
    slot.state
        .store((&raw const *state).cast_mut().cast::<c_void>(), Ordering::Relaxed);
    slot.finished
        .store(finished_function() as *mut c_void, Ordering::Relaxed);
    slot.dispatch
        .store(dispatch_function() as *mut c_void, Ordering::Release);
    state
}

/// # Safety
/// `start` points to `count` elements that live as long as the process may use them, or `count` is 0.
unsafe fn slice_or_empty<T>(start: *const T, count: usize) -> &'static [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(start, count) }
}
