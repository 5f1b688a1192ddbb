//! Variants: kernels of modules of their own, loaded into the context of a base image.

use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::context::Current;
use crate::error::{CudaError, Status};
use crate::handles::{FunctionHandle, ModuleHandle};
use crate::image::Kernel;
use crate::timing;
use offloom_abi::jit_device_image::{ANCHOR_TABLE_SYMBOL, DEVICE_ENVIRONMENT_SYMBOL, anchor_table};
use offloom_jit_policy::gpu_image::Full;
use offloom_jit_policy::process::lock::lock;

/// `CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK`, `_SHARED_SIZE_BYTES`, `_LOCAL_SIZE_BYTES` and `_NUM_REGS`.
const MAX_THREADS_PER_BLOCK: c_int = 0;
const SHARED_SIZE_BYTES: c_int = 1;
const LOCAL_SIZE_BYTES: c_int = 3;
const NUM_REGS: c_int = 4;

/// More variants than this do not stay loaded that no launch chooses.
const MOST_UNUSED: usize = 64;

/// A variant that is loaded. Lives for ever; its module may not. What a launch reads comes first, in one line
/// of the processor's cache.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Variant {
    function: FunctionHandle,
    /// Whether the driver has refused to launch it.
    is_refused: AtomicBool,
    /// Whether it was launched: the first launch is slower than later ones.
    was_launched: AtomicBool,
    kernel: &'static Kernel,
    module: ModuleHandle,
    needs: Needs,
    needs_of_base: Needs,
    /// Bytes of its cubin.
    bytes: u64,
}

/// What a kernel needs of the device.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Needs {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of shared memory of a block, without what the launch asks for.
    pub shared_bytes: u32,
    /// Bytes of local memory of a thread.
    pub local_bytes: u32,
    /// The most threads of a block.
    pub threads: u32,
}

/// What is to be loaded.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    /// The cubin.
    pub cubin: &'a [u8],
    /// The name of the kernel in it.
    pub name: &'a CStr,
    /// Addresses of the base image for the variant.
    pub anchors: &'a [u64],
    /// How many bytes of cubins the context may have loaded, with this one.
    pub most_bytes: u64,
}

/// Why a variant cannot be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum LoadError {
    /// The driver refuses.
    #[error("{what}: {error}")]
    Driver {
        /// What was to be done.
        what: &'static str,
        /// What the driver says.
        error: CudaError,
    },
    /// The cubin does not fit the base image.
    #[error("the cubin takes {takes} bytes of addresses, the device image has {has}")]
    Anchors {
        /// Bytes of the variable in the cubin.
        takes: usize,
        /// Bytes that the base image has.
        has: usize,
    },
    /// The variable that libomptarget writes is another one than in the base image.
    #[error("the cubin's device environment has {has} bytes, that of the device image {wanted}")]
    Environment {
        /// In the cubin.
        has: usize,
        /// In the base image.
        wanted: usize,
    },
    /// The context would have to get more memory for it, which waits for all that runs.
    #[error(
        "it needs {variant} bytes of local memory for each thread, the kernel of the device image {base}, and the context has {context}"
    )]
    LocalMemory {
        /// By the variant.
        variant: u32,
        /// By the base kernel.
        base: u32,
        /// What it has for all kernels.
        context: usize,
    },
    /// The variants of the context would take more memory than they may.
    #[error(transparent)]
    Full(#[from] Full),
}

impl LoadError {
    /// Whether the device has no memory for it.
    pub fn is_for_want_of_memory(&self) -> bool {
        matches!(self, Self::Driver { error, .. } if error.0 == Status::OUT_OF_MEMORY)
    }
}

/// What the driver did not do.
fn failed(what: &'static str) -> impl FnOnce(CudaError) -> LoadError {
    move |error| LoadError::Driver { what, error }
}

/// Loads a variant of a kernel. The driver waits until the kernels that run have ended, so a thread that
/// launches should not do this. Variants that are set aside make room where it is needed, or once they are
/// many: the program needs memory, too.
///
/// # Errors
/// When the variant cannot be used. Nothing of it is loaded then.
pub fn load(
    current: &Current<'_>,
    kernel: &'static Kernel,
    load: &Load<'_>,
) -> Result<&'static Variant, LoadError> {
    let bytes = load.cubin.len() as u64;
    let held = &kernel.image().context().variant_bytes;
    let are_many = lock(&current.context().unused).len() >= MOST_UNUSED;
    if are_many {
        unload_unused(current);
    }
    if held.take(bytes, load.most_bytes).is_err() {
        unload_unused(current);
        held.take(bytes, load.most_bytes)?;
    }
    let mut loaded = load_module(current, kernel, load);
    if loaded.as_ref().is_err_and(LoadError::is_for_want_of_memory) && unload_unused(current) {
        loaded = load_module(current, kernel, load);
    }
    if loaded.is_err() {
        held.give_back(bytes);
    }
    loaded
}

fn load_module(
    current: &Current<'_>,
    kernel: &'static Kernel,
    load: &Load<'_>,
) -> Result<&'static Variant, LoadError> {
    let module = current.load(load.cubin).map_err(failed("loading the cubin"))?;
    match prepare(current, kernel, module, load) {
        Ok(variant) => Ok(variant),
        Err(error) => {
            // What it needs memory for is told.
            let _ = current.unload(module);
            Err(error)
        }
    }
}

fn prepare(
    current: &Current<'_>,
    kernel: &'static Kernel,
    module: ModuleHandle,
    load: &Load<'_>,
) -> Result<&'static Variant, LoadError> {
    let function = current
        .function(module, load.name)
        .map_err(failed("finding the kernel in the cubin"))?;
    let needs = needs_of(current, function).map_err(failed("asking what the variant needs"))?;
    let needs_of_base =
        needs_of(current, kernel.function()).map_err(failed("asking what the kernel needs"))?;
    if needs.local_bytes > needs_of_base.local_bytes {
        let context = current.local_bytes();
        if needs.local_bytes as usize > context {
            return Err(LoadError::LocalMemory {
                variant: needs.local_bytes,
                base: needs_of_base.local_bytes,
                context,
            });
        }
    }
    // Its first launch on trial would otherwise be slower than the variant's.
    let loaded = current.load_code(kernel.function());
    loaded.map_err(failed("loading the code of the kernel in the device image"))?;
    give_addresses(current, module, load.anchors)?;
    copy_environment(current, kernel.image().module(), module)?;
    // What the program sets from now on is set for this variant as well.
    let set = lock(&kernel.set);
    for setting in set.iter() {
        let applied = setting.apply(current.driver, function);
        applied.map_err(failed("setting what the program has set for the kernel"))?;
    }
    let variant: &'static Variant = Box::leak(Box::new(Variant {
        kernel,
        module,
        function,
        needs,
        needs_of_base,
        bytes: load.cubin.len() as u64,
        was_launched: AtomicBool::new(false),
        is_refused: AtomicBool::new(false),
    }));
    lock(&kernel.image().variants).push(variant);
    drop(set);
    timing::prepare(current);
    Ok(variant)
}

fn needs_of(current: &Current<'_>, function: FunctionHandle) -> Result<Needs, CudaError> {
    let attribute = |attribute| Ok(current.attribute(function, attribute)?.unsigned_abs());
    Ok(Needs {
        registers: attribute(NUM_REGS)?,
        shared_bytes: attribute(SHARED_SIZE_BYTES)?,
        local_bytes: attribute(LOCAL_SIZE_BYTES)?,
        threads: attribute(MAX_THREADS_PER_BLOCK)?,
    })
}

/// Tells the module of a variant where the base image's variables are.
pub(crate) fn give_addresses(
    current: &Current<'_>,
    module: ModuleHandle,
    anchors: &[u64],
) -> Result<(), LoadError> {
    // Without the variable, it refers to nothing of the base image.
    let Some((place, takes)) = current.global(module, ANCHOR_TABLE_SYMBOL) else {
        return Ok(());
    };
    let bytes = anchor_table(anchors);
    if takes != bytes.len() {
        return Err(LoadError::Anchors {
            takes,
            has: bytes.len(),
        });
    }
    let written = current.write(place, &bytes);
    written.map_err(failed("writing addresses of the device image"))
}

/// Gives the variant what libomptarget has written into the base image.
pub(crate) fn copy_environment(
    current: &Current<'_>,
    base: ModuleHandle,
    module: ModuleHandle,
) -> Result<(), LoadError> {
    let Some((place, has)) = current.global(module, DEVICE_ENVIRONMENT_SYMBOL) else {
        return Ok(());
    };
    let (from, wanted) = current.global(base, DEVICE_ENVIRONMENT_SYMBOL).unwrap_or((0, 0));
    if has != wanted {
        return Err(LoadError::Environment { has, wanted });
    }
    current
        .copy(place, from, has)
        .map_err(failed("copying the device environment"))
}

/// Notes that no launch will choose a variant any more. It is unloaded when its context needs the room, or
/// with its image.
pub fn set_aside(variant: &'static Variant) {
    let image = variant.kernel.image();
    if let Ok(_held) = image.hold() {
        lock(&image.context().unused).push(variant);
    }
}

/// Unloads the variants of a context that were set aside. The driver waits for kernels that run. False: there
/// were none.
fn unload_unused(current: &Current<'_>) -> bool {
    let unused = std::mem::take(&mut *lock(&current.context().unused));
    let mut has_unloaded = false;
    for variant in unused {
        // What is not unloaded is gone with the context.
        has_unloaded |= unload(current, variant) == Ok(true);
    }
    has_unloaded
}

/// Unloads a variant that no launch will choose any more. The driver waits for kernels that run. False: it is
/// unloaded already.
///
/// # Errors
/// What the driver says.
pub fn unload(current: &Current<'_>, variant: &'static Variant) -> Result<bool, CudaError> {
    let mut loaded = lock(&variant.kernel.image().variants);
    let place = loaded.iter().position(|other| std::ptr::eq(*other, variant));
    let Some(place) = place else { return Ok(false) };
    loaded.swap_remove(place);
    drop(loaded);
    variant.note_unloaded();
    current.unload(variant.module).map(|()| true)
}

impl Variant {
    /// The kernel that it stands in for.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel
    }

    /// What it needs of the device.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// What the program's own kernel needs.
    pub fn needs_of_base(&self) -> Needs {
        self.needs_of_base
    }

    /// Its context has room for another.
    pub(crate) fn note_unloaded(&self) {
        self.kernel.image().context().variant_bytes.give_back(self.bytes);
    }

    pub(crate) fn function(&self) -> FunctionHandle {
        self.function
    }

    pub(crate) fn module(&self) -> ModuleHandle {
        self.module
    }

    /// Whether it is no longer launched.
    #[inline]
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    /// Has it no longer launched; false if that was so before.
    pub(crate) fn refuse(&self) -> bool {
        !self.is_refused.swap(true, Ordering::Relaxed)
    }

    /// Whether this is asked for the first time.
    pub(crate) fn is_first_launch(&self) -> bool {
        !self.was_launched.swap(true, Ordering::Relaxed)
    }
}
