//! Which threads execute a kernel of a GPU, as its device image says. libomptarget launches by that, so a
//! variant has to have the same.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};

use offloom_abi::jit_bundle::ExecutionMode;

use crate::backend::Failure;
use crate::process::lock::lock;

/// By where the names of kernels lie in their bundles, which stay.
fn modes() -> &'static Mutex<HashMap<usize, ExecutionMode>> {
    // Leaked: what waits on a static's mutex when `exit` destroys it hangs.
    static MODES: OnceLock<&'static Mutex<HashMap<usize, ExecutionMode>>> = OnceLock::new();
    MODES.get_or_init(|| Box::leak(Box::default()))
}

/// The mode of the kernel with this name of a bundle, if it is known.
pub(crate) fn known(kernel: &'static str) -> Option<ExecutionMode> {
    lock(modes()).get(&kernel.as_ptr().addr()).copied()
}

/// The mode of the kernel with this name of a bundle.
///
/// # Errors
/// It is not known yet: no object can be made in this process.
pub fn of(kernel: &'static str) -> Result<ExecutionMode, Failure> {
    known(kernel)
        .ok_or_else(|| Failure::OfProcess("no device image says which threads execute the kernel".to_owned()))
}

/// Notes the mode that an image says for the kernel with this name of a bundle. False: another image says
/// another one. Two links of the same code may differ in that, by options of LLVM, and their bundles are one;
/// variants are for the first image's.
#[must_use]
pub fn note(kernel: &'static str, mode: ExecutionMode) -> bool {
    *lock(modes()).entry(kernel.as_ptr().addr()).or_insert(mode) == mode
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_image_decides() {
        assert!(of("kernel").is_err());
        assert!(note("kernel", ExecutionMode::Spmd));
        assert!(!note("kernel", ExecutionMode::Generic));
        assert!(note("kernel", ExecutionMode::Spmd));
        assert_eq!(known("kernel"), Some(ExecutionMode::Spmd));
    }
}
