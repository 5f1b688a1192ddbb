//! Lets work inside LLVM end before the process's exit handlers tear LLVM down.
//!
//! A thread that is compiling or linking while `exit` runs crashes in LLVM's destroyed state. Handlers run in reverse order of
//! registration, so ours must be registered after LLVM's own are.

use std::sync::{Condvar, Mutex, Once, PoisonError};

use std::time::Duration;

use libc::atexit;

/// Longer than any sound compile; a hung one must not keep the process from ending.
const PATIENCE: Duration = Duration::from_secs(10);

static GATE: Mutex<Gate> = Mutex::new(Gate {
    working: 0,
    closed: false,
});
static CHANGED: Condvar = Condvar::new();

struct Gate {
    working: usize,
    closed: bool,
}

/// Work inside LLVM that `exit` waits for until this is dropped.
pub(crate) struct Work(());

/// Starts work inside LLVM; `None` when the process is ending.
pub(crate) fn enter() -> Option<Work> {
    let mut gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
    if gate.closed {
        return None;
    }
    gate.working += 1;
    Some(Work(()))
}

impl Drop for Work {
    fn drop(&mut self) {
        GATE.lock().unwrap_or_else(PoisonError::into_inner).working -= 1;
        CHANGED.notify_all();
    }
}

/// Makes `exit` wait for work from here on. To be called after LLVM has been used.
pub(crate) fn guard_exit_once() {
    static REGISTER: Once = Once::new();
    // SAFETY: the handler is a function of this library, which is never unloaded: images hold pointers into it.
    REGISTER.call_once(|| unsafe {
        atexit(close);
    });
}

extern "C" fn close() {
    crate::guard::guarded((), || {
        let mut gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
        gate.closed = true;
        let _ = CHANGED.wait_timeout_while(gate, PATIENCE, |gate| gate.working > 0);
    });
}
