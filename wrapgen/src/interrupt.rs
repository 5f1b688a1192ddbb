//! Ends work in order when the user or the system asks for it by a signal: child processes stop, temporary
//! files go, no output is left half written, and then the process ends by that signal.
//!
//! A thread waits for signals. It only notes the signal and passes it on to the child processes: the main
//! thread then finds its child ended, returns an error, and so removes what it made, as after any other
//! error.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use offloom_signals::not_ignored;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU};
use signal_hook::iterator::Signals;

use crate::error::{Error, Result};

/// The signal that came, or 0.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Child processes that run.
static CHILDREN: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// The signals that ask a process to end and that it can take: those of terminals and shells, and those by
/// which batch systems announce the end of a job.
const SIGNALS: [i32; 8] = [
    SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU,
];

/// Starts to take signals. To be called before anything is made that a signal must not leave behind; costs a
/// thread once.
pub(crate) fn watch() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        // Without the thread a signal ends the process as it always does.
        let Ok(mut signals) = Signals::new(not_ignored(&SIGNALS)) else {
            return;
        };
        std::thread::spawn(move || {
            for signal in &mut signals {
                let children = children();
                SIGNAL.store(signal, Ordering::SeqCst);
                for &child in &*children {
                    // One that has just ended needs no signal.
                    let _ = kill_process(child, Signal::TERM);
                }
            }
        });
    });
}

/// An error if a signal has come.
///
/// # Errors
/// [`Error::Interrupted`].
pub(crate) fn check() -> Result<()> {
    match SIGNAL.load(Ordering::SeqCst) {
        0 => Ok(()),
        signal => Err(Error::Interrupted { signal }),
    }
}

/// Runs a program to its end; a signal to this process ends it, too.
pub(crate) fn status(command: &mut Command) -> io::Result<ExitStatus> {
    let mut child = {
        // Between start and entry in the list no signal may be handled.
        let mut children = children();
        let child = command.spawn()?;
        children.extend(pid(&child));
        child
    };
    if SIGNAL.load(Ordering::SeqCst) != 0 {
        child.kill()?;
    }
    if let Some(pid) = pid(&child) {
        // The number is taken from the list while it still belongs to the child.
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        children().retain(|&child| child != pid);
    }
    child.wait()
}

/// Ends the process by the signal that came, if one came: the caller sees why.
pub(crate) fn end() {
    let signal = SIGNAL.load(Ordering::SeqCst);
    if signal != 0 {
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
}

fn children() -> MutexGuard<'static, Vec<Pid>> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pid(child: &Child) -> Option<Pid> {
    Pid::from_raw(child.id().cast_signed())
}
