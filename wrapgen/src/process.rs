//! The one place that starts programs, and that prints them as commands.

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};

use signal_hook::low_level::signal_name;
use tempfile::NamedTempFile;

use crate::error::{Error, Result};
use crate::interrupt;
use crate::messages::HeldMessages;
use crate::response_file;
use crate::steps::{Journal, Step};

/// Prints and runs commands, and the steps that they belong to, as `--wrapper-verbose`, `--dry-run`,
/// `--print-phases` and `--time` ask.
#[derive(Debug, Clone, Copy, Default)]
pub struct Runner<'a> {
    /// Print each command before it is run.
    pub verbose: bool,
    /// Print each command and run none.
    pub dry_run: bool,
    /// Print the steps instead of the commands.
    pub print_phases: bool,
    /// Where to note how long everything takes, if somebody wants to know.
    pub journal: Option<&'a Journal>,
    /// Where messages go, of this process and of those that it runs, until their turn comes; `None`: to the
    /// error output.
    pub held: Option<&'a HeldMessages>,
}

impl Runner<'_> {
    /// Does the work of a step. In a dry run that is what prints the commands.
    ///
    /// # Errors
    /// Those of the work.
    pub fn step<T>(self, step: &Step<'_>, work: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.print_phases {
            if !step.outputs.is_empty() {
                self.say(&step.binding());
            }
        } else if self.shows_commands() {
            self.say(&step.to_string());
        }
        match self.journal {
            Some(journal) => journal.time_step(step, work),
            None => work(),
        }
    }

    /// Runs a command to its end.
    ///
    /// # Errors
    /// It cannot be started or fails.
    pub fn run(self, command: &mut Command) -> Result<()> {
        self.print(command);
        if self.dry_run {
            return Ok(());
        }
        match self.journal {
            Some(journal) => {
                let line = String::from_utf8_lossy(&shell_line(command))
                    .trim_start()
                    .to_owned();
                let program = Path::new(command.get_program()).to_owned();
                journal.time_program(&program, line, || self.run_silently(command))
            }
            None => self.run_silently(command),
        }
    }

    fn run_silently(self, command: &mut Command) -> Result<()> {
        self.redirect(command);
        match run(command) {
            Err(error) if has_too_many_arguments(&error) => {
                let (mut short, _file) = shortened(command)?;
                self.redirect(&mut short);
                run(&mut short)
            }
            result => result,
        }
    }

    fn redirect(self, command: &mut Command) {
        if let Some(held) = self.held {
            // Without this they are printed at once.
            let _ = held.redirect(command);
        }
    }

    /// Becomes the command, unless somebody wants to know how long it takes.
    ///
    /// # Errors
    /// It cannot be started or, if its time is taken, fails.
    pub fn exec(self, command: &mut Command) -> Result<()> {
        if self.journal.is_some() {
            return self.run(command);
        }
        self.print(command);
        if self.dry_run {
            return Ok(());
        }
        let source = command.exec();
        let error = Error::Start {
            program: command.get_program().into(),
            source,
        };
        match has_too_many_arguments(&error) {
            true => self.run_silently(command),
            false => Err(error),
        }
    }

    /// Prints a command, in the form that LLVM's linker wrapper uses and a shell can read.
    pub fn print(self, command: &Command) {
        if self.shows_commands() {
            self.write(shell_line(command));
        }
    }

    /// Prints a line on the error output: among the commands of a dry run as a comment, since these are a
    /// script.
    pub fn say(self, line: &str) {
        if !self.dry_run || self.print_phases {
            return self.write(line.as_bytes().to_vec());
        }
        for line in line.split(['\n', '\r']) {
            let mark = if line.starts_with('#') { "" } else { "# " };
            self.write(format!("{mark}{line}").into_bytes());
        }
    }

    fn write(self, mut line: Vec<u8>) {
        line.push(b'\n');
        // There is nowhere to report to that the error output cannot be written.
        let _ = match self.held {
            Some(held) => held.write(&line),
            None => std::io::stderr().write_all(&line),
        };
    }

    /// Has messages that wait for their turn call the intermediate file `path` by `name`.
    pub fn name_copy(self, path: &Path, name: impl FnOnce() -> String) {
        if let Some(held) = self.held
            && !self.shows_commands()
        {
            held.name_copy(path, name());
        }
    }

    /// Whether commands that are run elsewhere, or done without a program, are to be printed.
    pub fn shows_commands(self) -> bool {
        (self.verbose || self.dry_run) && !self.print_phases
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

/// Whether a program was not started because its arguments are longer than the system takes.
fn has_too_many_arguments(error: &Error) -> bool {
    matches!(error, Error::Start { source, .. } if source.kind() == ErrorKind::ArgumentListTooLong)
}

/// The same command with its arguments in a response file, which every linker and LLVM tool reads; it goes
/// with the second value.
fn shortened(command: &Command) -> Result<(Command, NamedTempFile)> {
    interrupt::watch();
    let folder = std::env::temp_dir();
    let mut file = tempfile::Builder::new()
        .prefix("wrapgen-arguments-")
        .tempfile_in(&folder)
        .map_err(Error::temporary(&folder))?;
    file.write_all(&response_file::join(command.get_args()))
        .map_err(Error::write(file.path()))?;
    let mut argument = OsString::from("@");
    argument.push(file.path());
    let mut short = Command::new(command.get_program());
    short.arg(argument);
    Ok((short, file))
}

fn ending(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => match signal_name(signal) {
            Some(name) => format!("was ended by signal {signal} ({name})"),
            None => format!("was ended by signal {signal}"),
        },
        None => format!("failed with exit code {}", status.code().unwrap_or(-1)),
    }
}

/// A command as a shell reads it back, with the program between double quotes as LLVM's tools have it.
pub(crate) fn shell_line(command: &Command) -> Vec<u8> {
    let program = quoted(command.get_program());
    let mut line = match program.starts_with(b"'") {
        true => [b" ", &program[..]].concat(),
        false => [b" \"", &program[..], b"\""].concat(),
    };
    for argument in command.get_args() {
        line.push(b' ');
        line.extend(quoted(argument));
    }
    line
}

/// A word as a shell reads it back.
fn quoted(word: &OsStr) -> Vec<u8> {
    let bytes = word.as_bytes();
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./=:,+@%^".contains(byte);
    if !bytes.is_empty() && bytes.iter().all(plain) {
        return bytes.to_vec();
    }
    let mut quoted = vec![b'\''];
    for &byte in bytes {
        match byte {
            b'\'' => quoted.extend(br"'\''"),
            byte => quoted.push(byte),
        }
    }
    quoted.push(b'\'');
    quoted
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn a_shell_reads_back_every_command(words in proptest::collection::vec(
            proptest::collection::vec(1u8..=255, 0..12).prop_map(OsString::from_vec), 0..6,
        )) {
            let mut command = Command::new("/usr/bin/printf");
            command.arg("%s\\0").args(&words);
            let output = Command::new("/bin/sh").arg("-c").arg(OsStr::from_bytes(&shell_line(&command))).output().unwrap();
            let mut expected: Vec<u8> = words.iter().flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect();
            if words.is_empty() {
                expected.push(0);
            }
            prop_assert_eq!(output.stdout, expected);
        }
    }
}
