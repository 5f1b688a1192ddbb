//! Threads that the program they run in does not notice: no signal is delivered on them, they are not
//! scheduled in real time, and they do not end the process.
//!
//! The C library calls `exit` on a thread that ends as the last of the process. A thread that an exit handler
//! has started is that, if the handler runs because the last thread ended: the thread that started it does
//! not count any more. Handlers would then run on both at once, so such a thread waits (`outlive`).
#![expect(unsafe_code, reason = "the C library's calls about threads and signals")]

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::fs;
use std::io;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
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
        let mut all = mem::zeroed::<libc::sigset_t>();
        let mut before = mem::zeroed::<libc::sigset_t>();
        // Work that begets work: all of it outlives the thread of the program.
        let starter = OUTLIVED.get().unwrap_or_else(|| libc::gettid());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let thread = thread::Builder::new()
            .name("offloom-jit".to_owned())
            .stack_size(STACK_SIZE)
            .spawn(move || {
                outlive(starter);
                leave_real_time();
                body();
            });
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
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
            let parameter = mem::zeroed::<libc::sched_param>();
            libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const parameter);
        }
    }
}

thread_local! {
    /// The thread that this one outlives in `exit`; none on the program's own threads.
    static OUTLIVED: Cell<Option<libc::pid_t>> = const { Cell::new(None) };
}

/// One more than the key of a value that each thread started here has; 0: there is none yet. The C library
/// destroys such values when all that Rust and C++ keep for a thread is gone already, as the last thing
/// before it may call `exit`.
// Not a lock: a thread that a forked child does not have could hold it.
static AT_END: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" {
    fn __cxa_thread_atexit_impl(
        destructor: unsafe extern "C" fn(*mut c_void),
        argument: *mut c_void,
        library: *mut c_void,
    ) -> c_int;
}

/// Has the calling thread wait for `other` to end if the C library calls `exit` on it.
///
/// Exit handlers can't wait instead: in C libraries before 2.41, `exit` on several threads reads and frees
/// one list, which the last handler's return can find freed. Destructors of a thread's objects run before
/// `exit` looks at the list, so one is left over for it.
fn outlive(other: libc::pid_t) {
    OUTLIVED.set(Some(other));
    if let Some(key) = key_of_end() {
        // SAFETY: the key exists. Any value but null has the destructor called.
        unsafe { libc::pthread_setspecific(key, ptr::without_provenance(1)) };
    }
}

/// The key behind [`AT_END`], made when first asked for; `None` where the process has none left.
fn key_of_end() -> Option<libc::pthread_key_t> {
    if let Some(key) = AT_END.load(Ordering::Acquire).checked_sub(1) {
        return Some(key);
    }
    let mut key = 0;
    // SAFETY: fills the key. The destructor is a function of a library that is never unloaded.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(leave_waiting_to_exit)) } != 0 {
        return None;
    }
    let first = AT_END.compare_exchange(0, key + 1, Ordering::AcqRel, Ordering::Acquire);
    Some(first.map_or_else(
        |earlier| {
            // SAFETY: this thread made it, and no one else has seen it.
            unsafe { libc::pthread_key_delete(key) };
            earlier - 1
        },
        |_| key,
    ))
}

unsafe extern "C" fn leave_waiting_to_exit(_value: *mut c_void) {
    // The C library never frees the entry of a destructor that it does not come to, some 40 bytes.
    without_leak_checks(|| {
        // SAFETY: both addresses are in this library, which is never unloaded.
        unsafe {
            __cxa_thread_atexit_impl(
                wait_in_exit,
                ptr::null_mut(),
                (&raw const AT_END).cast_mut().cast(),
            )
        };
    });
}

unsafe extern "C" fn wait_in_exit(_argument: *mut c_void) {
    let Some(other) = OUTLIVED.get() else { return };
    while runs(other) {
        thread::sleep(PAUSE);
    }
    // It is this thread that is in `exit` now: what its handlers start outlives it.
    OUTLIVED.set(None);
}

/// Runs `body` so that a leak checker that is part of the program does not report what it allocates.
fn without_leak_checks(body: impl FnOnce()) {
    type Switch = unsafe extern "C" fn();
    let [disable, enable] = [c"__lsan_disable", c"__lsan_enable"].map(|name| {
        // SAFETY: the name ends with its zero. What is found under it has this type, by
        // `sanitizer/lsan_interface.h`.
        unsafe {
            mem::transmute::<*mut c_void, Option<Switch>>(libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()))
        }
    });
    let switches = disable.zip(enable);
    // SAFETY: as the leak checker's header says: on one thread, in this order.
    unsafe {
        if let Some((disable, _)) = switches {
            disable();
        }
        body();
        if let Some((_, enable)) = switches {
            enable();
        }
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
