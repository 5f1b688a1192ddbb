//! The workloads: what `test/workloads/workloads.toml` says, and what a run of one prints.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};

use super::configuration::Build;
use crate::corpus::program::{self, Program, WORKLOADS};

/// What a workload is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Group {
    /// Counts towards the geometric mean.
    Measured,
    /// Has nothing to gain; must not lose.
    Null,
    /// Is there to catch a loss.
    Guard,
    /// Is shown apart from the mean.
    Apart,
}

impl Group {
    /// As it is in the file.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Null => "null",
            Self::Guard => "guard",
            Self::Apart => "apart",
        }
    }
}

/// One row of `workloads.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    folder: Option<String>,
    #[serde(default)]
    arguments: Vec<String>,
    group: Group,
    #[serde(default)]
    files: Files,
    #[serde(default)]
    language: Language,
    short: Vec<String>,
    /// Arguments with which a real GPU runs it; none where it is for the x86_64 device alone.
    gpu: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Files {
    #[default]
    One,
    Many,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Language {
    /// C and C++.
    #[default]
    C,
    Rust,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    workload: Vec<Row>,
}

/// A workload: a program, and how it is run here.
#[derive(Debug)]
pub(super) struct Workload {
    pub(super) name: String,
    pub(super) group: Group,
    /// Whether its device code is in several files.
    pub(super) has_many_files: bool,
    /// The name of the folder with its sources: workloads that share it share the program.
    pub(super) folder: String,
    pub(super) sources: Sources,
    /// Arguments of every run, beside the size.
    pub(super) arguments: Vec<String>,
    /// Arguments after these that cut the number of launches.
    pub(super) short: Vec<String>,
    /// Arguments with which a real GPU runs it; none where it is for the x86_64 device alone.
    pub(super) gpu: Option<Vec<String>>,
}

/// What a workload is built of.
#[derive(Debug)]
pub(super) enum Sources {
    /// C and C++ files, for Clang.
    Clang(Program),
    /// One Rust file with marked kernels and `pub fn run()`.
    Rust(PathBuf),
}

impl Workload {
    /// LLVM's linker wrapper hands bitcode for x86-64 to Clang, which takes it as an object of `ld` unless
    /// all was compiled with `-flto`: Clang's own link adds that, a link by rustc does not.
    pub(super) fn can_be_built(&self, build: Build) -> bool {
        matches!(self.sources, Sources::Clang(_)) || build != Build::StockLto
    }
}

/// Reads the list, and keeps what `only` names parts of.
pub(super) fn workloads(root: &Path, only: &[String]) -> Result<Vec<Workload>> {
    let folder = root.join(WORKLOADS);
    let file = folder.join("workloads.toml");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let rows: Rows = toml::from_str(&text).with_context(|| format!("`{}`", file.display()))?;
    for part in only {
        ensure!(
            rows.workload.iter().any(|row| row.name.contains(part.as_str())),
            "no workload has `{part}` in its name: `{}` lists them",
            file.display()
        );
    }
    let mut found = Vec::new();
    for row in rows.workload {
        if !only.is_empty() && !only.iter().any(|part| row.name.contains(part.as_str())) {
            continue;
        }
        let source = row.folder.unwrap_or_else(|| row.name.clone());
        let sources = match row.language {
            Language::Rust => Sources::Rust(folder.join(&source).join(format!("{source}.rs"))),
            Language::C => {
                let mut programs = program::programs_in(&folder)?.into_iter();
                let program = programs.find(|program| program.name == source);
                Sources::Clang(
                    program.with_context(|| format!("no sources in `{}/{source}`", folder.display()))?,
                )
            }
        };
        found.push(Workload {
            folder: source,
            sources,
            name: row.name,
            group: row.group,
            has_many_files: row.files == Files::Many,
            arguments: row.arguments,
            short: row.short,
            gpu: row.gpu,
        });
    }
    Ok(found)
}

/// The arguments with which a real GPU runs each workload, by name.
pub(crate) fn gpu_sizes(root: &Path) -> Result<Vec<(String, Vec<String>)>> {
    let all = workloads(root, &[])?;
    Ok(all
        .into_iter()
        .filter_map(|workload| Some((workload.name, workload.gpu?)))
        .collect())
}

/// What a program printed: its results, and the seconds that it spent in kernels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Printed {
    /// Every line but those that begin with `time `.
    pub(super) facts: String,
    /// Sum of the `total_s=` of all lines that begin with `time `; none where there is no such line.
    pub(super) kernel_seconds: Option<f64>,
}

impl Printed {
    /// Takes apart what a program printed, in the form that `test/workloads/common/workload.h` describes.
    pub(super) fn read(text: &str) -> Self {
        let (times, facts): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with("time "));
        let totals = times
            .iter()
            .flat_map(|line| line.split_whitespace())
            .filter_map(|word| word.strip_prefix("total_s=")?.parse::<f64>().ok());
        Self {
            kernel_seconds: totals.reduce(|sum, seconds| sum + seconds),
            facts: facts.join("\n"),
        }
    }

    /// The facts without checksums: what may not differ even where results may differ in their last bits.
    pub(super) fn without_checksums(&self) -> String {
        let lines = self.facts.lines().filter(|line| !line.starts_with("checksum "));
        lines.collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_summed_and_kept_apart_from_results() {
        let printed = Printed::read(
            "workload w size 3\ntime a launches=2 total_s=0.5 first_s=0.1\nchecksum a 0x1\ntime b total_s=0.25\nresult ok\n",
        );
        assert_eq!(printed.kernel_seconds, Some(0.75));
        assert_eq!(printed.facts, "workload w size 3\nchecksum a 0x1\nresult ok");
        assert_eq!(printed.without_checksums(), "workload w size 3\nresult ok");
        assert_eq!(Printed::read("hello\n").kernel_seconds, None);
    }

    #[test]
    fn the_list_of_workloads_names_sources_that_are_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let all = workloads(root, &[]).unwrap();
        assert!(all.iter().any(|workload| workload.has_many_files));
        assert!(workloads(root, &["no-such-workload".to_owned()]).is_err());
        for workload in all {
            let is_for_gpus = matches!(workload.sources, Sources::Clang(_));
            assert_eq!(workload.gpu.is_some(), is_for_gpus, "{}", workload.name);
        }
    }
}
