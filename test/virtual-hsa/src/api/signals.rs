//! Signals.

use std::ffi::c_void;
use std::sync::Arc;

use super::arguments::{In, Out, function};
use crate::abi::{DispatchTime, Handle, SignalHandler, Status};
use crate::runtime::{Failure, Result, Runtime, UserData};
use crate::signal::{self, Condition, Signal};
use crate::worker::HandlerTask;

/// The signal of a handle.
fn live(runtime: &Runtime, handle: Handle) -> Result<Arc<Signal>> {
    let text = || format!("{handle:#x} is no live signal");
    runtime
        .signals
        .get(handle)
        .ok_or_else(|| Failure::fault(Status::ERROR_INVALID_SIGNAL, text()))
}

/// Makes a signal.
fn create(
    value: i64,
    count: u32,
    consumers: In<Handle>,
    signal: Out<Handle>,
    runtime: &Runtime,
) -> Result<()> {
    signal.check()?;
    for consumer in consumers.list(count as usize)? {
        runtime.agents.get(consumer)?;
    }
    signal.set(runtime.signals.add(Signal::new(value, None)))
}

/// Stores into a signal: a doorbell takes it as the index of a packet.
fn store(runtime: &Runtime, handle: Handle, value: i64) -> Result<()> {
    let signal = live(runtime, handle)?;
    match signal.queue() {
        Some(queue) => queue.ring_doorbell(value, runtime),
        None => {
            signal.update(|_| value);
        }
    }
    Ok(())
}

/// A condition by its number.
fn condition(number: u32, compared: i64) -> Result<Condition> {
    let text = || format!("condition {number} does not exist");
    Condition::new(number, compared).ok_or_else(|| Failure::fault(Status::ERROR_INVALID_ARGUMENT, text()))
}

super::exports! {
    fn hsa_signal_create(runtime; value: i64, count: u32, consumers: In<Handle>, signal: Out<Handle>) {
        create(value, count, consumers, signal, runtime)
    }

    fn hsa_amd_signal_create(runtime;
        value: i64,
        count: u32,
        consumers: In<Handle>,
        attributes: u64,
        signal: Out<Handle>,
    ) {
        // Signals that only GPUs use, and signals between processes: nothing differs but the latter.
        if attributes > 1 {
            let text = format!("attributes {attributes:#x} are not known here");
            return Err(Failure::fault(Status::ERROR_INVALID_ARGUMENT, text));
        }
        create(value, count, consumers, signal, runtime)
    }

    fn hsa_signal_destroy(runtime; signal: Handle) {
        if live(runtime, signal)?.queue().is_some() {
            let text = "the signal is a queue's doorbell";
            return Err(Failure::fault(Status::ERROR_INVALID_ARGUMENT, text));
        }
        runtime.signals.remove(signal);
        Ok(())
    }

    fn hsa_amd_signal_async_handler(runtime;
        signal: Handle,
        number: u32,
        compared: i64,
        handler: Option<SignalHandler>,
        argument: *mut c_void,
    ) {
        live(runtime, signal)?;
        let task = HandlerTask {
            awaited: [(signal, condition(number, compared)?)],
            function: function(handler)?,
            argument: UserData(argument),
        };
        runtime.workers.add_handler(task, runtime)
    }

    fn hsa_amd_profiling_get_dispatch_time(runtime; agent: Handle, signal: Handle, time: Out<DispatchTime>) {
        runtime.device(agent)?;
        time.check()?;
        let times = live(runtime, signal)?.times().ok_or_else(|| {
            let text = "no kernel of a queue with a profiler has completed the signal";
            Failure::fault(Status::ERROR, text)
        })?;
        time.set(DispatchTime { start: times.0, end: times.1 })
    }
}

super::value_exports! {
    fn hsa_signal_load_scacquire(runtime; signal: Handle) -> i64 {
        Ok(live(runtime, signal)?.load())
    }

    fn hsa_signal_load_relaxed(runtime; signal: Handle) -> i64 {
        Ok(live(runtime, signal)?.load())
    }

    fn hsa_signal_store_relaxed(runtime; signal: Handle, value: i64) -> () {
        store(runtime, signal, value)
    }

    fn hsa_signal_store_screlease(runtime; signal: Handle, value: i64) -> () {
        store(runtime, signal, value)
    }

    fn hsa_signal_subtract_screlease(runtime; signal: Handle, value: i64) -> () {
        live(runtime, signal)?.update(|before| before.wrapping_sub(value));
        Ok(())
    }

    fn hsa_signal_wait_scacquire(runtime;
        signal: Handle,
        number: u32,
        compared: i64,
        timeout: u64,
        _state: u32,
    ) -> i64 {
        Ok(signal::wait(&*live(runtime, signal)?, condition(number, compared)?, timeout))
    }
}
