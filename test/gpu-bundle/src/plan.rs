//! What an archive holds to be run: `plan.json` in it, written when it is made.

use serde::{Deserialize, Serialize};

/// The file's name in the archive.
pub const FILE: &str = "plan.json";

/// All that is to be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// LLVM's major version.
    pub llvm: u32,
    /// The commit of the checkout that the archive was made of.
    pub commit: String,
    /// Programs, each in `programs/NAME` as `stock`, `jit` and `only`, and what it prints as `expected`.
    pub programs: Vec<Program>,
    /// Kernels of `threads/threads.ptx`.
    pub threads: Vec<ThreadsKernel>,
}

/// Where a program is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// Written to break the JIT.
    Breaking,
    /// Of the corpus.
    Corpus,
    /// A workload.
    Workload,
}

/// A program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Its name, and that of its folder.
    pub name: String,
    /// Where it is from.
    pub group: Group,
    /// Whether it prints the same on the x86_64 device: then a GPU that prints something else is wrong.
    pub is_exact: bool,
    /// Its arguments where results are compared.
    pub arguments: Vec<String>,
    /// Its arguments where times are taken; none: no times are taken.
    pub timed: Option<Vec<String>>,
    /// Settings of the JIT, where times are taken, that stand behind those of the configuration.
    pub settings: Vec<(String, String)>,
}

/// A kernel of 128 threads in one block, whose 128 words a GPU is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadsKernel {
    /// The kernel's name.
    pub name: String,
}
