//! Modules: images, and what is found in them.

use std::ffi::{c_char, c_uint, c_void};
use std::sync::Arc;

use super::Handle;
use super::arguments::{In, Out};
use crate::capture;
use crate::context::current;
use crate::error::{CudaError, Result};
use crate::module::Module;

/// `CU_MODULE_LAZY_LOADING`.
const LAZY_LOADING: c_uint = 2;

super::exports! {
    fn cuModuleGetLoadingMode(mode: Out<c_uint>) {
        mode.set(LAZY_LOADING)
    }

    fn cuModuleLoad(handle: Out<Handle>, file: In<c_char>) {
        let (driver, context) = current()?;
        let image = std::fs::read(file.string()?).map_err(|_| CudaError::FILE_NOT_FOUND)?;
        handle.set(Module::load(driver, &context, &image)?)
    }

    fn cuModuleLoadData(handle: Out<Handle>, image: In<u8>) {
        load(handle, image)
    }

    fn cuModuleLoadDataEx(
        handle: Out<Handle>,
        image: In<u8>,
        _count: c_uint,
        _options: *const c_uint,
        _values: *const *const c_void,
    ) {
        load(handle, image)
    }

    fn cuModuleUnload(handle: Handle) {
        let (driver, module) = module(handle)?;
        capture::check_unsafe(driver)?;
        module.unload(driver);
        Ok(())
    }

    fn cuModuleGetFunction(function: Out<Handle>, handle: Handle, name: In<c_char>) {
        let (driver, module) = module(handle)?;
        function.set(module.function(driver, &name.string()?)?)
    }

    fn cuModuleGetFunctionCount(count: Out<c_uint>, handle: Handle) {
        let (_, module) = module(handle)?;
        count.set(module.program.kernels().len() as c_uint)
    }

    fn cuModuleEnumerateFunctions(functions: Out<Handle>, count: c_uint, handle: Handle) {
        let (driver, module) = module(handle)?;
        for (index, kernel) in module.program.kernels().iter().take(count as usize).enumerate() {
            functions.at(index).set(module.function(driver, &kernel.name)?)?;
        }
        Ok(())
    }

    fn cuModuleGetGlobal_v2(address: Out<u64>, bytes: Out<usize>, handle: Handle, name: In<c_char>) {
        let (_, module) = module(handle)?;
        let name = name.string()?;
        let global = module.program.global(&name).ok_or(CudaError::NOT_FOUND)?;
        address.set_if_wanted(global.address);
        bytes.set_if_wanted(global.size as usize);
        Ok(())
    }
}

fn module(handle: Handle) -> Result<(&'static crate::driver::Driver, Arc<Module>)> {
    let (driver, _) = current()?;
    let module = driver.modules.get(handle).ok_or(CudaError::INVALID_HANDLE)?;
    Ok((driver, module))
}

fn load(handle: Out<Handle>, image: In<u8>) -> Result<()> {
    let (driver, context) = current()?;
    if handle.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    let image = image.bytes(image_size(image)?)?;
    handle.set(Module::load(driver, &context, &image)?)
}

/// The bytes of an image: an ELF file ends where its headers say, PTX is a string.
fn image_size(image: In<u8>) -> Result<usize> {
    let byte = |at: usize| image.at(at);
    if byte(0)? != 0x7f {
        let mut size = 0;
        while byte(size)? != 0 {
            size += 1;
        }
        return Ok(size);
    }
    let number = |at: usize, bytes: usize| {
        let mut value = 0_u64;
        for index in (0..bytes).rev() {
            value = value << 8 | u64::from(byte(at + index)?);
        }
        Ok::<_, CudaError>(value)
    };
    // Where the tables of segments and sections are, and sizes and counts of their entries.
    let segments = number(0x20, 8)?.checked_add(number(0x36, 2)? * number(0x38, 2)?);
    let sections_at = number(0x28, 8)?;
    let (section_size, section_count) = (number(0x3a, 2)?, number(0x3c, 2)?);
    let sections = sections_at.checked_add(section_size * section_count);
    let mut end = segments.max(sections).ok_or(CudaError::INVALID_IMAGE)?;
    // Larger than every image: the headers are damaged.
    const LIMIT: u64 = 1 << 32;
    if end > LIMIT || section_size < 64 {
        return Err(CudaError::INVALID_IMAGE);
    }
    for index in 0..section_count {
        let header = (sections_at + index * section_size) as usize;
        const NOBITS: u64 = 8;
        if number(header + 4, 4)? != NOBITS {
            let section_end = number(header + 0x18, 8)?.checked_add(number(header + 0x20, 8)?);
            end = end.max(section_end.ok_or(CudaError::INVALID_IMAGE)?);
        }
    }
    if end > LIMIT {
        Err(CudaError::INVALID_IMAGE)
    } else {
        Ok(end as usize)
    }
}
