//! `offloom-jit-ptxas`: assembles PTX by nvJitLink, called as `ptxas` is. The JIT runs it where no `ptxas` is
//! installed: containers and packages that only run CUDA programs have the library alone.
//!
//! Code that functions are called in differs from that of `ptxas`: the library compiles as `ptxas -c` does.

use std::ffi::{CString, OsString};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use crate::error::NvJitLinkError;
use crate::library::{Input, NvJitLink};

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub enum AssembleError {
    /// An option has no value.
    #[error("option `{0}` needs a value")]
    NoValue(String),
    /// Something is not named.
    #[error("no {0} is named")]
    Missing(&'static str),
    /// There is a NUL in an argument.
    #[error("an argument holds a NUL")]
    Nul(#[from] std::ffi::NulError),
    /// A file cannot be read or written.
    #[error("`{}`: {error}", .file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The library cannot do it.
    #[error(transparent)]
    Library(#[from] NvJitLinkError),
}

/// What the command line asks for.
#[derive(Debug, Default, PartialEq)]
struct Job {
    /// The library's path, or a name that the loader finds.
    library: Option<OsString>,
    is_version: bool,
    options: Vec<CString>,
    output: Option<PathBuf>,
    input: Option<PathBuf>,
}

impl Job {
    /// Reads what the worker passes to `ptxas`, and what users may pass on to it: the last argument is the
    /// input, and what is not known here goes to the assembler inside nvJitLink.
    fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Self, AssembleError> {
        let mut job = Self::default();
        let mut arguments = arguments.peekable();
        while let Some(argument) = arguments.next() {
            let text = argument.to_string_lossy().into_owned();
            let mut value = || {
                arguments
                    .next()
                    .ok_or_else(|| AssembleError::NoValue(text.clone()))
            };
            let mut add = |before: &str, value: OsString| {
                let option = [before.as_bytes(), value.as_bytes()].concat();
                CString::new(option).map(|option| job.options.push(option))
            };
            match text.as_str() {
                "--library" => job.library = Some(value()?),
                "--version" => job.is_version = true,
                "-o" | "--output-file" => job.output = Some(PathBuf::from(value()?)),
                "--gpu-name" => add("-arch=", value()?)?,
                "-m64" => {}
                "-v" => add("-verbose", OsString::new())?,
                "-g" | "--device-debug" => add("-g", OsString::new())?,
                "-lineinfo" | "--generate-line-info" => add("-lineinfo", OsString::new())?,
                _ if arguments.peek().is_none() && !text.starts_with('-') => {
                    job.input = Some(PathBuf::from(argument));
                }
                _ => add("-Xptxas=", argument)?,
            }
        }
        Ok(job)
    }
}

/// Does what the command line asks for.
///
/// # Errors
/// When that cannot be done.
pub fn run(arguments: impl Iterator<Item = OsString>) -> Result<(), AssembleError> {
    let job = Job::parse(arguments)?;
    let library = job.library.ok_or(AssembleError::Missing("library"))?;
    let library = NvJitLink::load(&library)?;
    if job.is_version {
        return say_version(&library);
    }
    let file = job.input.ok_or(AssembleError::Missing("input"))?;
    let output = job.output.ok_or(AssembleError::Missing("output"))?;
    let mut bytes = match fs::read(&file) {
        Ok(bytes) => bytes,
        Err(error) => return Err(AssembleError::File { file, error }),
    };
    // Text ends with it.
    bytes.push(0);
    let name = CString::new(file.into_os_string().into_vec())?;
    let linked = library.link(&job.options, &[Input { name, bytes }])?;
    let _ = io::stderr().write_all(linked.said.as_bytes());
    fs::write(&output, linked.cubin).map_err(|error| AssembleError::File { file: output, error })
}

/// The file of the library and its version, the second as `ptxas` says it.
fn say_version(library: &NvJitLink) -> Result<(), AssembleError> {
    let [major, minor] = library.version()?;
    let mut text = b"offloom-jit-ptxas\n".to_vec();
    if let Some(file) = NvJitLink::file() {
        text.extend_from_slice(b"library=");
        text.extend_from_slice(file.as_os_str().as_bytes());
        text.push(b'\n');
    }
    text.extend_from_slice(
        format!("CUDA's nvJitLink, release {major}.{minor}, V{major}.{minor}\n").as_bytes(),
    );
    io::stdout()
        .write_all(&text)
        .map_err(|error| AssembleError::File {
            file: PathBuf::from("/dev/stdout"),
            error,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Job, AssembleError> {
        Job::parse(arguments.iter().map(OsString::from))
    }

    #[test]
    fn what_ptxas_is_called_with_is_understood() {
        let arguments =
            "--library /l.so -m64 -v -O3 --gpu-name sm_90 --maxrregcount 40 -lineinfo --output-file out in";
        let words: Vec<_> = arguments.split(' ').collect();
        let options = [
            "-verbose",
            "-Xptxas=-O3",
            "-arch=sm_90",
            "-Xptxas=--maxrregcount",
            "-Xptxas=40",
            "-lineinfo",
        ];
        let expected = Job {
            library: Some("/l.so".into()),
            is_version: false,
            options: options.map(|option| CString::new(option).unwrap()).to_vec(),
            output: Some("out".into()),
            input: Some("in".into()),
        };
        assert_eq!(parse(&words).unwrap(), expected);
    }

    #[test]
    fn what_is_missing_is_named() {
        let said = |arguments: &[&str]| parse(arguments).unwrap_err().to_string();
        assert_eq!(said(&["--gpu-name"]), "option `--gpu-name` needs a value");
        assert_eq!(said(&["a\0b", "-v"]), "an argument holds a NUL");
    }
}
