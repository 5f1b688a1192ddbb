//! Streams.

use std::cell::RefCell;
use std::ffi::{c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::sync::Arc;

use super::arguments::Out;
use super::{Handle, LEGACY_STREAM, THREAD_STREAM, stream, stream_itself};
use crate::capture;
use crate::context::{Context, current};
use crate::driver::{Driver, lock};
use crate::error::{CudaError, Result, SUCCESS};
use crate::stream::{NON_BLOCKING, Stream};

/// Priorities of streams. They change nothing: all streams have their turns.
pub(super) const LEAST_PRIORITY: c_int = 0;
pub(super) const GREATEST_PRIORITY: c_int = -5;

/// A pointer of the program that its function gets back.
struct UserData(*mut c_void);

// SAFETY: the driver only hands it back; that another thread may use it is the program's promise.
unsafe impl Send for UserData {}

impl UserData {
    /// As a method, so that closures take the whole and not its pointer.
    fn get(&self) -> *mut c_void {
        self.0
    }
}

super::exports! {
    fn cuStreamCreate(handle: Out<Handle>, flags: c_uint) {
        create(handle, flags, 0)
    }

    fn cuStreamCreateWithPriority(handle: Out<Handle>, flags: c_uint, priority: c_int) {
        create(handle, flags, priority)
    }

    fn cuStreamDestroy(handle: Handle) {
        destroy(handle)
    }

    fn cuStreamDestroy_v2(handle: Handle) {
        destroy(handle)
    }

    fn cuStreamSynchronize(handle: Handle) {
        let (_, stream) = stream_itself(handle)?;
        capture::check_use(&stream)?;
        stream.synchronize()
    }

    fn cuStreamQuery(handle: Handle) {
        let (_, stream) = stream_itself(handle)?;
        capture::check_use(&stream)?;
        if stream.last().is_reached() { stream.context.check() } else { Err(CudaError::NOT_READY) }
    }

    fn cuStreamWaitEvent(handle: Handle, event: Handle, _flags: c_uint) {
        let (driver, stream) = stream_itself(handle)?;
        capture::check_use(&stream)?;
        let event = driver.events.get(event).ok_or(CudaError::INVALID_HANDLE)?;
        if let Some(mark) = event.mark() {
            stream.submit_after(vec![mark], Box::new(|_| Ok(())))?;
        }
        Ok(())
    }

    fn cuStreamGetCtx(handle: Handle, context: Out<Handle>) {
        context.set(stream_itself(handle)?.1.context.handle)
    }

    fn cuStreamGetFlags(handle: Handle, flags: Out<c_uint>) {
        flags.set(stream_itself(handle)?.1.flags)
    }

    fn cuStreamGetPriority(handle: Handle, priority: Out<c_int>) {
        priority.set(stream_itself(handle)?.1.priority)
    }

    fn cuLaunchHostFunc(handle: Handle, function: Option<extern "C" fn(*mut c_void)>, data: *mut c_void) {
        let function = function.ok_or(CudaError::INVALID_VALUE)?;
        let data = UserData(data);
        let (_, stream) = stream(handle)?;
        stream.submit(Box::new(move |state| {
            state?;
            function(data.get());
            Ok(())
        }))?;
        Ok(())
    }

    fn cuStreamAddCallback(
        handle: Handle,
        callback: Option<extern "C" fn(Handle, u32, *mut c_void)>,
        data: *mut c_void,
        flags: c_uint,
    ) {
        let callback = callback.ok_or(CudaError::INVALID_VALUE)?;
        if flags != 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        let data = UserData(data);
        let (_, stream) = stream(handle)?;
        stream.submit(Box::new(move |state| {
            // Callbacks, unlike functions of the host, are called after errors too.
            callback(handle, state.err().map_or(SUCCESS, |error| error.0), data.get());
            Ok(())
        }))?;
        Ok(())
    }
}

fn create(handle: Out<Handle>, flags: c_uint, priority: c_int) -> Result<()> {
    let (driver, context) = current()?;
    if flags & !NON_BLOCKING != 0 || handle.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    let priority = priority.clamp(GREATEST_PRIORITY, LEAST_PRIORITY);
    handle.set(new_stream(driver, &context, flags, priority).handle)
}

fn new_stream(driver: &Driver, context: &Arc<Context>, flags: u32, priority: i32) -> Arc<Stream> {
    let (_, stream) = driver
        .streams
        .add(|handle| Stream::new(handle, Arc::clone(context), flags, priority));
    let _order = lock(&context.submission);
    lock(&context.streams).push(Arc::clone(&stream));
    stream
}

fn destroy(handle: Handle) -> Result<()> {
    let (driver, _) = current()?;
    if [0, LEGACY_STREAM, THREAD_STREAM].contains(&handle) {
        return Err(CudaError::INVALID_HANDLE);
    }
    let stream = driver.streams.remove(handle).ok_or(CudaError::INVALID_HANDLE)?;
    // Its work goes on to its end; the default stream waits for that no more than the program does.
    lock(&stream.context.streams).retain(|other| !Arc::ptr_eq(other, &stream));
    stream.close();
    Ok(())
}

/// The stream of the calling thread in a context.
pub(super) fn of_thread(driver: &Driver, context: &Arc<Context>) -> Result<Arc<Stream>> {
    thread_local! {
        /// Contexts, and the stream of the thread in each. Never dropped: see `context`.
        static STREAMS: RefCell<ManuallyDrop<Vec<(Handle, Handle)>>> =
            const { RefCell::new(ManuallyDrop::new(Vec::new())) };
    }
    STREAMS.with_borrow_mut(|streams| {
        let found = streams.iter().find(|(of, _)| *of == context.handle);
        if let Some(stream) = found.and_then(|&(_, handle)| driver.streams.get(handle)) {
            return Ok(stream);
        }
        let stream = new_stream(driver, context, 0, 0);
        streams.push((context.handle, stream.handle));
        Ok(stream)
    })
}
