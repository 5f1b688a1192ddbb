//! Signals that a program was started to ignore: by `nohup`, by a shell's `trap`, by a program that wants to
//! hear nothing of its children.

use std::fs;
use std::sync::Arc;

use signal_hook::consts::SIGCHLD;

/// Of these signals those that this process was not started to ignore. The others are to stay ignored, by the
/// programs that it starts too.
pub fn not_ignored(signals: &[i32]) -> Vec<i32> {
    let ignored = ignored();
    let taken = signals.iter().copied();
    taken.filter(|signal| !contains(ignored, *signal)).collect()
}

/// Ends the ignorance of SIGCHLD that this process may have been started in: children could not be waited
/// for. Programs that are started afterwards have the signal's default.
pub fn take_notice_of_children() {
    if contains(ignored(), SIGCHLD) {
        // A handler, since that alone can be set without unsafe code; nobody reads what it notes. Without it
        // waiting fails, as it would have done.
        let _ = signal_hook::flag::register(SIGCHLD, Arc::default());
    }
}

/// The ignored signals. Bit 0 is signal 1.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

const fn contains(mask: u64, signal: i32) -> bool {
    mask >> (signal - 1) & 1 == 1
}
