//! How long sampled launches took, by pairs of events around them. The times are read in the background, once
//! the device has come so far; nothing waits for them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::background;
use crate::client::{Outcome, client};
use crate::context::{self, Context, Current};
use crate::driver::Driver;
use crate::error::Status;
use crate::handles::{EventHandle, StreamHandle};
use crate::image::{ImageCopy, Kernel};
use offloom_jit_policy::gpu_launch::counted;
use offloom_jit_policy::process::lock::lock;

/// Launches of a context that may be timed at one time. More are launched without being timed.
const PAIRS: usize = 32;
/// How often events are asked for, at first and at least.
pub(crate) const PAUSE: Duration = Duration::from_millis(1);
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_millis(32);
/// `CU_EVENT_DEFAULT`: with times.
const WITH_TIMES: u32 = 0;

/// Launches of all contexts whose times are not yet read.
static PENDING: AtomicUsize = AtomicUsize::new(0);

/// The events of a context.
#[derive(Debug, Default)]
pub(crate) struct Timer {
    is_prepared: AtomicBool,
    free: Mutex<Vec<Pair>>,
    pending: Mutex<Vec<Pending>>,
    /// Held while events are asked, and while what they say is told: who is about to let go of an image waits
    /// for it.
    reading: Mutex<()>,
}

/// Before a launch, and behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    start: EventHandle,
    end: EventHandle,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    pair: Pair,
    kernel: &'static Kernel,
    ticket: u64,
    is_first: bool,
    stream: StreamHandle,
    /// Whether a launch on another stream was timed at the same time.
    is_beside_others: bool,
}

/// Makes the events of a context, once.
pub(crate) fn prepare(current: &Current<'_>) {
    let timer = &current.context().timer;
    if timer.is_prepared.swap(true, Ordering::Relaxed) {
        return;
    }
    let make = || {
        let mut event = EventHandle::NULL;
        // SAFETY: the driver fills in the handle.
        unsafe { (current.driver.event_create)(&raw mut event, WITH_TIMES) }
            .check()
            .ok()
            .map(|()| event)
    };
    for _ in 0..PAIRS {
        let (Some(start), Some(end)) = (make(), make()) else {
            return;
        };
        lock(&timer.free).push(Pair { start, end });
    }
}

/// Begins to time a launch on this stream. `None`: it cannot be timed.
pub(crate) fn begin(driver: &Driver, context: &Context, stream: StreamHandle) -> Option<Pair> {
    // Whoever holds the lock does so for moments, but a launch does not wait.
    let pair = context.timer.free.try_lock().ok()?.pop()?;
    // SAFETY: the events are of this context and are not in use.
    if unsafe { (driver.event_record)(pair.start, stream) } != Status::SUCCESS {
        give_back(context, pair);
        return None;
    }
    Some(pair)
}

/// Ends the timing of a launch that was made, which is the first of its variant or not. False: it cannot be
/// timed.
pub(crate) fn end(
    driver: &Driver,
    kernel: &'static Kernel,
    stream: StreamHandle,
    pair: Pair,
    ticket: u64,
    is_first: bool,
) -> bool {
    let context = kernel.image().context();
    // SAFETY: as in `begin`.
    if unsafe { (driver.event_record)(pair.end, stream) } != Status::SUCCESS {
        give_back(context, pair);
        return false;
    }
    PENDING.fetch_add(1, Ordering::Release);
    let mut launch = Pending {
        pair,
        kernel,
        ticket,
        is_first,
        stream,
        is_beside_others: false,
    };
    let mut pending = lock(&context.timer.pending);
    // One stream's launches run one after another.
    for other in pending.iter_mut().filter(|other| other.stream != stream) {
        other.is_beside_others = true;
        launch.is_beside_others = true;
    }
    pending.push(launch);
    drop(pending);
    if background::wake() {
        return true;
    }
    // Unless the thread has been there, or another one is by now.
    let mut pending = lock(&context.timer.pending);
    let is_this = |other: &Pending| other.ticket == ticket && std::ptr::eq(other.kernel, kernel);
    let place = pending.iter().position(is_this);
    let Some(place) = place else { return true };
    pending.swap_remove(place);
    drop(pending);
    PENDING.fetch_sub(1, Ordering::Release);
    give_back(context, pair);
    false
}

/// Takes back the events of a launch that was not made.
pub(crate) fn give_back(context: &Context, pair: Pair) {
    lock(&context.timer.free).push(pair);
}

/// Whether there are launches whose times are not yet read.
pub(crate) fn is_pending() -> bool {
    PENDING.load(Ordering::Acquire) > 0
}

/// Reads the times of launches that the devices have done.
pub(crate) fn read(driver: &'static Driver) {
    for context in context::all() {
        if lock(&context.timer.pending).is_empty() {
            continue;
        }
        let current = context.enter(driver);
        let reading = lock(&context.timer.reading);
        let Ok(current) = current else {
            // Their events are gone with the context.
            let lost = std::mem::take(&mut *lock(&context.timer.pending));
            lost.into_iter().for_each(|lost| tell(lost, Outcome::NotTimed));
            continue;
        };
        // Launches add to it meanwhile, and do not wait.
        let asked = std::mem::take(&mut *lock(&context.timer.pending));
        let (mut done, mut pending) = (Vec::new(), Vec::new());
        for launch in asked {
            // SAFETY: the event is of this context.
            match unsafe { (driver.event_query)(launch.pair.end) } {
                Status::NOT_READY => pending.push(launch),
                Status::SUCCESS => {
                    let counted = counted(launch.is_first, elapsed(&current, launch.pair));
                    let took = match launch.is_beside_others {
                        true => Outcome::TookBesideOthers,
                        false => Outcome::Took,
                    };
                    done.push((launch, counted.map_or(Outcome::NotTimed, took)));
                }
                _ => done.push((launch, Outcome::NotTimed)),
            }
        }
        lock(&context.timer.pending).append(&mut pending);
        for (pending, outcome) in done {
            give_back(context, pending.pair);
            tell(pending, outcome);
        }
        drop(reading);
    }
}

/// Nanoseconds between the events of a pair.
fn elapsed(current: &Current<'_>, pair: Pair) -> Option<u64> {
    let mut milliseconds = 0_f32;
    // SAFETY: the driver fills in the number.
    let status = unsafe { (current.driver.event_elapsed_time)(&raw mut milliseconds, pair.start, pair.end) };
    (status == Status::SUCCESS).then_some((f64::from(milliseconds) * 1e6) as u64)
}

/// Lets go of the launches of an image copy that is being unloaded.
pub(crate) fn forget(image: &'static ImageCopy) {
    let timer = &image.context().timer;
    let mut forgotten = Vec::new();
    let reading = lock(&timer.reading);
    lock(&timer.pending).retain(|pending| {
        let is_of_image = std::ptr::eq(pending.kernel.image(), image);
        if is_of_image {
            forgotten.push(*pending);
        }
        !is_of_image
    });
    drop(reading);
    for pending in forgotten {
        give_back(image.context(), pending.pair);
        tell(pending, Outcome::NotTimed);
    }
}

fn tell(pending: Pending, outcome: Outcome) {
    PENDING.fetch_sub(1, Ordering::Release);
    if let Some(client) = client() {
        client.finished(pending.kernel, pending.ticket, outcome);
    }
}
