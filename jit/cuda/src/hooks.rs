//! What libomptarget's plugin calls in place of the driver's functions. Each does what the driver does, and
//! sees it.
//!
//! Nothing of this library is on the stack with something to be dropped while the driver is called: a thread
//! that is cancelled there unwinds through these frames.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::driver::{Driver, driver};
use crate::error::Status;
use crate::fault;
use crate::handles::{EventHandle, FunctionHandle, ModuleHandle, StreamHandle};
use crate::image::{self, FUNCTIONS, Setting};
use crate::image_file;
use crate::launch::{Request, guarded, launch};
use offloom_jit_policy::hook;
use offloom_jit_policy::process::device_gate;
use offloom_jit_policy::process::guard::guarded_on_foreign_thread;
use offloom_jit_policy::process::handle_table::Found;
use offloom_jit_policy::process::plugin_table::Hook;

/// Where a function of the driver is that not every version has; 0: this one has it not.
macro_rules! address {
    ($function:expr) => {
        $function.map_or(0, |function| function as *const () as usize)
    };
}

/// All of them.
pub(crate) fn all(driver: &Driver) -> [Hook; 12] {
    [
        hook!(Launch c"cuLaunchKernel" driver.launch_kernel as *const () as usize => launch_kernel),
        hook!(Launch c"cuLaunchKernelEx" address!(driver.launch_kernel_ex) => launch_kernel_ex),
        hook!(Needed c"cuModuleLoadDataEx" driver.module_load_data_ex as *const () as usize => module_load_data_ex),
        hook!(Needed c"cuModuleGetFunction" driver.module_get_function as *const () as usize => module_get_function),
        hook!(Needed c"cuModuleUnload" driver.module_unload as *const () as usize => module_unload),
        hook!(Optional c"cuFuncSetAttribute" driver.func_set_attribute as *const () as usize => func_set_attribute),
        hook!(Optional c"cuFuncSetCacheConfig" address!(driver.func_set_cache_config) => func_set_cache_config),
        hook!(Optional c"cuStreamSynchronize" driver.stream_synchronize as *const () as usize => stream_synchronize),
        hook!(Optional c"cuStreamQuery" address!(driver.stream_query) => stream_query),
        hook!(Optional c"cuStreamWaitEvent" address!(driver.stream_wait_event) => stream_wait_event),
        hook!(Optional c"cuMemcpyHtoDAsync_v2" driver.memcpy_htod_async as *const () as usize => memcpy_htod_async),
        hook!(Optional c"cuMemcpyDtoHAsync_v2" driver.memcpy_dtoh_async as *const () as usize => memcpy_dtoh_async),
    ]
}

unsafe extern "C-unwind" fn launch_kernel(
    function: FunctionHandle,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    dynamic_shared_bytes: c_uint,
    stream: StreamHandle,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Status {
    let Some(driver) = driver() else {
        return Status::NOT_INITIALIZED;
    };
    let request = Request {
        grid: [grid_x, grid_y, grid_z],
        block: [block_x, block_y, block_z],
        dynamic_shared_bytes,
        stream,
        parameters,
        extra,
    };
    // SAFETY: the caller calls the driver's function.
    unsafe {
        launch(driver, function, &request, |function| {
            (driver.launch_kernel)(
                function,
                grid_x,
                grid_y,
                grid_z,
                block_x,
                block_y,
                block_z,
                dynamic_shared_bytes,
                stream,
                parameters,
                extra,
            )
        })
    }
}

unsafe extern "C-unwind" fn stream_synchronize(stream: StreamHandle) -> Status {
    let Some(driver) = driver() else {
        return Status::NOT_INITIALIZED;
    };
    // SAFETY: the caller calls the driver's function.
    told(unsafe { (driver.stream_synchronize)(stream) })
}

unsafe extern "C-unwind" fn stream_query(stream: StreamHandle) -> Status {
    let Some(real) = driver().and_then(|driver| driver.stream_query) else {
        return Status::NOT_INITIALIZED;
    };
    // SAFETY: the caller calls the driver's function.
    told(unsafe { real(stream) })
}

unsafe extern "C-unwind" fn stream_wait_event(
    stream: StreamHandle,
    event: EventHandle,
    flags: c_uint,
) -> Status {
    let Some(real) = driver().and_then(|driver| driver.stream_wait_event) else {
        return Status::NOT_INITIALIZED;
    };
    // SAFETY: the caller calls the driver's function.
    told(unsafe { real(stream, event, flags) })
}

unsafe extern "C-unwind" fn memcpy_htod_async(
    to: u64,
    from: *const c_void,
    bytes: usize,
    stream: StreamHandle,
) -> Status {
    let Some(driver) = driver() else {
        return Status::NOT_INITIALIZED;
    };
    // SAFETY: the caller calls the driver's function.
    told(unsafe { (driver.memcpy_htod_async)(to, from, bytes, stream) })
}

unsafe extern "C-unwind" fn memcpy_dtoh_async(
    to: *mut c_void,
    from: u64,
    bytes: usize,
    stream: StreamHandle,
) -> Status {
    let Some(driver) = driver() else {
        return Status::NOT_INITIALIZED;
    };
    // SAFETY: the caller calls the driver's function.
    told(unsafe { (driver.memcpy_dtoh_async)(to, from, bytes, stream) })
}

/// What a function has returned in which the driver may tell of a kernel that has failed.
fn told(status: Status) -> Status {
    if status != Status::SUCCESS && !device_gate::is_forked() {
        guarded((), || fault::tell(status));
    }
    status
}

/// `CUlaunchConfig`.
#[derive(Debug)]
#[repr(C)]
struct Configuration {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    dynamic_shared_bytes: c_uint,
    stream: StreamHandle,
    attributes: *const Attribute,
    attribute_count: c_uint,
}

/// `CUlaunchAttribute`: a number, and a value of 64 bytes.
#[derive(Debug)]
#[repr(C)]
struct Attribute {
    number: c_uint,
    padding: c_uint,
    value: [u64; 8],
}

/// `CU_LAUNCH_ATTRIBUTE_IGNORE`, `_ACCESS_POLICY_WINDOW`, `_SYNCHRONIZATION_POLICY` and `_PRIORITY`: what
/// says nothing of how blocks work together. Launches with others stay as they are.
const PLAIN: [c_uint; 4] = [0, 1, 3, 8];

/// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE`: libomptarget says so of each launch since LLVM 23, with 0 for those
/// that are not.
const COOPERATIVE: c_uint = 2;

impl Attribute {
    /// Whether it says nothing of how blocks work together.
    fn is_plain(&self) -> bool {
        // The number is an `int`.
        let is_on = self.value[0] as c_int != 0;
        PLAIN.contains(&self.number) || (self.number == COOPERATIVE && !is_on)
    }
}

unsafe extern "C-unwind" fn launch_kernel_ex(
    configuration: *const Configuration,
    function: FunctionHandle,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Status {
    let Some(driver) = driver() else {
        return Status::NOT_INITIALIZED;
    };
    let Some(real) = driver.launch_kernel_ex else {
        return Status::NOT_SUPPORTED;
    };
    let start = |function| {
        // SAFETY: the caller calls the driver's function.
        unsafe { real(configuration.cast(), function, parameters, extra) }
    };
    // SAFETY: the caller's configuration is null or valid.
    let Some(given) = (unsafe { configuration.as_ref() }) else {
        return start(function);
    };
    let count = given.attribute_count as usize;
    let is_plain = |index| {
        // SAFETY: there are so many attributes.
        unsafe { &*given.attributes.add(index) }.is_plain()
    };
    if count > 0 && (given.attributes.is_null() || !(0..count).all(is_plain)) {
        return start(function);
    }
    let request = Request {
        grid: given.grid,
        block: given.block,
        dynamic_shared_bytes: given.dynamic_shared_bytes,
        stream: given.stream,
        parameters,
        extra,
    };
    // SAFETY: the caller calls the driver's function.
    unsafe { launch(driver, function, &request, start) }
}

unsafe extern "C-unwind" fn module_load_data_ex(
    module: *mut ModuleHandle,
    image: *const c_void,
    count: c_uint,
    options: *mut c_uint,
    values: *mut *mut c_void,
) -> Status {
    let Some(driver) = driver() else {
        return Status::NOT_INITIALIZED;
    };
    // SAFETY: the caller calls the driver's function.
    let status = unsafe { (driver.module_load_data_ex)(module, image, count, options, values) };
    if status == Status::SUCCESS && !device_gate::is_forked() {
        // SAFETY: the driver has written the handle.
        let module = unsafe { *module };
        guarded_on_foreign_thread((), || {
            // SAFETY: the driver has loaded it, and it stays until this returns.
            let file = unsafe { image_file::bytes_of(image) };
            image::met(driver, module, file);
        });
    }
    status
}

unsafe extern "C-unwind" fn module_get_function(
    function: *mut FunctionHandle,
    module: ModuleHandle,
    name: *const c_char,
) -> Status {
    let Some(driver) = driver() else {
        return Status::NOT_INITIALIZED;
    };
    // SAFETY: the caller calls the driver's function.
    let status = unsafe { (driver.module_get_function)(function, module, name) };
    if status == Status::SUCCESS && !device_gate::is_forked() {
        // SAFETY: the driver has written the handle, and has read the name.
        let (function, name) = unsafe { (*function, CStr::from_ptr(name)) };
        guarded_on_foreign_thread((), || image::met_kernel(driver, module, function, name));
    }
    status
}

unsafe extern "C-unwind" fn module_unload(module: ModuleHandle) -> Status {
    let Some(driver) = driver() else {
        return Status::NOT_INITIALIZED;
    };
    if !device_gate::is_forked() {
        guarded_on_foreign_thread((), || image::withdraw(driver, module));
    }
    // SAFETY: the caller calls the driver's function.
    unsafe { (driver.module_unload)(module) }
}

unsafe extern "C-unwind" fn func_set_attribute(
    function: FunctionHandle,
    attribute: c_int,
    value: c_int,
) -> Status {
    let Some(driver) = driver() else {
        return Status::NOT_INITIALIZED;
    };
    // SAFETY: the caller calls the driver's function.
    let status = unsafe { (driver.func_set_attribute)(function, attribute, value) };
    note(driver, function, status, Setting::Attribute(attribute, value));
    status
}

unsafe extern "C-unwind" fn func_set_cache_config(function: FunctionHandle, configuration: c_uint) -> Status {
    let Some(driver) = driver() else {
        return Status::NOT_INITIALIZED;
    };
    let Some(real) = driver.func_set_cache_config else {
        return Status::NOT_SUPPORTED;
    };
    // SAFETY: the caller calls the driver's function.
    let status = unsafe { real(function, configuration) };
    note(
        driver,
        function,
        status,
        Setting::CacheConfiguration(configuration),
    );
    status
}

/// Takes note of something that was set.
fn note(driver: &'static Driver, function: FunctionHandle, status: Status, setting: Setting) {
    if status != Status::SUCCESS || device_gate::is_forked() {
        return;
    }
    match FUNCTIONS.find(function.0) {
        Found::Foreign => {}
        Found::Ours(kernel) => guarded_on_foreign_thread((), || kernel.set(driver, setting)),
        // Of an image that was loaded before calls were led here; it is launched later.
        Found::Unknown => guarded_on_foreign_thread((), || {
            if let Some(kernel) = image::unknown_kernel(driver, function) {
                kernel.set(driver, setting);
            }
        }),
    }
}
