//! Reads from a device image which threads execute a kernel.

use offloom_abi::jit_bundle::ExecutionMode;
use offloom_abi::jit_device_image::{execution_mode_in, kernel_environment};
use offloom_jit_policy::execution_mode;

use crate::context::Current;
use crate::handles::ModuleHandle;
use crate::image::ImageCopy;
use crate::image_file::ImageFile;

/// Bytes of an environment up to the mode.
const BYTES: usize = 3;

/// The mode of a kernel in a module. `None`: it has no such kernel, or one whose mode is not known.
pub(super) fn mode_of(current: &Current<'_>, module: ModuleHandle, kernel: &str) -> Option<ExecutionMode> {
    let mut bytes = [0; BYTES];
    let (address, _) = current
        .global(module, &kernel_environment(kernel))
        .filter(|(_, size)| *size >= BYTES)?;
    current.read(address, &mut bytes).ok()?;
    execution_mode_in(&bytes)
}

/// Reads the mode of a kernel from an image copy, and notes it. False: it has none, or another
/// than a variant would have. Where the image's file is
/// known, the device is not asked, which takes microseconds for each kernel.
pub(super) fn read(
    image: &'static ImageCopy,
    file: Option<&ImageFile<'_>>,
    current: &Current<'_>,
    kernel: &'static str,
) -> bool {
    let in_file = file.and_then(|file| file.execution_mode(kernel));
    let mode = in_file.or_else(|| mode_of(current, image.module(), kernel));
    mode.is_some_and(|mode| execution_mode::note(kernel, mode))
}
