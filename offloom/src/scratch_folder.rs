//! A folder for files that nobody is to find later, also where a signal ends the program.

use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use tempfile::TempDir;

/// How often the folder is removed again, and how long to wait before: programs that were started write into
/// it until they end.
const ATTEMPTS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// The folder; removed with this.
#[derive(Debug)]
pub(crate) struct ScratchFolder(TempDir);

impl ScratchFolder {
    /// Makes it where the system has temporary files. At most one in a process.
    ///
    /// # Errors
    /// There is no folder for temporary files, or it cannot be written.
    pub(crate) fn new() -> io::Result<Self> {
        let ignored = ignored_signals();
        let wanted = [SIGHUP, SIGINT, SIGTERM].into_iter();
        let signals = Signals::new(wanted.filter(|signal| ignored >> (signal - 1) & 1 == 0));
        let folder = tempfile::tempdir()?;
        // Without them a signal ends the process as it always does.
        if let Ok(signals) = signals {
            let path = folder.path().to_owned();
            thread::spawn(move || remove_after(signals, &path));
        }
        Ok(Self(folder))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Removes the folder once a signal comes, and ends the process by it.
fn remove_after(mut signals: Signals, folder: &Path) {
    for signal in signals.forever() {
        for _ in 0..ATTEMPTS {
            // Another file may have been made meanwhile.
            match fs::remove_dir_all(folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => thread::sleep(PAUSE),
                _ => break,
            }
        }
        let _ = emulate_default_handler(signal);
    }
}

/// The signals that this process was started to ignore, as `nohup` does: they stay ignored. Bit 0 is
/// signal 1.
pub(crate) fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
