//! Compiles beside threads that want all of a processor.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use offloom_abi::jit_compile::{Priority, Reply};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::device_code::DeviceCode;
use crate::worker::Worker;

/// A compile at idle priority has less than a thirtieth beside so many, at whatever niceness all of this
/// runs.
const MANY: usize = 16;

/// Threads that share a processor with the thread that started them, until this is dropped.
struct Busy {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Busy {
    /// Binds the calling thread, and what it starts from now on, to one of its processors.
    fn start(threads: usize) -> Self {
        let mine = sched_getaffinity(None).expect("a set of processors");
        let first = (0..CpuSet::MAX_CPU).find(|number| mine.is_set(*number));
        let mut one = CpuSet::new();
        one.set(first.expect("a processor"));
        sched_setaffinity(None, &one).expect("it may use less");
        let is_over = Arc::new(AtomicBool::new(false));
        let spin = || {
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    spin_loop();
                }
            })
        };
        let threads = (0..threads).map(|_| spin()).collect();
        Self { is_over, threads }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().expect("it spins");
        }
    }
}

#[test]
fn an_idle_compile_that_gets_hardly_any_time_is_given_up() {
    let code = DeviceCode::compile();
    let mut worker = {
        let _busy = Busy::start(MANY);
        let mut worker = Worker::start(Priority::Idle);
        worker.ask(&code.bitcode, code.kernel("far_fields"), 3, 600_000);
        assert_eq!(worker.answer(), Reply::Starved);
        worker
    };
    assert!(!worker.process.wait().expect("it ends").success());
}
