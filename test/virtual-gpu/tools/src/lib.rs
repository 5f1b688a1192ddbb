//! What both tools share: which CUDA folder they lie in.
#![forbid(unsafe_code)]

use std::env;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

/// The CUDA folder whose `bin` holds the running program.
///
/// # Errors
///
/// When the system does not say where the program is, or it lies in no folder.
pub fn cuda_folder() -> Result<PathBuf> {
    let program = env::current_exe().context("cannot find out where this program is")?;
    let folder = program.ancestors().nth(2);
    Ok(folder.context("this program is in no CUDA folder")?.to_path_buf())
}
