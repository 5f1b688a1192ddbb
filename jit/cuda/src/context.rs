//! Contexts, and work on a thread that has one current.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::devices::capability_of;
use crate::driver::Driver;
use crate::error::{CudaError, Status};
use crate::handles::{ContextHandle, FunctionHandle, ModuleHandle, StreamHandle};
use crate::timing::Timer;
use crate::variant::Variant;
use offloom_jit_policy::gpu_image::VariantBytes;
use offloom_jit_policy::process::device_gate::{self, Work};
use offloom_jit_policy::process::lock::lock;

/// Room for the name of a device.
const NAME_BYTES: usize = 256;
/// `CU_LIMIT_STACK_SIZE` and `_MALLOC_HEAP_SIZE`.
pub(crate) const STACK_SIZE: c_int = 0;
pub(crate) const MALLOC_HEAP_SIZE: c_int = 2;
/// `CU_STREAM_NON_BLOCKING`: has nothing to do with the default stream, which may not be used while some
/// stream records a graph.
const NON_BLOCKING: u32 = 1;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`: a thread with this may load modules while other threads record graphs.
const RELAXED: u32 = 2;

/// A context in which images of ours are loaded. Lives for ever; what the handle names may not.
#[derive(Debug)]
pub struct Context {
    handle: ContextHandle,
    /// The driver's number for it, which tells it from a later one with the same handle; 0: the driver gives
    /// none.
    id: u64,
    device: c_int,
    device_name: String,
    capability: [u32; 2],
    /// For copies, made when first needed; 0: not yet.
    stream: AtomicUsize,
    /// Times launches.
    pub(crate) timer: Timer,
    /// Of cubins of variants that are loaded.
    pub(crate) variant_bytes: VariantBytes,
    /// Variants that no launch chooses any more, and that are still loaded.
    pub(crate) unused: Mutex<Vec<&'static Variant>>,
}

/// The contexts so far.
fn contexts() -> &'static Mutex<Vec<&'static Context>> {
    // Leaked: what waits on a static's mutex when `exit` destroys it hangs.
    static CONTEXTS: OnceLock<&'static Mutex<Vec<&'static Context>>> = OnceLock::new();
    CONTEXTS.get_or_init(|| Box::leak(Box::default()))
}

/// All contexts in which images of ours were loaded.
pub(crate) fn all() -> Vec<&'static Context> {
    lock(contexts()).clone()
}

impl Context {
    /// The current context of the calling thread.
    pub(crate) fn current(driver: &Driver) -> Result<&'static Self, CudaError> {
        let handle = current_handle(driver)?;
        let id = id_of(driver, handle)?;
        let mut contexts = lock(contexts());
        let known = contexts
            .iter()
            .find(|context| context.handle == handle && context.id == id);
        if let Some(known) = known {
            return Ok(known);
        }
        let mut device = 0;
        // SAFETY: the driver fills in the number.
        unsafe { (driver.ctx_get_device)(&raw mut device).check()? };
        let context: &'static Self = Box::leak(Box::new(Self {
            handle,
            id,
            device,
            device_name: name_of(driver, device),
            capability: capability_of(driver.device_get_attribute, device)?,
            stream: AtomicUsize::new(0),
            timer: Timer::default(),
            variant_bytes: VariantBytes::default(),
            unused: Mutex::default(),
        }));
        contexts.push(context);
        Ok(context)
    }

    /// The number of its device.
    pub fn device(&self) -> i32 {
        self.device
    }

    /// The name of its device; empty where the driver gives none.
    pub fn device_name(&self) -> &str {
        &self.device_name
    }

    /// The compute capability of its device: major and minor.
    pub fn capability(&self) -> [u32; 2] {
        self.capability
    }

    /// Whether the handle still names it. One that was destroyed, or reset, may not be touched.
    fn check(&self, driver: &Driver) -> Result<(), CudaError> {
        if driver.ctx_get_id.is_some() {
            return if id_of(driver, self.handle)? == self.id {
                Ok(())
            } else {
                Err(CudaError(Status::CONTEXT_IS_DESTROYED))
            };
        }
        // libomptarget uses primary contexts.
        let (mut flags, mut is_active) = (0, 0);
        // SAFETY: the driver fills in the numbers.
        unsafe {
            let state = driver.device_primary_ctx_get_state;
            state(self.device, &raw mut flags, &raw mut is_active).check()?;
        }
        if is_active == 0 {
            return Err(CudaError(Status::CONTEXT_IS_DESTROYED));
        }
        Ok(())
    }

    /// Makes it the current context of the calling thread.
    ///
    /// # Errors
    /// When it is destroyed, or the process is ending or forked.
    pub(crate) fn enter(&'static self, driver: &'static Driver) -> Result<Current<'static>, CudaError> {
        let work = device_gate::enter().ok_or(CudaError(Status::DEINITIALIZED))?;
        self.check(driver)?;
        let before = current_handle(driver)?;
        if before != self.handle {
            // SAFETY: the context is alive.
            unsafe { (driver.ctx_set_current)(self.handle).check()? };
        }
        let mut capture_mode = RELAXED;
        let is_relaxed = driver
            .thread_exchange_stream_capture_mode
            // SAFETY: the driver exchanges the number for that of this thread.
            .is_some_and(|exchange| unsafe { exchange(&raw mut capture_mode) } == Status::SUCCESS);
        Ok(Current {
            driver,
            context: self,
            before,
            capture_mode: is_relaxed.then_some(capture_mode),
            _work: work,
        })
    }
}

/// The name of a device; empty where the driver gives none.
pub(crate) fn name_of(driver: &Driver, device: c_int) -> String {
    let mut name: [c_char; NAME_BYTES] = [0; NAME_BYTES];
    // SAFETY: the driver writes a string into so many bytes; the last stays 0 in any case.
    let name = unsafe {
        let status = (driver.device_get_name)(name.as_mut_ptr(), NAME_BYTES as c_int - 1, device);
        if status != Status::SUCCESS {
            return String::new();
        }
        CStr::from_ptr(name.as_ptr())
    };
    name.to_string_lossy().into_owned()
}

fn current_handle(driver: &Driver) -> Result<ContextHandle, CudaError> {
    let mut handle = ContextHandle::NULL;
    // SAFETY: the driver fills in the handle.
    unsafe { (driver.ctx_get_current)(&raw mut handle).check()? };
    Ok(handle)
}

fn id_of(driver: &Driver, handle: ContextHandle) -> Result<u64, CudaError> {
    let mut id = 0;
    match driver.ctx_get_id {
        // Null would be the current one.
        Some(_) if handle == ContextHandle::NULL => Err(CudaError(Status::CONTEXT_IS_DESTROYED)),
        // SAFETY: the driver fills in the number, and knows which handles are contexts.
        Some(get_id) => unsafe { get_id(handle, &raw mut id).check().map(|()| id) },
        None => Ok(0),
    }
}

/// A time in which a context is current on this thread, and nothing that this thread does breaks the
/// recording of a graph elsewhere.
#[derive(Debug)]
pub struct Current<'a> {
    pub(crate) driver: &'a Driver,
    context: &'static Context,
    before: ContextHandle,
    /// What is to be put back.
    capture_mode: Option<u32>,
    _work: Work,
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        // What fails here would have failed before.
        // SAFETY: the context was current when this began.
        unsafe {
            if let (Some(exchange), Some(mut mode)) =
                (self.driver.thread_exchange_stream_capture_mode, self.capture_mode)
            {
                let _ = exchange(&raw mut mode);
            }
            if self.before != self.context.handle {
                let _ = (self.driver.ctx_set_current)(self.before);
            }
        }
    }
}

impl Current<'_> {
    /// The context.
    pub fn context(&self) -> &'static Context {
        self.context
    }

    /// Address and bytes of a module's variable. `None`: it has none of this name that others may see.
    pub fn global(&self, module: ModuleHandle, name: &str) -> Option<(u64, usize)> {
        let name = CString::new(name).ok()?;
        let (mut address, mut size) = (0, 0);
        // SAFETY: the driver fills in the numbers and reads the name.
        let status = unsafe {
            (self.driver.module_get_global)(&raw mut address, &raw mut size, module, name.as_ptr())
        };
        status.check().ok().map(|()| (address, size))
    }

    /// Reads memory of the device.
    ///
    /// # Errors
    /// What the driver says.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), CudaError> {
        let stream = self.stream()?;
        // SAFETY: the bytes are there until the stream has done the copy.
        unsafe {
            let copy = self.driver.memcpy_dtoh_async;
            copy(bytes.as_mut_ptr().cast(), address, bytes.len(), stream).check()?;
        }
        self.wait_for(stream)
    }

    /// Writes memory of the device.
    ///
    /// # Errors
    /// What the driver says.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), CudaError> {
        let stream = self.stream()?;
        // SAFETY: the bytes are there until the stream has done the copy.
        unsafe {
            let copy = self.driver.memcpy_htod_async;
            copy(address, bytes.as_ptr().cast(), bytes.len(), stream).check()?;
        }
        self.wait_for(stream)
    }

    /// Copies memory of the device.
    ///
    /// # Errors
    /// What the driver says.
    pub fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<(), CudaError> {
        let stream = self.stream()?;
        // SAFETY: the driver knows which addresses are memory of the device.
        unsafe { (self.driver.memcpy_dtod_async)(to, from, bytes, stream).check()? };
        self.wait_for(stream)
    }

    /// Loads an image.
    ///
    /// # Errors
    /// What the driver says.
    pub(crate) fn load(&self, image: &[u8]) -> Result<ModuleHandle, CudaError> {
        let mut module = ModuleHandle::NULL;
        // SAFETY: the driver reads the image, whose headers say how long it is, and fills in the handle.
        unsafe {
            let load = self.driver.module_load_data_ex;
            let image = image.as_ptr().cast::<c_void>();
            load(
                &raw mut module,
                image,
                0,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
            .check()?;
        }
        Ok(module)
    }

    /// Unloads one that was loaded here.
    pub(crate) fn unload(&self, module: ModuleHandle) -> Result<(), CudaError> {
        // SAFETY: the module was loaded in this context and is forgotten by the caller.
        unsafe { (self.driver.module_unload)(module).check() }
    }

    /// A kernel of a module, with its code loaded.
    pub(crate) fn function(&self, module: ModuleHandle, name: &CStr) -> Result<FunctionHandle, CudaError> {
        let mut function = FunctionHandle::NULL;
        // SAFETY: the driver fills in the handle and reads the name.
        unsafe {
            let get = self.driver.module_get_function;
            get(&raw mut function, module, name.as_ptr()).check()?;
        }
        self.load_code(function)?;
        Ok(function)
    }

    /// Loads the code of a kernel, unless the driver has done so, or does it at the first launch in any case.
    pub(crate) fn load_code(&self, function: FunctionHandle) -> Result<(), CudaError> {
        let Some(load) = self.driver.func_load else {
            return Ok(());
        };
        // SAFETY: the driver knows which handles are kernels.
        unsafe { load(function).check() }
    }

    /// What a kernel needs: a value of `CUfunction_attribute`.
    pub(crate) fn attribute(&self, function: FunctionHandle, attribute: c_int) -> Result<i32, CudaError> {
        let mut value = 0;
        // SAFETY: the driver fills in the number.
        unsafe { (self.driver.func_get_attribute)(&raw mut value, attribute, function).check()? };
        Ok(value)
    }

    /// Bytes of local memory that the context keeps for each thread, whatever runs; none where the driver
    /// does not say.
    pub(crate) fn local_bytes(&self) -> usize {
        self.limit(STACK_SIZE).map_or(0, |bytes| bytes as usize)
    }

    /// The allocation that an address lies in: address and bytes. `None`: none, or the driver does not say.
    pub(crate) fn allocation(&self, address: u64) -> Option<(u64, usize)> {
        let (mut start, mut size) = (0, 0);
        let find = self.driver.mem_get_address_range?;
        // SAFETY: the driver fills in the numbers.
        let status = unsafe { find(&raw mut start, &raw mut size, address) };
        status.check().ok().map(|()| (start, size))
    }

    /// A limit of the context: a value of `CUlimit`.
    pub(crate) fn limit(&self, limit: c_int) -> Result<u64, CudaError> {
        let mut value = 0;
        // SAFETY: the driver fills in the number.
        unsafe { (self.driver.ctx_get_limit)(&raw mut value, limit).check()? };
        Ok(value as u64)
    }

    /// Waits for the work of a stream.
    pub(crate) fn wait_for(&self, stream: StreamHandle) -> Result<(), CudaError> {
        // SAFETY: the driver knows which handles are streams.
        unsafe { (self.driver.stream_synchronize)(stream).check() }
    }

    /// The stream of this library's own copies.
    pub(crate) fn stream(&self) -> Result<StreamHandle, CudaError> {
        static MAKING: Mutex<()> = Mutex::new(());
        let known = || StreamHandle(self.context.stream.load(Ordering::Acquire));
        if known() != StreamHandle::NULL {
            return Ok(known());
        }
        let _making = lock(&MAKING);
        if known() == StreamHandle::NULL {
            let mut stream = StreamHandle::NULL;
            // SAFETY: the driver fills in the handle.
            unsafe { (self.driver.stream_create)(&raw mut stream, NON_BLOCKING).check()? };
            self.context.stream.store(stream.0, Ordering::Release);
        }
        Ok(known())
    }
}
