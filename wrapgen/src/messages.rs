//! Holds back what a job prints that runs beside others, so that their messages appear one job behind the other.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::process::Command;

/// What one job and the programs that it runs have printed so far: files without a name, which vanish with this value.
#[derive(Debug)]
pub struct HeldMessages {
    output: File,
    errors: File,
}

impl HeldMessages {
    /// Nothing so far.
    ///
    /// # Errors
    /// The folder for temporary files takes none.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            output: tempfile::tempfile()?,
            errors: tempfile::tempfile()?,
        })
    }

    /// Adds what would go to the error output.
    ///
    /// # Errors
    /// The disk is full.
    pub fn write(&self, text: &[u8]) -> io::Result<()> {
        (&self.errors).write_all(text)
    }

    /// Has a program add to these messages, too: it shares the place in the files.
    ///
    /// # Errors
    /// The process has too many files open.
    pub fn redirect(&self, command: &mut Command) -> io::Result<()> {
        command.stdout(self.output.try_clone()?);
        command.stderr(self.errors.try_clone()?);
        Ok(())
    }

    /// Prints everything.
    ///
    /// # Errors
    /// The outputs of this process do not take it.
    pub fn release(mut self) -> io::Result<()> {
        self.output.rewind()?;
        io::copy(&mut self.output, &mut io::stdout().lock())?;
        self.errors.rewind()?;
        io::copy(&mut self.errors, &mut io::stderr().lock())?;
        Ok(())
    }
}
