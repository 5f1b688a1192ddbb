//! Lets work inside LLVM end before the process's exit handlers tear LLVM down.
//!
//! A thread that is compiling or linking while `exit` runs crashes in LLVM's destroyed state. Handlers run in reverse order of
//! registration. One of ours is registered before LLVM is first used, so that work which has only begun is waited for; another
//! after the first work of each kind has ended, so that it comes before the handlers which LLVM registered meanwhile.

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

/// What LLVM is used for: each leads to places of LLVM that register exit handlers of their own.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Use {
    /// An object is linked.
    Link,
    /// A kernel is compiled in this process.
    Compile,
}

/// Work inside LLVM that `exit` waits for until this is dropped.
pub(crate) struct Work(Use);

/// Starts work inside LLVM; `None` when the process is ending.
pub(crate) fn enter(llvm_use: Use) -> Option<Work> {
    let mut gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
    if gate.closed {
        return None;
    }
    gate.working += 1;
    Some(Work(llvm_use))
}

impl Drop for Work {
    fn drop(&mut self) {
        static LINKED: Once = Once::new();
        static COMPILED: Once = Once::new();
        let first = match self.0 {
            Use::Link => &LINKED,
            Use::Compile => &COMPILED,
        };
        first.call_once(register);
        GATE.lock().unwrap_or_else(PoisonError::into_inner).working -= 1;
        CHANGED.notify_all();
    }
}

/// Makes `exit` wait for work from here on. To be called before LLVM is used.
pub(crate) fn guard_exit() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(register);
}

fn register() {
    // SAFETY: the handler is a function of this library, which is never unloaded: images hold pointers into it.
    unsafe { atexit(close) };
}

extern "C" fn close() {
    crate::guard::guarded((), || {
        let mut gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
        gate.closed = true;
        let _ = CHANGED.wait_timeout_while(gate, PATIENCE, |gate| gate.working > 0);
    });
}
