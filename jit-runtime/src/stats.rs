//! What `OFFLOOM_JIT_STATS` asks for: what became of each kernel's launches, written when the process ends.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use offloom_ir::expendable_thread::run_on_expendable_thread;
use offloom_jit_cache::stats::{Kernel, Statistics, VERSION};

use crate::history::now_us;
use crate::kernel::llvm_version;
use crate::report;
use crate::settings::{from_first_folder, settings};

/// In a forked child another thread of its parent may hold a lock for ever; a network file system may hang. The process ends all
/// the same.
const PATIENCE: Duration = Duration::from_secs(5);

/// The process that the settings were first needed in; 0 before.
static FIRST_PROCESS: AtomicU32 = AtomicU32::new(0);

/// Remembers that this process uses the JIT: a child that is forked from it writes a file of its own.
pub(crate) fn remember_process() {
    let _ = now_us();
    let _ = FIRST_PROCESS.compare_exchange(0, std::process::id(), Ordering::Relaxed, Ordering::Relaxed);
}

/// Writes the file, if one was asked for, about what `kernels` says.
pub(crate) fn write(kernels: fn() -> Vec<Kernel>) {
    let Some(path) = &settings().stats else { return };
    let process = std::process::id();
    let first = FIRST_PROCESS.load(Ordering::Relaxed);
    let forked_from = Some(first).filter(|first| *first != process);
    let path = from_first_folder(&file_name(path, process, forked_from.is_some()));
    let statistics = move || {
        let statistics = Statistics {
            version: VERSION,
            offloom: env!("CARGO_PKG_VERSION").to_owned(),
            llvm: llvm_version(),
            process,
            forked_from,
            duration_us: Some(now_us()),
            kernels: kernels(),
        };
        statistics.write(&path)
    };
    match run_on_expendable_thread(PATIENCE, statistics) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => report::line(format_args!("OFFLOOM_JIT_STATS: {error}")),
        Err(lost) => report::line(format_args!(
            "OFFLOOM_JIT_STATS: no statistics are written: {lost}"
        )),
    }
}

/// The file for this process: `%p` in the name is its number, which a forked child appends where there is none.
fn file_name(path: &std::path::Path, process: u32, forked: bool) -> PathBuf {
    const NUMBER: &[u8] = b"%p";
    let mut own = Vec::new();
    // A path need not be text.
    let mut rest = path.as_os_str().as_bytes();
    while let Some(at) = rest.windows(NUMBER.len()).position(|part| part == NUMBER) {
        own.extend_from_slice(&rest[..at]);
        own.extend_from_slice(process.to_string().as_bytes());
        rest = &rest[at + NUMBER.len()..];
    }
    let is_named = !own.is_empty();
    own.extend_from_slice(rest);
    if forked && !is_named {
        own.extend_from_slice(format!(".{process}").as_bytes());
    }
    OsString::from_vec(own).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::path::Path;

    #[test]
    fn each_process_has_a_file_of_its_own() {
        assert_eq!(file_name(Path::new("a/s"), 7, false), Path::new("a/s"));
        assert_eq!(file_name(Path::new("a/s"), 7, true), Path::new("a/s.7"));
        assert_eq!(file_name(Path::new("a/%p.json"), 7, true), Path::new("a/7.json"));
        assert_eq!(file_name(Path::new("%p/%p%"), 7, false), Path::new("7/7%"));
        let bytes = |bytes| Path::new(OsStr::from_bytes(bytes));
        assert_eq!(file_name(bytes(b"\xff%p"), 7, true), bytes(b"\xff7"));
        assert_eq!(file_name(bytes(b"\xff"), 7, true), bytes(b"\xff.7"));
    }
}
