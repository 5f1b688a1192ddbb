//! What is left of a process that crashes.
#![expect(
    clippy::unwrap_used,
    reason = "a test whose process does not start has failed"
)]

use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio, abort};
use std::thread;
use std::time::Duration;

use offloom_ir::crash_report;
use offloom_ir::sacrificial_thread::run_on_sacrificial_thread;
use rustix::process::Signal;
use rustix::stdio::stdin;

/// Says to this test's own program, run as another process, how to end.
const HOW: &str = "TEST_HOW_TO_CRASH";

fn deeper(depth: u64) -> u64 {
    if std::hint::black_box(depth) == u64::MAX {
        return 0;
    }
    1 + deeper(depth + 1)
}

fn crash(how: String) {
    let ended = run_on_sacrificial_thread(Duration::from_secs(60), move || {
        crash_report::leave(stdin(), |signal| format!("by {signal}").into_bytes());
        match how.as_str() {
            "stack" => println!("{}", deeper(0)),
            "abort" => abort(),
            "elsewhere" => {
                // The crash of a thread that has no crash report.
                let _ = thread::spawn(|| abort()).join();
            }
            _ => {}
        }
    });
    assert!(ended.is_ok());
}

/// What a process said that ended in this way, and the signal that it ended by.
fn crash_report_of(how: &str) -> (String, Option<i32>) {
    let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_crash_is_told_of_before_the_process_ends_by_it"])
        .env(HOW, how)
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = process.wait().unwrap();
    let mut words = String::new();
    ours.read_to_string(&mut words).unwrap();
    (words, status.signal())
}

#[test]
fn a_crash_is_told_of_before_the_process_ends_by_it() {
    if let Ok(how) = std::env::var(HOW) {
        return crash(how);
    }
    let ended_by = |signal: Signal| Some(signal.as_raw());
    assert_eq!(
        crash_report_of("abort"),
        ("by SIGABRT".to_owned(), ended_by(Signal::ABORT))
    );
    assert_eq!(
        crash_report_of("stack"),
        ("by SIGSEGV".to_owned(), ended_by(Signal::SEGV))
    );
    assert_eq!(
        crash_report_of("elsewhere"),
        (String::new(), ended_by(Signal::ABORT))
    );
    assert_eq!(crash_report_of("not at all"), (String::new(), None));
}
