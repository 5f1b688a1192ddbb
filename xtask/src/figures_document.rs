//! A page of `docs/results` that a chore writes: what it measured last of each title with each LLVM.
//!
//! Figures are kept in the build folder as soon as they are there, so a chore that is stopped, or measures only some, loses none.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::thread;

use anyhow::{Context as _, Result};

use crate::bench::machine;
use crate::llvm::SUPPORTED;
use crate::workspace::Workspace;

/// A page, of which each LLVM has every title.
#[derive(Debug)]
pub(crate) struct FiguresDocument {
    /// The page's name in `docs/results`, without its ending; with `bench-` before it, the chore's.
    pub(crate) name: &'static str,
    /// How the page begins.
    pub(crate) introduction: &'static str,
    /// What is measured, in the order of the page.
    pub(crate) titles: &'static [&'static str],
    /// How the page ends.
    pub(crate) end: &'static str,
}

impl FiguresDocument {
    /// Keeps what was measured of one of the titles, with the conditions.
    pub(crate) fn keep(
        &self,
        workspace: &Workspace,
        major: u32,
        title: &str,
        repetitions: u32,
        figures: &str,
    ) -> Result<()> {
        let file = self.kept(workspace, major, title);
        let text = format!(
            "\n### {title}\n\n{repetitions} repetitions on {}, {} hardware threads. Load of the machine at the end: {:.1}.\n{figures}",
            machine::processor(),
            thread::available_parallelism().map_or(1, usize::from),
            machine::load(),
        );
        fs::write(&file, text).with_context(|| format!("cannot write `{}`", file.display()))
    }

    fn kept(&self, workspace: &Workspace, major: u32, title: &str) -> PathBuf {
        let number = self
            .titles
            .iter()
            .position(|known| *known == title)
            .unwrap_or_default();
        workspace
            .llvm_target(major)
            .join(format!("bench-{}-{number}.md", self.name))
    }

    /// Writes the page.
    pub(crate) fn write(&self, workspace: &Workspace) -> Result<()> {
        let mut text = self.introduction.to_owned();
        for major in SUPPORTED {
            let _ = write!(text, "\n## LLVM {major}\n");
            for title in self.titles {
                match fs::read_to_string(self.kept(workspace, major, title)) {
                    Ok(figures) => text.push_str(&figures),
                    Err(_) => {
                        let _ = write!(text, "\n### {title}\n\nNot measured.\n");
                    }
                }
            }
        }
        text.push_str(self.end);
        let results = workspace.root.join("docs/results");
        fs::create_dir_all(&results)
            .with_context(|| format!("cannot make folder `{}`", results.display()))?;
        let file = results.join(format!("{}.md", self.name));
        fs::write(&file, text).with_context(|| format!("cannot write `{}`", file.display()))?;
        println!("figures are in {}", file.display());
        Ok(())
    }
}
