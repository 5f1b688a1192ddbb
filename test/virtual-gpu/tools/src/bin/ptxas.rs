//! `ptxas` of a CUDA folder for tests: runs the real assembler and leaves the PTX in its output.
//!
//! The real one is `libexec/ptxas` of the same folder. It gets the options as they are; what it prints and
//! how it ends is passed on. A cubin that it made then carries its input in a section of its own
//! (`offloom_ptx::image`).
#![forbid(unsafe_code)]

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};
use offloom_ptx::image;

/// What `ptxas` writes where no option names an output.
const DEFAULT_OUTPUT: &str = "elf.o";

/// Where files are that somebody else has open, in memory perhaps.
const OPEN_FILES: &str = "/proc/self/fd";

fn main() -> ExitCode {
    match run() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // Where the error stream is closed, nobody reads it.
            let _ = writeln!(std::io::stderr(), "ptxas: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<u8> {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let real = offloom_cuda_tools::cuda_folder()?.join("libexec/ptxas");
    let status = Command::new(&real)
        .args(&arguments)
        .status()
        .with_context(|| format!("cannot run `{}`", real.display()))?;
    if !status.success() {
        let code = status.code().unwrap_or(128 + status.signal().unwrap_or(0));
        return Ok(u8::try_from(code).unwrap_or(1));
    }
    let output = output(&arguments);
    let texts = inputs(&arguments, &output);
    if !texts.is_empty() && output.is_file() {
        leave(&texts, &output)?;
    }
    Ok(0)
}

/// The output that the options name.
fn output(arguments: &[OsString]) -> PathBuf {
    let mut output = PathBuf::from(DEFAULT_OUTPUT);
    for (index, argument) in arguments.iter().enumerate() {
        if argument == "-o" || argument == "--output-file" {
            if let Some(next) = arguments.get(index + 1) {
                output = PathBuf::from(next);
            }
        } else {
            let bytes = argument.as_bytes();
            let joined = [&b"-o="[..], b"--output-file="];
            if let Some(path) = joined.iter().find_map(|start| bytes.strip_prefix(*start)) {
                output = PathBuf::from(OsStr::from_bytes(path));
            }
        }
    }
    output
}

/// The PTX among the files that the options name. Their names do not tell it: Clang writes `.s` where it
/// keeps them.
fn inputs(arguments: &[OsString], output: &Path) -> Vec<Vec<u8>> {
    let is_file =
        |argument: &&OsString| !argument.as_bytes().starts_with(b"-") && Path::new(argument) != output;
    let texts = arguments
        .iter()
        .filter(is_file)
        .filter_map(|path| fs::read(path).ok());
    texts.filter(|text| is_ptx(text)).collect()
}

/// Whether a file begins as PTX must: comments, then `.version`.
fn is_ptx(text: &[u8]) -> bool {
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"//"));
    first.is_some_and(|line| line.starts_with(b".version"))
}

/// Puts the texts into the cubin.
fn leave(texts: &[Vec<u8>], output: &Path) -> Result<()> {
    let cubin = fs::read(output).with_context(|| format!("cannot read `{}`", output.display()))?;
    let texts: Vec<_> = texts.iter().map(Vec::as_slice).collect();
    let with_ptx = image::append(&cubin, &texts)
        .with_context(|| format!("cannot leave the PTX in `{}`", output.display()))?;
    if output.starts_with(OPEN_FILES) {
        // Beside it there is no place for another.
        return fs::write(output, &with_ptx).with_context(|| format!("cannot write `{}`", output.display()));
    }
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(&with_ptx)?;
    file.as_file()
        .set_permissions(fs::metadata(output)?.permissions())?;
    file.persist(output)
        .with_context(|| format!("cannot write `{}`", output.display()))?;
    Ok(())
}
