//! A page of `docs/results` that a task writes: what it measured last of each title with each LLVM.
//!
//! The page itself is what is kept: each figure takes its place there as soon as it is measured, so a task
//! that is stopped, or measures only some, loses none.

use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context as _, Result};

use crate::bench::machine;
use crate::build::Staged;
use crate::llvm::SUPPORTED;
use crate::workspace::{Workspace, remove_folder, write_whole};

/// A page, of which each LLVM has every title.
#[derive(Debug)]
pub(crate) struct FiguresDocument {
    /// The page's name in `docs/results`, without its ending; with `bench-` before it, the task's.
    pub(crate) name: &'static str,
    /// How the page begins.
    pub(crate) introduction: &'static str,
    /// What is measured, in the order of the page.
    pub(crate) titles: &'static [&'static str],
    /// How the page ends.
    pub(crate) end: &'static str,
}

impl FiguresDocument {
    /// The file of the page: in `output`, or else in `docs/results`.
    fn path(&self, workspace: &Workspace, output: Option<&Path>) -> PathBuf {
        let folder = output.map_or_else(|| workspace.root.join("docs/results"), Path::to_owned);
        folder.join(format!("{}.md", self.name))
    }

    /// Has `measure` put what it measures of one LLVM into the page. It works in a folder that is empty at
    /// first, and is left there if it fails.
    pub(crate) fn fill(
        &self,
        workspace: &Workspace,
        staged: &Staged,
        output: Option<&Path>,
        measure: impl FnOnce(&Path, &Path) -> Result<()>,
    ) -> Result<()> {
        let page = self.path(workspace, output);
        let target = workspace.llvm_target(staged.llvm.major);
        let folder = target.join(format!("bench-{}", self.name));
        remove_folder(&folder)?;
        fs::create_dir_all(&folder).with_context(|| format!("cannot make folder `{}`", folder.display()))?;
        measure(&page, &folder)?;
        println!("figures are in {}", page.display());
        remove_folder(&folder)
    }

    /// Writes what was measured of one of the titles, with the conditions, in the place of what the page has
    /// of it.
    pub(crate) fn put(
        &self,
        page: &Path,
        major: u32,
        title: &str,
        repetitions: u32,
        figures: &str,
    ) -> Result<()> {
        let before = match fs::read_to_string(page) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            before => before.with_context(|| format!("cannot read `{}`", page.display()))?,
        };
        if let Some(folder) = page.parent() {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot make folder `{}`", folder.display()))?;
        }
        let new = format!(
            "\n{repetitions} repetitions on {}, {} hardware threads. Load of the machine at the end: {:.1}.\n{figures}",
            machine::processor(),
            thread::available_parallelism().map_or(1, usize::from),
            machine::load(),
        );
        let after = self.with(&before, (major, title), &new);
        write_whole(page, &after)
    }

    /// The page with a new section.
    fn with(&self, before: &str, place: (u32, &str), new: &str) -> String {
        let mut text = self.introduction.to_owned();
        for major in SUPPORTED {
            let _ = write!(text, "\n## LLVM {major}\n");
            for title in self.titles {
                let known = if (major, *title) == place {
                    Some(new)
                } else {
                    section(before, major, title)
                };
                let _ = write!(text, "\n### {title}\n{}", known.unwrap_or("\nNot measured.\n"));
            }
        }
        text + self.end
    }
}

/// What a page has of a title.
fn section<'a>(page: &'a str, major: u32, title: &str) -> Option<&'a str> {
    let (_, of_llvm) = page.split_once(&format!("\n## LLVM {major}\n"))?;
    let of_llvm = of_llvm.split("\n## ").next()?;
    let (_, section) = of_llvm.split_once(&format!("\n### {title}\n"))?;
    section.split("\n### ").next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: FiguresDocument = FiguresDocument {
        name: "page",
        introduction: "# Page\n",
        titles: &["one", "two"],
        end: "\n## End\n",
    };

    #[test]
    fn a_page_keeps_what_is_not_measured_again() {
        let [first, .., last] = SUPPORTED;
        let page = DOCUMENT.with("", (first, "one"), "\nfigures\n");
        assert!(
            page.starts_with("# Page\n\n## LLVM ") && page.ends_with("\n\n## End\n"),
            "{page}"
        );
        let page = DOCUMENT.with(&page, (last, "two"), "\nothers\n");
        for (major, title, expected) in [
            (first, "one", "\nfigures\n"),
            (first, "two", "\nNot measured.\n"),
            (last, "one", "\nNot measured.\n"),
            (last, "two", "\nothers\n"),
        ] {
            assert_eq!(section(&page, major, title), Some(expected), "{page}");
        }
        assert_eq!(DOCUMENT.with(&page, (first, "one"), "\nfigures\n"), page);
    }
}
