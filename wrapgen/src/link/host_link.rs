//! Phase 7: runs the host linker with the arguments it was given and what the link added to them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::process::Runner;

/// The host linker.
///
/// # Errors
/// None was named.
pub fn host_linker(line: &CommandLine) -> Result<&Path> {
    line.options
        .linker_path
        .as_deref()
        .ok_or_else(|| Error::Usage("no host linker: give --linker-path=<program>, as Clang does".to_owned()))
}

/// The host linker's command, with `added` behind the output file.
///
/// # Errors
/// No host linker was named.
pub fn host_link_command(line: &CommandLine, added: &[PathBuf]) -> Result<Command> {
    let linker = host_linker(line)?;
    let mut command = Command::new(linker);
    if !added.is_empty() && drops_entry_table(linker, line) {
        command.args(["-z", "nostart-stop-gc"]);
    }
    command.args(line.host_words(added));
    Ok(command)
}

/// Whether the linker would drop the entries, which only the table's start and stop symbols refer to: of the
/// linkers that can leave out unused sections, lld alone takes no such reference for a use.
fn drops_entry_table(linker: &Path, line: &CommandLine) -> bool {
    let words = || line.host.iter().flat_map(|argument| &argument.words);
    is_lld(linker) && words().any(|word| word == "--gc-sections" || word == "-gc-sections")
}

/// Whether a host linker is LLVM's, by its name or by that of what a link leads to.
pub(super) fn is_lld(linker: &Path) -> bool {
    let is_named_so = |path: &Path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().contains("lld"))
    };
    is_named_so(linker) || fs::canonicalize(linker).is_ok_and(|path| is_named_so(&path))
}

/// As [`host_link_command`], but to write `output`.
///
/// # Errors
/// No host linker was named.
pub fn command_writing(line: &CommandLine, added: &[PathBuf], output: &Path) -> Result<Command> {
    let mut command = Command::new(host_linker(line)?);
    command.args(line.host_words_writing(output, added));
    Ok(command)
}

/// Runs the host linker with `added`. One that a signal ends may leave half an output, which is removed.
///
/// # Errors
/// It cannot be started or fails.
pub fn link(line: &CommandLine, added: &[PathBuf], runner: Runner) -> Result<()> {
    let linked = runner.run(&mut host_link_command(line, added)?);
    let output = line.output();
    if matches!(linked, Err(Error::Interrupted { .. })) && output.is_file() {
        // If it cannot be removed, nobody is left to be told.
        let _ = fs::remove_file(output);
    }
    linked
}

/// Becomes the host linker, for a link without device code: there is nothing to do afterwards.
///
/// # Errors
/// It cannot be started.
pub fn exec_host_linker(line: &CommandLine, runner: Runner) -> Result<()> {
    runner.exec(&mut host_link_command(line, &[])?)
}
