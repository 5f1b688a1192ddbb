//! Which GPUs there are, before libomptarget asks.

use std::ffi::{CStr, c_int, c_uint};

use crate::context::CAPABILITY;
use crate::driver::functions;
use crate::error::{CudaError, Status};

/// The name under which libomptarget opens the driver. Under another one it would find no device.
const LIBRARY: &CStr = c"libcuda.so";

functions! {
    /// What says which devices there are.
    struct Devices;
    needed {
    /// Comes before all else.
    init = c"cuInit"(c_uint);
    /// How many there are.
    device_get_count = c"cuDeviceGetCount"(*mut c_int);
    /// One by its number.
    device_get = c"cuDeviceGet"(*mut c_int, c_int);
    /// A number about a device.
    device_get_attribute = c"cuDeviceGetAttribute"(*mut c_int, c_int, c_int);
    }
    optional {}
}

/// The compute capability of each device that the driver gives to this process: major and minor. None where
/// there is no driver, or no device. The driver stays loaded and initialised, as libomptarget has it when
/// images for NVIDIA GPUs are registered.
///
/// # Errors
/// What the driver says.
pub fn capabilities() -> Result<Vec<[u32; 2]>, CudaError> {
    // SAFETY: a library of this name is the driver. Nothing closes it.
    let library = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW) };
    if library.is_null() {
        return Ok(Vec::new());
    }
    // SAFETY: the handle is that of a library.
    let Ok(driver) = Devices::with(|name| unsafe { libc::dlsym(library, name.as_ptr()) }) else {
        return Ok(Vec::new());
    };
    let mut capabilities = Vec::new();
    // SAFETY: the driver fills in the numbers.
    unsafe {
        match (driver.init)(0) {
            Status::NO_DEVICE => return Ok(capabilities),
            status => status.check()?,
        }
        let mut count = 0;
        (driver.device_get_count)(&raw mut count).check()?;
        for number in 0..count {
            let mut device = 0;
            (driver.device_get)(&raw mut device, number).check()?;
            let mut capability = [0; 2];
            for (asked, part) in CAPABILITY.into_iter().zip(&mut capability) {
                let mut value = 0;
                (driver.device_get_attribute)(&raw mut value, asked, device).check()?;
                *part = u32::try_from(value).unwrap_or_default();
            }
            capabilities.push(capability);
        }
    }
    Ok(capabilities)
}
