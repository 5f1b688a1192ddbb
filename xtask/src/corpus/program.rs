//! The programs and sources of the corpus and what their first lines say about them.
//!
//! `// FLAGS: …` adds compile options, `// ONLY: 22 (reason)` limits a source to one LLVM, `// TARGETS:
//! x86_64 (reason)` to some devices.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::corpus::target::Device;

/// Where the programs are, from the root of the checkout.
const PROGRAMS: &str = "test/corpus/sources";

/// Where the workloads are, from the root of the checkout.
pub(crate) const WORKLOADS: &str = "test/workloads";

/// More sources.
const DEMO: &str = "test/demo";

/// How many lines at the start of a source may hold directives.
const DIRECTIVE_LINES: usize = 8;

/// One C or C++ file.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// The file.
    pub(crate) path: PathBuf,
    /// The path from the corpus's folder, for reports.
    pub(crate) name: String,
    /// Compile options.
    pub(crate) flags: Vec<String>,
    /// Where it can be used.
    limits: Limits,
}

/// Several sources, or one, that make a program.
#[derive(Debug)]
pub(crate) struct Program {
    /// The name of its file or folder.
    pub(crate) name: String,
    /// Its C and C++ files.
    pub(crate) sources: Vec<Source>,
}

impl Program {
    /// Whether it can be built with this LLVM.
    pub(crate) fn is_for_llvm(&self, major: u32) -> bool {
        let mut sources = self.sources.iter();
        sources.all(|source| source.not_for_llvm(major).is_none())
    }
}

/// What `ONLY` and `TARGETS` say, each with its reason.
#[derive(Debug, Clone, Default)]
struct Limits {
    llvm: Option<Limit>,
    devices: Option<Limit>,
}

#[derive(Debug, Clone)]
struct Limit {
    to: Vec<String>,
    reason: String,
}

impl Source {
    fn read(path: PathBuf, folder: &Path) -> Result<Self> {
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let directive = |key: &str| {
            let mut lines = text.lines().take(DIRECTIVE_LINES);
            lines.find_map(|line| line.strip_prefix("// ")?.strip_prefix(key)?.strip_prefix(':'))
        };
        let flags = directive("FLAGS").unwrap_or_default();
        let name = path.strip_prefix(folder).unwrap_or(&path);
        Ok(Self {
            name: name.display().to_string(),
            flags: flags.split_whitespace().map(str::to_owned).collect(),
            limits: Limits {
                llvm: directive("ONLY").map(Limit::read),
                devices: directive("TARGETS").map(Limit::read),
            },
            path,
        })
    }

    /// Why the source is not for this LLVM, if it is not.
    pub(crate) fn not_for_llvm(&self, major: u32) -> Option<&str> {
        self.limits.llvm.as_ref()?.excludes(&major.to_string())
    }

    /// Why the source is not for this device, if it is not.
    pub(crate) fn not_for(&self, device: Device) -> Option<&str> {
        self.limits.devices.as_ref()?.excludes(device.name())
    }

    /// Whether it is C++, not C.
    pub(crate) fn is_cxx(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "cpp")
    }
}

impl Limit {
    fn read(value: &str) -> Self {
        let (words, reason) = value.split_once('(').unwrap_or((value, "no reason given"));
        Self {
            to: words.split_whitespace().map(str::to_owned).collect(),
            reason: reason.trim_end().trim_end_matches(')').to_owned(),
        }
    }

    /// The reason, when `word` is not among those listed.
    fn excludes(&self, word: &str) -> Option<&str> {
        let is_listed = self.to.iter().any(|listed| listed == word);
        (!is_listed).then_some(&self.reason)
    }
}

/// Every source, in alphabetical order: those of the programs, and the demo's.
pub(crate) fn sources(root: &Path) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for folder in [PROGRAMS, DEMO] {
        let folder = root.join(folder);
        let mut paths = Vec::new();
        for path in entries(&folder)? {
            collect(path, &mut paths)?;
        }
        for path in paths {
            sources.push(Source::read(path, &folder)?);
        }
    }
    Ok(sources)
}

/// Every program, in alphabetical order.
pub(crate) fn programs(root: &Path) -> Result<Vec<Program>> {
    programs_in(&root.join(PROGRAMS))
}

/// The programs in a folder, in alphabetical order: each file, and the files of each folder in it.
pub(crate) fn programs_in(folder: &Path) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for path in entries(folder)? {
        let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        let mut paths = Vec::new();
        collect(path, &mut paths)?;
        let sources: Vec<_> = paths
            .into_iter()
            .map(|path| Source::read(path, folder))
            .collect::<Result<_>>()?;
        if !sources.is_empty() {
            programs.push(Program { name, sources });
        }
    }
    Ok(programs)
}

/// What is in a folder, in alphabetical order.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read folder `{}`", folder.display()))?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .with_context(|| format!("cannot read folder `{}`", folder.display()))?;
    paths.sort();
    Ok(paths)
}

/// The C and C++ files that are `path` or in the folder `path`.
fn collect(path: PathBuf, files: &mut Vec<PathBuf>) -> Result<()> {
    if path.is_dir() {
        for entry in entries(&path)? {
            collect(entry, files)?;
        }
    } else if path
        .extension()
        .is_some_and(|extension| extension == "c" || extension == "cpp")
    {
        files.push(path);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    #[test]
    fn every_program_of_the_corpus_is_in_its_table() -> Result<()> {
        let root = Workspace::find()?.root;
        let readme = fs::read_to_string(root.join("test/corpus/README.md"))?;
        let folder = root.join(PROGRAMS);
        let programs = programs(&root)?;
        assert!(!programs.is_empty());
        for Program { name, .. } in programs {
            let slash = if folder.join(&name).is_dir() { "/" } else { "" };
            assert!(readme.contains(&format!("\n| `{name}{slash}` | ")), "{name}");
        }
        Ok(())
    }

    #[test]
    fn a_limit_excludes_what_it_does_not_list_and_says_why() {
        let limit = Limit::read(" x86_64 amdgcn (GPUs have no (such) type)");
        assert_eq!(limit.excludes("x86_64"), None);
        assert_eq!(limit.excludes("nvptx64"), Some("GPUs have no (such) type"));
    }
}
