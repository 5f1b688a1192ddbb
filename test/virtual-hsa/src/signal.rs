//! Signals, and waits for them. Handles are never given twice, so a destroyed signal is noticed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use crate::abi::Handle;
use crate::pulse;
use crate::queue::Queue;

/// Handles of signals begin here, so that one is told from a small number and from an address.
const FIRST: Handle = 0x5160_0000_0000;

/// A signal.
#[derive(Debug)]
pub(crate) struct Signal {
    value: AtomicI64,
    /// When the kernel that has completed it last began and ended; 0: none has, or not with a profiler.
    start: AtomicU64,
    end: AtomicU64,
    /// The queue whose doorbell it is.
    queue: Option<Weak<Queue>>,
}

impl Signal {
    pub(crate) fn new(value: i64, queue: Option<Weak<Queue>>) -> Self {
        Self {
            value: AtomicI64::new(value),
            start: AtomicU64::new(0),
            end: AtomicU64::new(0),
            queue,
        }
    }

    /// The queue whose doorbell it is.
    pub(crate) fn queue(&self) -> Option<Arc<Queue>> {
        self.queue.as_ref()?.upgrade()
    }

    pub(crate) fn load(&self) -> i64 {
        self.value.load(Ordering::SeqCst)
    }

    /// Changes the value, and has all that wait look at it. Ends with the value before.
    pub(crate) fn update(&self, change: impl Fn(i64) -> i64) -> i64 {
        let before = self
            .value
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |value| Some(change(value)));
        pulse::ring();
        before.unwrap_or_else(|value| value)
    }

    /// Counts one down, as a packet or a copy does that has ended.
    pub(crate) fn complete(&self) {
        self.update(|value| value.wrapping_sub(1));
    }

    /// When the kernel that completes it began and ended, in ticks.
    pub(crate) fn set_times(&self, start: u64, end: u64) {
        self.start.store(start, Ordering::SeqCst);
        self.end.store(end, Ordering::SeqCst);
    }

    /// When the last profiled kernel began and ended.
    pub(crate) fn times(&self) -> Option<(u64, u64)> {
        let times = (self.start.load(Ordering::SeqCst), self.end.load(Ordering::SeqCst));
        (times.1 != 0).then_some(times)
    }
}

/// `hsa_signal_condition_t`, with what the value is compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Condition {
    Equal(i64),
    NotEqual(i64),
    Less(i64),
    AtLeast(i64),
}

impl Condition {
    /// By its number in C.
    pub(crate) fn new(number: u32, compared: i64) -> Option<Self> {
        Some(match number {
            0 => Self::Equal(compared),
            1 => Self::NotEqual(compared),
            2 => Self::Less(compared),
            3 => Self::AtLeast(compared),
            _ => return None,
        })
    }

    pub(crate) fn holds(self, value: i64) -> bool {
        match self {
            Self::Equal(compared) => value == compared,
            Self::NotEqual(compared) => value != compared,
            Self::Less(compared) => value < compared,
            Self::AtLeast(compared) => value >= compared,
        }
    }
}

/// The live signals.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    live: RwLock<HashMap<Handle, Arc<Signal>>>,
    made: AtomicU64,
}

impl Signals {
    /// Takes a signal in, and gives it a handle.
    pub(crate) fn add(&self, signal: Signal) -> Handle {
        // The next multiple of 64, as the addresses of AMD's signals are.
        let handle = FIRST + 64 * (self.made.fetch_add(1, Ordering::Relaxed) + 1);
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        live.insert(handle, Arc::new(signal));
        handle
    }

    /// The signal of a handle, unless it was destroyed or never was.
    pub(crate) fn get(&self, handle: Handle) -> Option<Arc<Signal>> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.get(&handle).cloned()
    }

    /// Destroys a signal, and has all that wait for it notice.
    pub(crate) fn remove(&self, handle: Handle) -> Option<Arc<Signal>> {
        let removed = self
            .live
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&handle);
        pulse::ring();
        removed
    }

    /// How many there are, but for doorbells.
    pub(crate) fn count(&self) -> usize {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.values().filter(|signal| signal.queue.is_none()).count()
    }
}

/// Waits until a condition holds, and ends with the value that was seen last.
///
/// `timeout` is in nanoseconds, the ticks of the system's clock.
pub(crate) fn wait(signal: &Signal, condition: Condition, timeout: u64) -> i64 {
    let deadline = Instant::now().checked_add(Duration::from_nanos(timeout));
    let look = || Some(signal.load()).filter(|value| condition.holds(*value));
    pulse::wait(deadline, look).unwrap_or_else(|| signal.load())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_compare_as_their_numbers_say() {
        let holds = |number| [-1, 0, 1].map(|value| Condition::new(number, 0).unwrap().holds(value));
        assert_eq!(holds(0), [false, true, false]);
        assert_eq!(holds(1), [true, false, true]);
        assert_eq!(holds(2), [true, false, false]);
        assert_eq!(holds(3), [false, true, true]);
        assert!(Condition::new(4, 0).is_none());
    }

    #[test]
    fn a_destroyed_signal_is_gone_and_its_handle_is_not_given_again() {
        let signals = Signals::default();
        let first = signals.add(Signal::new(1, None));
        assert!(signals.remove(first).is_some());
        assert!(signals.get(first).is_none());
        assert!(signals.remove(first).is_none());
        assert_ne!(signals.add(Signal::new(1, None)), first);
    }

    #[test]
    fn a_wait_sees_another_thread_complete_the_signal() {
        let signal = Signal::new(1, None);
        std::thread::scope(|scope| {
            scope.spawn(|| signal.complete());
            assert_eq!(wait(&signal, Condition::Equal(0), u64::MAX), 0);
        });
        assert_eq!(
            wait(&signal, Condition::Equal(5), 0),
            0,
            "a wait that is over shows the value"
        );
    }
}
