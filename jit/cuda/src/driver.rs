//! The driver's functions, as the library that libomptarget has opened defines them.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt;
use std::ptr;
use std::sync::OnceLock;

use crate::error::Status;
use crate::handles::{ContextHandle, EventHandle, FunctionHandle, ModuleHandle, StreamHandle};

/// The names under which libomptarget, and others, open the driver.
const LIBRARIES: [&CStr; 2] = [c"libcuda.so", c"libcuda.so.1"];

/// As [`driver_functions!`], of functions that return a [`Status`]: each is written as its name and what it
/// takes.
///
/// [`driver_functions!`]: offloom_jit_policy::driver_functions
macro_rules! functions {
    ($(#[$of_table:meta])* $visibility:vis struct $table:ident;
     needed { $($(#[$attribute:meta])* $field:ident = $symbol:literal($($kind:ty),* $(,)?);)* }
     optional { $($(#[$of_optional:meta])* $optional:ident = $optional_symbol:literal($($optional_kind:ty),* $(,)?);)* }) => {
        offloom_jit_policy::driver_functions! {
            $(#[$of_table])* $visibility struct $table;
            needed {
                $($(#[$attribute])* $field = $symbol: unsafe extern "C-unwind" fn($($kind),*) -> Status;)*
            }
            optional {
                $($(#[$of_optional])*
                  $optional = $optional_symbol: unsafe extern "C-unwind" fn($($optional_kind),*) -> Status;)*
            }
        }
    };
}

pub(crate) use functions;

functions! {
    /// The driver's functions.
    ///
    /// A thread may be cancelled inside them, which unwinds through the caller.
    pub struct Driver;
    needed {
    /// Starts a kernel.
    launch_kernel = c"cuLaunchKernel"(
        FunctionHandle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, StreamHandle,
        *mut *mut c_void, *mut *mut c_void,
    );
    /// Loads an image into the current context.
    module_load_data_ex = c"cuModuleLoadDataEx"(
        *mut ModuleHandle, *const c_void, c_uint, *mut c_uint, *mut *mut c_void,
    );
    /// Unloads it.
    module_unload = c"cuModuleUnload"(ModuleHandle);
    /// A kernel by its name.
    module_get_function = c"cuModuleGetFunction"(*mut FunctionHandle, ModuleHandle, *const c_char);
    /// Address and size of a variable.
    module_get_global = c"cuModuleGetGlobal_v2"(*mut u64, *mut usize, ModuleHandle, *const c_char);
    /// What a kernel needs.
    func_get_attribute = c"cuFuncGetAttribute"(*mut c_int, c_int, FunctionHandle);
    /// Sets what a kernel may use.
    func_set_attribute = c"cuFuncSetAttribute"(FunctionHandle, c_int, c_int);
    /// The context of the calling thread.
    ctx_get_current = c"cuCtxGetCurrent"(*mut ContextHandle);
    /// Makes a context that of the calling thread.
    ctx_set_current = c"cuCtxSetCurrent"(ContextHandle);
    /// The device of the current context.
    ctx_get_device = c"cuCtxGetDevice"(*mut c_int);
    /// How much of something threads or the context may use.
    ctx_get_limit = c"cuCtxGetLimit"(*mut usize, c_int);
    /// A number about a device.
    device_get_attribute = c"cuDeviceGetAttribute"(*mut c_int, c_int, c_int);
    /// The name of a device.
    device_get_name = c"cuDeviceGetName"(*mut c_char, c_int, c_int);
    /// Whether a device's primary context is there.
    device_primary_ctx_get_state = c"cuDevicePrimaryCtxGetState"(c_int, *mut c_uint, *mut c_int);
    /// Copies to the device.
    memcpy_htod_async = c"cuMemcpyHtoDAsync_v2"(u64, *const c_void, usize, StreamHandle);
    /// Copies from the device.
    memcpy_dtoh_async = c"cuMemcpyDtoHAsync_v2"(*mut c_void, u64, usize, StreamHandle);
    /// Copies on the device.
    memcpy_dtod_async = c"cuMemcpyDtoDAsync_v2"(u64, u64, usize, StreamHandle);
    /// Makes a stream.
    stream_create = c"cuStreamCreate"(*mut StreamHandle, c_uint);
    /// Waits for its work.
    stream_synchronize = c"cuStreamSynchronize"(StreamHandle);
    /// Makes an event.
    event_create = c"cuEventCreate"(*mut EventHandle, c_uint);
    /// Puts it behind the work of a stream.
    event_record = c"cuEventRecord"(EventHandle, StreamHandle);
    /// Whether it was reached.
    event_query = c"cuEventQuery"(EventHandle);
    /// Milliseconds between two.
    event_elapsed_time = c"cuEventElapsedTime"(*mut f32, EventHandle, EventHandle);
    }
    optional {
    /// Starts a kernel with attributes (CUDA 11.8).
    launch_kernel_ex = c"cuLaunchKernelEx"(
        *const c_void, FunctionHandle, *mut *mut c_void, *mut *mut c_void,
    );
    /// Sets how a kernel's multiprocessors divide their memory.
    func_set_cache_config = c"cuFuncSetCacheConfig"(FunctionHandle, c_uint);
    /// The module of a kernel (CUDA 11).
    func_get_module = c"cuFuncGetModule"(*mut ModuleHandle, FunctionHandle);
    /// The name of a kernel (CUDA 12.3).
    func_get_name = c"cuFuncGetName"(*mut *const c_char, FunctionHandle);
    /// Place and size of a kernel's parameter (CUDA 12.4).
    func_get_param_info = c"cuFuncGetParamInfo"(FunctionHandle, usize, *mut usize, *mut usize);
    /// Loads a kernel's code at once where the driver loads it at the first launch (CUDA 12.4).
    func_load = c"cuFuncLoad"(FunctionHandle);
    /// A number that no other context of the process has or had (CUDA 12).
    ctx_get_id = c"cuCtxGetId"(ContextHandle, *mut u64);
    /// Whether its work is done.
    stream_query = c"cuStreamQuery"(StreamHandle);
    /// Has it wait for an event of another one.
    stream_wait_event = c"cuStreamWaitEvent"(StreamHandle, EventHandle, c_uint);
    /// The CUDA that the driver is for: 1000 for each major version, 10 for each minor one.
    driver_get_version = c"cuDriverGetVersion"(*mut c_int);
    /// Whether a stream records a graph (CUDA 10).
    stream_is_capturing = c"cuStreamIsCapturing"(StreamHandle, *mut c_uint);
    /// What the calling thread may do while others record graphs (CUDA 10.1).
    thread_exchange_stream_capture_mode = c"cuThreadExchangeStreamCaptureMode"(*mut c_uint);
    /// The allocation that an address lies in.
    mem_get_address_range = c"cuMemGetAddressRange_v2"(*mut u64, *mut usize, u64);
    /// The name of an error.
    get_error_name = c"cuGetErrorName"(Status, *mut *const c_char);
    }
}

impl Driver {
    /// The driver's name for a code.
    pub(crate) fn name_of(&self, status: Status) -> Option<&'static str> {
        let function = self.get_error_name?;
        let mut name = ptr::null();
        // SAFETY: the driver sets the pointer to a string of its own, or to null.
        let name = unsafe {
            if function(status, &raw mut name) != Status::SUCCESS || name.is_null() {
                return None;
            }
            CStr::from_ptr(name)
        };
        name.to_str().ok()
    }
}

/// The CUDA that a driver is for, as `cuDriverGetVersion` says it: 12040 is 12.4.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DriverVersion(pub u32);

impl DriverVersion {
    /// What the driver's function says. `None`: it does not.
    pub(crate) fn ask(get: Option<unsafe extern "C-unwind" fn(*mut c_int) -> Status>) -> Option<Self> {
        let mut number = 0;
        // SAFETY: the driver fills in the number.
        unsafe { get?(&raw mut number).check().ok()? };
        u32::try_from(number).ok().map(Self)
    }

    /// 12 of 12.4.
    pub(crate) fn major(self) -> u32 {
        self.0 / 1000
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major(), self.0 % 1000 / 10)
    }
}

static DRIVER: OnceLock<Driver> = OnceLock::new();

/// The driver, once it was found.
#[inline]
pub(crate) fn driver() -> Option<&'static Driver> {
    DRIVER.get()
}

/// Why there is no driver to work with.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NoDriver {
    /// Nobody has opened it: the process has no use for it.
    #[error("no library of this process has opened NVIDIA's driver")]
    NotLoaded,
    /// It is older than anything that libomptarget works with.
    #[error("NVIDIA's driver has no {}", .0.to_string_lossy())]
    Lacks(&'static CStr),
}

/// The CUDA that the driver is for. `None`: it was not found yet, or does not say.
pub(crate) fn version() -> Option<DriverVersion> {
    DriverVersion::ask(driver()?.driver_get_version)
}

/// The driver's library, opened for good.
pub(crate) fn open(flags: c_int) -> Option<*mut c_void> {
    LIBRARIES.iter().find_map(|name| {
        // SAFETY: a library of this name is the driver. The handle is kept, so the driver stays.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | flags) };
        (!handle.is_null()).then_some(handle)
    })
}

/// Finds the driver that this process has loaded. It is not loaded here.
///
/// # Errors
/// When there is none, or not all of its functions.
pub(crate) fn find() -> Result<&'static Driver, NoDriver> {
    if let Some(driver) = driver() {
        return Ok(driver);
    }
    let handle = open(libc::RTLD_NOLOAD).ok_or(NoDriver::NotLoaded)?;
    // SAFETY: the handle is that of a library.
    let found = Driver::with(|name| unsafe { libc::dlsym(handle, name.as_ptr()) });
    let found = found.map_err(NoDriver::Lacks)?;
    Ok(DRIVER.get_or_init(|| found))
}
