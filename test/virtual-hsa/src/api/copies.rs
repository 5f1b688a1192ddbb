//! Copies and fills.

use std::ffi::c_void;
use std::ptr;

use super::arguments::{In, address};
use crate::abi::{Handle, Status};
use crate::runtime::{Failure, Result};
use crate::signal::Condition;
use crate::worker::CopyTask;

super::exports! {
    fn hsa_memory_copy(runtime; to: *mut c_void, from: *const c_void, size: usize) {
        let areas = runtime.memory.areas();
        for (side, place) in [("destination", address(to)?), ("source", address(from)?)] {
            // Other memory of the program may be copied, too: only what is known can be checked.
            if let Some(area) = areas.find(place) {
                let left = area.start + area.size - place;
                if size > left {
                    let text = format!("the {side} has {left} bytes left from {place:#x} on, not {size}");
                    return Err(Failure::fault(Status::ERROR_INVALID_ARGUMENT, text));
                }
            }
        }
        // SAFETY: the program says that both hold so many bytes. They may overlap.
        unsafe { ptr::copy(from.cast::<u8>(), to.cast::<u8>(), size) };
        Ok(())
    }

    fn hsa_amd_memory_async_copy(runtime;
        to: *mut c_void,
        to_agent: Handle,
        from: *const c_void,
        from_agent: Handle,
        size: usize,
        dependencies: u32,
        signals: In<Handle>,
        completion: Handle,
    ) {
        runtime.agents.get(to_agent)?;
        runtime.agents.get(from_agent)?;
        let task = CopyTask {
            awaited: signals
                .list(dependencies as usize)?
                .into_iter()
                .map(|signal| (signal, Condition::Equal(0)))
                .collect(),
            to: (address(to)?, to_agent),
            from: (address(from)?, from_agent),
            size,
            completion,
        };
        for handle in task.awaited.iter().map(|(handle, _)| *handle).chain([completion]) {
            check_signal(runtime.signals.get(handle).is_some(), handle)?;
        }
        task.check(runtime).map_err(|what| Failure::fault(Status::ERROR_INVALID_ARGUMENT, what))?;
        runtime.workers.add_copy(task, runtime)
    }

    fn hsa_amd_memory_fill(runtime; to: *mut c_void, value: u32, count: usize) {
        let start = address(to)?;
        let wrong = |what: String| Failure::fault(Status::ERROR_INVALID_ARGUMENT, what);
        if !start.is_multiple_of(4) {
            return Err(wrong(format!("{to:p} is no multiple of 4")));
        }
        let areas = runtime.memory.areas();
        let owner = areas.find(start).ok_or_else(|| wrong(format!("{to:p} is no memory that agents know")))?;
        let agent = owner.agents.as_ref().and_then(|agents| agents.first().copied());
        areas.check(start, count.saturating_mul(4), agent.unwrap_or_default()).map_err(wrong)?;
        let words = to.cast::<u32>();
        for index in 0..count {
            // SAFETY: the area, which stays while it is locked, holds so many numbers.
            unsafe { words.add(index).write(value) };
        }
        Ok(())
    }
}

/// Checks that a signal of a copy lives.
fn check_signal(is_live: bool, handle: Handle) -> Result<()> {
    if is_live {
        return Ok(());
    }
    Err(Failure::fault(
        Status::ERROR_INVALID_SIGNAL,
        format!("{handle:#x} is no live signal"),
    ))
}
