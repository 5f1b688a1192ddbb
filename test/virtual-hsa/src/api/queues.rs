//! Queues.

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::arguments::{Out, function};
use crate::abi::{
    Handle, InterceptHandler, QUEUE_TYPE_MULTI, QUEUE_TYPE_SINGLE, QueueCallback, RawQueue, Status,
};
use crate::agent::{QUEUE_MAX_SIZE, QUEUE_MIN_SIZE};
use crate::queue::{Queue, Request};
use crate::runtime::{Failure, Result, Runtime, UserData};

/// Makes a queue.
fn create(request: Request, queue: Out<*mut RawQueue>, runtime: &Arc<Runtime>) -> Result<()> {
    queue.check()?;
    runtime.device(request.agent)?;
    let size = request.size;
    if !size.is_power_of_two() || !(QUEUE_MIN_SIZE..=QUEUE_MAX_SIZE).contains(&size) {
        let text = format!(
            "a queue of {size} packets, where a power of 2 from {QUEUE_MIN_SIZE} to {QUEUE_MAX_SIZE} is wanted"
        );
        return Err(Failure::fault(Status::ERROR_INVALID_ARGUMENT, text));
    }
    if ![QUEUE_TYPE_MULTI, QUEUE_TYPE_SINGLE].contains(&request.kind) {
        let text = format!("a queue of type {}", request.kind);
        return Err(Failure::fault(Status::ERROR_INVALID_QUEUE_CREATION, text));
    }
    queue.set(Queue::create(request, runtime)?.raw())
}

/// `hsa_amd_queue_intercept_create`, which AMD's runtime gives to tools alone.
pub(crate) extern "C" fn intercept_create(
    agent: Handle,
    size: u32,
    kind: u32,
    callback: Option<QueueCallback>,
    data: *mut c_void,
    _private_size: u32,
    _group_size: u32,
    queue: Out<*mut RawQueue>,
) -> u32 {
    super::guard("hsa_amd_queue_intercept_create", |runtime| {
        let request = Request {
            agent,
            size,
            kind,
            callback: callback.map(|callback| (callback, UserData(data))),
            is_intercepted: true,
        };
        create(request, queue, runtime)
    })
}

/// `hsa_amd_queue_intercept_register`.
pub(crate) extern "C" fn intercept_register(
    queue: *const RawQueue,
    handler: Option<InterceptHandler>,
    data: *mut c_void,
) -> u32 {
    super::guard("hsa_amd_queue_intercept_register", |runtime| {
        runtime
            .queues
            .get(queue)?
            .intercept(function(handler)?, UserData(data))
    })
}

super::exports! {
    fn hsa_queue_create(runtime;
        agent: Handle,
        size: u32,
        kind: u32,
        callback: Option<QueueCallback>,
        data: *mut c_void,
        _private_size: u32,
        _group_size: u32,
        queue: Out<*mut RawQueue>,
    ) {
        let callback = callback.map(|callback| (callback, UserData(data)));
        create(Request { agent, size, kind, callback, is_intercepted: false }, queue, runtime)
    }

    fn hsa_queue_destroy(runtime; queue: *const RawQueue) {
        runtime.queues.destroy(queue, runtime)
    }

    fn hsa_amd_profiling_set_profiler_enabled(runtime; queue: *const RawQueue, enable: c_int) {
        runtime.queues.get(queue)?.is_profiled.store(enable != 0, Ordering::SeqCst);
        Ok(())
    }
}

super::value_exports! {
    fn hsa_queue_load_read_index_scacquire(runtime; queue: *const RawQueue) -> u64 {
        Ok(runtime.queues.get(queue)?.ring().read.load(Ordering::SeqCst))
    }

    fn hsa_queue_load_write_index_relaxed(runtime; queue: *const RawQueue) -> u64 {
        Ok(runtime.queues.get(queue)?.ring().write.load(Ordering::SeqCst))
    }

    fn hsa_queue_add_write_index_relaxed(runtime; queue: *const RawQueue, count: u64) -> u64 {
        Ok(runtime.queues.get(queue)?.ring().write.fetch_add(count, Ordering::SeqCst))
    }
}
