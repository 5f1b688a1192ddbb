//! Links a base image: the object of the device code and the libraries it calls, by `wrapgen-lld`.
//!
//! Object and image are in memory that has no name in any folder, so nothing is left behind, whatever
//! happens.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use offloom_abi::HostProcessor;
use offloom_abi::jit_compile::LINKER_NAME;
use rustix::fs::{MemfdFlags, memfd_create};

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    /// The linker is not there, or memory is not.
    #[error("cannot run {LINKER_NAME}: {0}")]
    Run(#[from] io::Error),
    /// Somebody ended the linker, or it crashed.
    #[error("{LINKER_NAME} was ended by signal {0}")]
    Killed(i32),
    /// The linker's words on symbols that nothing defines, which is so at every try.
    #[error("{0}")]
    Undefined(String),
    /// The linker's words on all else: files that it cannot open or write, for example.
    #[error("{LINKER_NAME}: {0}")]
    Other(String),
}

/// Links a shared object that finds what it calls in `libraries`, those that it needs.
pub(crate) fn link_image(object: &[u8], libraries: &[&Path]) -> Result<Vec<u8>, LinkError> {
    let linker = std::env::current_exe()?.with_file_name(LINKER_NAME);
    // The linker inherits both.
    let memory = |name| memfd_create(name, MemfdFlags::empty()).map(File::from);
    let mut input = memory("object").map_err(io::Error::from)?;
    let mut output = memory("image").map_err(io::Error::from)?;
    input.write_all(object)?;
    let path = |file: &File| format!("/proc/self/fd/{}", file.as_raw_fd());
    let linked = Command::new(linker)
        .args(["-shared", "-Bsymbolic", "--hash-style=gnu", "--eh-frame-hdr"])
        .args([
            "--no-undefined",
            "--threads=1",
            "-m",
            HostProcessor::NATIVE.linker_emulation,
        ])
        .arg(format!("--offload-into=0,{}", path(&output)))
        .args(["-o", "base image"])
        .arg(path(&input))
        .arg("--as-needed")
        .args(libraries)
        .stdin(Stdio::null())
        .output()?;
    if let Some(signal) = linked.status.signal() {
        return Err(LinkError::Killed(signal));
    }
    if !linked.status.success() {
        let errors = in_one_line(&linked.stderr);
        return Err(if errors.contains("undefined symbol") {
            LinkError::Undefined(errors)
        } else {
            LinkError::Other(errors)
        });
    }
    let mut image = Vec::new();
    output.rewind()?;
    output.read_to_end(&mut image)?;
    Ok(image)
}

/// The linker's errors, one behind the other, without the names of files that are none.
fn in_one_line(words: &[u8]) -> String {
    let words = String::from_utf8_lossy(words);
    let errors = words.lines().filter_map(|line| line.split_once("error: "));
    let errors: Vec<_> = errors.map(|(_, error)| error).collect();
    match errors.is_empty() {
        true => "the linker failed without a word".to_owned(),
        false => errors.join("; "),
    }
}
