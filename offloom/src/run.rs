//! `offloom run`: runs a program as it is, has it write statistics, and explains them.
//!
//! The program's streams are its own: what is said of it is on the error stream, when it has ended. It ends
//! this process as it ended: with its status, or by its signal.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use offloom_signals::not_ignored;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, kill_process, setrlimit, waitid,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::emulate_default_handler;
use signal_hook::low_level::siginfo::{Cause, Origin};
use tempfile::TempDir;

use crate::error::{Error, Result, warn};
use crate::explain;
use crate::names::Naming;

/// Signals by which others ask something of the program, and find this process in its place.
const PASSED_ON: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];
/// What a shell ends with for a program that is not there, and for one that cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_RUN: u8 = 126;

/// The program, while it has a number that is its own.
static RUNNING: Mutex<Option<Pid>> = Mutex::new(None);

/// What is run.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Keep the statistics in this folder, which is made; each process has a file.
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,

    #[command(flatten)]
    naming: Naming,

    /// The program and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    command: Vec<OsString>,
}

/// Where the processes of the program write.
enum Folder {
    /// Removed afterwards.
    Scratch(TempDir),
    /// The user's.
    Kept(PathBuf),
}

impl Folder {
    fn new(keep: Option<&Path>) -> Result<Self> {
        let Some(kept) = keep else {
            let folder = tempfile::tempdir().map_err(|source| Error::Statistics {
                path: std::env::temp_dir(),
                source,
            })?;
            return Ok(Self::Scratch(folder));
        };
        let failed = |source| Error::Statistics {
            path: kept.to_owned(),
            source,
        };
        fs::create_dir_all(kept).map_err(failed)?;
        // The program may go elsewhere before it writes.
        Ok(Self::Kept(kept.canonicalize().map_err(failed)?))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Scratch(folder) => folder.path(),
            Self::Kept(folder) => folder,
        }
    }
}

/// Runs the program; returns what this process is to end with.
///
/// # Errors
/// There is no place for the statistics.
pub(crate) fn run(arguments: &RunArgs, json: bool) -> Result<ExitCode> {
    let Some((program, others)) = arguments.command.split_first() else {
        return Ok(ExitCode::FAILURE);
    };
    let folder = Folder::new(arguments.keep.as_deref())?;
    let before = files_in(folder.path());
    pass_signals_on();
    let mut command = Command::new(program);
    command
        .args(others)
        .env("OFFLOOM_JIT_STATS", folder.path().join("%h.%p.json"));
    let status = match start(&mut command).and_then(wait) {
        Ok(status) => status,
        Err(error) => {
            warn(format_args!("cannot run `{}`: {error}", program.display()));
            return Ok(ExitCode::from(match error.kind() {
                io::ErrorKind::NotFound => NOT_FOUND,
                _ => NOT_RUN,
            }));
        }
    };
    let mut written = files_in(folder.path());
    written.retain(|path| !before.contains(path));
    if written.is_empty() {
        let why = match status.signal() {
            Some(signal) => format!("signal {signal} ended it before it could"),
            None => "nothing of it was linked with --jit, liboffloom_jit.so was not found, OFFLOOM_JIT is off, or it ended by _exit or exec; \
                     `offloom doctor` tells whether the JIT works here"
                .to_owned(),
        };
        warn(format_args!(
            "`{}` has written no statistics: {why}",
            program.display()
        ));
    } else {
        match explain::run(&written, arguments.naming, json) {
            Ok(text) => explain::say(&text, json),
            Err(error) => warn(error),
        }
    }
    drop(folder);
    Ok(end_as(status))
}

/// The files of a folder, by name.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    files
}

fn running() -> MutexGuard<'static, Option<Pid>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the program. A signal that comes meanwhile finds it.
fn start(command: &mut Command) -> io::Result<Child> {
    let mut running = running();
    let child = command.spawn()?;
    *running = Some(Pid::from_child(&child));
    Ok(child)
}

fn wait(mut child: Child) -> io::Result<ExitStatus> {
    // Its number may be another process's once it has been waited for.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(Pid::from_child(&child)), options) {}
    *running() = None;
    child.wait()
}

/// Passes signals on to the program that others send to this process. What the terminal sends, the program
/// gets itself. Signals that this process was started to ignore stay ignored, by the program too.
fn pass_signals_on() {
    // Without them a signal ends this process alone.
    let Ok(mut signals) = SignalsInfo::<WithOrigin>::new(not_ignored(&PASSED_ON)) else {
        return;
    };
    thread::spawn(move || {
        for Origin { signal, cause, .. } in &mut signals {
            let running = running();
            if !matches!(cause, Cause::Kernel)
                && let (Some(pid), Some(signal)) = (*running, Signal::from_named_raw(signal))
            {
                // One that has just ended needs no signal.
                let _ = kill_process(pid, signal);
            }
        }
    });
}

/// Ends this process by the signal that ended the program; or returns its status.
fn end_as(status: ExitStatus) -> ExitCode {
    let Some(signal) = status.signal() else {
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        return code.map_or(ExitCode::FAILURE, ExitCode::from);
    };
    // The program's own memory has been written, if any is to be.
    let nothing = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let _ = setrlimit(Resource::Core, nothing);
    let _ = emulate_default_handler(signal);
    // As a shell says it.
    ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))
}
