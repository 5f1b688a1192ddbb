//! Which GPUs there are, before libomptarget asks.

use std::ffi::{CStr, c_int, c_uint, c_void};

use crate::context::CAPABILITY;
use crate::error::{CudaError, Status};

/// The name under which libomptarget opens the driver. Under another one it would find no device.
const LIBRARY: &CStr = c"libcuda.so";

/// The compute capability of each device that the driver gives to this process: major and minor. None where
/// there is no driver, or no device. The driver stays loaded and initialised, as libomptarget has it when
/// images for NVIDIA GPUs are registered.
///
/// # Errors
/// What the driver says.
pub fn capabilities() -> Result<Vec<[u32; 2]>, CudaError> {
    // SAFETY: the driver's functions of these names have these types; a library that lacks one is none.
    // Nothing closes it.
    unsafe {
        let library = libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW);
        if library.is_null() {
            return Ok(Vec::new());
        }
        let function = |name: &CStr| {
            let address = libc::dlsym(library, name.as_ptr());
            (!address.is_null()).then_some(address)
        };
        let (Some(initialize), Some(count), Some(device), Some(attribute)) = (
            function(c"cuInit"),
            function(c"cuDeviceGetCount"),
            function(c"cuDeviceGet"),
            function(c"cuDeviceGetAttribute"),
        ) else {
            return Ok(Vec::new());
        };
        let initialize =
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_uint) -> Status>(initialize);
        let get_count = std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_int) -> Status>(count);
        let get_device =
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_int, c_int) -> Status>(device);
        let get_attribute = std::mem::transmute::<
            *mut c_void,
            unsafe extern "C" fn(*mut c_int, c_int, c_int) -> Status,
        >(attribute);
        match initialize(0) {
            Status::NO_DEVICE => return Ok(Vec::new()),
            status => status.check()?,
        }
        let mut count = 0;
        get_count(&raw mut count).check()?;
        let mut capabilities = Vec::new();
        for number in 0..count {
            let mut device = 0;
            get_device(&raw mut device, number).check()?;
            let mut capability = [0; 2];
            for (asked, part) in CAPABILITY.into_iter().zip(&mut capability) {
                let mut value = 0;
                get_attribute(&raw mut value, asked, device).check()?;
                *part = u32::try_from(value).unwrap_or_default();
            }
            capabilities.push(capability);
        }
        Ok(capabilities)
    }
}
