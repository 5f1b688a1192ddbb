//! What `OFFLOOM_JIT_STATS` asks for: what became of each kernel's launches, written when the process ends.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use offloom_ir::sacrificial_thread::run_on_sacrificial_thread;
use offloom_jit_cache::settings::{SETTINGS, Settings};
use offloom_jit_cache::stats::{Kernel, Statistics, VERSION};
use rustix::system::uname;

use crate::compile::compiler;
use offloom_jit_policy::history::now_us;
use offloom_jit_policy::process::report;
use offloom_jit_policy::process::settings::{from_first_folder, settings};
use offloom_jit_policy::remote;

/// In a forked child another thread of its parent may hold a lock for ever; a network file system may hang.
/// The process ends all the same.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// The process that uses the JIT; 0 before.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// The one that it was forked from, which uses it too; 0: none.
static PARENT: AtomicU32 = AtomicU32::new(0);

/// Remembers that this process uses the JIT: a child that is forked from it writes a file of its own.
pub(crate) fn remember_process() {
    let _ = now_us();
    let _ = PROCESS.compare_exchange(0, std::process::id(), Ordering::Relaxed, Ordering::Relaxed);
}

/// In a forked child: remembers whose it is.
pub(crate) fn remember_fork() {
    let parent = PROCESS.load(Ordering::Relaxed);
    if parent != 0 {
        PARENT.store(parent, Ordering::Relaxed);
        PROCESS.store(std::process::id(), Ordering::Relaxed);
    }
}

/// Writes the file, if one was asked for, about what `kernels` says.
pub(crate) fn write(kernels: fn() -> Vec<Kernel>) {
    let Some(path) = &settings().stats else { return };
    let process = std::process::id();
    // A child of which no handler was told is forked from the one that is remembered.
    let forked_from = match PROCESS.load(Ordering::Relaxed) {
        remembered if remembered == process => PARENT.load(Ordering::Relaxed),
        parent => parent,
    };
    let forked_from = Some(forked_from).filter(|parent| *parent != 0);
    let host = host_name();
    let path = from_first_folder(&file_name(path, process, &host, forked_from.is_some()));
    let statistics = move || {
        let statistics = Statistics {
            version: VERSION,
            offloom: env!("CARGO_PKG_VERSION").to_owned(),
            llvm: compiler().llvm.clone(),
            host: host.to_string_lossy().into_owned(),
            process,
            forked_from,
            command: command(),
            started: started(),
            settings: changed(settings()),
            duration_us: Some(now_us()),
            remote: remote::uses(),
            kernels: kernels(),
        };
        statistics.write(&path)
    };
    match run_on_sacrificial_thread(PATIENCE, statistics) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => report::line(format_args!("OFFLOOM_JIT_STATS: {error}")),
        Err(lost) => report::line(format_args!(
            "OFFLOOM_JIT_STATS: no statistics are written: {lost}"
        )),
    }
}

/// The program's file and its arguments. What is not UTF-8 is replaced.
fn command() -> Vec<String> {
    std::env::args_os()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect()
}

/// When the process began to use the JIT, in seconds since 1970, by the clock as it is now.
fn started() -> Option<u64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Some(now.saturating_sub(Duration::from_micros(now_us())).as_secs())
}

/// The settings that are not the defaults.
fn changed(settings: &Settings) -> BTreeMap<String, String> {
    let default = Settings::default();
    let all = SETTINGS
        .iter()
        .map(|setting| (setting.name, setting.value(settings), setting.value(&default)));
    all.filter(|(_, value, default)| value != default)
        .map(|(name, value, _)| (name.to_owned(), value))
        .collect()
}

/// The name of the machine or container.
fn host_name() -> OsString {
    OsString::from_vec(uname().nodename().to_bytes().to_vec())
}

/// The file for this process: `%p` in the name is its number, which a forked child appends where there is
/// none, and `%h` the machine's name.
fn file_name(path: &Path, process: u32, host: &OsStr, forked: bool) -> PathBuf {
    let process = process.to_string();
    let mut own = Vec::new();
    let mut is_numbered = false;
    // A path need not be text.
    let mut rest = path.as_os_str().as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let (replaced, left) = match rest {
            [b'%', b'p', left @ ..] => (process.as_bytes(), left),
            [b'%', b'h', left @ ..] => (host.as_bytes(), left),
            _ => (std::slice::from_ref(first), behind),
        };
        is_numbered |= rest.starts_with(b"%p");
        own.extend_from_slice(replaced);
        rest = left;
    }
    if forked && !is_numbered {
        own.extend_from_slice(format!(".{process}").as_bytes());
    }
    OsString::from_vec(own).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_a_file_of_its_own() {
        let file_name = |path: &Path, forked| file_name(path, 7, OsStr::new("node"), forked);
        let name = |path: &'static str, forked| file_name(Path::new(path), forked);
        assert_eq!(name("a/s", false), Path::new("a/s"));
        assert_eq!(name("a/s", true), Path::new("a/s.7"));
        assert_eq!(name("a/%p.json", true), Path::new("a/7.json"));
        assert_eq!(name("%p", true), Path::new("7"));
        assert_eq!(name("%p/%p%", false), Path::new("7/7%"));
        assert_eq!(name("%h.%p.%q", true), Path::new("node.7.%q"));
        assert_eq!(name("%h", false), Path::new("node"));
        assert_eq!(name("%h", true), Path::new("node.7"));
        let bytes = |bytes| Path::new(OsStr::from_bytes(bytes));
        assert_eq!(file_name(bytes(b"\xff%p"), true), bytes(b"\xff7"));
        assert_eq!(file_name(bytes(b"\xff"), true), bytes(b"\xff.7"));
    }
}
