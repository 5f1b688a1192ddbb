//! How long sampled launches took, as the device notes it with the signal of the launch. In the place of the
//! program's signal a timed launch has one of ours, and a packet behind it passes that on.

use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use offloom_jit_policy::gpu_launch::counted;
use offloom_jit_policy::kernel_on_device::KernelOnDevice;
use offloom_jit_policy::process::device_gate;
use offloom_jit_policy::process::guard::guarded_on_foreign_thread;
use offloom_jit_policy::process::lock::lock;
use offloom_jit_policy::process::settings::settings;

use crate::backend::Hsa;
use crate::image::ImageCopy;
use crate::runtime::{Agent, DispatchTime, Queue, Runtime, Signal, Status, runtime};

/// Launches that may be timed at one time. More are launched without being timed.
const SIGNALS: usize = 32;
/// `HSA_SIGNAL_CONDITION_LT`.
const LESS: u32 = 2;
/// What a signal is set to before a launch, which decrements it.
const WAITING: i64 = 1;

/// Signals that are not in use.
static FREE: Mutex<Vec<Signal>> = Mutex::new(Vec::new());

/// A launch that is timed.
struct Timed {
    agent: Agent,
    state: &'static KernelOnDevice<Hsa>,
    ticket: u64,
    is_first: bool,
    signal: Signal,
}

/// Has the launches of a queue timed where they are asked for.
pub(crate) fn prepare(runtime: &Runtime, queue: *mut Queue) {
    if !settings().retire {
        return;
    }
    // SAFETY: the queue is one that the runtime has just made.
    if unsafe { (runtime.enable_profiling)(queue, 1) } != Status::SUCCESS {
        return;
    }
    let mut free = lock(&FREE);
    while free.len() < SIGNALS {
        let mut signal = Signal(0);
        // SAFETY: the runtime fills in the handle.
        if unsafe { (runtime.signal_create)(WAITING, 0, std::ptr::null(), &raw mut signal) }
            != Status::SUCCESS
        {
            return;
        }
        free.push(signal);
    }
}

/// Begins to time a launch. The signal that it is to have; `None`: it cannot be timed, and the ticket is not
/// given back.
pub(crate) fn begin(
    agent: Agent,
    state: &'static KernelOnDevice<Hsa>,
    ticket: u64,
    is_first: bool,
) -> Option<Signal> {
    let runtime = runtime()?;
    // Whoever holds the lock does so for moments, but a launch does not wait.
    let signal = FREE.try_lock().ok()?.pop()?;
    let image = state.image.device.image;
    image.timed.fetch_add(1, Ordering::AcqRel);
    let timed = Box::into_raw(Box::new(Timed {
        agent,
        state,
        ticket,
        is_first,
        signal,
    }));
    // SAFETY: a signal of ours that is not in use; the handler gets the box, once.
    let status = unsafe {
        (runtime.signal_store)(signal, WAITING);
        (runtime.signal_handler)(signal, LESS, WAITING, ended, timed.cast())
    };
    if status == Status::SUCCESS {
        return Some(signal);
    }
    // SAFETY: the handler was not registered, so the box is still ours.
    drop(unsafe { Box::from_raw(timed) });
    give_back(image, signal);
    None
}

fn give_back(image: &ImageCopy, signal: Signal) {
    lock(&FREE).push(signal);
    image.timed.fetch_sub(1, Ordering::AcqRel);
}

/// Is called on a thread of the runtime when a timed launch has ended.
unsafe extern "C" fn ended(_value: i64, timed: *mut c_void) -> bool {
    guarded_on_foreign_thread((), || {
        // SAFETY: the box of `begin`, which comes here once.
        let timed = unsafe { Box::from_raw(timed.cast::<Timed>()) };
        if device_gate::is_closed() {
            return;
        }
        let image = timed.state.image.device.image;
        let nanoseconds = runtime().and_then(|runtime| elapsed(runtime, &timed));
        let counted = counted(timed.is_first, nanoseconds);
        // SAFETY: the ticket is from a choice for this kernel, and comes back once; the image waits for this.
        unsafe { timed.state.finished(timed.ticket, counted) };
        give_back(image, timed.signal);
    });
    false
}

/// Nanoseconds that the device says a launch took.
fn elapsed(runtime: &Runtime, timed: &Timed) -> Option<u64> {
    let mut time = DispatchTime::default();
    // SAFETY: the runtime fills in the times of a signal that a launch has had.
    unsafe { (runtime.dispatch_time)(timed.agent, timed.signal, &raw mut time) }
        .check()
        .ok()?;
    // A queue that times nothing leaves zeros.
    let ticks = time.end.checked_sub(time.start).filter(|_| time.start != 0)?;
    let nanoseconds = u128::from(ticks) * 1_000_000_000 / u128::from(runtime.ticks_per_second()?);
    u64::try_from(nanoseconds).ok()
}
