//! Leads the calls of libomptarget's CUDA plugin here.

use std::ffi::c_void;
use std::sync::Once;

use offloom_jit_policy::process::device_gate;
use offloom_jit_policy::process::plugin_table::{self, NotLed};

use crate::client::{self, Client};
use crate::driver::{self, NoDriver};
use crate::hooks;

/// Why no calls are led here.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotInstalled {
    /// No driver to work with.
    #[error(transparent)]
    NoDriver(#[from] NoDriver),
    /// The plugin's table is not as expected.
    #[error(transparent)]
    NotLed(#[from] NotLed),
}

/// Has the launches of libomptarget's CUDA plugin decided by `client` from here on. `inside` is an address in
/// libomptarget, which has opened the driver; nothing is changed that was done before.
///
/// # Errors
/// When the calls cannot be led here. Nothing is changed then.
pub fn install(inside: *const c_void, client: &'static dyn Client) -> Result<(), NotInstalled> {
    static WATCHED: Once = Once::new();
    let driver = driver::find()?;
    plugin_table::lead(inside, &hooks::all(driver), || {
        client::set(client);
        device_gate::watch(&WATCHED);
    })?;
    Ok(())
}
