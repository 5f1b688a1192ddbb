//! The functions that programs call.
//!
//! Each catches what would unwind into the program, and ends with a code of `CUresult`.

mod arguments;
mod contexts;
mod devices;
mod entry_points;
mod events;
mod functions;
mod graphs;
mod launches;
mod memory;
mod modules;
mod occupancy;
mod streams;
mod transfers;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::capture;
use crate::context::{self, Context};
use crate::driver::{self, Driver};
use crate::error::{CudaError, Result, SUCCESS};
use crate::message;
use crate::stream::Stream;

/// An opaque pointer of the program: `CUcontext`, `CUmodule`, `CUfunction`, `CUstream`, `CUevent`.
type Handle = u64;

/// `CU_STREAM_LEGACY` and `CU_STREAM_PER_THREAD`.
const LEGACY_STREAM: Handle = 1;
const THREAD_STREAM: Handle = 2;

/// Runs the body of a function.
fn guard(body: impl FnOnce() -> Result<()>) -> u32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => SUCCESS,
        Ok(Err(CudaError(code))) => code,
        Err(_) => {
            message::line("an internal error, told above; please report it");
            CudaError::UNKNOWN.0
        }
    }
}

/// Defines functions of the driver, and `find` by their names.
macro_rules! exports {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$attribute])*
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $kind),*) -> u32 {
                $crate::api::guard(|| $body)
            }
        )*

        /// The address of a function of this file.
        pub(super) fn find(name: &str) -> Option<*const std::ffi::c_void> {
            match name {
                $(stringify!($name) => Some($name as *const std::ffi::c_void),)*
                _ => None,
            }
        }
    };
}
use exports;

/// The stream of a handle, for work of the calling thread that cannot be recorded.
fn stream(handle: Handle) -> Result<(&'static Driver, Arc<Stream>)> {
    let (driver, stream) = stream_here(handle)?;
    capture::check_use(&stream)?;
    Ok((driver, stream))
}

/// The stream of a handle in the current context.
fn stream_here(handle: Handle) -> Result<(&'static Driver, Arc<Stream>)> {
    let (driver, context) = context::current()?;
    let stream = match handle {
        0 | LEGACY_STREAM => Arc::clone(context.default_stream()),
        THREAD_STREAM => streams::of_thread(driver, &context)?,
        _ => driver.streams.get(handle).ok_or(CudaError::INVALID_HANDLE)?,
    };
    stream.context.check()?;
    Ok((driver, stream))
}

/// The stream of a handle, to wait for it or to ask about it: only the default streams are those of a current
/// context.
fn stream_itself(handle: Handle) -> Result<(&'static Driver, Arc<Stream>)> {
    if matches!(handle, 0 | LEGACY_STREAM | THREAD_STREAM) {
        return stream_here(handle);
    }
    let driver = driver::driver()?;
    let stream = driver.streams.get(handle).ok_or(CudaError::INVALID_HANDLE)?;
    stream.context.check()?;
    Ok((driver, stream))
}

/// The context of a handle.
fn context_of(driver: &Driver, handle: Handle) -> Result<Arc<Context>> {
    driver.contexts.get(handle).ok_or(CudaError::INVALID_CONTEXT)
}
