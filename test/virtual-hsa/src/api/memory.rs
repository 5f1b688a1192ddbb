//! Allocations, locks, and what is known of an address.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::arguments::{In, Out, address};
use crate::abi::{Handle, POINTER_HSA, POINTER_LOCKED, POINTER_UNKNOWN, PointerInfo, Status};
use crate::agent::KERNARG_INIT;
use crate::memory::{Area, Kind, Pages};
use crate::runtime::{Failure, Result, Runtime};

super::exports! {
    fn hsa_amd_memory_pool_allocate(runtime;
        pool: Handle,
        size: usize,
        flags: u32,
        pointer: Out<*mut c_void>,
    ) {
        let pool = runtime.pool(pool)?;
        pointer.check()?;
        if size == 0 || flags != 0 {
            return Err(wrong(format!("an allocation of {size} bytes with flags {flags:#x}")));
        }
        if !pool.is_global() {
            return Err(Failure::fault(Status::ERROR_INVALID_ALLOCATION, "nothing is allocated from group memory"));
        }
        let is_host = runtime.agents.get(pool.owner)?.device.is_none();
        let pages = if is_host { Pages::of_host(size) } else { Pages::of_device(size) };
        let pages = pages.ok_or(Status::ERROR_OUT_OF_RESOURCES)?;
        let kind = Kind::Pool {
            pool: pool.handle,
            owner: pool.owner,
            takes_arguments: pool.flags & KERNARG_INIT != 0,
        };
        let start = runtime.memory.areas().add_pages(pages, kind, Some(vec![pool.owner]));
        pointer.set(ptr::with_exposed_provenance_mut(start))
    }

    fn hsa_amd_memory_pool_free(runtime; pointer: *mut c_void) {
        // AMD's runtime takes null, as `free` does.
        if pointer.is_null() || runtime.memory.areas().free(pointer.addr()) {
            return Ok(());
        }
        Err(Failure::fault(Status::ERROR_INVALID_ALLOCATION, format!("no allocation begins at {pointer:p}")))
    }

    fn hsa_amd_agents_allow_access(runtime;
        count: u32,
        agents: In<Handle>,
        flags: *const u32,
        pointer: *const c_void,
    ) {
        let agents = agents_of(agents, count as usize, runtime)?;
        if agents.is_empty() || !flags.is_null() {
            return Err(wrong("no agents are named, or there are flags"));
        }
        if !runtime.memory.areas().allow(address(pointer)?, &agents, runtime.agents.all[0].handle) {
            return Err(wrong(format!("{pointer:p} is in no allocation")));
        }
        Ok(())
    }

    fn hsa_amd_memory_lock(runtime;
        host: *mut c_void,
        size: usize,
        agents: In<Handle>,
        count: c_int,
        pointer: Out<*mut c_void>,
    ) {
        pointer.check()?;
        let start = address(host)?;
        let agents = agents_of(agents, usize::try_from(count).unwrap_or(0), runtime)?;
        // No agents are all of them.
        let agents = (!agents.is_empty()).then_some(agents);
        if size == 0 || !runtime.memory.areas().lock(start, size, agents) {
            return Err(wrong(format!("{size} bytes from {host:p} on cannot be locked: none, or in part known")));
        }
        pointer.set(host)
    }

    fn hsa_amd_memory_unlock(runtime; host: *mut c_void) {
        if !runtime.memory.areas().unlock(address(host)?) {
            return Err(wrong(format!("no lock begins at {host:p}")));
        }
        Ok(())
    }

    fn hsa_amd_pointer_info(runtime;
        pointer: *const c_void,
        info: *mut PointerInfo,
        allocate: Option<extern "C" fn(usize) -> *mut c_void>,
        count: Out<u32>,
        accessible: Out<*mut Handle>,
    ) {
        let areas = runtime.memory.areas();
        let area = areas.find(pointer.addr());
        write_info(info, area, runtime)?;
        if let (Some(allocate), Ok(())) = (allocate, accessible.check()) {
            let agents = runtime.agents.all.iter().map(|agent| agent.handle);
            let open: Vec<_> = agents.filter(|agent| area.is_some_and(|area| area.is_open_to(*agent))).collect();
            count.set(open.len() as u32)?;
            let list = allocate(size_of_val(&open[..])).cast::<Handle>();
            if list.is_null() {
                return Err(Status::ERROR_OUT_OF_RESOURCES.into());
            }
            // SAFETY: the program's allocator has made room for them.
            unsafe { list.copy_from_nonoverlapping(open.as_ptr(), open.len()) };
            accessible.set(list)?;
        }
        Ok(())
    }

    // Addresses and memory apart: LLVM 23's libomptarget uses no runtime that lacks these, and calls them
    // only to record launches.
    fn hsa_amd_vmem_address_reserve(_runtime; _start: Out<*mut c_void>, _size: usize, _wanted: u64, _flags: u64) {
        Err(Status::ERROR.into())
    }

    fn hsa_amd_vmem_address_free(_runtime; _start: *mut c_void, _size: usize) {
        Err(Status::ERROR.into())
    }

    fn hsa_amd_vmem_handle_create(_runtime;
        _pool: Handle,
        _size: usize,
        _kind: u32,
        _flags: u64,
        _handle: Out<Handle>,
    ) {
        Err(Status::ERROR.into())
    }

    fn hsa_amd_vmem_handle_release(_runtime; _handle: Handle) {
        Err(Status::ERROR.into())
    }

    fn hsa_amd_vmem_map(_runtime; _start: *mut c_void, _size: usize, _offset: usize, _handle: Handle, _flags: u64) {
        Err(Status::ERROR.into())
    }

    fn hsa_amd_vmem_unmap(_runtime; _start: *mut c_void, _size: usize) {
        Err(Status::ERROR.into())
    }

    fn hsa_amd_vmem_set_access(_runtime; _start: *mut c_void, _size: usize, _accesses: *const c_void, _count: usize) {
        Err(Status::ERROR.into())
    }
}

/// A wrong argument.
fn wrong(text: impl Into<String>) -> Failure {
    Failure::fault(Status::ERROR_INVALID_ARGUMENT, text)
}

/// A list of agents, each of which exists.
fn agents_of(agents: In<Handle>, count: usize, runtime: &Runtime) -> Result<Vec<Handle>> {
    let agents = agents.list(count)?;
    for agent in &agents {
        runtime.agents.get(*agent)?;
    }
    Ok(agents)
}

/// Writes as much of the record as the caller has room for.
fn write_info(info: *mut PointerInfo, area: Option<&Area>, runtime: &Runtime) -> Result<()> {
    address(info.cast())?;
    // SAFETY: not null; the program has set the record's first field.
    let size = unsafe { (&raw const (*info).size).read() };
    let whole = size_of::<PointerInfo>();
    if size == 0 || size as usize > whole {
        return Err(wrong(format!("the record's size is {size}, {whole} is the most")));
    }
    let base = area.map_or(ptr::null_mut(), |area| {
        ptr::with_exposed_provenance_mut(area.start)
    });
    let (kind, owner, pool) = match area.map(|area| &area.kind) {
        Some(Kind::Pool { pool, owner, .. }) => (POINTER_HSA, *owner, Some(*pool)),
        Some(Kind::Locked { .. }) => (POINTER_LOCKED, runtime.agents.all[0].handle, None),
        Some(Kind::Code { agent }) => (POINTER_HSA, *agent, None),
        None => (POINTER_UNKNOWN, 0, None),
    };
    let found = PointerInfo {
        size,
        kind,
        agent_base: base,
        host_base: base,
        bytes: area.map_or(0, |area| area.size),
        user_data: ptr::null_mut(),
        owner,
        global_flags: pool
            .and_then(|pool| runtime.agents.pool(pool))
            .map_or(0, |pool| pool.flags),
    };
    // SAFETY: the record has room for `size` bytes, and `found` has no fewer.
    unsafe { ptr::copy_nonoverlapping((&raw const found).cast::<u8>(), info.cast::<u8>(), size as usize) };
    Ok(())
}
