//! Which threads execute a kernel, as its device image says. libomptarget launches by that, so a variant has
//! to have the same.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Mutex, OnceLock};

use offloom_abi::jit_bundle::ExecutionMode;
use offloom_abi::jit_device_image::{execution_mode_in, kernel_environment};

use crate::context::Current;
use crate::image::ImageCopy;
use offloom_jit_policy::process::lock::lock;

/// Bytes of an environment up to the mode.
const BYTES: usize = 3;

/// By where the names of kernels lie in their bundles, which stay. All copies of an image say the same.
fn modes() -> &'static Mutex<HashMap<usize, ExecutionMode>> {
    // Leaked: what waits on a static's mutex when `exit` destroys it hangs.
    static MODES: OnceLock<&'static Mutex<HashMap<usize, ExecutionMode>>> = OnceLock::new();
    MODES.get_or_init(|| Box::leak(Box::default()))
}

/// The mode of the kernel with this name of a bundle, once it was read.
pub(super) fn of(kernel: &'static str) -> Option<ExecutionMode> {
    lock(modes()).get(&kernel.as_ptr().addr()).copied()
}

/// Reads the mode of a kernel from an image copy. False: it has no such kernel, or one whose mode is not
/// known.
pub(super) fn read(image: &'static ImageCopy, current: &Current<'_>, kernel: &'static str) -> bool {
    let read = || {
        let mut bytes = [0; BYTES];
        let name = CString::new(kernel_environment(kernel)).ok()?;
        let (address, _) = current
            .global(image.module(), &name)
            .filter(|(_, size)| *size >= BYTES)?;
        current.read(address, &mut bytes).ok()?;
        execution_mode_in(&bytes)
    };
    let Some(mode) = read() else { return false };
    note(kernel, mode);
    true
}

/// Notes the mode of the kernel with this name of a bundle.
pub(super) fn note(kernel: &'static str, mode: ExecutionMode) {
    lock(modes()).insert(kernel.as_ptr().addr(), mode);
}
