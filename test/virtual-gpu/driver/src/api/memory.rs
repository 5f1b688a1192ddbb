//! Allocations, and what an address is.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use offloom_virtual_gpu::{Owner, Poison};

use super::arguments::{In, Out};
use super::{Handle, stream};
use crate::capture;
use crate::context::{AllocationKind, Context, current};
use crate::copy::is_registered;
use crate::driver::{Driver, lock};
use crate::error::{CudaError, Result};

/// `CU_MEM_ATTACH_GLOBAL`, `_HOST`, `_SINGLE`.
const ATTACH_FLAGS: [c_uint; 3] = [1, 2, 4];

/// `CU_MEMHOSTALLOC_PORTABLE`, `_DEVICEMAP`, `_WRITECOMBINED`.
const HOST_FLAGS: c_uint = 7;

/// What memory of devices holds before somebody writes to it: no zeros, on which a wrong program could rely.
const PATTERN: [u8; 4] = [0xB5, 0xA6, 0x97, 0xF8];

/// `CU_MEMORYTYPE_HOST` and `_DEVICE`.
const HOST_MEMORY: c_uint = 1;
const DEVICE_MEMORY: c_uint = 2;

/// Rows of pitched memory begin at multiples of this many bytes.
const PITCH: usize = 512;

/// Sizes of memory without an address are multiples of this many bytes.
const GRANULARITY: usize = 2 << 20;

super::exports! {
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        let (driver, context) = current()?;
        let sizes = driver.memory.total_and_free(context.device).ok_or(CudaError::INVALID_CONTEXT)?;
        total.set_if_wanted(sizes.0 as usize);
        free.set_if_wanted(sizes.1 as usize);
        Ok(())
    }

    fn cuMemAlloc_v2(address: Out<u64>, size: usize) {
        let (driver, context) = current()?;
        capture::check_unsafe(driver)?;
        allocate(driver, &context, address, size, AllocationKind::Device)
    }

    fn cuMemAllocPitch_v2(address: Out<u64>, pitch: Out<usize>, width: usize, height: usize, element: c_uint) {
        let (driver, context) = current()?;
        if width == 0 || ![4, 8, 16].contains(&element) {
            return Err(CudaError::INVALID_VALUE);
        }
        let row = width.checked_next_multiple_of(PITCH).ok_or(CudaError::INVALID_VALUE)?;
        let size = row.checked_mul(height).ok_or(CudaError::INVALID_VALUE)?;
        allocate(driver, &context, address, size, AllocationKind::Device)?;
        pitch.set(row)
    }

    fn cuMemAllocManaged(address: Out<u64>, size: usize, flags: c_uint) {
        let (driver, context) = current()?;
        if !ATTACH_FLAGS.contains(&flags) {
            return Err(CudaError::INVALID_VALUE);
        }
        allocate(driver, &context, address, size, AllocationKind::Managed)
    }

    fn cuMemAllocHost_v2(pointer: Out<u64>, size: usize) {
        let (driver, context) = current()?;
        allocate(driver, &context, pointer, size, AllocationKind::Host(0))
    }

    fn cuMemHostAlloc(pointer: Out<u64>, size: usize, flags: c_uint) {
        let (driver, context) = current()?;
        if flags & !HOST_FLAGS != 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        allocate(driver, &context, pointer, size, AllocationKind::Host(flags))
    }

    fn cuMemAllocAsync(address: Out<u64>, size: usize, handle: Handle) {
        let (driver, stream) = stream(handle)?;
        allocate(driver, &stream.context, address, size, AllocationKind::Device)
    }

    fn cuMemFree_v2(address: u64) {
        let (driver, context) = current()?;
        if address == 0 {
            return Ok(());
        }
        capture::check_unsafe(driver)?;
        // A kernel may be using it.
        context.synchronize()?;
        free(driver, address, |kind| !matches!(kind, AllocationKind::Host(_)))
    }

    fn cuMemFreeAsync(address: u64, handle: Handle) {
        let (driver, stream) = stream(handle)?;
        if driver.memory.find(address).is_none_or(|(start, ..)| start != address) {
            return Err(CudaError::INVALID_VALUE);
        }
        stream.submit(Box::new(move |state| {
            state?;
            free(driver, address, |kind| kind == AllocationKind::Device)
        }))?;
        Ok(())
    }

    fn cuMemFreeHost(address: u64) {
        let (driver, context) = current()?;
        if address == 0 {
            return Ok(());
        }
        context.synchronize()?;
        free(driver, address, |kind| matches!(kind, AllocationKind::Host(_)))
    }

    fn cuMemHostRegister_v2(address: u64, size: usize, _flags: c_uint) {
        let (driver, _) = current()?;
        let size = size as u64;
        let end = address.checked_add(size).ok_or(CudaError::INVALID_VALUE)?;
        if address == 0 || size == 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        let mut registered = lock(&driver.registered);
        if registered.iter().any(|(&start, &length)| start < end && address < start + length) {
            return Err(CudaError::HOST_MEMORY_ALREADY_REGISTERED);
        }
        driver.memory.register(address, size)?;
        registered.insert(address, size);
        Ok(())
    }

    fn cuMemHostUnregister(address: u64) {
        let (driver, context) = current()?;
        context.synchronize()?;
        let removed = lock(&driver.registered).remove(&address);
        removed.ok_or(CudaError::HOST_MEMORY_NOT_REGISTERED)?;
        driver.memory.unregister(address);
        Ok(())
    }

    fn cuMemHostGetDevicePointer_v2(device: Out<u64>, pointer: u64, flags: c_uint) {
        let (driver, _) = current()?;
        if flags != 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        match driver.memory.find(pointer) {
            Some((_, _, Owner::Host)) => device.set(pointer),
            None if is_registered(driver, pointer) => device.set(pointer),
            _ => Err(CudaError::INVALID_VALUE),
        }
    }

    fn cuMemHostGetFlags(flags: Out<c_uint>, address: u64) {
        let (driver, _) = current()?;
        match kind_of(driver, address) {
            Some((_, AllocationKind::Host(found))) => flags.set(found),
            _ => Err(CudaError::INVALID_VALUE),
        }
    }

    fn cuMemGetAddressRange_v2(base: Out<u64>, size: Out<usize>, address: u64) {
        let (driver, _) = current()?;
        let (start, length, _) = driver.memory.find(address).ok_or(CudaError::NOT_FOUND)?;
        base.set_if_wanted(start);
        size.set_if_wanted(length as usize);
        Ok(())
    }

    fn cuMemPrefetchAsync(address: u64, _size: usize, _device: c_int, handle: Handle) {
        let (driver, _) = stream(handle)?;
        driver.memory.find(address).map(drop).ok_or(CudaError::INVALID_VALUE)
    }

    fn cuMemAdvise(address: u64, _size: usize, _advice: c_uint, _device: c_int) {
        let (driver, _) = current()?;
        driver.memory.find(address).map(drop).ok_or(CudaError::INVALID_VALUE)
    }

    // Addresses and memory apart. LLVM 23's libomptarget uses no driver that lacks the functions, asks each
    // device for the granularity, and calls the others only to record launches.
    fn cuMemGetAllocationGranularity(granularity: Out<usize>, _properties: In<c_void>, _option: c_uint) {
        granularity.set(GRANULARITY)
    }

    fn cuMemAddressReserve(_address: Out<u64>, _size: usize, _alignment: usize, _wanted: u64, _flags: u64) {
        Err(CudaError::NOT_SUPPORTED)
    }

    fn cuMemAddressFree(_address: u64, _size: usize) {
        Err(CudaError::NOT_SUPPORTED)
    }

    fn cuMemCreate(_handle: Out<Handle>, _size: usize, _properties: In<c_void>, _flags: u64) {
        Err(CudaError::NOT_SUPPORTED)
    }

    fn cuMemRelease(_handle: Handle) {
        Err(CudaError::NOT_SUPPORTED)
    }

    fn cuMemMap(_address: u64, _size: usize, _offset: usize, _handle: Handle, _flags: u64) {
        Err(CudaError::NOT_SUPPORTED)
    }

    fn cuMemUnmap(_address: u64, _size: usize) {
        Err(CudaError::NOT_SUPPORTED)
    }

    fn cuMemSetAccess(_address: u64, _size: usize, _accesses: In<c_void>, _count: usize) {
        Err(CudaError::NOT_SUPPORTED)
    }

    fn cuPointerGetAttribute(data: Out<c_void>, attribute: c_uint, address: u64) {
        let (driver, _) = current()?;
        pointer_attribute(driver, data, attribute, address)
    }

    fn cuPointerGetAttributes(count: c_uint, attributes: In<c_uint>, data: In<Out<c_void>>, address: u64) {
        let (driver, _) = current()?;
        for index in 0..count as usize {
            let target = data.at(index)?;
            // An attribute that the pointer has not reads zero.
            if let Err(error) = pointer_attribute(driver, target, attributes.at(index)?, address) {
                if driver.memory.find(address).is_some() {
                    return Err(error);
                }
                target.cast::<u32>().set(0)?;
            }
        }
        Ok(())
    }
}

fn allocate(
    driver: &Driver,
    context: &Arc<Context>,
    address: Out<u64>,
    size: usize,
    kind: AllocationKind,
) -> Result<()> {
    if address.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    let owner = match kind {
        AllocationKind::Device => Owner::Device(context.device),
        AllocationKind::Managed | AllocationKind::Host(_) => Owner::Host,
    };
    let size = size as u64;
    let allocated = driver.memory.allocate(size, owner)?;
    if driver.settings.poison != Poison::Off {
        let whole = size / PATTERN.len() as u64;
        driver.memory.fill(allocated, &PATTERN, whole)?;
    }
    lock(&context.allocations).insert(allocated, kind);
    address.set(allocated)
}

/// Frees an allocation that `is_right` says may be freed this way.
fn free(driver: &Driver, address: u64, is_right: impl Fn(AllocationKind) -> bool) -> Result<()> {
    let (context, kind) = kind_of(driver, address).ok_or(CudaError::INVALID_VALUE)?;
    if !is_right(kind) {
        return Err(CudaError::INVALID_VALUE);
    }
    lock(&context.allocations).remove(&address);
    driver.memory.free(address).map_err(Into::into)
}

/// The context in which something was allocated at an address, and how.
fn kind_of(driver: &Driver, address: u64) -> Option<(Arc<Context>, AllocationKind)> {
    driver.contexts.all().into_iter().find_map(|context| {
        let kind = lock(&context.allocations).get(&address).copied()?;
        Some((context, kind))
    })
}

/// A value of `CUpointer_attribute`.
fn pointer_attribute(driver: &Driver, data: Out<c_void>, attribute: c_uint, address: u64) -> Result<()> {
    let (start, size, owner) = driver.memory.find(address).ok_or(CudaError::INVALID_VALUE)?;
    let allocated = kind_of(driver, start);
    let is_managed = matches!(allocated, Some((_, AllocationKind::Managed)));
    let device = match (owner, &allocated) {
        (Owner::Device(device) | Owner::Heap(device), _) => device,
        (Owner::Host, Some((context, _))) => context.device,
        (Owner::Host, None) => 0,
    };
    let is_on_device = owner != Owner::Host || is_managed;
    match attribute {
        1 => data
            .cast::<u64>()
            .set(allocated.map_or(0, |(context, _)| context.handle)),
        2 => data
            .cast::<c_uint>()
            .set(if is_on_device { DEVICE_MEMORY } else { HOST_MEMORY }),
        3 => data.cast::<u64>().set(address),
        4 if owner == Owner::Host => data.cast::<u64>().set(address),
        7 => data.cast::<u64>().set(start),
        8 => data.cast::<c_uint>().set(c_uint::from(is_managed)),
        9 => data.cast::<c_int>().set(device as c_int),
        11 => data.cast::<u64>().set(start),
        12 => data.cast::<usize>().set(size as usize),
        13 => data.cast::<c_uint>().set(1),
        _ => Err(CudaError::INVALID_VALUE),
    }
}
