//! `docs/results/link.md`, put together of what was measured last with each LLVM.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::thread;

use anyhow::{Context as _, Result};

use crate::bench::machine;
use crate::llvm::SUPPORTED;
use crate::workspace::Workspace;

/// What is measured, in the order of the document.
pub(super) const TITLES: [&str; 6] = [
    "ZAXPY",
    "device image of 200 MB",
    "1500 objects without device code",
    "300 objects with device code",
    "archive of 5000 members, 10 of them needed and with device code",
    "`wrapgen wrap` of a 1 GB image beside `cp`",
];

/// What profiles say about where the time goes that is beyond the host link's and `cp`'s.
const REASONS: &str = "\n## What bounds these figures\n\n\
     * Objects without device code: each is opened, read and closed, and the kernel's part of that is most of what is left. Files of \
     less than 16 KiB are read; to map one, touch its page and unmap it took nearly as long as all the rest.\n\
     * `wrapgen wrap`: the kernel copies the image from file to file, as it does for `cp`. A file that replaces another has its space \
     set aside first: ext4 would otherwise do so, and start to write, while one is renamed onto the other, which took longer.\n";

/// Keeps what was measured of one of the [`TITLES`], with the conditions.
pub(super) fn keep(
    workspace: &Workspace,
    major: u32,
    title: &str,
    repetitions: u32,
    figures: &str,
) -> Result<()> {
    let file = kept(workspace, major, title);
    let text = format!(
        "\n### {title}\n\n{repetitions} repetitions on {}, {} hardware threads. Load of the machine at the end: {:.1}.\n{figures}",
        machine::processor(),
        thread::available_parallelism().map_or(1, usize::from),
        machine::load(),
    );
    fs::write(&file, text).with_context(|| format!("cannot write `{}`", file.display()))
}

fn kept(workspace: &Workspace, major: u32, title: &str) -> PathBuf {
    let number = TITLES
        .iter()
        .position(|known| *known == title)
        .unwrap_or_default();
    workspace
        .llvm_target(major)
        .join(format!("bench-link-{number}.md"))
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
        let _ = write!(text, "\n## LLVM {major}\n");
        for title in TITLES {
            match fs::read_to_string(kept(workspace, major, title)) {
                Ok(figures) => text.push_str(&figures),
                Err(_) => {
                    let _ = write!(text, "\n### {title}\n\nNot measured.\n");
                }
            }
        }
    }
    text.push_str(REASONS);
    let results = workspace.root.join("docs/results");
    fs::create_dir_all(&results).with_context(|| format!("cannot make folder `{}`", results.display()))?;
    let file = results.join("link.md");
    fs::write(&file, text).with_context(|| format!("cannot write `{}`", file.display()))?;
    println!("figures are in {}", file.display());
    Ok(())
}
