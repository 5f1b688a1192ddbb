//! Leads the calls of libomptarget's AMDGPU plugin here.

use std::ffi::c_void;
use std::sync::Once;

use offloom_jit_policy::process::device_gate;
use offloom_jit_policy::process::plugin_table::{self, NotLed};

use crate::hooks;
use crate::runtime::{self, NoRuntime};
use crate::tool;

/// Why no calls are led here.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotInstalled {
    /// No runtime to work with.
    #[error(transparent)]
    NoRuntime(#[from] NoRuntime),
    /// The plugin's table is not as expected.
    #[error(transparent)]
    NotLed(#[from] NotLed),
}

/// Has the launches of libomptarget's AMDGPU plugin seen from here on, on queues that it makes from here on.
/// `inside` is an address in libomptarget, which has opened the runtime.
///
/// # Errors
/// When the calls cannot be led here. Nothing is changed then.
pub fn install(inside: *const c_void) -> Result<(), NotInstalled> {
    static WATCHED: Once = Once::new();
    let runtime = runtime::find()?;
    tool::intercept().ok_or(NoRuntime::NoIntercept)?;
    plugin_table::lead(inside, &hooks::all(runtime), || device_gate::watch(&WATCHED))?;
    Ok(())
}
