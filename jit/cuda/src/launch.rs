//! One launch: asks the client what to run, and starts it. Takes no lock and allocates nothing where nothing
//! is timed.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::arguments::{Room, read};
use crate::client::{Choice, Client, Launch, Outcome, client};
use crate::driver::Driver;
use crate::error::{CudaError, Status};
use crate::fault;
use crate::handles::{FunctionHandle, StreamHandle};
use crate::image::{self, FUNCTIONS, Kernel};
use crate::timing;
use crate::variant::Variant;
use offloom_jit_policy::process::device_gate;
use offloom_jit_policy::process::guard::guarded_on_foreign_thread;
use offloom_jit_policy::process::handle_table::Found;

/// `CU_STREAM_CAPTURE_STATUS_NONE`: the stream records no graph.
const NO_CAPTURE: u32 = 0;

/// What a program says of a launch, besides the kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared_bytes: u32,
    pub(crate) stream: StreamHandle,
    pub(crate) parameters: *mut *mut c_void,
    pub(crate) extra: *mut *mut c_void,
}

/// Makes a launch that the program asks for. `start` has the driver launch a kernel as the program asked for
/// it.
///
/// # Safety
/// The request is one that the driver takes.
#[inline]
pub(crate) unsafe fn launch(
    driver: &'static Driver,
    function: FunctionHandle,
    request: &Request,
    start: impl Fn(FunctionHandle) -> Status,
) -> Status {
    if device_gate::is_forked() {
        return start(function);
    }
    let kernel = match FUNCTIONS.find(function.0) {
        Found::Ours(kernel) => kernel,
        Found::Foreign => return start(function),
        Found::Unknown => match guarded_on_foreign_thread(None, || image::unknown_kernel(driver, function)) {
            Some(kernel) => kernel,
            None => return start(function),
        },
    };
    let Some(client) = client() else {
        return start(function);
    };
    // SAFETY: as the caller promises.
    let choice = guarded(Choice::BASE, || unsafe {
        choose(driver, client, kernel, request)
    });
    match choice {
        Choice {
            variant: None,
            ticket: 0,
        } => start(function),
        Choice {
            variant: Some(variant),
            ticket: 0,
        } => {
            let status = start(variant.function());
            if status == Status::SUCCESS {
                fault::note_launch(variant);
                return status;
            }
            start_base(client, kernel, choice, status, start)
        }
        _ => start_timed(driver, client, kernel, request, choice, start),
    }
}

/// What a launch runs.
///
/// # Safety
/// The request is one that the driver takes.
#[inline]
unsafe fn choose(driver: &Driver, client: &dyn Client, kernel: &'static Kernel, request: &Request) -> Choice {
    let mut room = Room::new();
    // SAFETY: as the caller promises.
    let words = unsafe { read(kernel.layout(), request.parameters, request.extra, &mut room) };
    let Some(words) = words else { return Choice::BASE };
    let launch = Launch {
        kernel,
        words,
        grid: request.grid,
        block: request.block,
        dynamic_shared_bytes: request.dynamic_shared_bytes,
        stream: request.stream,
    };
    client
        .settled(&launch)
        .unwrap_or_else(|| choose_what_may_change(driver, client, &launch))
}

/// Has the client choose for a launch that may be timed, or have something made or loaded.
#[cold]
fn choose_what_may_change(driver: &Driver, client: &dyn Client, launch: &Launch<'_>) -> Choice {
    if is_capturing(driver, launch.stream) {
        return Choice::BASE;
    }
    client.choose(launch)
}

/// Whether a launch on this stream becomes a part of a graph, which holds it for as long as the program
/// likes. The driver is not asked for each launch: it takes longer than all the rest.
fn is_capturing(driver: &Driver, stream: StreamHandle) -> bool {
    let mut status = NO_CAPTURE;
    driver.stream_is_capturing.is_some_and(|is_capturing| {
        // SAFETY: the driver fills in the number, and knows which handles are streams.
        unsafe { is_capturing(stream, &raw mut status) != Status::SUCCESS || status != NO_CAPTURE }
    })
}

/// Launches the program's own kernel after a variant was refused.
#[cold]
fn start_base(
    client: &dyn Client,
    kernel: &'static Kernel,
    choice: Choice,
    refusal: Status,
    start: impl Fn(FunctionHandle) -> Status,
) -> Status {
    let status = start(kernel.function());
    match (status, choice.variant) {
        (Status::SUCCESS, Some(variant)) => {
            guarded((), || client.refused(kernel, variant, CudaError(refusal)));
        }
        // What fails with any kernel says nothing of this variant; one that ran before may have failed.
        _ => guarded((), || fault::tell(status)),
    }
    status
}

/// Launches with events before and behind, if there are some.
#[cold]
fn start_timed(
    driver: &Driver,
    client: &dyn Client,
    kernel: &'static Kernel,
    request: &Request,
    choice: Choice,
    start: impl Fn(FunctionHandle) -> Status,
) -> Status {
    let is_first = choice.variant.is_some_and(Variant::is_first_launch);
    let context = kernel.image().context();
    let pair = if device_gate::is_closed() {
        None
    } else {
        timing::begin(driver, context, request.stream)
    };
    let function = choice.variant.map_or(kernel.function(), Variant::function);
    let mut status = start(function);
    let was_launched = status == Status::SUCCESS;
    if let (true, Some(variant)) = (was_launched, choice.variant) {
        fault::note_launch(variant);
    }
    let is_timed = match pair {
        Some(pair) if was_launched => {
            timing::end(driver, kernel, request.stream, pair, choice.ticket, is_first)
        }
        Some(pair) => {
            timing::give_back(context, pair);
            false
        }
        None => false,
    };
    if !was_launched && choice.variant.is_some() {
        status = start_base(client, kernel, choice, status, start);
    }
    if !is_timed {
        guarded((), || client.finished(kernel, choice.ticket, Outcome::NotTimed));
    }
    status
}

/// Runs `body`; a panic in it becomes `otherwise`. The message was printed.
pub(crate) fn guarded<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    // State that a panic could leave half-written is behind mutexes, which outlive it.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}
