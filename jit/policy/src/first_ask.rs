//! Kernels that were launched for the first time a moment ago. Whether they are launched again is not known
//! yet: a program may launch hundreds of kernels once, one after the other, and code for them, even from the
//! cache, costs more than it gains.
//!
//! So the first ask for code of a kernel on a device waits: until the kernel is launched again, or until it
//! was for a moment the last that asked, as one is that runs for long. If another kernel asks first
//! meanwhile, the ask is taken back, and the kernel's next launch asks again.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::process::fork_gate;
use crate::process::lock::lock;
use crate::process::queue;

/// For so long a kernel is the last that asked before its code is made.
const MOMENT: Duration = Duration::from_millis(2);

/// What is done with the ask: true: code is made, on the background thread; false: the ask is taken back.
type Act = Box<dyn FnOnce(bool) + Send>;

struct Ask {
    /// Whose it is.
    owner: usize,
    due: Instant,
    act: Act,
}

struct Waiting {
    /// The last.
    ask: Option<Ask>,
    /// Those whose owners have asked again, to which the background thread has not come yet.
    asked_again: Vec<Act>,
    /// Whether the background thread looks after it, or will.
    watched: bool,
}

static WAITING: Mutex<Waiting> = Mutex::new(Waiting {
    ask: None,
    asked_again: Vec::new(),
    watched: false,
});
static CHANGED: Condvar = Condvar::new();
/// Whose ask waits: known without the lock.
static OWNER: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Has the first ask of `owner` wait. False: there is no thread for it, and `act` was not called.
pub(crate) fn wait<T>(owner: &'static T, act: impl FnOnce(bool) + Send + 'static) -> bool {
    wait_for(MOMENT, owner, act)
}

fn wait_for<T>(moment: Duration, owner: &'static T, act: impl FnOnce(bool) + Send + 'static) -> bool {
    let address = ptr::from_ref(owner).addr();
    let mut waiting = lock(&WAITING);
    let earlier = waiting.ask.replace(Ask {
        owner: address,
        due: Instant::now() + moment,
        act: Box::new(act),
    });
    OWNER.store(ptr::from_ref(owner).cast_mut().cast(), Ordering::Relaxed);
    let is_watched = std::mem::replace(&mut waiting.watched, true);
    if let Some(earlier) = earlier {
        take_back(&waiting, earlier.act);
    }
    // Without the lock a thread may be started, for which the loader's lock is taken: a constructor that
    // launches may hold that.
    drop(waiting);
    if is_watched || queue::offer(watch) {
        return true;
    }
    let mut waiting = lock(&WAITING);
    waiting.watched = false;
    let refused = waiting.ask.take();
    for act in std::mem::take(&mut waiting.asked_again) {
        take_back(&waiting, act);
    }
    match refused {
        Some(own) if own.owner == address => false,
        // Another's came meanwhile, and this one was taken back.
        Some(other) => {
            take_back(&waiting, other.act);
            true
        }
        None => true,
    }
}

/// With the lock: an owner that goes away [waits](forget) until nothing more is done for it. On the
/// background thread that is not needed: an owner is freed there, behind other work.
fn take_back(_: &MutexGuard<'_, Waiting>, act: Act) {
    act(false);
}

/// The owner asks again: its ask waits no longer.
#[inline]
pub(crate) fn hurry<T>(owner: &T) {
    if ptr::addr_eq(OWNER.load(Ordering::Relaxed), owner) {
        hurry_if_it_waits(ptr::from_ref(owner).addr());
    }
}

#[cold]
fn hurry_if_it_waits(owner: usize) {
    // A child forked while the lock is held has it locked for ever.
    let Some(_change) = fork_gate::enter() else { return };
    let mut waiting = lock(&WAITING);
    if let Some(ask) = waiting.ask.take_if(|ask| ask.owner == owner) {
        waiting.asked_again.push(ask.act);
        OWNER.store(ptr::null_mut(), Ordering::Relaxed);
        CHANGED.notify_one();
    }
}

/// The owner goes away: nothing more is done for it.
pub(crate) fn forget<T>(owner: &T) {
    let mut waiting = lock(&WAITING);
    let ask = waiting
        .ask
        .take_if(|ask| ask.owner == ptr::from_ref(owner).addr());
    drop(waiting);
    drop(ask);
}

/// On the background thread: waits until the ask is due, and has code made for it, and for those whose owners
/// have asked again. An ask that came meanwhile waits behind other work.
fn watch() {
    let mut waiting = lock(&WAITING);
    if let Some(ask) = &waiting.ask
        && waiting.asked_again.is_empty()
    {
        let left = ask.due.saturating_duration_since(Instant::now());
        let (after, _) = CHANGED
            .wait_timeout(waiting, left)
            .unwrap_or_else(PoisonError::into_inner);
        waiting = after;
    }
    let mut wanted = std::mem::take(&mut waiting.asked_again);
    let due = waiting.ask.take_if(|ask| ask.due <= Instant::now());
    wanted.extend(due.map(|ask| ask.act));
    // With the lock: who asks next finds a thread that looks after it, or starts one. This one is there, so
    // none is started here.
    waiting.watched = waiting.ask.is_some() && queue::offer(watch);
    let refused = if waiting.watched { None } else { waiting.ask.take() };
    drop(waiting);
    if let Some(refused) = refused {
        (refused.act)(false);
    }
    for act in wanted {
        act(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn an_ask_waits_until_its_owner_or_another_asks() {
        /// Longer than the test.
        const LONG: Duration = Duration::from_secs(3600);
        static OWNERS: [u8; 4] = [0, 1, 2, 3];
        let (tell, told) = mpsc::channel();
        let ask = |owner: usize| {
            let tell = tell.clone();
            assert!(wait_for(LONG, &OWNERS[owner], move |is_wanted| {
                tell.send((owner, is_wanted)).unwrap();
            }));
        };
        let next = || told.recv_timeout(Duration::from_secs(60)).unwrap();
        ask(0);
        ask(1);
        assert_eq!(next(), (0, false), "another one asks");
        hurry(&OWNERS[0]);
        hurry(&OWNERS[1]);
        assert_eq!(next(), (1, true), "its owner asks again");
        ask(2);
        forget(&OWNERS[2]);
        ask(3);
        hurry(&OWNERS[3]);
        assert_eq!(next(), (3, true), "the owner before has gone");
        assert!(wait(&OWNERS[0], move |is_wanted| tell
            .send((0, is_wanted))
            .unwrap()));
        assert_eq!(next(), (0, true), "nobody asks for a moment");
    }
}
