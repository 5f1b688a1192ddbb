//! Phase 7: runs the host linker with the arguments it was given and what the link added to them.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::host_command::HostCommand;
use crate::error::{Error, Result};
use crate::output::folder_of;
use crate::process::Runner;

/// How far times of files may lie behind the clock.
const CLOCK_LAG: Duration = Duration::from_secs(1);

/// The host linker.
///
/// # Errors
/// None was named.
pub fn host_linker(host: &HostCommand) -> Result<&Path> {
    host.linker
        .as_deref()
        .ok_or_else(|| Error::Usage("no host linker: give --linker-path=<program>, as Clang does".to_owned()))
}

/// The host linker's command, with `added` behind the output file.
///
/// # Errors
/// No host linker was named.
pub fn host_link_command(host: &HostCommand, added: &[PathBuf]) -> Result<Command> {
    let linker = host_linker(host)?;
    let mut command = Command::new(linker);
    if !added.is_empty() && drops_entry_table(linker, host) {
        command.args(["-z", "nostart-stop-gc"]);
    }
    command.args(host.words(added));
    Ok(command)
}

/// Whether the linker would drop the entries, which only the table's start and stop symbols refer to: of the
/// linkers that can leave out unused sections, lld alone takes no such reference for a use.
fn drops_entry_table(linker: &Path, host: &HostCommand) -> bool {
    let words = || host.arguments.iter().flat_map(|argument| &argument.words);
    is_lld(linker) && words().any(|word| word == "--gc-sections" || word == "-gc-sections")
}

/// Whether a host linker is LLVM's, by its name or by that of what a link leads to.
pub(super) fn is_lld(linker: &Path) -> bool {
    is_named(linker, "lld")
}

/// Whether a host linker is gold.
pub(super) fn is_gold(linker: &Path) -> bool {
    is_named(linker, "gold")
}

/// Whether a host linker is mold.
pub(super) fn is_mold(linker: &Path) -> bool {
    is_named(linker, "mold")
}

fn is_named(linker: &Path, name: &str) -> bool {
    let is_named_so = |path: &Path| {
        path.file_name()
            .is_some_and(|file| file.to_string_lossy().contains(name))
    };
    is_named_so(linker) || fs::canonicalize(linker).is_ok_and(|path| is_named_so(&path))
}

/// As [`host_link_command`], but to write `output`.
///
/// # Errors
/// No host linker was named.
pub fn command_writing(host: &HostCommand, added: &[PathBuf], output: &Path) -> Result<Command> {
    let mut command = Command::new(host_linker(host)?);
    command.args(host.words_writing(output, added));
    Ok(command)
}

/// Runs the host linker with `added`. One that a signal ends may leave half an output, which is removed.
///
/// # Errors
/// It cannot be started or fails.
pub fn link(host: &HostCommand, added: &[PathBuf], runner: Runner) -> Result<()> {
    let started = SystemTime::now();
    let linked = runner.run(&mut host_link_command(host, added)?);
    let output = host.output();
    // If something cannot be removed, nobody is left to be told.
    if matches!(linked, Err(Error::Interrupted { .. })) && output.is_file() {
        let _ = fs::remove_file(&output);
    }
    if linked.is_err() && host_linker(host).is_ok_and(is_lld) {
        let _ = remove_unfinished(&output, started);
    }
    linked
}

/// Removes what lld has begun to write since a time: it writes beside the output, under its name with `.tmp`
/// and seven hexadecimal digits behind it, and does not always come to remove that when a full disk ends it
/// by SIGBUS.
fn remove_unfinished(output: &Path, since: SystemTime) -> io::Result<()> {
    let Some(name) = output.file_name() else {
        return Ok(());
    };
    let mut start = name.as_bytes().to_owned();
    start.extend_from_slice(b".tmp");
    for entry in fs::read_dir(folder_of(output))? {
        let entry = entry?;
        let name = entry.file_name();
        let is_of_lld = name
            .as_bytes()
            .strip_prefix(start.as_slice())
            .is_some_and(|digits| digits.len() == 7 && digits.iter().all(u8::is_ascii_hexdigit));
        if !is_of_lld {
            continue;
        }
        let about = entry.metadata()?;
        // Times of files lag behind the clock by some milliseconds.
        if about.is_file() && about.modified()? + CLOCK_LAG >= since {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Becomes the host linker, for a link without device code: there is nothing to do afterwards.
///
/// # Errors
/// It cannot be started.
pub fn exec_host_linker(host: &HostCommand, runner: Runner) -> Result<()> {
    runner.exec(&mut host_link_command(host, &[])?)
}
