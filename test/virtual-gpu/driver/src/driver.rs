//! The devices and everything that programs hold handles to.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use offloom_virtual_gpu::{DeviceProperties, Memory};

use crate::capture::Graph;
use crate::context::{Context, Primary};
use crate::error::{CudaError, Result};
use crate::event::Event;
use crate::function::Function;
use crate::message;
use crate::module::Module;
use crate::settings::Settings;
use crate::stream::Stream;

/// Everything of a process, made by `cuInit`.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) settings: Settings,
    pub(crate) memory: Arc<Memory>,
    pub(crate) devices: Vec<Device>,
    pub(crate) contexts: Handles<Context>,
    pub(crate) streams: Handles<Stream>,
    pub(crate) events: Handles<Event>,
    pub(crate) modules: Handles<Module>,
    pub(crate) functions: Handles<Function>,
    pub(crate) graphs: Handles<Graph>,
    pub(crate) executable_graphs: Handles<Graph>,
    /// Memory of the host that was registered: addresses and sizes.
    pub(crate) registered: Mutex<HashMap<u64, u64>>,
}

/// One device.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) properties: DeviceProperties,
    pub(crate) primary: Mutex<Primary>,
    pub(crate) running: Running,
}

static DRIVER: OnceLock<Result<Driver>> = OnceLock::new();

/// `cuInit`.
pub(crate) fn initialize() -> Result<()> {
    let made = DRIVER.get_or_init(|| {
        let settings = Settings::read().map_err(|error| {
            message::line(error);
            CudaError::NO_DEVICE
        })?;
        if settings.devices.is_empty() {
            return Err(CudaError::NO_DEVICE);
        }
        let sizes = vec![settings.memory; settings.devices.len()];
        let devices = settings.devices.iter().map(|properties| Device {
            properties: properties.clone(),
            primary: Mutex::default(),
            running: Running::default(),
        });
        let memory = Memory::new(&sizes);
        memory.set_reaches_host(settings.reaches_host);
        Ok(Driver {
            memory,
            devices: devices.collect(),
            contexts: Handles::default(),
            streams: Handles::default(),
            events: Handles::default(),
            modules: Handles::default(),
            functions: Handles::default(),
            graphs: Handles::default(),
            executable_graphs: Handles::default(),
            registered: Mutex::default(),
            settings,
        })
    });
    made.as_ref().map(|_| ()).map_err(|&error| error)
}

/// The driver, once it is initialised.
pub(crate) fn driver() -> Result<&'static Driver> {
    let made = DRIVER.get().ok_or(CudaError::NOT_INITIALIZED)?;
    made.as_ref().map_err(|&error| error)
}

impl Driver {
    /// The device of a number.
    pub(crate) fn device(&self, number: i32) -> Result<&Device> {
        let index = usize::try_from(number).ok();
        index
            .and_then(|index| self.devices.get(index))
            .ok_or(CudaError::INVALID_DEVICE)
    }
}

/// What a handle of a program looks like: an address at which nothing is, so that a program that looks into a
/// handle gets a signal.
static NEXT_HANDLE: AtomicU64 = AtomicU64::new(0xF100_0000_0000_1000);

/// The objects of one kind that programs hold handles to.
#[derive(Debug)]
pub(crate) struct Handles<T> {
    objects: RwLock<HashMap<u64, Arc<T>>>,
}

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Self {
            objects: RwLock::default(),
        }
    }
}

impl<T> Handles<T> {
    /// A handle for an object that `make` makes of it.
    pub(crate) fn add(&self, make: impl FnOnce(u64) -> T) -> (u64, Arc<T>) {
        let handle = NEXT_HANDLE.fetch_add(64, Ordering::Relaxed);
        let object = Arc::new(make(handle));
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        objects.insert(handle, Arc::clone(&object));
        (handle, object)
    }

    /// The object of a handle.
    pub(crate) fn get(&self, handle: u64) -> Option<Arc<T>> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.get(&handle).cloned()
    }

    /// All objects.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.values().cloned().collect()
    }

    /// Ends a handle.
    pub(crate) fn remove(&self, handle: u64) -> Option<Arc<T>> {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        objects.remove(&handle)
    }

    /// Ends the handles of all objects that `is_wanted` says.
    pub(crate) fn remove_all(&self, is_wanted: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        let removed = objects.extract_if(|_, object| is_wanted(object));
        removed.map(|(_, object)| object).collect()
    }
}

/// The kernels that run on a device: loading and unloading a module waits for them.
#[derive(Debug, Default)]
pub(crate) struct Running {
    state: Mutex<RunningState>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct RunningState {
    next: u64,
    kernels: HashSet<u64>,
}

impl Running {
    /// Notes a kernel as long as `run` takes.
    pub(crate) fn during<T>(&self, run: impl FnOnce() -> T) -> T {
        let number = {
            let mut state = lock(&self.state);
            state.next += 1;
            let number = state.next;
            state.kernels.insert(number);
            number
        };
        let _end = OnDrop(|| {
            lock(&self.state).kernels.remove(&number);
            self.ended.notify_all();
        });
        run()
    }

    /// Waits until the kernels that run now have ended.
    pub(crate) fn wait(&self) {
        let mut state = lock(&self.state);
        let last = state.next;
        while state.kernels.iter().any(|&number| number <= last) {
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Does something at the end of a scope, however it ends.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        self.0();
    }
}

/// A lock. A panic of another thread leaves what these locks guard whole: each change is one step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
