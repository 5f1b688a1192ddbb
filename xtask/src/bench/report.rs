//! The report of one LLVM: tables in Markdown, figures, raw samples.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::compiles::{self, Compiles};
use super::configuration::{self, Configuration, LEVELS, Length, WITH_GOALS, cannot_run};
use super::goals;
use super::machine::Machine;
use super::plots::{self, Bar, Bars, Matrix, Row};
use super::samples::{Samples, Time};
use super::statistics::{self, Estimate};
use super::workload::{Group, Workload};
use crate::workspace::write_whole;

/// Devices that the JIT paper's Figure 4 has and that nobody has run this on.
const NOT_AT_HAND: [&str; 2] = ["sm (NVIDIA)", "gfx (AMD)"];

/// Everything that was measured with one LLVM.
#[derive(Debug)]
pub(super) struct Report<'a> {
    pub(super) machine: &'a Machine,
    pub(super) llvm: &'a str,
    pub(super) workloads: &'a [Workload],
    pub(super) configurations: &'a [Configuration],
    pub(super) samples: &'a Samples,
    /// Those with all processors busy.
    pub(super) busy: &'a Samples,
    pub(super) compiles: &'a [Compiles],
    /// Rounds of all configurations.
    pub(super) rounds: u32,
    /// Rounds of those that a goal is about.
    pub(super) goal_rounds: u32,
    /// Whether nothing is left out that goals are about.
    pub(super) is_whole: bool,
    /// The revision of the project.
    pub(super) revision: &'a str,
}

impl Report<'_> {
    /// Writes `README.md`, the figures and `samples.json` into a folder.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make folder `{}`", folder.display()))?;
        let portability = self.portability();
        plots::write_bars(
            folder,
            "figure-2",
            &self.bars("Figure 2: kernel time", Time::Kernel, |name| {
                !LEVELS.contains(&name)
            }),
        )?;
        plots::write_bars(
            folder,
            "figure-3",
            &self.bars("Figure 3: end to end", Time::EndToEnd, |name| {
                self.length(name) == Some(Length::Full)
            }),
        )?;
        plots::write_matrix(folder, "figure-4", &portability)?;
        let write = |name: &str, text: String| {
            let file = folder.join(name);
            write_whole(&file, &text)
        };
        write("README.md", self.markdown(&portability))?;
        let samples = json!({ "machine": self.machine, "llvm": self.llvm, "revision": self.revision, "samples": self.samples.0, "busy": self.busy.0, "compiles": self.compiles });
        write("samples.json", format!("{samples:#}\n"))
    }

    /// What `docs/results/README.md` says.
    pub(super) fn summary(&self) -> String {
        let folder = format!("llvm-{}", self.llvm.split('.').next().unwrap_or_default());
        format!(
            "LLVM {}; revision {}; rounds of all builds: {}; further rounds of those that goals are about: {}; [all tables, samples and figures]({folder}/README.md). {}\n\n![Figure 2]({folder}/figure-2.svg)\n\nThe figure shows times: below 1 is faster. Goals count how many times as fast, above 1 is faster.\n\n{}",
            self.llvm,
            self.revision,
            self.rounds,
            self.goal_rounds,
            self.machine,
            goals::short_table(self.workloads, self.samples, self.busy)
        )
    }

    /// The report as Markdown.
    fn markdown(&self, portability: &Matrix) -> String {
        let mut text = format!(
            "# Evaluation, LLVM {}\n\n\
             Written by `cargo xtask bench`, of revision {}; every run is in [samples.json](samples.json). {}\n\n\
             Rounds: {}. In each, the configurations of a workload run one after the other, each once, in an order in which each comes before each other \
             one as often as behind it. Then rounds of the stock \
             build and those alone that a goal is about ({}): {}, in which nulls, guards and short runs have two turns, where the question is \
             whether a few percent are lost. A figure is the median over turns of a configuration's time divided by that of the stock build in the \
             same turn: **below 1 is faster**. In brackets the interval that holds the median in {:.0} % of all cases, which takes {} turns (of fewer \
             the least and the most; of one there is no interval). The means are geometric, over the group `measured`, with a bootstrap interval. \
             Every run must print what the stock build \
             prints, checksums included (without them where `-march=native` or `source` may round otherwise). A goal is open where its limit is \
             inside the interval, or where there are too few turns.\n\n\
             `stock` is Clang and LLVM's tools, `ours` the same Clang with Offloom's; `-lto` links device code as bitcode. `jit-warm` \
             starts with the cache that a run before left, `jit-cold` with an empty one; both compile beside the program, `-sync` before the \
             launch. `-source` allows results as those of the source with constants in it. The workloads' large sizes; configurations that need no \
             time to pay for a compile run fewer launches of the same size, and are compared with stock runs of that length. Compiles beside the program \
             have a processor to themselves where there are more hardware threads than the programs use. Where there is a column *all processors busy*, \
             the same programs have as many threads as the hardware, stock and configuration by turns, so that compiles have only what these leave.\n\n",
            self.llvm,
            self.revision,
            self.machine,
            self.rounds,
            WITH_GOALS.map(|name| format!("`{name}`")).join(", "),
            self.goal_rounds,
            statistics::CONFIDENCE * 100.0,
            statistics::FEWEST_THAT_DECIDE
        );
        if self.is_whole {
            let _ = writeln!(
                text,
                "## Goals\n\n{}\nWhat profiles say of what is missed: [why.md](../why.md).\n",
                goals::table(self.workloads, self.samples, self.busy)
            );
        } else {
            text += "## Goals\n\nThey are about all workloads, configurations and large sizes: this is a part, which says nothing of them.\n\n";
        }
        let _ = writeln!(
            text,
            "## Figure 2: kernel time relative to the stock build\n\n![Figure 2](figure-2.svg)\n\n{}",
            self.table(self.samples, Time::Kernel, |name| !LEVELS.contains(&name))
        );
        let _ = writeln!(
            text,
            "## Figure 3: end-to-end time relative to the stock build\n\n![Figure 3](figure-3.svg)\n\n{}",
            self.table(self.samples, Time::EndToEnd, |name| self.length(name)
                == Some(Length::Full))
        );
        if !self.busy.0.is_empty() {
            let table = |time| self.table(self.busy, time, |name| WITH_GOALS.contains(&name));
            let _ = writeln!(
                text,
                "## All processors busy\n\nWith as many threads as the hardware has, kernel time relative to the stock build:\n\n{}\n\
                 End to end:\n\n{}",
                table(Time::Kernel),
                table(Time::EndToEnd)
            );
        }
        let _ = writeln!(
            text,
            "## Figure 4: one program, built for x86-64, on several processors\n\n![Figure 4](figure-4.svg)\n\n\
             Kernel time relative to the stock build for x86-64, with variants for each processor; every launch runs a variant.\n\n{}",
            portability_table(portability)
        );
        let _ = writeln!(
            text,
            "## What a compile takes\n\nPer variant, on average, in the run that fills the cache of `jit-warm`; each in a worker process.\n\n{}",
            compiles::table(self.compiles)
        );
        text += "## Launches and links\n\nWhat the JIT adds to a launch, to the start of a program and to the first launch of a kernel: \
                 [launch.md](../launch.md). What links take, in time and memory, beside LLVM's tools: [link.md](../link.md). Measured after \
                 the workloads, where none was picked.\n";
        text
    }

    fn length(&self, configuration: &str) -> Option<Length> {
        let mut configurations = self.configurations.iter();
        Some(
            configurations
                .find(|candidate| candidate.name == configuration)?
                .length,
        )
    }

    fn shown(&self, is_shown: &dyn Fn(&str) -> bool) -> Vec<Configuration> {
        let configurations = self.configurations.iter().copied();
        configurations
            .filter(|configuration| is_shown(configuration.name))
            .collect()
    }

    /// One row a workload, one column a configuration.
    fn table(&self, samples: &Samples, time: Time, is_shown: impl Fn(&str) -> bool) -> String {
        let configurations = self.shown(&is_shown);
        let mut text = "| workload | group | stock, s (least to most) |".to_owned();
        for configuration in &configurations {
            let _ = write!(text, " {} |", configuration.name);
        }
        text += &format!("\n| --- | --- | --- |{}\n", " --- |".repeat(configurations.len()));
        for workload in self.workloads {
            let seconds = Length::ALL
                .into_iter()
                .map(|length| samples.seconds(&workload.name, configuration::BASE, length, time))
                .find(|seconds| !seconds.is_empty())
                .unwrap_or_default();
            let least = seconds.iter().copied().fold(f64::INFINITY, f64::min);
            let most = seconds.iter().copied().fold(0.0, f64::max);
            let _ = write!(
                text,
                "| {} | {} | {:.3} ({least:.3} to {most:.3}) |",
                workload.name,
                workload.group.name(),
                statistics::median(&seconds)
            );
            for configuration in &configurations {
                let ratio = samples.ratio(&workload.name, configuration.name, configuration.length, time);
                let _ = write!(text, " {} |", cell(ratio));
            }
            text.push('\n');
        }
        text += "| **geometric mean** | measured | |";
        for configuration in &configurations {
            let _ = write!(text, " {} |", cell(self.mean(samples, configuration, time)));
        }
        text.push('\n');
        text
    }

    fn mean(&self, samples: &Samples, configuration: &Configuration, time: Time) -> Option<Estimate> {
        let measured = self
            .workloads
            .iter()
            .filter(|workload| workload.group == Group::Measured);
        let ratios: Vec<_> = measured
            .map(|workload| samples.ratios(&workload.name, configuration.name, configuration.length, time))
            .collect();
        statistics::of_geometric_mean(&ratios)
    }

    fn bars(&self, title: &str, time: Time, is_shown: impl Fn(&str) -> bool) -> Bars {
        let mut groups: Vec<_> = self
            .workloads
            .iter()
            .map(|workload| workload.name.clone())
            .collect();
        groups.push("geometric mean".to_owned());
        let bars = self.shown(&is_shown).into_iter().map(|configuration| {
            let of = |workload: &Workload| {
                self.samples
                    .ratio(&workload.name, configuration.name, configuration.length, time)
            };
            let mut values: Vec<_> = self.workloads.iter().map(of).collect();
            values.push(self.mean(self.samples, &configuration, time));
            Bar {
                name: configuration.name.to_owned(),
                colour: configuration::ALL
                    .iter()
                    .position(|other| other.name == configuration.name)
                    .unwrap_or_default(),
                values,
            }
        });
        Bars {
            title: format!("{title}, LLVM {}", self.llvm),
            axis: "relative to the stock build ahead of time; below 1 is faster; lines are 95 % intervals"
                .to_owned(),
            groups,
            bars: bars.collect(),
        }
    }

    fn portability(&self) -> Matrix {
        let mut rows = Vec::new();
        for level in LEVELS {
            let name = level.trim_start_matches("jit-").to_owned();
            let configuration = configuration::ALL
                .iter()
                .find(|configuration| configuration.name == level);
            let cells = match configuration.map(cannot_run) {
                Some(Some(reason)) => Err(format!("not measured: {reason}")),
                _ if self.length(level).is_none() => Err("not measured in this run".to_owned()),
                _ => {
                    let of = |workload: &Workload| {
                        let length = self.length(level)?;
                        let ratio = self.samples.ratio(&workload.name, level, length, Time::Kernel)?;
                        Some(ratio.value)
                    };
                    Ok(self.workloads.iter().map(of).collect())
                }
            };
            rows.push(Row { name, cells });
        }
        for device in NOT_AT_HAND {
            rows.push(Row {
                name: device.to_owned(),
                cells: Err("not measured: no such device at hand".to_owned()),
            });
        }
        Matrix {
            title: format!(
                "Figure 4: kernel time of one program for x86-64, relative to the stock build, LLVM {}",
                self.llvm
            ),
            columns: self
                .workloads
                .iter()
                .map(|workload| workload.name.clone())
                .collect(),
            rows,
        }
    }
}

fn portability_table(matrix: &Matrix) -> String {
    let mut text = format!("| target | {} |\n| --- |", matrix.columns.join(" | "));
    text += &" --- |".repeat(matrix.columns.len());
    text.push('\n');
    for Row { name, cells } in &matrix.rows {
        let _ = write!(text, "| {name} |");
        match cells {
            Ok(cells) => {
                for cell in cells {
                    let _ = write!(
                        text,
                        " {} |",
                        cell.map_or(String::new(), |value| format!("{value:.2}"))
                    );
                }
            }
            Err(reason) => {
                let _ = write!(
                    text,
                    " *{reason}* |{}",
                    " |".repeat(matrix.columns.len().saturating_sub(1))
                );
            }
        }
        text.push('\n');
    }
    text
}

fn cell(estimate: Option<Estimate>) -> String {
    estimate.map_or(String::new(), |estimate| match estimate.values {
        1 => format!("{:.2}", estimate.value),
        _ => format!(
            "{:.2} [{:.2}, {:.2}]",
            estimate.value, estimate.low, estimate.high
        ),
    })
}
