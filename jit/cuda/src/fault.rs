//! Errors that kernels make on a device, after which its context is lost: libomptarget meets them in a later
//! call, when it waits for a stream, asks for it, copies, or launches the next kernel.
//!
//! Which kernel it was, the driver does not say. Where variants have run, the last one is named, once, with
//! how to run without them.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use offloom_jit_policy::process::error_stream;

use crate::error::{CudaError, Status};
use crate::variant::Variant;

/// What only a kernel that runs can cause: `CUDA_ERROR_ILLEGAL_ADDRESS`, `_LAUNCH_TIMEOUT`, `_ASSERT`,
/// `_HARDWARE_STACK_ERROR`, `_ILLEGAL_INSTRUCTION`, `_MISALIGNED_ADDRESS`, `_INVALID_ADDRESS_SPACE`,
/// `_INVALID_PC`, `_LAUNCH_FAILED`.
const OF_KERNELS: [u32; 9] = [700, 702, 710, 714, 715, 716, 717, 718, 719];

/// The variant that was launched last. Variants live for ever.
static LAST: AtomicPtr<Variant> = AtomicPtr::new(ptr::null_mut());

/// Whether only a kernel that has run can have caused this.
pub(crate) fn is_of_kernel(status: Status) -> bool {
    OF_KERNELS.contains(&status.0)
}

/// Notes a variant that was launched. Most launches are of the variant of the launch before, and only read.
#[inline]
pub(crate) fn note_launch(variant: &'static Variant) {
    let variant = ptr::from_ref(variant).cast_mut();
    if LAST.load(Ordering::Relaxed) != variant {
        LAST.store(variant, Ordering::Release);
    }
}

/// Says which variant was launched last, where a kernel has caused what the driver returned. Once in a
/// process.
#[cold]
pub(crate) fn tell(status: Status) {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if !is_of_kernel(status) {
        return;
    }
    // SAFETY: it is null, or a variant that lives for ever.
    let Some(variant) = (unsafe { LAST.load(Ordering::Acquire).as_ref() }) else {
        return;
    };
    if TOLD.swap(true, Ordering::Relaxed) {
        return;
    }
    error_stream::line(format_args!(
        "a kernel has failed on the device ({}); the last variant that was launched is one of {}; OFFLOOM_JIT=off runs the program without variants",
        CudaError(status),
        variant.kernel().name().to_string_lossy()
    ));
}
