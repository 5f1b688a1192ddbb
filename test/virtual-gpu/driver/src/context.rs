//! Contexts, which one is current, and errors that stay.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use crate::driver::{Device, Driver, driver, lock};
use crate::error::{CudaError, Result};
use crate::stream::{Mark, Stream};

/// The stack of a thread of a kernel, and the heap and the buffer of `printf` of all kernels, in bytes.
const STACK: u64 = 1024;
const HEAP: u64 = 8 << 20;
const PRINTF: u64 = 1 << 20;

/// What a device keeps of its primary context.
#[derive(Debug, Default)]
pub(crate) struct Primary {
    pub(crate) context: Option<Arc<Context>>,
    pub(crate) users: u32,
    pub(crate) flags: u32,
}

/// One context.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) handle: u64,
    /// The number of its device.
    pub(crate) device: usize,
    pub(crate) flags: AtomicU32,
    pub(crate) is_primary: bool,
    pub(crate) limits: Mutex<Limits>,
    /// The contexts whose memory it may access.
    pub(crate) peers: Mutex<HashSet<u64>>,
    /// What was allocated in it: addresses, and what they are.
    pub(crate) allocations: Mutex<HashMap<u64, AllocationKind>>,
    /// Guards the order of work between streams.
    pub(crate) submission: Mutex<()>,
    /// The streams, the default one apart.
    pub(crate) streams: Mutex<Vec<Arc<Stream>>>,
    default_stream: OnceLock<Arc<Stream>>,
    /// The error that a kernel ended with; 0: none.
    failed: AtomicU32,
    destroyed: AtomicBool,
}

/// What an address of a context is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum AllocationKind {
    /// `cuMemAlloc`.
    Device,
    /// `cuMemAllocManaged`.
    Managed,
    /// `cuMemAllocHost` and `cuMemHostAlloc`, with its flags.
    Host(u32),
}

/// `CUlimit` values that can be set, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) stack: u64,
    pub(crate) printf: u64,
    pub(crate) heap: u64,
}

thread_local! {
    /// The contexts of this thread; the last is current. Never dropped: programs call the driver while they
    /// end, after the thread's variables with destructors are gone.
    static CURRENT: RefCell<ManuallyDrop<Vec<Arc<Context>>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

impl Context {
    /// A new context on a device.
    pub(crate) fn create(driver: &Driver, device: usize, flags: u32, is_primary: bool) -> Arc<Self> {
        let (_, context) = driver.contexts.add(|handle| Self {
            handle,
            device,
            flags: AtomicU32::new(flags),
            is_primary,
            limits: Mutex::new(Limits {
                stack: STACK,
                printf: PRINTF,
                heap: HEAP,
            }),
            peers: Mutex::default(),
            allocations: Mutex::default(),
            submission: Mutex::default(),
            streams: Mutex::default(),
            default_stream: OnceLock::new(),
            failed: AtomicU32::new(0),
            destroyed: AtomicBool::new(false),
        });
        context
    }

    /// The stream that work without a stream goes to.
    pub(crate) fn default_stream(self: &Arc<Self>) -> &Arc<Stream> {
        self.default_stream
            .get_or_init(|| Arc::new(Stream::new(0, Arc::clone(self), 0, 0)))
    }

    /// Its device.
    pub(crate) fn its_device<'a>(&self, driver: &'a Driver) -> Result<&'a Device> {
        driver.devices.get(self.device).ok_or(CudaError::INVALID_DEVICE)
    }

    /// An error when a kernel of this context has failed: it can do nothing any more.
    pub(crate) fn check(&self) -> Result<()> {
        match self.failed.load(Ordering::Acquire) {
            0 => Ok(()),
            code => Err(CudaError(code)),
        }
    }

    /// Has every later call end with this error. The first one stays.
    pub(crate) fn fail(&self, error: CudaError) {
        let _ = self
            .failed
            .compare_exchange(0, error.0, Ordering::AcqRel, Ordering::Acquire);
    }

    /// The last work of all streams.
    pub(crate) fn marks(self: &Arc<Self>) -> Vec<Mark> {
        let streams = lock(&self.streams);
        let all = streams.iter().chain([self.default_stream()]);
        all.map(Stream::last).collect()
    }

    /// Waits for all work that was submitted.
    pub(crate) fn synchronize(self: &Arc<Self>) -> Result<()> {
        for mark in self.marks() {
            mark.wait();
        }
        self.check()
    }

    /// Ends the context with all that is in it, after its work.
    pub(crate) fn destroy(self: &Arc<Self>, driver: &Driver) {
        self.destroyed.store(true, Ordering::Release);
        driver.contexts.remove(self.handle);
        for mark in self.marks() {
            mark.wait();
        }
        for stream in lock(&self.streams).drain(..) {
            stream.close();
        }
        self.default_stream().close();
        driver
            .streams
            .remove_all(|stream| Arc::ptr_eq(&stream.context, self));
        driver
            .events
            .remove_all(|event| Arc::ptr_eq(&event.context, self));
        driver
            .functions
            .remove_all(|function| Arc::ptr_eq(&function.module.context, self));
        driver
            .modules
            .remove_all(|module| Arc::ptr_eq(&module.context, self));
        for (address, _) in lock(&self.allocations).drain() {
            // The program may have freed it in between.
            let _ = driver.memory.free(address);
        }
    }
}

/// The current context of the calling thread, whatever has become of it.
pub(crate) fn current_or_none() -> Option<Arc<Context>> {
    CURRENT.with_borrow(|contexts| contexts.last().cloned())
}

/// The current context of the calling thread, which work can be given to.
pub(crate) fn current() -> Result<(&'static Driver, Arc<Context>)> {
    let driver = driver()?;
    let context = current_or_none().ok_or(CudaError::INVALID_CONTEXT)?;
    if context.destroyed.load(Ordering::Acquire) {
        return Err(CudaError::CONTEXT_IS_DESTROYED);
    }
    context.check()?;
    Ok((driver, context))
}

/// Puts a context onto the calling thread's stack.
pub(crate) fn push(context: Arc<Context>) {
    CURRENT.with_borrow_mut(|contexts| contexts.push(context));
}

/// Takes the current context off the calling thread's stack.
pub(crate) fn pop() -> Option<Arc<Context>> {
    CURRENT.with_borrow_mut(|contexts| contexts.pop())
}

/// Retains the primary context of a device, which is made if there is none.
pub(crate) fn retain_primary(driver: &Driver, number: i32) -> Result<Arc<Context>> {
    let device = driver.device(number)?;
    let mut primary = lock(&device.primary);
    let flags = primary.flags;
    let context = primary
        .context
        .get_or_insert_with(|| Context::create(driver, device.properties.number, flags, true));
    let context = Arc::clone(context);
    primary.users += 1;
    Ok(context)
}

/// Gives the primary context of a device back; with the last user, or for all of them, it ends.
pub(crate) fn release_primary(driver: &Driver, number: i32, of_all: bool) -> Result<()> {
    let device = driver.device(number)?;
    let ended = {
        let mut primary = lock(&device.primary);
        if primary.users == 0 {
            return if of_all {
                Ok(())
            } else {
                Err(CudaError::INVALID_CONTEXT)
            };
        }
        primary.users = if of_all { 0 } else { primary.users - 1 };
        if primary.users > 0 {
            return Ok(());
        }
        primary.context.take()
    };
    if let Some(context) = ended {
        context.destroy(driver);
    }
    Ok(())
}
