//! Kernels: names, attributes, parameters.

use std::ffi::{c_char, c_int, c_uint};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Handle;
use super::arguments::Out;
use crate::context::current;
use crate::driver::Driver;
use crate::error::{CudaError, Result};
use crate::function::Function;

/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES` and `_PREFERRED_SHARED_MEMORY_CARVEOUT`.
const MAX_DYNAMIC_SHARED: c_uint = 8;
const CARVEOUT: c_uint = 9;

super::exports! {
    fn cuFuncGetAttribute(value: Out<c_int>, attribute: c_uint, handle: Handle) {
        let (_, function) = function(handle)?;
        let (major, minor) = function.properties().compute_capability;
        let found = match attribute {
            0 => function.max_threads(),
            1 => function.kernel.shared_bytes,
            // Bytes of constants of the program's own; whether the first-level cache serves it; clusters.
            2 | 7 | 10..=15 => 0,
            3 => function.local_bytes,
            4 => function.registers,
            // Versions of PTX and of the code.
            5 | 6 => major * 10 + minor,
            MAX_DYNAMIC_SHARED => function.max_dynamic_shared.load(Ordering::Relaxed),
            CARVEOUT => return value.set(-1),
            _ => return Err(CudaError::INVALID_VALUE),
        };
        value.set(found as c_int)
    }

    fn cuFuncSetAttribute(handle: Handle, attribute: c_uint, value: c_int) {
        let (_, function) = function(handle)?;
        match attribute {
            MAX_DYNAMIC_SHARED => {
                let bytes = u32::try_from(value).map_err(|_| CudaError::INVALID_VALUE)?;
                function.set_max_dynamic_shared(bytes)
            }
            CARVEOUT if (-1..=100).contains(&value) => Ok(()),
            _ => Err(CudaError::INVALID_VALUE),
        }
    }

    fn cuFuncSetCacheConfig(handle: Handle, _config: c_uint) {
        function(handle).map(drop)
    }

    fn cuFuncGetModule(module: Out<Handle>, handle: Handle) {
        module.set(function(handle)?.1.module.handle)
    }

    fn cuFuncGetName(name: Out<*const c_char>, handle: Handle) {
        name.set(function(handle)?.1.name.as_ptr())
    }

    fn cuFuncGetParamInfo(handle: Handle, index: usize, offset: Out<usize>, size: Out<usize>) {
        let (_, function) = function(handle)?;
        let parameter = function.kernel.parameters.get(index).ok_or(CudaError::INVALID_VALUE)?;
        offset.set(parameter.offset as usize)?;
        size.set_if_wanted(parameter.size as usize);
        Ok(())
    }

    fn cuFuncIsLoaded(state: Out<c_uint>, handle: Handle) {
        function(handle)?;
        state.set(1)
    }

    fn cuFuncLoad(handle: Handle) {
        function(handle).map(drop)
    }
}

/// The kernel of a handle.
pub(super) fn function(handle: Handle) -> Result<(&'static Driver, Arc<Function>)> {
    let (driver, _) = current()?;
    let function = driver.functions.get(handle).ok_or(CudaError::INVALID_HANDLE)?;
    Ok((driver, function))
}
