//! A folder for files that nobody is to find later, also where a signal ends the program.

use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use offloom_signals::not_ignored;
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
        let signals = Signals::new(not_ignored(&[SIGHUP, SIGINT, SIGTERM]));
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
