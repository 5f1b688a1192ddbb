//! Reads from a device image which threads execute a kernel.

use offloom_abi::jit_device_image::{execution_mode_in, kernel_environment};
use offloom_jit_policy::execution_mode;

use crate::context::Current;
use crate::image::ImageCopy;

/// Bytes of an environment up to the mode.
const BYTES: usize = 3;

/// Reads the mode of a kernel from an image copy, and notes it. False: it has no such kernel, or one whose
/// mode is not known.
pub(super) fn read(image: &'static ImageCopy, current: &Current<'_>, kernel: &'static str) -> bool {
    let read = || {
        let mut bytes = [0; BYTES];
        let (address, _) = current
            .global(image.module(), &kernel_environment(kernel))
            .filter(|(_, size)| *size >= BYTES)?;
        current.read(address, &mut bytes).ok()?;
        execution_mode_in(&bytes)
    };
    let Some(mode) = read() else { return false };
    execution_mode::note(kernel, mode);
    true
}
