//! Launches.

use std::ffi::{c_uint, c_void};

use super::arguments::In;
use super::{Handle, stream_itself};
use crate::error::{CudaError, Result};
use crate::function::Function;
use crate::launch::{Request, submit};

/// `CU_LAUNCH_PARAM_END`, `_BUFFER_POINTER`, `_BUFFER_SIZE`.
const END: usize = 0;
const BUFFER_POINTER: usize = 1;
const BUFFER_SIZE: usize = 2;

/// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE` and `_CLUSTER_DIMENSION`.
const COOPERATIVE: c_uint = 2;
const CLUSTER: c_uint = 4;

/// `CUlaunchConfig`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Configuration {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    stream: Handle,
    attributes: In<Attribute>,
    attribute_count: c_uint,
}

/// `CUlaunchAttribute`: a number, and a value of up to 64 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Attribute {
    number: c_uint,
    padding: c_uint,
    value: [c_uint; 16],
}

super::exports! {
    fn cuLaunchKernel(
        function: Handle,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: Handle,
        parameters: In<In<u8>>,
        extra: In<*const c_void>,
    ) {
        let shape = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared_bytes);
        launch(function, shape, stream, parameters, extra, false)
    }

    fn cuLaunchCooperativeKernel(
        function: Handle,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: Handle,
        parameters: In<In<u8>>,
    ) {
        let shape = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared_bytes);
        launch(function, shape, stream, parameters, In::from_program(std::ptr::null()), true)
    }

    fn cuLaunchKernelEx(
        configuration: In<Configuration>,
        function: Handle,
        parameters: In<In<u8>>,
        extra: In<*const c_void>,
    ) {
        let configuration = configuration.get()?;
        let mut is_cooperative = false;
        for index in 0..configuration.attribute_count as usize {
            let attribute = configuration.attributes.at(index)?;
            match attribute.number {
                COOPERATIVE => is_cooperative = attribute.value[0] != 0,
                CLUSTER if attribute.value[..3].iter().any(|&size| size > 1) => return Err(CudaError::NOT_SUPPORTED),
                _ => {}
            }
        }
        let shape = (configuration.grid, configuration.block, configuration.shared_bytes);
        launch(function, shape, configuration.stream, parameters, extra, is_cooperative)
    }
}

fn launch(
    function: Handle,
    (grid, block, dynamic_shared_bytes): ([c_uint; 3], [c_uint; 3], c_uint),
    stream_handle: Handle,
    parameters: In<In<u8>>,
    extra: In<*const c_void>,
    is_cooperative: bool,
) -> Result<()> {
    let (driver, stream) = stream_itself(stream_handle)?;
    let function = driver.functions.get(function).ok_or(CudaError::INVALID_HANDLE)?;
    let request = Request {
        grid,
        block,
        dynamic_shared_bytes,
        parameters: block_of_parameters(&function, parameters, extra)?,
    };
    if is_cooperative {
        request.check_cooperative(&function)?;
    }
    submit(driver, &stream, &function, request)
}

/// The kernel's parameters as it sees them, of one of the two ways to pass them.
fn block_of_parameters(
    function: &Function,
    parameters: In<In<u8>>,
    extra: In<*const c_void>,
) -> Result<Vec<u8>> {
    let size = function.kernel.parameter_bytes as usize;
    let mut bytes = vec![0; size];
    if !extra.is_null() {
        if !parameters.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        let (pointer, length) = buffer(extra)?;
        if length < size {
            return Err(CudaError::INVALID_VALUE);
        }
        bytes.copy_from_slice(&pointer.bytes(size)?);
        return Ok(bytes);
    }
    for (index, place) in function.kernel.parameters.iter().enumerate() {
        let value = parameters.at(index)?.bytes(place.size as usize)?;
        let offset = place.offset as usize;
        let target = bytes.get_mut(offset..offset + value.len());
        target.ok_or(CudaError::INVALID_VALUE)?.copy_from_slice(&value);
    }
    Ok(bytes)
}

/// The buffer that a list of names and values names.
fn buffer(extra: In<*const c_void>) -> Result<(In<u8>, usize)> {
    // Each name may come once.
    const MOST_NAMES: usize = 3;
    let (mut pointer, mut length) = (None, None);
    for pair in 0..MOST_NAMES {
        let name = extra.at(2 * pair)?;
        match name.addr() {
            END => break,
            BUFFER_POINTER => pointer = Some(In::from_program(extra.at(2 * pair + 1)?)),
            BUFFER_SIZE => length = Some(In::<usize>::from_program(extra.at(2 * pair + 1)?).get()?),
            _ => return Err(CudaError::INVALID_VALUE),
        }
    }
    Ok((
        pointer.ok_or(CudaError::INVALID_VALUE)?,
        length.ok_or(CudaError::INVALID_VALUE)?,
    ))
}
