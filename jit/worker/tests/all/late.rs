//! A compile that has not ended in time is the kernel's failure only where it was at work.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use offloom_abi::jit_compile::{Priority, Reply};
use rustix::process::{Pid, Signal, kill_process};

use crate::device_code::DeviceCode;
use crate::worker::Worker;

/// Milliseconds that compiles have.
const DEADLINE: u32 = 2000;

/// A compile may be over before the worker is stopped.
const TRIES: u32 = 20;

#[test]
fn a_compile_that_was_stopped_is_not_the_kernels_failure() {
    let code = DeviceCode::compile();
    for _ in 0..TRIES {
        let mut worker = Worker::start(Priority::Program);
        let process = Pid::from_child(&worker.process);
        worker.ask(&code.bitcode, code.kernel("far_fields"), 3, DEADLINE);
        wait_for_the_compile(process);
        kill_process(process, Signal::STOP).expect("it is there");
        sleep(Duration::from_millis(u64::from(DEADLINE) + 200));
        kill_process(process, Signal::CONT).expect("it is there");
        match worker.answer() {
            Reply::Unable { reason } => {
                assert!(
                    reason.contains(" ms of processor time in the 2000 ms that it may take"),
                    "{reason}"
                );
                assert!(!worker.process.wait().expect("it ends").success());
                return;
            }
            Reply::Object { .. } => worker.end(),
            other @ (Reply::Failure { .. } | Reply::Starved) => panic!("{other:?}"),
        }
    }
    panic!("{TRIES} compiles were over before the worker was stopped");
}

/// Until the thread that compiles has been at work for longer than its start takes.
fn wait_for_the_compile(process: Pid) {
    const START: u64 = 3_000_000;
    let begin = Instant::now();
    let compiles = |thread: &Path| {
        let name = fs::read_to_string(thread.join("comm")).unwrap_or_default();
        let at_work = fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
        let nanoseconds = at_work.split(' ').next().and_then(|word| word.parse().ok());
        name.trim_end() == "offloom-jit" && nanoseconds > Some(START)
    };
    let is_there = || {
        let mut threads = fs::read_dir(format!("/proc/{process}/task")).expect("it is there");
        threads.any(|thread| compiles(&thread.expect("a thread").path()))
    };
    while !is_there() {
        assert!(begin.elapsed() < Duration::from_secs(60), "nothing is compiled");
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_compile_that_takes_too_long_is_the_kernels_failure() {
    let code = DeviceCode::compile();
    let mut worker = Worker::start(Priority::Program);
    worker.ask(&code.bitcode, code.kernel("far_fields"), 3, 0);
    let answer = worker.answer();
    let Reply::Failure { reason, last: true } = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(
        reason,
        "it took longer than 0 ms, as OFFLOOM_JIT_TIME_LIMIT allows"
    );
    assert!(!worker.process.wait().expect("it ends").success());
}
