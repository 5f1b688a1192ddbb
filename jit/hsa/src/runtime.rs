//! The functions of AMD's runtime, as the library that libomptarget has opened defines them.
//!
//! Source: `hsa.h` and `hsa_ext_amd.h`.

use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

use offloom_abi::amd_code_object::KernelDescriptor;
use offloom_jit_policy::driver_functions;

/// The names under which libomptarget, and others, open the runtime.
const LIBRARIES: [&CStr; 2] = [c"libhsa-runtime64.so", c"libhsa-runtime64.so.1"];

/// `hsa_status_t`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(transparent)]
pub(crate) struct Status(u32);

impl Status {
    pub(crate) const SUCCESS: Self = Self(0);
    /// `HSA_STATUS_ERROR_NOT_INITIALIZED`.
    pub(crate) const NOT_INITIALIZED: Self = Self(0x100b);

    /// An error for everything but success.
    pub(crate) fn check(self) -> Result<(), HsaError> {
        match self {
            Self::SUCCESS => Ok(()),
            status => Err(HsaError(status.0)),
        }
    }
}

/// What the runtime says of a call that failed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("AMD's runtime says error {0:#x}")]
pub(crate) struct HsaError(u32);

/// Defines handles: what the runtime names its objects by.
macro_rules! handles {
    ($($(#[$attribute:meta])* $name:ident;)*) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        #[repr(transparent)]
        pub(crate) struct $name(pub(crate) u64);
    )*};
}

handles! {
    /// `hsa_agent_t`.
    Agent;
    /// `hsa_signal_t`.
    Signal;
    /// `hsa_executable_t`.
    Executable;
    /// `hsa_executable_symbol_t`.
    Symbol;
    /// `hsa_code_object_reader_t`.
    Reader;
}

/// `hsa_queue_t`, of which only the address matters here.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Queue {
    _opaque: [u8; 0],
}

/// `hsa_amd_profiling_dispatch_time_t`: ticks of the system's clock.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct DispatchTime {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// Is called when a queue has failed.
pub(crate) type QueueCallback = Option<unsafe extern "C" fn(Status, *mut Queue, *mut c_void)>;
/// Writes packets to the queue that the device reads.
pub(crate) type PacketWriter = unsafe extern "C" fn(*const c_void, u64);
/// Is called with the packets that a program has written to a queue.
pub(crate) type PacketHandler = unsafe extern "C" fn(*const c_void, u64, u64, *mut c_void, PacketWriter);
/// Is called when a signal has come to a value; whether it is to be called again.
pub(crate) type SignalHandler = unsafe extern "C" fn(i64, *mut c_void) -> bool;
/// `hsa_queue_create`, and that of queues whose packets a handler gets.
pub(crate) type CreateQueue =
    unsafe extern "C" fn(Agent, u32, u32, QueueCallback, *mut c_void, u32, u32, *mut *mut Queue) -> Status;
/// Sets the handler.
pub(crate) type RegisterHandler = unsafe extern "C" fn(*mut Queue, PacketHandler, *mut c_void) -> Status;

driver_functions! {
    /// The runtime's functions.
    pub(crate) struct Runtime;
    needed {
    /// Makes a queue.
    queue_create = c"hsa_queue_create": CreateQueue;
    /// Has the device note when kernels of a queue begin and end.
    enable_profiling = c"hsa_amd_profiling_set_profiler_enabled": unsafe extern "C" fn(*mut Queue, i32) -> Status;
    /// When the kernel of a packet with this signal ran.
    dispatch_time = c"hsa_amd_profiling_get_dispatch_time":
        unsafe extern "C" fn(Agent, Signal, *mut DispatchTime) -> Status;
    /// A fact about the machine.
    system_info = c"hsa_system_get_info": unsafe extern "C" fn(u32, *mut c_void) -> Status;
    /// A fact about a device.
    agent_info = c"hsa_agent_get_info": unsafe extern "C" fn(Agent, u32, *mut c_void) -> Status;
    /// Makes a signal.
    signal_create = c"hsa_signal_create": unsafe extern "C" fn(i64, u32, *const Agent, *mut Signal) -> Status;
    /// Sets it.
    signal_store = c"hsa_signal_store_relaxed": unsafe extern "C" fn(Signal, i64);
    /// Has a function called when a signal comes to a value, on a thread of the runtime.
    signal_handler = c"hsa_amd_signal_async_handler":
        unsafe extern "C" fn(Signal, u32, i64, SignalHandler, *mut c_void) -> Status;
    /// Makes an executable.
    executable_create = c"hsa_executable_create_alt":
        unsafe extern "C" fn(u32, u32, *const c_char, *mut Executable) -> Status;
    /// Reads a code object from memory, which is to stay.
    reader_create = c"hsa_code_object_reader_create_from_memory":
        unsafe extern "C" fn(*const c_void, usize, *mut Reader) -> Status;
    /// Ends that.
    reader_destroy = c"hsa_code_object_reader_destroy": unsafe extern "C" fn(Reader) -> Status;
    /// Loads a code object into an executable.
    load_agent_code_object = c"hsa_executable_load_agent_code_object":
        unsafe extern "C" fn(Executable, Agent, Reader, *const c_char, *mut u64) -> Status;
    /// Has it be used.
    freeze = c"hsa_executable_freeze": unsafe extern "C" fn(Executable, *const c_char) -> Status;
    /// Unloads it.
    executable_destroy = c"hsa_executable_destroy": unsafe extern "C" fn(Executable) -> Status;
    /// What an executable has by this name.
    symbol_by_name = c"hsa_executable_get_symbol_by_name":
        unsafe extern "C" fn(Executable, *const c_char, *const Agent, *mut Symbol) -> Status;
    /// A fact about it.
    symbol_info = c"hsa_executable_symbol_get_info": unsafe extern "C" fn(Symbol, u32, *mut c_void) -> Status;
    /// Copies memory of whatever kind, and waits for it.
    copy = c"hsa_memory_copy": unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> Status;
    }
    optional {
    /// The same, of a code object as LLVM 19's plugin has it.
    load_code_object = c"hsa_executable_load_code_object":
        unsafe extern "C" fn(Executable, Agent, u64, *const c_char) -> Status;
    }
}

/// Why there is no runtime to work with.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NoRuntime {
    /// Nobody has opened it.
    #[error("AMD's runtime, libhsa-runtime64.so, is not loaded")]
    NotLoaded,
    /// It is too old.
    #[error("AMD's runtime has no {}", .0.to_string_lossy())]
    Lacks(&'static CStr),
    /// It did not take this library for a tool, and gives these functions to nobody else.
    #[error(
        "AMD's runtime lets no queue be intercepted here: it is older than ROCm 6, was started before, or a profiler is its only tool"
    )]
    NoIntercept,
}

static RUNTIME: OnceLock<Runtime> = OnceLock::new();

/// The runtime, once it was found.
#[inline]
pub(crate) fn runtime() -> Option<&'static Runtime> {
    RUNTIME.get()
}

/// Finds the runtime that is loaded.
pub(crate) fn find() -> Result<&'static Runtime, NoRuntime> {
    if let Some(runtime) = runtime() {
        return Ok(runtime);
    }
    let library = LIBRARIES
        .into_iter()
        // SAFETY: only finds what is loaded already. It is kept, as libomptarget keeps it.
        .map(|name| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) })
        .find(|library| !library.is_null())
        .ok_or(NoRuntime::NotLoaded)?;
    // SAFETY: the library is loaded, and the name is one.
    let found = Runtime::with(|name| unsafe { libc::dlsym(library, name.as_ptr()) });
    let found = found.map_err(NoRuntime::Lacks)?;
    Ok(RUNTIME.get_or_init(|| found))
}

impl Runtime {
    /// A number that the runtime says of a symbol.
    fn number<T: Copy + Default>(&self, symbol: Symbol, fact: u32) -> Result<T, HsaError> {
        let mut number = T::default();
        // SAFETY: the runtime writes as many bytes as the fact has, for which each caller has the type.
        unsafe { (self.symbol_info)(symbol, fact, (&raw mut number).cast()) }
            .check()
            .map(|()| number)
    }

    fn symbol(&self, executable: Executable, agent: Agent, name: &str) -> Result<Symbol, HsaError> {
        let name = CString::new(name).map_err(|_| HsaError(0))?;
        let mut symbol = Symbol(0);
        // SAFETY: the runtime fills in the handle, and reads the name.
        unsafe { (self.symbol_by_name)(executable, name.as_ptr(), &raw const agent, &raw mut symbol) }
            .check()
            .map(|()| symbol)
    }

    /// Address and size of a variable that an executable has on a device.
    pub(crate) fn variable(
        &self,
        executable: Executable,
        agent: Agent,
        name: &str,
    ) -> Result<(u64, usize), HsaError> {
        const ADDRESS: u32 = 21;
        const SIZE: u32 = 9;
        let symbol = self.symbol(executable, agent, name)?;
        let size: u32 = self.number(symbol, SIZE)?;
        Ok((self.number(symbol, ADDRESS)?, size as usize))
    }

    /// What launches of a kernel need.
    pub(crate) fn kernel(
        &self,
        executable: Executable,
        agent: Agent,
        descriptor: &str,
    ) -> Result<KernelNeeds, HsaError> {
        const ARGUMENTS: u32 = 11;
        const GROUP: u32 = 13;
        const PRIVATE: u32 = 14;
        const DYNAMIC_STACK: u32 = 15;
        const OBJECT: u32 = 22;
        let symbol = self.symbol(executable, agent, descriptor)?;
        let object = self.number(symbol, OBJECT)?;
        Ok(KernelNeeds {
            object,
            registers: self.registers(agent, object).unwrap_or_default(),
            arguments: self.number(symbol, ARGUMENTS)?,
            group_segment: self.number(symbol, GROUP)?,
            private_segment: self.number(symbol, PRIVATE)?,
            has_dynamic_stack: self.number::<u8>(symbol, DYNAMIC_STACK)? != 0,
        })
    }

    /// Vector registers of a kernel's work-items, by its descriptor, which is what packets name it by.
    fn registers(&self, agent: Agent, object: u64) -> Option<u32> {
        let mut bytes = [0; KernelDescriptor::SIZE];
        self.read(object, &mut bytes).ok()?;
        let [processor, _] = self.names(agent);
        Some(KernelDescriptor::parse(&bytes)?.vector_registers(&processor))
    }

    /// Reads memory of the device.
    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), HsaError> {
        // SAFETY: the caller's bytes take what is copied; the runtime knows which addresses are the device's.
        unsafe { (self.copy)(bytes.as_mut_ptr().cast(), on_device(address), bytes.len()) }.check()
    }

    /// Writes to memory of the device.
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> Result<(), HsaError> {
        // SAFETY: as in `read`.
        unsafe { (self.copy)(on_device(address).cast_mut(), bytes.as_ptr().cast(), bytes.len()) }.check()
    }

    /// What the device is called: the processor, and the product where the runtime says it.
    pub(crate) fn names(&self, agent: Agent) -> [String; 2] {
        const PROCESSOR: u32 = 0;
        const PRODUCT: u32 = 0xa009;
        [PROCESSOR, PRODUCT].map(|fact| {
            let mut name = [0_u8; 64];
            // SAFETY: the runtime writes at most 64 bytes, a NUL among them.
            let known = unsafe { (self.agent_info)(agent, fact, name.as_mut_ptr().cast()) };
            let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
            match known {
                Status::SUCCESS => name.to_string_lossy().into_owned(),
                _ => String::new(),
            }
        })
    }

    /// Ticks of the system's clock in a second.
    pub(crate) fn ticks_per_second(&self) -> Option<u64> {
        const FREQUENCY: u32 = 3;
        let mut ticks = MaybeUninit::<u64>::zeroed();
        // SAFETY: the fact is a number of 64 bits; zeros are one too.
        let ticks = unsafe {
            (self.system_info)(FREQUENCY, ticks.as_mut_ptr().cast())
                .check()
                .ok()?;
            ticks.assume_init()
        };
        (ticks != 0).then_some(ticks)
    }

    /// Loads a code object on a device. The bytes are to stay as long as the executable.
    pub(crate) fn load(&self, agent: Agent, code_object: &'static [u8]) -> Result<Executable, HsaError> {
        /// `HSA_PROFILE_FULL` and `HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT`.
        const PROFILE: u32 = 1;
        const ROUNDING: u32 = 0;
        let (mut executable, mut reader) = (Executable(0), Reader(0));
        // SAFETY: the runtime fills in the handles, and reads the bytes, which stay.
        unsafe {
            (self.executable_create)(PROFILE, ROUNDING, ptr::null(), &raw mut executable).check()?;
            let created =
                (self.reader_create)(code_object.as_ptr().cast(), code_object.len(), &raw mut reader).check();
            let loaded = created.and_then(|()| {
                let loaded =
                    (self.load_agent_code_object)(executable, agent, reader, ptr::null(), ptr::null_mut());
                let frozen = loaded
                    .check()
                    .and_then(|()| (self.freeze)(executable, ptr::null()).check());
                // What it would say of the reader changes nothing.
                (self.reader_destroy)(reader);
                frozen
            });
            if loaded.is_err() {
                (self.executable_destroy)(executable);
            }
            loaded.map(|()| executable)
        }
    }

    /// Unloads an executable, of which nothing runs or will.
    pub(crate) fn unload(&self, executable: Executable) -> Result<(), HsaError> {
        // SAFETY: a handle that the runtime has given out.
        unsafe { (self.executable_destroy)(executable) }.check()
    }
}

fn on_device(address: u64) -> *const c_void {
    ptr::with_exposed_provenance(address as usize)
}

/// What launches of a kernel need.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct KernelNeeds {
    /// What packets name it by.
    pub(crate) object: u64,
    /// Vector registers of a work-item; 0: not known.
    pub(crate) registers: u32,
    /// Bytes of arguments, those included that launches add.
    pub(crate) arguments: u32,
    /// Bytes of a workgroup's memory, without what a launch asks for.
    pub(crate) group_segment: u32,
    /// Bytes of a work-item's stack.
    pub(crate) private_segment: u32,
    /// Whether it may need a larger stack than that.
    pub(crate) has_dynamic_stack: bool,
}
