//! A process that can start no thread. By itself, as the limit is that of the whole process.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use offloom_thread::{outlive_starter, spawn_without_signals};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

#[test]
fn who_could_start_no_thread_waits_for_none_at_its_end() {
    let (ended, has_ended) = mpsc::channel();
    thread::spawn(move || {
        let before = getrlimit(Resource::As);
        // Below what is in use: nothing more can be mapped, a thread's stack least of all.
        let nothing = Rlimit {
            current: Some(1 << 20),
            maximum: before.maximum,
        };
        setrlimit(Resource::As, nothing).unwrap();
        let started = spawn_without_signals(|| ());
        setrlimit(Resource::As, before).unwrap();
        outlive_starter();
        ended.send(started.is_err()).unwrap();
    });
    assert_eq!(has_ended.recv_timeout(Duration::from_secs(60)), Ok(true));
}
