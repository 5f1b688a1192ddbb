//! The GPU that a dumped launch is replayed on: chosen, and opened as libomptarget does.

use std::ffi::{c_int, c_uint};

use offloom_jit_cache::dump::Gpu;

use crate::context::{CAPABILITY, Context, Current, MALLOC_HEAP_SIZE, STACK_SIZE, name_of};
use crate::driver::{self, Driver, NoDriver, functions};
use crate::error::{CudaError, Status};
use crate::handles::{ContextHandle, EventHandle, StreamHandle};

functions! {
    /// What the driver does for who opens a device.
    struct Opening;
    needed {
    /// Comes before all else.
    init = c"cuInit"(c_uint);
    /// How many devices there are.
    device_get_count = c"cuDeviceGetCount"(*mut c_int);
    /// One by its number.
    device_get = c"cuDeviceGet"(*mut c_int, c_int);
    /// Its primary context.
    primary_context = c"cuDevicePrimaryCtxRetain"(*mut ContextHandle, c_int);
    /// How much of something threads or the context may use.
    set_limit = c"cuCtxSetLimit"(c_int, usize);
    /// Allocates memory of the device.
    allocate = c"cuMemAlloc_v2"(*mut u64, usize);
    }
    optional {}
}

/// A GPU whose primary context is current on this thread.
pub(super) struct Opened {
    pub(super) current: Current<'static>,
    opening: Opening,
    /// Around launches.
    events: [EventHandle; 2],
}

/// Why there is no device to replay on.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// There is no driver, or it lacks a function.
    #[error("{}", match .0 {
        NoDriver::NotLoaded => "there is no driver for NVIDIA GPUs, no library `libcuda.so`".to_owned(),
        error => error.to_string(),
    })]
    NoDriver(#[from] NoDriver),
    /// The driver refuses.
    #[error("opening the GPU: {0}")]
    Driver(#[from] CudaError),
    /// The context cannot be as it was.
    #[error("setting the {what} to {bytes} bytes, as for the launch: {error}")]
    Limit {
        /// What is limited.
        what: &'static str,
        /// How much it was.
        bytes: u64,
        /// What the driver says.
        error: CudaError,
    },
    /// There are other devices.
    #[error("the launch ran on {name} (sm_{major}{minor}), and no GPU here runs code for it")]
    NoneFits {
        /// The name of the GPU.
        name: String,
        /// Its compute capability.
        major: u32,
        /// The lower part.
        minor: u32,
    },
}

fn opening() -> Result<Opening, NoDriver> {
    let library = driver::open(0).ok_or(NoDriver::NotLoaded)?;
    // SAFETY: the handle is that of a library.
    Opening::with(|name| unsafe { libc::dlsym(library, name.as_ptr()) }).map_err(NoDriver::Lacks)
}

/// Opens the GPU that is like the one of a launch: of its name, or else the first that runs the same code.
/// Its primary context is current on this thread from here on, with the limits that the launch had.
/// `processor` is what variants are compiled for.
pub(super) fn open(gpu: &Gpu, processor: &str) -> Result<Opened, DeviceError> {
    let opening = opening()?;
    let driver = driver::find()?;
    // SAFETY: the driver fills in handles and numbers, and knows which are contexts and limits.
    unsafe {
        match (opening.init)(0) {
            Status::NO_DEVICE => return Err(none_fits(gpu)),
            status => status.check()?,
        }
        let mut count = 0;
        (opening.device_get_count)(&raw mut count).check()?;
        let mut best = None;
        for number in 0..count {
            let mut device = 0;
            (opening.device_get)(&raw mut device, number).check()?;
            let has_name = name_of(driver, device) == gpu.name;
            let fits = runs_code_for(driver, device, gpu.capability, processor)?;
            if fits && (best.is_none() || has_name) {
                best = Some(device);
            }
            if fits && has_name {
                break;
            }
        }
        let device = best.ok_or_else(|| none_fits(gpu))?;
        let mut context = ContextHandle::NULL;
        (opening.primary_context)(&raw mut context, device).check()?;
        (driver.ctx_set_current)(context).check()?;
        for (limit, what, bytes) in [
            (STACK_SIZE, "stack of a thread", gpu.stack_bytes),
            (MALLOC_HEAP_SIZE, "heap of kernels", gpu.heap_bytes),
        ] {
            let set = (opening.set_limit)(limit, bytes as usize).check();
            set.map_err(|error| DeviceError::Limit { what, bytes, error })?;
        }
    }
    let current = Context::current(driver)?.enter(driver)?;
    let mut events = [EventHandle::NULL; 2];
    for event in &mut events {
        // SAFETY: the driver fills in the handle.
        unsafe { (driver.event_create)(event, 0).check()? };
    }
    Ok(Opened {
        current,
        opening,
        events,
    })
}

fn none_fits(gpu: &Gpu) -> DeviceError {
    let [major, minor] = gpu.capability;
    DeviceError::NoneFits {
        name: gpu.name.clone(),
        major,
        minor,
    }
}

/// Whether a device runs code that was compiled for a capability: it is of the same generation, and no older;
/// not another where the processor has a letter behind its number, as `sm_90a`.
fn runs_code_for(
    driver: &Driver,
    device: c_int,
    [major, minor]: [u32; 2],
    processor: &str,
) -> Result<bool, CudaError> {
    let mut capability = [0; 2];
    for (attribute, number) in CAPABILITY.into_iter().zip(&mut capability) {
        let mut value: c_int = 0;
        // SAFETY: the driver fills in the number.
        unsafe { (driver.device_get_attribute)(&raw mut value, attribute, device).check()? };
        *number = u32::try_from(value).unwrap_or(0);
    }
    let is_of_one = processor.ends_with(|last: char| last.is_ascii_alphabetic());
    Ok(capability[0] == major && (capability[1] == minor || (capability[1] > minor && !is_of_one)))
}

impl Opened {
    /// Memory of the device, kept until the process ends.
    pub(super) fn allocate(&self, bytes: u64) -> Result<u64, CudaError> {
        let mut address = 0;
        // SAFETY: the driver fills in the address.
        unsafe { (self.opening.allocate)(&raw mut address, bytes as usize).check()? };
        Ok(address)
    }

    /// Has something launched on a stream, and waits for it. Returns the nanoseconds that it took.
    pub(super) fn time(
        &self,
        launch: impl FnOnce(StreamHandle) -> Result<(), CudaError>,
    ) -> Result<u64, CudaError> {
        let (driver, [begin, end]) = (self.current.driver, self.events);
        let stream = self.current.stream()?;
        let mut milliseconds = 0.0;
        // SAFETY: events and stream are of the current context; the driver fills in the time.
        unsafe {
            (driver.event_record)(begin, stream).check()?;
            launch(stream)?;
            (driver.event_record)(end, stream).check()?;
            (driver.stream_synchronize)(stream).check()?;
            (driver.event_elapsed_time)(&raw mut milliseconds, begin, end).check()?;
        }
        Ok((f64::from(milliseconds) * 1e6) as u64)
    }
}
