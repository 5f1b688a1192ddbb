//! The environment, read once.

use std::ffi::OsStr;
use std::sync::OnceLock;

use offloom_jit_cache::tracker;

/// When variants are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// At the launch that first wants one, which waits for it.
    Sync,
    /// In the background, while launches run what there is.
    Async,
}

/// What variants are specialised to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Specialize {
    /// Values of scalar arguments.
    pub(crate) arguments: bool,
    /// Alignment of pointers.
    pub(crate) alignment: bool,
    /// Contents of small mapped objects.
    pub(crate) contents: bool,
}

/// What the user asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Settings {
    /// `OFFLOOM_JIT=off`: kernels stay ahead of time.
    pub(crate) off: bool,
    /// `OFFLOOM_JIT=sync` or `async`, the default.
    pub(crate) mode: Mode,
    /// `OFFLOOM_JIT_SPECIALIZE=args,align,contents`, the default; any part of it, or `none`.
    pub(crate) specialize: Specialize,
    /// When an argument is no longer specialised.
    pub(crate) tracker: tracker::Limits,
    /// `OFFLOOM_JIT_RETIRE=off`: variants are not compared with the ahead-of-time body, and all are kept.
    pub(crate) retire: bool,
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
        let specialize = variable("OFFLOOM_JIT_SPECIALIZE");
        let specialize = specialize.as_ref().and_then(|list| list.as_ref().to_str());
        let specializes = |part: &str| specialize.is_none_or(|list| list.split(',').any(|item| item == part));
        Self {
            specialize: Specialize {
                arguments: specializes("args"),
                alignment: specializes("align"),
                contents: specializes("contents"),
            },
            off: is("OFFLOOM_JIT", "off"),
            mode: if is("OFFLOOM_JIT", "sync") {
                Mode::Sync
            } else {
                Mode::Async
            },
            tracker: tracker::Limits {
                threshold: 8,
                ratio: 0.5,
            },
            retire: !is("OFFLOOM_JIT_RETIRE", "off"),
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
        assert!(nothing.specialize.alignment && nothing.specialize.arguments);
        let some = with("OFFLOOM_JIT_SPECIALIZE", "args,contents").specialize;
        assert!(some.arguments && some.contents && !some.alignment);
        assert!(!with("OFFLOOM_JIT_SPECIALIZE", "none").specialize.arguments);
        assert!(nothing.worker && !with("OFFLOOM_JIT_WORKER", "off").worker);
    }
}
