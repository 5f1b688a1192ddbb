//! Events.

use std::ffi::c_uint;
use std::sync::Arc;

use super::arguments::Out;
use super::{Handle, stream};
use crate::capture;
use crate::context::current;
use crate::driver::driver;
use crate::error::{CudaError, Result};
use crate::event::Event;

/// `CU_EVENT_BLOCKING_SYNC`, `_DISABLE_TIMING`, `_INTERPROCESS`.
const FLAGS: c_uint = 7;

super::exports! {
    fn cuEventCreate(handle: Out<Handle>, flags: c_uint) {
        let (driver, context) = current()?;
        if flags & !FLAGS != 0 || handle.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        let (event, _) = driver.events.add(|_| Event::new(context, flags));
        handle.set(event)
    }

    fn cuEventDestroy(handle: Handle) {
        destroy(handle)
    }

    fn cuEventDestroy_v2(handle: Handle) {
        destroy(handle)
    }

    fn cuEventRecord(handle: Handle, stream: Handle) {
        record(handle, stream)
    }

    fn cuEventRecordWithFlags(handle: Handle, stream: Handle, _flags: c_uint) {
        record(handle, stream)
    }

    fn cuEventQuery(handle: Handle) {
        let event = event(handle)?;
        capture::check_unsafe(driver()?)?;
        match event.mark() {
            Some(mark) if !mark.is_reached() => Err(CudaError::NOT_READY),
            _ => event.context.check(),
        }
    }

    fn cuEventSynchronize(handle: Handle) {
        let event = event(handle)?;
        if let Some(mark) = event.mark() {
            mark.wait();
        }
        event.context.check()
    }

    fn cuEventElapsedTime(milliseconds: Out<f32>, start: Handle, end: Handle) {
        milliseconds.set(event(start)?.milliseconds_to(&*event(end)?)?)
    }

    fn cuEventElapsedTime_v2(milliseconds: Out<f32>, start: Handle, end: Handle) {
        milliseconds.set(event(start)?.milliseconds_to(&*event(end)?)?)
    }
}

fn event(handle: Handle) -> Result<Arc<Event>> {
    let (driver, _) = current()?;
    driver.events.get(handle).ok_or(CudaError::INVALID_HANDLE)
}

fn destroy(handle: Handle) -> Result<()> {
    let (driver, _) = current()?;
    driver
        .events
        .remove(handle)
        .map(drop)
        .ok_or(CudaError::INVALID_HANDLE)
}

fn record(handle: Handle, stream_handle: Handle) -> Result<()> {
    let event = event(handle)?;
    let (_, stream) = stream(stream_handle)?;
    if !Arc::ptr_eq(&event.context, &stream.context) {
        return Err(CudaError::INVALID_HANDLE);
    }
    event.record(&stream)
}
