//! Phase 7: runs the host linker with the arguments it was given and what the link added to them.

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
    command.args(line.host_words(added));
    Ok(command)
}

/// Becomes the host linker, for a link without device code: there is nothing to do afterwards.
///
/// # Errors
/// It cannot be started.
pub fn exec_host_linker(line: &CommandLine, runner: Runner) -> Result<()> {
    runner.exec(&mut host_link_command(line, &[])?)
}
