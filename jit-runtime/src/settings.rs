//! The environment, read once.

use std::ffi::OsStr;
use std::sync::OnceLock;

/// What the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    /// `OFFLOOM_JIT=off`: kernels stay ahead of time.
    pub(crate) off: bool,
    /// `OFFLOOM_JIT_LOG=1`: one line per compile and per link, and how often each variant ran.
    pub(crate) log: bool,
    /// `OFFLOOM_JIT_STRICT=1`: a failure ends the process.
    pub(crate) strict: bool,
    /// `OFFLOOM_JIT_WORKER=off`: compiles run in the program itself.
    pub(crate) worker: bool,
    /// How long a compile may take, in milliseconds.
    pub(crate) deadline: u32,
    /// Memory that the worker process may use, in MiB of address space.
    pub(crate) memory: u32,
    /// The worker process's niceness.
    pub(crate) niceness: u32,
}

/// The settings of this process.
pub(crate) fn settings() -> Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    *SETTINGS.get_or_init(|| Settings::read(|name| std::env::var_os(name)))
}

impl Settings {
    fn read<S: AsRef<OsStr>>(variable: impl Fn(&str) -> Option<S>) -> Self {
        let is = |name: &str, value: &str| variable(name).is_some_and(|found| found.as_ref() == value);
        Self {
            off: is("OFFLOOM_JIT", "off"),
            log: is("OFFLOOM_JIT_LOG", "1"),
            strict: is("OFFLOOM_JIT_STRICT", "1"),
            worker: !is("OFFLOOM_JIT_WORKER", "off"),
            deadline: 10_000,
            memory: 4096,
            niceness: 5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Settings;

    #[test]
    fn only_the_documented_values_switch_something_on() {
        let with = |name: &'static str, value: &'static str| {
            Settings::read(move |asked: &str| (asked == name).then_some(value))
        };
        let nothing = Settings::read(|_: &str| None::<&str>);
        assert!(!nothing.off && !nothing.log && !nothing.strict);
        assert!(with("OFFLOOM_JIT", "off").off);
        assert!(!with("OFFLOOM_JIT", "sync").off);
        assert!(with("OFFLOOM_JIT_LOG", "1").log);
        assert!(with("OFFLOOM_JIT_STRICT", "1").strict);
        assert!(nothing.worker && !with("OFFLOOM_JIT_WORKER", "off").worker);
    }
}
