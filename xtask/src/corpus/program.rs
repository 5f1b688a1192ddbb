//! The sources of the corpus and what their first lines say about them.
//!
//! `// FLAGS: …` adds compile options, `// ONLY: 22 (reason)` limits a source to one LLVM. `test/corpus/run-stock.py` describes the
//! directives that are about running the programs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// Where the sources are, from the root of the checkout.
const FOLDERS: [&str; 2] = ["test/corpus/sources", "test/demo"];

/// How many lines at the start of a source may hold directives.
const DIRECTIVE_LINES: usize = 8;

/// One C or C++ file.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// The file.
    pub(crate) path: PathBuf,
    /// Compile options.
    pub(crate) flags: Vec<String>,
    /// The major versions it is for; empty: all.
    only: Vec<String>,
}

impl Source {
    fn read(path: PathBuf) -> Result<Self> {
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let words = |key: &str| -> Vec<String> {
            let lines = text.lines().take(DIRECTIVE_LINES);
            let values =
                lines.filter_map(|line| line.strip_prefix("// ")?.strip_prefix(key)?.strip_prefix(':'));
            let before_reason = values.map(|value| value.split('(').next().unwrap_or_default());
            before_reason
                .flat_map(str::split_whitespace)
                .map(str::to_owned)
                .collect()
        };
        let (flags, only) = (words("FLAGS"), words("ONLY"));
        Ok(Self { path, flags, only })
    }

    /// The path from the corpus's folder, for reports.
    pub(crate) fn name(&self, root: &Path) -> String {
        let path = FOLDERS
            .iter()
            .find_map(|folder| self.path.strip_prefix(root.join(folder)).ok());
        path.unwrap_or(&self.path).display().to_string()
    }

    /// Whether the source is for this LLVM.
    pub(crate) fn is_for(&self, major: u32) -> bool {
        self.only.is_empty() || self.only.contains(&major.to_string())
    }

    /// Whether it is C++, not C.
    pub(crate) fn is_cxx(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "cpp")
    }
}

/// Every source, in alphabetical order.
pub(crate) fn sources(root: &Path) -> Result<Vec<Source>> {
    let mut paths = Vec::new();
    for folder in FOLDERS {
        collect(&root.join(folder), &mut paths)?;
    }
    paths.sort();
    paths.into_iter().map(Source::read).collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read folder `{}`", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, paths)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "c" || extension == "cpp")
        {
            paths.push(path);
        }
    }
    Ok(())
}
