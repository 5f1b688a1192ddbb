//! The log: what was launched, what was wrong, and how the process ended. Faults go to the error stream as
//! well.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the process ends with after a fault that no function can return. No tool of LLVM's uses it.
pub(crate) const FAULT_EXIT: i32 = 86;

/// The log, and what the summary counts.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    file: Option<File>,
    pub(crate) packets: AtomicU64,
    pub(crate) kernels: AtomicU64,
    faults: AtomicU64,
}

impl Journal {
    /// Opens the log, at whose end lines are added.
    ///
    /// # Errors
    ///
    /// Which file cannot be opened.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, String> {
        let open = |path: &Path| {
            let opened = OpenOptions::new().append(true).create(true).open(path);
            opened.map_err(|error| format!("OFFLOOM_VIRTUAL_HSA_LOG={}: {error}", path.display()))
        };
        Ok(Self {
            file: path.map(open).transpose()?,
            ..Self::default()
        })
    }

    /// Adds a line to the log.
    pub(crate) fn line(&self, text: impl fmt::Display) {
        if let Some(mut file) = self.file.as_ref() {
            // One write, so that lines of several threads stay whole. A full disk is no fault of the program.
            let _ = file.write_all(format!("{text}\n").as_bytes());
        }
    }

    /// Tells a fault.
    pub(crate) fn fault(&self, text: impl fmt::Display) {
        self.faults.fetch_add(1, Ordering::Relaxed);
        let line = format!("fault: {text}");
        complain(&line);
        self.line(line);
    }

    /// Tells a fault that no function can return, and ends the process with [`FAULT_EXIT`].
    pub(crate) fn fatal(&self, text: impl fmt::Display) -> ! {
        self.fault(text);
        self.summary("ended by a fault");
        end_process()
    }

    /// Adds the last line.
    pub(crate) fn summary(&self, end: impl fmt::Display) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.line(format_args!(
            "summary: packets={} kernels={} faults={} {end}",
            count(&self.packets),
            count(&self.kernels),
            count(&self.faults),
        ));
    }
}

/// A line on the error stream. Where that is closed, nobody reads it.
pub(crate) fn complain(text: &str) {
    let line = format!("virtual HSA: {text}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Ends the process without the program's exit handlers: they would wait for what is wrong.
pub(crate) fn end_process() -> ! {
    // SAFETY: has no conditions, and does not come back.
    unsafe { libc::_exit(FAULT_EXIT) }
}
