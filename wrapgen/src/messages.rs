//! Messages on the error output, and those of jobs, which are held back: those of jobs beside each other
//! appear one job behind the other, and intermediate files have the names of what they were made of.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{MemfdFlags, memfd_create};

/// Prints a line on the error output. Where that takes nothing, because it is closed or its reader is gone,
/// there is nobody to tell: `eprintln!` would panic.
pub fn say(line: impl Display) {
    // One write, so that lines of several processes do not mix.
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// What one job and the programs that it runs have printed so far: files in memory, which vanish with this
/// value.
#[derive(Debug)]
pub struct HeldMessages {
    output: File,
    errors: File,
    /// Intermediate files, and how people know what is in them.
    copies: Mutex<Vec<(PathBuf, String)>>,
}

impl HeldMessages {
    /// Nothing so far.
    ///
    /// # Errors
    /// The process has too many files open.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            output: in_memory()?,
            errors: in_memory()?,
            copies: Mutex::default(),
        })
    }

    /// Adds what would go to the error output.
    ///
    /// # Errors
    /// There is no memory for it.
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

    /// Has messages call the file `path` by `name`: the file will be gone when they are read.
    pub fn name_copy(&self, path: &Path, name: String) {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        copies.push((path.to_owned(), name));
    }

    /// Prints everything.
    ///
    /// # Errors
    /// The outputs of this process do not take it.
    pub fn release(self) -> io::Result<()> {
        let copies = self.copies.into_inner().unwrap_or_else(PoisonError::into_inner);
        release(self.output, &copies, &mut io::stdout().lock())?;
        release(self.errors, &copies, &mut io::stderr().lock())
    }
}

/// A file that is on no disk: a full one is what messages may be about.
fn in_memory() -> io::Result<File> {
    Ok(memfd_create("messages", MemfdFlags::CLOEXEC)?.into())
}

/// Prints what was held back in `file`.
fn release(mut file: File, copies: &[(PathBuf, String)], output: &mut impl Write) -> io::Result<()> {
    let mut text = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut text)?;
    output.write_all(&with_names(text, copies))
}

/// A text in which files have the names that stand beside their paths.
fn with_names(mut text: Vec<u8>, copies: &[(PathBuf, String)]) -> Vec<u8> {
    for (path, name) in copies {
        let path = path.as_os_str().as_bytes();
        let mut named = Vec::new();
        let mut rest = text.as_slice();
        while let Some(at) = rest.windows(path.len()).position(|part| part == path) {
            named.extend_from_slice(&rest[..at]);
            named.extend_from_slice(name.as_bytes());
            rest = &rest[at + path.len()..];
        }
        named.extend_from_slice(rest);
        text = named;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_have_names_that_last() {
        let copies = [("/t/a.0.o", "a.o"), ("/t/b.1.o", "lib.a(b.o)")]
            .map(|(path, name)| (PathBuf::from(path), name.to_owned()));
        let text = b"error: /t/a.0.o:(f)\n>>> /t/b.1.o and /t/a.0.o\n/t/c.2.o".to_vec();
        let named = String::from_utf8(with_names(text, &copies)).unwrap();
        assert_eq!(named, "error: a.o:(f)\n>>> lib.a(b.o) and a.o\n/t/c.2.o");
    }
}
