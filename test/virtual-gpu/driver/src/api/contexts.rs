//! Contexts: primary ones, those of the program, and which is current.

use std::ffi::{c_int, c_uint};
use std::sync::atomic::Ordering;

use super::arguments::Out;
use super::{Handle, context_of};
use crate::context::{Context, current, current_or_none, pop, push, release_primary, retain_primary};
use crate::driver::{driver, lock};
use crate::error::CudaError;

/// The version of the interface of contexts.
const API_VERSION: c_uint = 3020;

/// `CU_LIMIT_STACK_SIZE`, `CU_LIMIT_PRINTF_FIFO_SIZE`, `CU_LIMIT_MALLOC_HEAP_SIZE`.
const STACK: c_uint = 0;
const PRINTF: c_uint = 1;
const HEAP: c_uint = 2;

/// The most stack of a thread, in bytes.
const LARGEST_STACK: u64 = 512 << 10;

super::exports! {
    fn cuDevicePrimaryCtxRetain(context: Out<Handle>, device: c_int) {
        let retained = retain_primary(driver()?, device)?;
        context.set(retained.handle)
    }

    fn cuDevicePrimaryCtxRelease(device: c_int) {
        release_primary(driver()?, device, false)
    }

    fn cuDevicePrimaryCtxRelease_v2(device: c_int) {
        release_primary(driver()?, device, false)
    }

    fn cuDevicePrimaryCtxReset(device: c_int) {
        release_primary(driver()?, device, true)
    }

    fn cuDevicePrimaryCtxReset_v2(device: c_int) {
        release_primary(driver()?, device, true)
    }

    fn cuDevicePrimaryCtxGetState(device: c_int, flags: Out<c_uint>, active: Out<c_int>) {
        let driver = driver()?;
        let primary = lock(&driver.device(device)?.primary);
        flags.set(primary.flags)?;
        active.set(c_int::from(primary.context.is_some()))
    }

    fn cuDevicePrimaryCtxSetFlags(device: c_int, flags: c_uint) {
        set_flags(device, flags)
    }

    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint) {
        set_flags(device, flags)
    }

    fn cuCtxCreate(context: Out<Handle>, flags: c_uint, device: c_int) {
        create(context, flags, device)
    }

    fn cuCtxCreate_v2(context: Out<Handle>, flags: c_uint, device: c_int) {
        create(context, flags, device)
    }

    fn cuCtxDestroy(context: Handle) {
        destroy(context)
    }

    fn cuCtxDestroy_v2(context: Handle) {
        destroy(context)
    }

    fn cuCtxGetCurrent(context: Out<Handle>) {
        driver()?;
        context.set(current_or_none().map_or(0, |context| context.handle))
    }

    fn cuCtxSetCurrent(context: Handle) {
        let driver = driver()?;
        let next = if context == 0 { None } else { Some(context_of(driver, context)?) };
        pop();
        if let Some(next) = next {
            push(next);
        }
        Ok(())
    }

    fn cuCtxPushCurrent(context: Handle) {
        push(context_of(driver()?, context)?);
        Ok(())
    }

    fn cuCtxPushCurrent_v2(context: Handle) {
        push(context_of(driver()?, context)?);
        Ok(())
    }

    fn cuCtxPopCurrent(context: Out<Handle>) {
        driver()?;
        let popped = pop().ok_or(CudaError::INVALID_CONTEXT)?;
        context.set_if_wanted(popped.handle);
        Ok(())
    }

    fn cuCtxPopCurrent_v2(context: Out<Handle>) {
        driver()?;
        let popped = pop().ok_or(CudaError::INVALID_CONTEXT)?;
        context.set_if_wanted(popped.handle);
        Ok(())
    }

    fn cuCtxGetDevice(device: Out<c_int>) {
        driver()?;
        let context = current_or_none().ok_or(CudaError::INVALID_CONTEXT)?;
        device.set(context.device as c_int)
    }

    fn cuCtxSynchronize() {
        current()?.1.synchronize()
    }

    fn cuCtxGetFlags(flags: Out<c_uint>) {
        flags.set(current()?.1.flags.load(Ordering::Relaxed))
    }

    fn cuCtxGetApiVersion(context: Handle, version: Out<c_uint>) {
        let driver = driver()?;
        if context != 0 {
            context_of(driver, context)?;
        }
        version.set(API_VERSION)
    }

    fn cuCtxGetId(context: Handle, id: Out<u64>) {
        let context = if context == 0 { current()?.1 } else { context_of(driver()?, context)? };
        id.set(context.handle)
    }

    fn cuCtxGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) {
        current()?;
        least.set_if_wanted(super::streams::LEAST_PRIORITY);
        greatest.set_if_wanted(super::streams::GREATEST_PRIORITY);
        Ok(())
    }

    fn cuCtxGetCacheConfig(config: Out<c_uint>) {
        current()?;
        config.set(0)
    }

    fn cuCtxSetCacheConfig(_config: c_uint) {
        current().map(drop)
    }

    fn cuCtxGetLimit(value: Out<usize>, limit: c_uint) {
        let (_, context) = current()?;
        let limits = *lock(&context.limits);
        let found = match limit {
            STACK => limits.stack,
            PRINTF => limits.printf,
            HEAP => limits.heap,
            _ => return Err(CudaError::UNSUPPORTED_LIMIT),
        };
        value.set(found as usize)
    }

    fn cuCtxSetLimit(limit: c_uint, value: usize) {
        let (driver, context) = current()?;
        let value = value as u64;
        let mut limits = lock(&context.limits);
        match limit {
            STACK if value > LARGEST_STACK => return Err(CudaError::INVALID_VALUE),
            STACK => limits.stack = value,
            PRINTF => limits.printf = value,
            HEAP => {
                limits.heap = value;
                driver.memory.set_heap_limit(context.device, value);
            }
            _ => return Err(CudaError::UNSUPPORTED_LIMIT),
        }
        Ok(())
    }

    fn cuCtxEnablePeerAccess(peer: Handle, flags: c_uint) {
        let (driver, context) = current()?;
        let peer = context_of(driver, peer)?;
        if flags != 0 || peer.handle == context.handle {
            return Err(CudaError::INVALID_VALUE);
        }
        if peer.device == context.device {
            return Err(CudaError::PEER_ACCESS_UNSUPPORTED);
        }
        let is_new = lock(&context.peers).insert(peer.handle);
        if is_new { Ok(()) } else { Err(CudaError::PEER_ACCESS_ALREADY_ENABLED) }
    }

    fn cuCtxDisablePeerAccess(peer: Handle) {
        let (driver, context) = current()?;
        context_of(driver, peer)?;
        let was_there = lock(&context.peers).remove(&peer);
        if was_there { Ok(()) } else { Err(CudaError::PEER_ACCESS_NOT_ENABLED) }
    }
}

fn set_flags(device: c_int, flags: c_uint) -> crate::error::Result<()> {
    let driver = driver()?;
    let mut primary = lock(&driver.device(device)?.primary);
    primary.flags = flags;
    if let Some(context) = &primary.context {
        context.flags.store(flags, Ordering::Relaxed);
    }
    Ok(())
}

fn create(context: Out<Handle>, flags: c_uint, device: c_int) -> crate::error::Result<()> {
    let driver = driver()?;
    let number = driver.device(device)?.properties.number;
    if context.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    let created = Context::create(driver, number, flags, false);
    context.set(created.handle)?;
    push(created);
    Ok(())
}

fn destroy(context: Handle) -> crate::error::Result<()> {
    let driver = driver()?;
    let context = context_of(driver, context)?;
    if context.is_primary {
        return Err(CudaError::INVALID_CONTEXT);
    }
    if current_or_none().is_some_and(|current| current.handle == context.handle) {
        pop();
    }
    context.destroy(driver);
    Ok(())
}
