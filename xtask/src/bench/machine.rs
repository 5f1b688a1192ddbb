//! What the measurements were made on.

use std::fmt::{self, Display, Formatter};
use std::fs;
use std::thread;

use serde::Serialize;

/// The machine, as far as it matters to times.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Machine {
    /// The processor's name.
    processor: String,
    /// How many threads it runs at a time.
    parallelism: usize,
    /// The threads that programs may use on the device.
    threads: u32,
    /// How many other things wanted to run at the start: the load of the last minute.
    load_before: f64,
    /// The same at the end; 0 until then.
    load_after: f64,
}

impl Machine {
    /// Looks at this machine, before anything is measured.
    pub(super) fn look(threads: u32) -> Self {
        Self {
            processor: processor(),
            parallelism: thread::available_parallelism().map_or(1, usize::from),
            threads,
            load_before: load(),
            load_after: 0.0,
        }
    }

    /// How many threads it runs at a time.
    pub(super) const fn parallelism(&self) -> usize {
        self.parallelism
    }

    /// Notes that everything was measured.
    pub(super) fn look_again(&mut self) {
        self.load_after = load();
    }
}

/// The processor's name.
pub(crate) fn processor() -> String {
    let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = information
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or_else(|| "unknown processor".to_owned(), |(_, name)| name.to_owned())
}

/// How many things wanted to run in the last minute, on average.
pub(crate) fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|word| word.parse().ok()).unwrap_or_default()
}

impl Display for Machine {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}, {} hardware threads; programs use {} on the device. Load of the machine before: {:.1}, at the end: {:.1} \
             (the measured programs themselves make 1).",
            self.processor, self.parallelism, self.threads, self.load_before, self.load_after
        )
    }
}
