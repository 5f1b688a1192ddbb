//! Which threads execute a kernel of a GPU, as its device image says. libomptarget launches by that, so a
//! variant has to have the same.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};

use offloom_abi::jit_bundle::ExecutionMode;

use crate::backend::Failure;
use crate::process::lock::lock;

/// By where the names of kernels lie in their bundles, which stay. All copies of an image say the same.
fn modes() -> &'static Mutex<HashMap<usize, ExecutionMode>> {
    // Leaked: what waits on a static's mutex when `exit` destroys it hangs.
    static MODES: OnceLock<&'static Mutex<HashMap<usize, ExecutionMode>>> = OnceLock::new();
    MODES.get_or_init(|| Box::leak(Box::default()))
}

/// The mode of the kernel with this name of a bundle.
///
/// # Errors
/// It is not known yet: no object can be made in this process.
pub fn of(kernel: &'static str) -> Result<ExecutionMode, Failure> {
    let mode = lock(modes()).get(&kernel.as_ptr().addr()).copied();
    mode.ok_or_else(|| Failure::OfProcess("no device image says which threads execute the kernel".to_owned()))
}

/// Notes the mode of the kernel with this name of a bundle.
pub fn note(kernel: &'static str, mode: ExecutionMode) {
    lock(modes()).insert(kernel.as_ptr().addr(), mode);
}
