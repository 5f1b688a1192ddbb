//! What `offloom precompile` asks `liboffloom_jit.so` to make, in a process of its own: a file.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Variants to make for one processor, and to keep in the cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The executable or shared library that holds the device code.
    pub program: PathBuf,
    /// What to compile for: a GPU's, as `sm_90`, or one of x86_64, as `OFFLOOM_JIT_TARGET` takes it.
    pub processor: String,
    /// The variants' descriptors in their text form ([`offloom_descriptor::text`]), by kernel.
    pub kernels: BTreeMap<String, Vec<String>>,
}

impl Order {
    /// Writes it to a file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        fs::write(path, serde_json::to_vec(self)?)
    }

    /// Reads what [`write`](Self::write) wrote.
    ///
    /// # Errors
    /// When the file cannot be read, or is something else.
    pub fn read(path: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(path)?)?)
    }
}
