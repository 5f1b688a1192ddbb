//! Modules: cubins that carry their PTX, or PTX alone, as programs of a device.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use offloom_ptx::cubin::{self, Cubin};
use offloom_ptx::{image, link, parse};
use offloom_virtual_gpu::{Program, ProgramError};

use crate::capture;
use crate::context::Context;
use crate::driver::{Driver, lock};
use crate::error::{CudaError, Result};
use crate::function::Function;
use crate::message;
use crate::profile::Profile;

/// One loaded module.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) handle: u64,
    pub(crate) context: Arc<Context>,
    pub(crate) program: Arc<Program>,
    /// What the cubin says of its kernels; nothing where the image was PTX.
    cubin: Cubin,
    /// How often its lines were executed, if that is wanted.
    pub(crate) profile: Option<Profile>,
    /// Handles of the kernels that were asked for.
    functions: Mutex<HashMap<String, u64>>,
}

/// Why an image cannot be loaded, with what to tell.
struct Refusal(CudaError, String);

impl Module {
    /// Loads an image: a cubin or the text of PTX.
    ///
    /// As the driver does, it waits until the kernels that run on the device have ended.
    pub(crate) fn load(driver: &Driver, context: &Arc<Context>, image: &[u8]) -> Result<u64> {
        capture::check_unsafe(driver)?;
        let device = context.its_device(driver)?;
        device.running.wait();
        let capability = device.properties.compute_capability;
        let loaded = read(image, capability).and_then(|(cubin, module)| {
            let program = Program::new(&module, &device.properties, &driver.memory);
            let program = program.map_err(|error| match error {
                ProgramError::Memory(error) => Refusal(error.into(), error.to_string()),
                error => Refusal(CudaError::INVALID_IMAGE, error.to_string()),
            })?;
            Ok((cubin, program))
        });
        let (cubin, program) = loaded.map_err(|Refusal(code, text)| {
            message::line(format_args!("an image cannot be loaded: {text}"));
            code
        })?;
        let wanted = driver.settings.profile.is_some();
        let profile = wanted.then(|| Profile::new(image)).flatten();
        let (handle, _) = driver.modules.add(|handle| Self {
            handle,
            context: Arc::clone(context),
            program: Arc::new(program),
            cubin,
            profile,
            functions: Mutex::default(),
        });
        Ok(handle)
    }

    /// Ends a module, after the work of its context.
    pub(crate) fn unload(&self, driver: &Driver) {
        for mark in self.context.marks() {
            mark.wait();
        }
        driver.modules.remove(self.handle);
        for (_, function) in lock(&self.functions).drain() {
            driver.functions.remove(function);
        }
    }

    /// The handle of a kernel: the same however often it is asked for.
    pub(crate) fn function(self: &Arc<Self>, driver: &Driver, name: &str) -> Result<u64> {
        let mut functions = lock(&self.functions);
        if let Some(&handle) = functions.get(name) {
            return Ok(handle);
        }
        let kernel = self.program.kernel(name).ok_or(CudaError::NOT_FOUND)?;
        let needs = self.cubin.kernels.iter().find(|kernel| kernel.name == name);
        let function = Function::new(Arc::clone(self), kernel, needs)?;
        let (handle, _) = driver.functions.add(|_| function);
        functions.insert(name.to_owned(), handle);
        Ok(handle)
    }
}

/// Reads an image for a device of this compute capability.
fn read(image: &[u8], capability: (u32, u32)) -> Result<(Cubin, offloom_ptx::Module), Refusal> {
    if !image.starts_with(b"\x7fELF") {
        let module =
            parse("image", image).map_err(|error| Refusal(CudaError::INVALID_PTX, error.to_string()))?;
        return Ok((Cubin::default(), module));
    }
    let invalid = |text: String| Refusal(CudaError::INVALID_IMAGE, text);
    let cubin = cubin::read(image).map_err(|error| invalid(error.to_string()))?;
    let (major, minor) = (cubin.processor / 10, cubin.processor % 10);
    if major != capability.0 || minor > capability.1 {
        return Err(Refusal(
            CudaError::NO_BINARY_FOR_GPU,
            format!(
                "it is for sm_{major}{minor}, the device is sm_{}{}",
                capability.0, capability.1
            ),
        ));
    }
    let parts = image::parts(image).map_err(|error| invalid(error.to_string()))?;
    if parts.is_empty() {
        return Err(invalid(
            "it carries no PTX: build the program with `--cuda-path=` and what `cargo xtask cuda-folder` prints".to_owned(),
        ));
    }
    let mut modules = Vec::new();
    for (number, text) in parts.iter().enumerate() {
        let name = if parts.len() == 1 {
            "image".to_owned()
        } else {
            format!("image part {}", number + 1)
        };
        let module =
            parse(&name, text).map_err(|error| Refusal(CudaError::INVALID_PTX, error.to_string()))?;
        modules.push(module);
    }
    let module = link(modules).map_err(|error| invalid(error.to_string()))?;
    cubin::compare(&cubin, &module).map_err(|error| invalid(error.to_string()))?;
    Ok((cubin, module))
}
