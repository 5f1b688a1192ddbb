//! The one place that starts programs, and that prints them as commands.

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

use crate::error::{Error, Result};
use crate::interrupt;

/// Prints and runs commands as `--wrapper-verbose` and `--dry-run` ask.
#[derive(Debug, Clone, Copy, Default)]
pub struct Runner {
    /// Print each command before it is run.
    pub verbose: bool,
    /// Print each command and run none.
    pub dry_run: bool,
}

impl Runner {
    /// Runs a command to its end.
    ///
    /// # Errors
    /// It cannot be started or fails.
    pub fn run(self, command: &mut Command) -> Result<()> {
        self.print(command);
        if self.dry_run {
            return Ok(());
        }
        run(command)
    }

    /// Becomes the command; returns only without running it.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn exec(self, command: &mut Command) -> Result<()> {
        self.print(command);
        if self.dry_run {
            return Ok(());
        }
        let source = command.exec();
        Err(Error::Start {
            program: command.get_program().into(),
            source,
        })
    }

    /// Prints a command, in the form that LLVM's linker wrapper uses and a shell can read.
    pub fn print(self, command: &Command) {
        if self.verbose || self.dry_run {
            eprintln!("{}", shell_line(command));
        }
    }
}

/// Runs a command to its end.
///
/// # Errors
/// It cannot be started or fails.
pub fn run(command: &mut Command) -> Result<()> {
    let status = match interrupt::status(command) {
        Ok(status) => status,
        Err(source) => {
            return Err(Error::Start {
                program: command.get_program().into(),
                source,
            });
        }
    };
    interrupt::check()?;
    if status.success() {
        return Ok(());
    }
    Err(Error::Program {
        program: command.get_program().into(),
        ending: ending(status),
    })
}

fn ending(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!("was ended by signal {signal}"),
        None => format!("failed with exit code {}", status.code().unwrap_or(-1)),
    }
}

fn shell_line(command: &Command) -> String {
    let mut line = format!(" \"{}\"", command.get_program().display());
    for argument in command.get_args() {
        // Writing to a string cannot fail.
        let _ = write!(line, " {}", quoted(argument));
    }
    line
}

/// An argument as a shell reads it back.
fn quoted(argument: &OsStr) -> String {
    let text = argument.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%^".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
