//! Copies and fills.

use std::ffi::c_void;
use std::ptr;

use super::arguments::{In, address};
use crate::abi::{Handle, Status};
use crate::memory::Areas;
use crate::runtime::{Failure, Result};
use crate::signal::Condition;
use crate::worker::CopyTask;

super::exports! {
    fn hsa_memory_copy(runtime; to: *mut c_void, from: *const c_void, size: usize) {
        let areas = runtime.memory.areas();
        let to = place("destination", address(to)?, size, &areas)?;
        let from = place("source", address(from)?, size, &areas)?;
        let (to, from) = (ptr::with_exposed_provenance_mut::<u8>(to), ptr::with_exposed_provenance::<u8>(from));
        // SAFETY: the program says that both hold so many bytes. They may overlap.
        unsafe { ptr::copy(from, to, size) };
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
        let places = task.places(&runtime.memory.areas());
        places.map_err(|what| Failure::fault(Status::ERROR_INVALID_ARGUMENT, what))?;
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
        let words = ptr::with_exposed_provenance_mut::<u32>(owner.inside(start));
        for index in 0..count {
            // SAFETY: the area, which stays while it is locked, holds so many numbers.
            unsafe { words.add(index).write(value) };
        }
        Ok(())
    }
}

/// Where the runtime reads or writes `size` bytes of the program. Memory that is not known may be copied,
/// too: it cannot be checked.
fn place(side: &str, address: usize, size: usize, areas: &Areas) -> Result<usize> {
    let Some(area) = areas.find(address) else {
        return Ok(address);
    };
    let left = area.start + area.size - address;
    if size > left {
        let text = format!("the {side} has {left} bytes left from {address:#x} on, not {size}");
        return Err(Failure::fault(Status::ERROR_INVALID_ARGUMENT, text));
    }
    Ok(area.inside(address))
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
