//! Links what a device loads, by `wrapgen-lld`: a base image, of the object of the device code and the
//! libraries it calls; or the code object of a kernel for an AMD GPU.
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
use offloom_abi::jit_compile::{LINKER_NAME, Reply};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::replies::{failure, unable};

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

impl LinkError {
    /// What the program is told: whether another try may have another end.
    pub(crate) fn reply(self) -> Reply {
        match self {
            Self::Undefined(_) => failure(self),
            Self::Run(_) | Self::Killed(_) | Self::Other(_) => unable(self),
        }
    }
}

/// Links a shared object that finds what it calls in `libraries`, those that it needs.
pub(crate) fn link_image(object: &[u8], libraries: &[&Path]) -> Result<Vec<u8>, LinkError> {
    const OPTIONS: [&str; 6] = [
        "-Bsymbolic",
        "--hash-style=gnu",
        "--eh-frame-hdr",
        "-m",
        HostProcessor::NATIVE.linker_emulation,
        "--as-needed",
    ];
    link(object, "base image", &OPTIONS, libraries)
}

/// Links the code object of what needs nothing else.
pub(crate) fn link_code_object(object: &[u8]) -> Result<Vec<u8>, LinkError> {
    link(object, "code object", &["-m", "elf64_amdgpu"], &[])
}

/// Links a shared object, which messages call `name`.
fn link(object: &[u8], name: &str, options: &[&str], libraries: &[&Path]) -> Result<Vec<u8>, LinkError> {
    let linker = std::env::current_exe()?.with_file_name(LINKER_NAME);
    // The linker inherits both.
    let memory = |what| memfd_create(what, MemfdFlags::empty()).map(File::from);
    let mut input = memory("object").map_err(io::Error::from)?;
    let mut output = memory("image").map_err(io::Error::from)?;
    input.write_all(object)?;
    let path = |file: &File| format!("/proc/self/fd/{}", file.as_raw_fd());
    let linked = Command::new(linker)
        .args(["-shared", "--no-undefined", "--threads=1"])
        .arg(format!("--offload-into=0,{}", path(&output)))
        .args(["-o", name])
        .arg(path(&input))
        .args(options)
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
