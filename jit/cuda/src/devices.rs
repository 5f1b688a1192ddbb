//! Which GPUs there are, before libomptarget asks.

use std::ffi::{CStr, c_int, c_uint, c_void};

use crate::driver::{DriverVersion, NoDriver, functions};
use crate::error::{CudaError, Status};

/// The name under which libomptarget opens the driver. Under another one it would find no device.
const LIBRARY: &CStr = c"libcuda.so";

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`.
const CAPABILITY: [c_int; 2] = [75, 76];

functions! {
    /// What says which devices there are.
    pub(crate) struct Devices;
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
    optional {
    /// The CUDA that the driver is for.
    driver_get_version = c"cuDriverGetVersion"(*mut c_int);
    }
}

/// A device, as the driver names it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device {
    /// `CUdevice`.
    pub(crate) handle: c_int,
    /// Its compute capability: major and minor.
    pub(crate) capability: [u32; 2],
}

impl Devices {
    /// Those of the driver that libomptarget opens, which stays open. `None`: there is none.
    fn open() -> Option<Self> {
        // SAFETY: a library of this name is the driver. Nothing closes it.
        let library = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW) };
        if library.is_null() {
            return None;
        }
        // SAFETY: it stays open.
        unsafe { Self::of(library) }.ok()
    }

    /// The functions of a driver's library.
    ///
    /// # Errors
    /// It has not all of them.
    ///
    /// # Safety
    /// The handle is that of a library, which stays open.
    pub(crate) unsafe fn of(library: *mut c_void) -> Result<Self, NoDriver> {
        // SAFETY: as the caller promises.
        Self::with(|name| unsafe { libc::dlsym(library, name.as_ptr()) }).map_err(NoDriver::Lacks)
    }

    /// The devices that the driver gives to this process. It is initialised from here on.
    ///
    /// # Errors
    /// What the driver says.
    pub(crate) fn all(&self) -> Result<Vec<Device>, CudaError> {
        // SAFETY: the driver takes no pointer.
        match unsafe { (self.init)(0) } {
            Status::NO_DEVICE => return Ok(Vec::new()),
            status => status.check()?,
        }
        let mut count = 0;
        // SAFETY: the driver fills in the number.
        unsafe { (self.device_get_count)(&raw mut count).check()? };
        let device = |number| {
            let mut handle = 0;
            // SAFETY: the driver fills in the handle.
            unsafe { (self.device_get)(&raw mut handle, number).check()? };
            let capability = capability_of(self.device_get_attribute, handle)?;
            Ok(Device { handle, capability })
        };
        (0..count).map(device).collect()
    }
}

/// The compute capability of a device, major and minor. `get` is the driver's function for attributes.
pub(crate) fn capability_of(
    get: unsafe extern "C-unwind" fn(*mut c_int, c_int, c_int) -> Status,
    device: c_int,
) -> Result<[u32; 2], CudaError> {
    let mut capability = [0; 2];
    for (attribute, number) in CAPABILITY.into_iter().zip(&mut capability) {
        let mut value: c_int = 0;
        // SAFETY: the driver fills in the number.
        unsafe { get(&raw mut value, attribute, device).check()? };
        *number = u32::try_from(value).unwrap_or(0);
    }
    Ok(capability)
}

/// The compute capability of each device that the driver gives to this process: major and minor. None where
/// there is no driver, or no device. The driver stays loaded and initialised, as libomptarget has it when
/// images for NVIDIA GPUs are registered.
///
/// # Errors
/// What the driver says.
pub fn capabilities() -> Result<Vec<[u32; 2]>, CudaError> {
    let Some(devices) = Devices::open() else {
        return Ok(Vec::new());
    };
    let devices = devices.all()?.into_iter();
    Ok(devices.map(|device| device.capability).collect())
}

/// The CUDA that the driver is for. `None`: there is no driver, or it does not say. It stays loaded.
pub fn driver_version() -> Option<DriverVersion> {
    DriverVersion::ask(Devices::open()?.driver_get_version)
}
