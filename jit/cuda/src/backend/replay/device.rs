//! The GPU that a dumped launch is replayed on: chosen, and opened as libomptarget does.

use std::ffi::c_int;

use offloom_jit_cache::dump::Gpu;

use crate::context::{Context, Current, MALLOC_HEAP_SIZE, STACK_SIZE, name_of};
use crate::devices::Devices;
use crate::driver::{self, NoDriver, functions};
use crate::error::{CudaError, Status};
use crate::handles::{ContextHandle, EventHandle, StreamHandle};

functions! {
    /// What the driver does for who opens a device.
    struct Opening;
    needed {
    /// The primary context of a device.
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

/// Opens the GPU that is like the one of a launch: of its name, or else the first that runs the same code.
/// Its primary context is current on this thread from here on, with the limits that the launch had.
/// `processor` is what variants are compiled for.
pub(super) fn open(gpu: &Gpu, processor: &str) -> Result<Opened, DeviceError> {
    let library = driver::open(0).ok_or(NoDriver::NotLoaded)?;
    // SAFETY: the handle is that of a library, which stays open.
    let opening = Opening::with(|name| unsafe { libc::dlsym(library, name.as_ptr()) });
    let opening = opening.map_err(NoDriver::Lacks)?;
    // SAFETY: as above.
    let devices = unsafe { Devices::of(library)? }.all()?;
    let driver = driver::find()?;
    let mut fitting = devices
        .into_iter()
        .filter(|device| runs_code_for(device.capability, gpu.capability, processor))
        .map(|device| device.handle);
    let first = fitting.clone().next();
    let namesake = fitting.find(|device| name_of(driver, *device) == gpu.name);
    let device = namesake.or(first).ok_or_else(|| {
        let [major, minor] = gpu.capability;
        DeviceError::NoneFits {
            name: gpu.name.clone(),
            major,
            minor,
        }
    })?;
    // SAFETY: the driver fills in the handle, and knows which are contexts and limits.
    unsafe {
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

/// Whether a device of one capability runs code that was compiled for another: it is of the same generation,
/// and no older; not another where the processor has a letter behind its number, as `sm_90a`.
fn runs_code_for(has: [u32; 2], wanted: [u32; 2], processor: &str) -> bool {
    let is_of_one = processor.ends_with(|last: char| last.is_ascii_alphabetic());
    has == wanted || (has[0] == wanted[0] && has[1] > wanted[1] && !is_of_one)
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
            self.current.wait_for(stream)?;
            (driver.event_elapsed_time)(&raw mut milliseconds, begin, end).check()?;
        }
        Ok((f64::from(milliseconds) * 1e6) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_runs_on_later_devices_of_its_generation() {
        assert!(runs_code_for([8, 0], [8, 0], "sm_80"));
        assert!(runs_code_for([8, 9], [8, 0], "sm_80"));
        assert!(!runs_code_for([8, 0], [8, 6], "sm_86"));
        assert!(!runs_code_for([9, 0], [8, 0], "sm_80"));
        assert!(runs_code_for([9, 0], [9, 0], "sm_90a"));
        assert!(!runs_code_for([10, 3], [10, 0], "sm_100a"));
    }
}
