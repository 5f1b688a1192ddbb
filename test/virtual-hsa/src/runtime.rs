//! The one state of the process, from the first `hsa_init` to the last `hsa_shut_down`.

use std::ffi::c_void;
use std::mem;
use std::process;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use crate::abi::{Handle, Status};
use crate::agent::{Agents, Pool};
use crate::executable::Executables;
use crate::isa::TargetId;
use crate::journal::{self, Journal};
use crate::memory::Memory;
use crate::queue::Queues;
use crate::settings::Settings;
use crate::signal::Signals;
use crate::worker::Workers;

/// What a function cannot do.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    /// What is wrong, if the program is and a real runtime need not notice.
    pub(crate) fault: Option<String>,
}

impl Failure {
    /// A fault of the program.
    pub(crate) fn fault(status: Status, text: impl Into<String>) -> Self {
        Self {
            status,
            fault: Some(text.into()),
        }
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self { status, fault: None }
    }
}

/// What a function ends with.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// A pointer of the program that its function gets back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserData(pub(crate) *mut c_void);

// SAFETY: it is only handed back; that another thread may use it is the program's promise.
unsafe impl Send for UserData {}
// SAFETY: as above.
unsafe impl Sync for UserData {}

/// Everything that the program has made and not destroyed.
#[derive(Debug)]
pub(crate) struct Runtime {
    pub(crate) agents: Agents,
    pub(crate) memory: Memory,
    pub(crate) signals: Signals,
    pub(crate) queues: Queues,
    pub(crate) executables: Executables,
    pub(crate) workers: Workers,
    pub(crate) journal: Journal,
    /// How long each kernel seems to run.
    pub(crate) kernel_time: Duration,
    /// The process that has called `hsa_init`.
    process: u32,
}

/// How often `hsa_init` was called, and what it has made.
struct State {
    users: u32,
    runtime: Option<Arc<Runtime>>,
}

static STATE: RwLock<State> = RwLock::new(State {
    users: 0,
    runtime: None,
});

/// Serialises `hsa_init` and `hsa_shut_down`.
static CHANGE: Mutex<()> = Mutex::new(());

/// Does what `hsa_init` does. Whether the runtime was started by it.
pub(crate) fn open() -> Result<bool> {
    let _change = CHANGE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut state = STATE.write().unwrap_or_else(PoisonError::into_inner);
    if state.runtime.is_none() {
        let made = Settings::read().and_then(|settings| {
            let journal = Journal::open(settings.log.as_deref())?;
            Ok(Runtime::new(&settings, journal))
        });
        match made {
            Ok(runtime) => state.runtime = Some(Arc::new(runtime)),
            Err(message) => {
                // There is no log yet.
                journal::complain(&message);
                return Err(Status::ERROR_OUT_OF_RESOURCES.into());
            }
        }
    }
    state.users += 1;
    Ok(state.users == 1)
}

/// Does what `hsa_shut_down` does.
pub(crate) fn close() -> Result<()> {
    let _change = CHANGE.lock().unwrap_or_else(PoisonError::into_inner);
    let last = {
        let mut state = STATE.write().unwrap_or_else(PoisonError::into_inner);
        state.users = state.users.checked_sub(1).ok_or(Status::ERROR_NOT_INITIALIZED)?;
        if state.users > 0 {
            return Ok(());
        }
        // Threads of the program find none from here on; those of the runtime have it until they end.
        mem::take(&mut state.runtime)
    };
    if let Some(runtime) = last {
        runtime.end();
    }
    Ok(())
}

/// The runtime, if `hsa_init` was called.
pub(crate) fn current() -> Result<Arc<Runtime>> {
    let state = STATE.read().unwrap_or_else(PoisonError::into_inner);
    Ok(state.runtime.clone().ok_or(Status::ERROR_NOT_INITIALIZED)?)
}

/// Adds the summary of a program that ends without `hsa_shut_down`. A forked process has none of the
/// runtime's threads, and is not what the log is about.
pub(crate) fn end_of_process() {
    if let Ok(runtime) = current()
        && runtime.process == process::id()
    {
        runtime
            .journal
            .summary(format_args!("{} without hsa_shut_down", runtime.left()));
    }
}

impl Runtime {
    /// One with the devices of the settings.
    pub(crate) fn new(settings: &Settings, journal: Journal) -> Self {
        Self {
            agents: Agents::new(&settings.devices),
            memory: Memory::default(),
            signals: Signals::default(),
            queues: Queues::default(),
            executables: Executables::default(),
            workers: Workers::default(),
            journal,
            kernel_time: settings.kernel_time,
            process: process::id(),
        }
    }

    /// What the device of an agent runs. The host's agent is a fault.
    pub(crate) fn device(&self, agent: Handle) -> Result<&TargetId> {
        let agent = self.agents.get(agent)?;
        agent
            .device
            .as_ref()
            .ok_or_else(|| Failure::fault(Status::ERROR_INVALID_AGENT, "the agent is no GPU"))
    }

    /// The pool of a handle.
    pub(crate) fn pool(&self, pool: Handle) -> Result<&Pool> {
        self.agents.pool(pool).ok_or_else(|| {
            Failure::fault(
                Status::ERROR_INVALID_MEMORY_POOL,
                format!("{pool:#x} is no memory pool"),
            )
        })
    }

    /// Adds allocations that are left to the log. Ends with the number of everything that the program has not
    /// destroyed.
    fn left(&self) -> String {
        let areas = self.memory.areas();
        let allocations = areas.allocations();
        for bytes in &allocations {
            self.journal
                .line(format_args!("left: an allocation of {bytes} bytes"));
        }
        format!(
            "left: signals={} allocations={} locks={} executables={} queues={}",
            self.signals.count(),
            allocations.len(),
            areas.locks(),
            self.executables.read().executables.len(),
            self.queues.count(),
        )
    }

    /// Ends all threads, and adds the summary.
    fn end(&self) {
        let left = self.left();
        self.queues.end();
        self.workers.end();
        self.journal.summary(left);
    }
}

/// Ticks of the system's clock, which are nanoseconds.
pub(crate) fn ticks() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let passed = START.get_or_init(Instant::now).elapsed().as_nanos();
    // From 1 on: 0 is no time.
    u64::try_from(passed).map_or(u64::MAX, |ticks| ticks.saturating_add(1))
}
