//! Running a grid of blocks.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::block::{Resident, Slice};
use crate::fault::{Fault, FaultKind, Place, Report};
use crate::interpret::{Grid, Machine};
use crate::program::{Details, Kernel, Program};

/// In which order the threads of a block take turns.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Schedule {
    /// Threads of a warp keep together where they can, every thread gets its turn. Deterministic within a
    /// block.
    #[default]
    Converging,
    /// At random moments a random group of threads of a random warp goes on. With one worker, a seed gives
    /// the same order each time.
    Random {
        /// Each seed gives another order.
        seed: u64,
    },
}

/// What becomes of the use of bytes and registers that nothing has written.
///
/// Shared and local memory, call parameters and registers are tracked, bit by bit, from the start of a block
/// or call. Global memory is not: what is loaded from it counts as written. Copies are no use; decisions,
/// addresses and stores of wholly unwritten values to global memory are.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Poison {
    /// Nothing is tracked. Memory and registers still begin with a pattern, not with zeros.
    Off,
    /// Uses are in [`Statistics::reports`].
    #[default]
    Report,
    /// The first decision or address that uses such bytes is a fault. Stores are only reported: compilers
    /// copy the padding of structures.
    Fault,
}

/// Takes what kernels print, in whole strings.
pub type Output = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// How a launch is run.
#[derive(Clone)]
pub struct LaunchOptions {
    /// Host threads that run blocks. 0: as many as the host has cores.
    pub workers: usize,
    /// Order of threads.
    pub schedule: Schedule,
    /// Use of uninitialised bytes.
    pub poison: Poison,
    /// Bytes of stack of a thread (`CU_LIMIT_STACK_SIZE`), beyond what functions that do not recur need.
    pub stack_bytes: u32,
    /// Wall time after which a launch is ended with [`FaultKind::Watchdog`].
    pub time_limit: Option<Duration>,
    /// Instructions of one block, counted once for each group of threads, after which a launch is ended with
    /// [`FaultKind::Watchdog`].
    pub instruction_limit: Option<u64>,
    /// Whether [`Statistics::lines`] is wanted.
    pub count_lines: bool,
    /// Where `vprintf` prints. `None`: standard output.
    pub output: Option<Output>,
}

impl Default for LaunchOptions {
    fn default() -> Self {
        Self {
            workers: 0,
            schedule: Schedule::default(),
            poison: Poison::default(),
            stack_bytes: 1024,
            time_limit: None,
            instruction_limit: None,
            count_lines: false,
            output: None,
        }
    }
}

impl fmt::Debug for LaunchOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LaunchOptions")
            .field("workers", &self.workers)
            .field("schedule", &self.schedule)
            .field("poison", &self.poison)
            .field("stack_bytes", &self.stack_bytes)
            .field("time_limit", &self.time_limit)
            .field("instruction_limit", &self.instruction_limit)
            .field("count_lines", &self.count_lines)
            .finish_non_exhaustive()
    }
}

/// The shape of a launch and what the kernel gets.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared_bytes: u32,
    /// The kernel's parameters, laid out as [`Kernel::parameters`](crate::Kernel::parameters) says.
    pub parameters: &'a [u8],
}

/// What a launch did.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Statistics {
    /// Instructions, counted once for each thread that executed them.
    pub lane_instructions: u64,
    /// Instructions, counted once for each group of threads of a warp that executed them together.
    pub warp_instructions: u64,
    /// The most of these that one warp has executed: what a launch takes on a device that holds all warps at
    /// a time.
    pub longest_warp: u64,
    /// [`warp_instructions`](Self::warp_instructions) by line of the PTX file, from 1, if they are wanted.
    /// Lines that were not executed are missing.
    pub lines: BTreeMap<u32, u64>,
    /// What is wrong with the program although it ran, each place once, sorted by line.
    pub reports: Vec<Report>,
}

/// Runs a kernel to its end. Several launches may run at the same time, on one program too.
///
/// # Errors
///
/// What ended the kernel. All threads have stopped then; memory holds what was stored until then.
pub fn launch(program: &Program, launch: &Launch<'_>, options: &LaunchOptions) -> Result<Statistics, Fault> {
    let refuse = |kind, text| Fault {
        kind,
        place: Box::new(Place {
            kernel: launch.kernel.to_owned(),
            ..Place::default()
        }),
        text,
    };
    let Some((kernel, details)) = program.find_kernel(launch.kernel) else {
        return Err(refuse(
            FaultKind::InvalidLaunch,
            "there is no such kernel".to_owned(),
        ));
    };
    if let Some((kind, text)) = problem(program, kernel, launch) {
        return Err(refuse(kind, text));
    }
    let threads: u32 = launch.block.iter().product();
    let total: u64 = launch.grid.iter().map(|&blocks| u64::from(blocks)).product();
    let properties = program.properties();
    let grid = Grid {
        program,
        kernel: launch.kernel,
        options,
        grid: launch.grid,
        block: launch.block,
        parameters: launch.parameters,
        dynamic_shared: launch.dynamic_shared_bytes,
        static_shared: kernel.shared_bytes,
        stack_limit: details.stack_need.saturating_add(options.stack_bytes),
        started: Instant::now(),
        reports: Mutex::new(Vec::new()),
    };
    let per_multiprocessor = properties.max_threads_per_multiprocessor / threads.next_multiple_of(32);
    let queue = Queue {
        state: Mutex::new(State {
            next: 0,
            total,
            waiting: VecDeque::new(),
            resident: 0,
            limit: properties.multiprocessors.max(1) as usize * per_multiprocessor.max(1) as usize,
        }),
        stop: AtomicBool::new(false),
        fault: Mutex::new(None),
    };
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let workers = if options.workers == 0 {
        cores()
    } else {
        options.workers
    };
    let workers = workers.min(usize::try_from(total).unwrap_or(usize::MAX)).max(1);
    let work = |worker: usize| {
        // A mistake of the executor must not end the process whose kernel it runs.
        catch_unwind(AssertUnwindSafe(|| {
            queue.work(&grid, details, threads, worker as u64)
        }))
        .unwrap_or_else(|_| {
            let text = "the virtual GPU has a mistake: see the panic's message on standard error";
            queue.fail(refuse(FaultKind::IllegalInstruction, text.to_owned()));
            Counts::default()
        })
    };
    let counts: Vec<Counts> = if workers == 1 {
        vec![work(0)]
    } else {
        std::thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> = (0..workers)
                .map(|worker| scope.spawn(move || work(worker)))
                .collect();
            threads
                .into_iter()
                .filter_map(|thread| thread.join().ok())
                .collect()
        })
    };
    if let Some(fault) = queue.fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(fault);
    }
    let mut reports = grid.reports.into_inner().unwrap_or_else(PoisonError::into_inner);
    reports.sort_by_key(|report| report.place.line);
    let mut lines = BTreeMap::new();
    for (pc, &executed) in counts.iter().flat_map(|count| count.by_place.iter().enumerate()) {
        if executed != 0 {
            *lines.entry(program.line_of(pc)).or_default() += executed;
        }
    }
    Ok(Statistics {
        lane_instructions: counts.iter().map(|count| count.lanes).sum(),
        warp_instructions: counts.iter().map(|count| count.warps).sum(),
        longest_warp: counts.iter().map(|count| count.longest).max().unwrap_or_default(),
        lines,
        reports,
    })
}

/// Why a launch cannot be.
fn problem(program: &Program, kernel: &Kernel, launch: &Launch<'_>) -> Option<(FaultKind, String)> {
    let properties = program.properties();
    let invalid = |text| Some((FaultKind::InvalidLaunch, text));
    for (what, shape, limits) in [
        ("grid", launch.grid, properties.max_grid),
        ("block", launch.block, properties.max_block),
    ] {
        let fits = shape
            .iter()
            .zip(limits)
            .all(|(&size, limit)| size > 0 && size <= limit);
        if !fits {
            return invalid(format!("a {what} of {shape:?}, where {limits:?} is the limit"));
        }
    }
    let threads = launch.block.iter().map(|&size| u64::from(size)).product::<u64>();
    if threads > properties.max_threads_per_block.into() {
        let limit = properties.max_threads_per_block;
        return invalid(format!("{threads} threads a block, where {limit} is the limit"));
    }
    if kernel
        .required_block
        .is_some_and(|required| required != launch.block)
    {
        let required = kernel.required_block.unwrap_or_default();
        return invalid(format!(
            "a block of {:?}, where the kernel requires {required:?}",
            launch.block
        ));
    }
    if threads > kernel.max_threads_per_block.into() {
        let limit = kernel.max_threads_per_block;
        let text = format!("{threads} threads a block, where the kernel was compiled for {limit} at most");
        return Some((FaultKind::TooManyResources, text));
    }
    let shared = u64::from(kernel.shared_bytes) + u64::from(launch.dynamic_shared_bytes);
    if shared > properties.max_shared_bytes.into() {
        let limit = properties.max_shared_bytes;
        let text = format!("{shared} bytes of shared memory a block, where {limit} is the limit");
        return Some((FaultKind::TooManyResources, text));
    }
    if (launch.parameters.len() as u64) < kernel.parameter_bytes {
        let (given, wanted) = (launch.parameters.len(), kernel.parameter_bytes);
        return invalid(format!(
            "{given} bytes of parameters, where the kernel takes {wanted}"
        ));
    }
    None
}

/// Instructions of a block before others get their turn.
const SLICE: u64 = 1 << 20;
/// The same where turns are random.
const RANDOM_SLICE: u64 = 1 << 12;

/// Blocks that have not ended.
struct Queue {
    state: Mutex<State>,
    stop: AtomicBool,
    fault: Mutex<Option<Fault>>,
}

struct State {
    /// The first block that has not begun.
    next: u64,
    total: u64,
    /// Blocks that have begun and that no host thread runs.
    waiting: VecDeque<Box<Resident>>,
    /// Blocks that have begun and not ended.
    resident: usize,
    /// How many the device runs at a time.
    limit: usize,
}

/// Instructions, as in [`Statistics`].
#[derive(Debug, Default)]
struct Counts {
    lanes: u64,
    warps: u64,
    longest: u64,
    /// The second by place in the program's code; empty if not wanted.
    by_place: Vec<u64>,
}

/// A block to run.
enum Taken {
    /// One that has not begun, by its number.
    New(u64),
    Begun(Box<Resident>),
    Nothing,
}

impl Queue {
    /// Runs blocks until there are none; what they have executed.
    fn work(&self, grid: &Grid<'_>, details: &Details, threads: u32, worker: u64) -> Counts {
        let mut machine = Machine::new(grid, worker);
        let mut spare: Option<Box<Resident>> = None;
        let slice = match grid.options.schedule {
            Schedule::Converging => SLICE,
            Schedule::Random { .. } => RANDOM_SLICE,
        };
        while !self.stop.load(Ordering::Relaxed) {
            let mut resident = match self.take() {
                Taken::New(number) => {
                    let mut resident = spare
                        .take()
                        .unwrap_or_else(|| Box::new(Resident::new(threads, machine.track)));
                    resident.begin(&mut machine, details, number);
                    resident
                }
                Taken::Begun(resident) => resident,
                Taken::Nothing => break,
            };
            match resident.run(&mut machine, slice, &self.stop) {
                Ok(Slice::Expired) => self.lock().waiting.push_back(resident),
                Ok(Slice::Finished) => {
                    self.lock().resident -= 1;
                    spare = Some(resident);
                }
                Ok(Slice::Stopped) => break,
                Err(fault) => {
                    self.fail(fault);
                    break;
                }
            }
        }
        Counts {
            lanes: machine.lane_instructions,
            warps: machine.warp_instructions,
            longest: machine.longest_warp,
            by_place: machine.by_place,
        }
    }

    /// The block that runs next: a new one while the device has room.
    fn take(&self) -> Taken {
        let mut state = self.lock();
        if state.next < state.total && state.resident < state.limit {
            state.next += 1;
            state.resident += 1;
            return Taken::New(state.next - 1);
        }
        state.waiting.pop_front().map_or(Taken::Nothing, Taken::Begun)
    }

    /// Ends the launch; the first fault counts.
    fn fail(&self, fault: Fault) {
        let mut first = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(fault);
        self.stop.store(true, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
