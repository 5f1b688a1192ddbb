//! How urgent the work of a thread is. It takes no rights to make a thread less urgent; to make it more
//! urgent again does.

/// Has the calling thread run only where a processor has nothing else to do, or others yield theirs; false if
/// the system refuses that. What it starts inherits it.
pub fn run_when_idle() -> bool {
    // SAFETY: the parameter is live during the call.
    unsafe {
        let parameter = std::mem::zeroed::<libc::sched_param>();
        libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameter) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_calling_thread_becomes_idle() {
        // SAFETY: asks about the calling thread.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let before = policy();
        let idle = std::thread::spawn(move || (run_when_idle(), policy()));
        assert_eq!(idle.join().unwrap(), (true, libc::SCHED_IDLE));
        assert_eq!(policy(), before);
    }
}
