//! Threads that the program they run in does not notice: no signal is delivered on them, they are not
//! scheduled in real time, and they do not end the process.
//!
//! The C library calls `exit` on a thread that ends as the last of the process. A thread that an exit handler
//! has started is that, if the handler runs because the last thread ended: the thread that started it does
//! not count any more. Handlers would then run on both at once, so such a thread waits (`OutliveStarter`).
#![expect(unsafe_code, reason = "the C library's calls about threads and signals")]

use std::cell::Cell;
use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

/// LLVM recurses deeply over large functions.
const STACK_SIZE: usize = 64 << 20;

/// How often is looked whether the thread that started this one still runs.
const PAUSE: Duration = Duration::from_millis(1);

/// Tells how long a thread has been at work, to any thread.
#[derive(Debug, Clone, Copy)]
pub struct ProcessorClock(libc::clockid_t);

impl ProcessorClock {
    /// The calling thread's.
    pub fn of_this_thread() -> Self {
        let mut clock = libc::CLOCK_THREAD_CPUTIME_ID;
        // SAFETY: fills the number. What cannot be had is another thread's own, which tells less than half.
        unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
        Self(clock)
    }

    /// How long it has been at work; a thread that is gone: nothing.
    pub fn now(&self) -> Duration {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: fills the record.
        unsafe { libc::clock_gettime(self.0, &raw mut time) };
        Duration::new(
            u64::try_from(time.tv_sec).unwrap_or(0),
            u32::try_from(time.tv_nsec).unwrap_or(0),
        )
    }
}

/// Starts a thread on which no signal is delivered, which is not scheduled in real time, and which does not
/// end the process while the calling thread runs.
///
/// # Errors
/// When the system has no thread left.
pub fn spawn_without_signals(body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    // SAFETY: both sets are local and initialised by the calls; the mask is restored before returning; a
    // thread has an identifier.
    unsafe {
        let mut all = std::mem::zeroed::<libc::sigset_t>();
        let mut before = std::mem::zeroed::<libc::sigset_t>();
        let starter = libc::gettid();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let thread = thread::Builder::new()
            .name("offloom-jit".to_owned())
            .stack_size(STACK_SIZE)
            .spawn(move || {
                // Not before: what the thread would have got is dropped on this one if there is no thread to
                // start.
                let _starter = OutliveStarter(starter);
                leave_real_time();
                body();
            });
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        thread.map(drop)
    }
}

/// Has the calling thread scheduled as others are if it is scheduled in real time, which it inherits from the
/// thread that started it: work that may take seconds would keep the rest of the machine waiting. Neither
/// allocates nor locks.
pub fn leave_real_time() {
    // SAFETY: the parameter is live during the call. Leaving needs no rights, and what cannot be left stays.
    unsafe {
        let policy = libc::sched_getscheduler(0) & !libc::SCHED_RESET_ON_FORK;
        if matches!(policy, libc::SCHED_FIFO | libc::SCHED_RR) {
            let parameter = std::mem::zeroed::<libc::sched_param>();
            libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const parameter);
        }
    }
}

/// The thread that started this one. Once dropped, an `exit` that this thread's end brings about waits as
/// long as that one runs: it is then inside another `exit`.
struct OutliveStarter(libc::pid_t);

thread_local! {
    static STARTER: Cell<Option<libc::pid_t>> = const { Cell::new(None) };
}

impl Drop for OutliveStarter {
    fn drop(&mut self) {
        STARTER.set(Some(self.0));
        // Each time, so that it comes before what was registered since.
        // SAFETY: the handler is a function of a library that is never unloaded.
        unsafe { libc::atexit(outlive_starter_at_exit) };
    }
}

extern "C" fn outlive_starter_at_exit() {
    outlive_starter();
}

/// For exit handlers. Where this thread is one that has done its work, waits until the thread that started it
/// has ended: that one is in another `exit`. Does nothing on other threads.
pub fn outlive_starter() {
    let Some(starter) = STARTER.get() else { return };
    while runs(starter) {
        thread::sleep(PAUSE);
    }
}

/// Whether a thread of this process has not ended. A process's first thread stays as a zombie.
fn runs(thread: libc::pid_t) -> bool {
    let state = fs::read(format!("/proc/self/task/{thread}/stat"));
    state.is_ok_and(|state| {
        // The name, in parentheses, may hold anything, which need not be UTF-8.
        let state = String::from_utf8_lossy(&state);
        let behind_name = state.rsplit(')').next().unwrap_or_default();
        !behind_name.trim_start().starts_with(['Z', 'X'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_thread_runs_until_it_ends_whatever_its_name_is() {
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            // A name cut inside a character.
            let name = c"\xc3) Z (\xe2\x82";
            // SAFETY: the name lives during the call.
            let named = unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
            // SAFETY: every thread has an identifier.
            tell.send((named, unsafe { libc::gettid() })).unwrap();
            let _ = ended.recv();
        });
        let (named, identifier) = told.recv().unwrap();
        assert_eq!(named, 0);
        assert!(runs(identifier));
        drop(end);
        thread.join().unwrap();
        // Joined, it may not be gone from the system yet.
        while runs(identifier) {
            thread::sleep(PAUSE);
        }
    }
}
