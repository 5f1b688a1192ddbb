//! A page of `docs/results` that a chore writes: what it measured last of each title with each LLVM.
//!
//! Figures are kept in the build folder as soon as they are there, so a chore that is stopped, or measures only some, loses none.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context as _, Result};

use crate::bench::machine;
use crate::llvm::SUPPORTED;
use crate::workspace::Workspace;

/// Where a page is written, and where its parts are kept.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    /// The checkout.
    pub(crate) workspace: &'a Workspace,
    /// A folder for both, instead of `docs/results` and the build folder.
    pub(crate) output: Option<&'a Path>,
}

impl Place<'_> {
    fn results(&self) -> PathBuf {
        let results = || self.workspace.root.join("docs/results");
        self.output.map_or_else(results, Path::to_owned)
    }

    fn parts(&self, major: u32) -> PathBuf {
        let parts = |output: &Path| output.join(format!("llvm-{major}"));
        self.output
            .map_or_else(|| self.workspace.llvm_target(major), parts)
    }
}

fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make folder `{}`", folder.display()))
}

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
        place: &Place<'_>,
        major: u32,
        title: &str,
        repetitions: u32,
        figures: &str,
    ) -> Result<()> {
        make(&place.parts(major))?;
        let file = self.kept(place, major, title);
        let text = format!(
            "\n### {title}\n\n{repetitions} repetitions on {}, {} hardware threads. Load of the machine at the end: {:.1}.\n{figures}",
            machine::processor(),
            thread::available_parallelism().map_or(1, usize::from),
            machine::load(),
        );
        fs::write(&file, text).with_context(|| format!("cannot write `{}`", file.display()))
    }

    fn kept(&self, place: &Place<'_>, major: u32, title: &str) -> PathBuf {
        let number = self
            .titles
            .iter()
            .position(|known| *known == title)
            .unwrap_or_default();
        place
            .parts(major)
            .join(format!("bench-{}-{number}.md", self.name))
    }

    /// Writes the page.
    pub(crate) fn write(&self, place: &Place<'_>) -> Result<()> {
        let mut text = self.introduction.to_owned();
        for major in SUPPORTED {
            let _ = write!(text, "\n## LLVM {major}\n");
            for title in self.titles {
                match fs::read_to_string(self.kept(place, major, title)) {
                    Ok(figures) => text.push_str(&figures),
                    Err(_) => {
                        let _ = write!(text, "\n### {title}\n\nNot measured.\n");
                    }
                }
            }
        }
        text.push_str(self.end);
        let results = place.results();
        make(&results)?;
        let file = results.join(format!("{}.md", self.name));
        fs::write(&file, text).with_context(|| format!("cannot write `{}`", file.display()))?;
        println!("figures are in {}", file.display());
        Ok(())
    }
}
