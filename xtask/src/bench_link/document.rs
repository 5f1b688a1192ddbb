//! `docs/results/link.md`, put together of what was measured last with each LLVM.

use std::fs;
use std::path::PathBuf;
use std::thread;

use anyhow::{Context as _, Result};
use offloom_find_llvm::Llvm;

use crate::bench::machine;
use crate::llvm::SUPPORTED;
use crate::workspace::Workspace;

/// The start of an LLVM's section: on what and how it was measured.
pub(super) fn heading(llvm: &Llvm, repetitions: u32) -> String {
    format!(
        "\n## LLVM {}\n\n{repetitions} repetitions on {}, {} hardware threads. Load of the machine at the start: {:.1}.\n",
        llvm.version,
        machine::processor(),
        thread::available_parallelism().map_or(1, usize::from),
        machine::load(),
    )
}

/// Keeps the section of one LLVM.
pub(super) fn keep(workspace: &Workspace, major: u32, section: &str) -> Result<()> {
    let file = kept(workspace, major);
    fs::write(&file, section).with_context(|| format!("cannot write `{}`", file.display()))
}

fn kept(workspace: &Workspace, major: u32) -> PathBuf {
    workspace.llvm_target(major).join("bench-link.md")
}

/// Writes the document.
pub(super) fn write(workspace: &Workspace) -> Result<()> {
    let mut text = String::from(
        "# Links with device code, measured\n\n\
         Written by `cargo xtask bench-link`. `host` is the host link alone, with the registration object already made; `stock` is \
         LLVM's `clang-linker-wrapper`; the host linker is `ld.lld`. In turn within each repetition. Times in milliseconds, memory in \
         megabytes; private memory is that of the wrapper's own process, without mapped files.\n",
    );
    for major in SUPPORTED {
        text.push_str(&fs::read_to_string(kept(workspace, major)).unwrap_or_default());
    }
    let results = workspace.root.join("docs/results");
    fs::create_dir_all(&results).with_context(|| format!("cannot make folder `{}`", results.display()))?;
    let file = results.join("link.md");
    fs::write(&file, text).with_context(|| format!("cannot write `{}`", file.display()))?;
    println!("figures are in {}", file.display());
    Ok(())
}
