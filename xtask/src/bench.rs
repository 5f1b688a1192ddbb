//! `cargo xtask bench`: the workloads, built and run in every way, against the stock build, then launches and
//! links by themselves ([`bench_launch`], [`bench_link`]); or a program of the user's own.
//!
//! | module | does |
//! | --- | --- |
//! | [`workload`] | what there is to run |
//! | [`configuration`] | what is compared |
//! | [`builds`], [`rust`] | builds it |
//! | [`sample`], [`rounds`] | runs it, and compares results |
//! | [`samples`], [`statistics`], [`goals`], [`compiles`] | what the times say |
//! | [`report`], [`plots`], [`machine`], [`results_page`] | writes that down |
//! | [`own_program`] | `cargo xtask bench -- PROGRAM` |
//! | [`gpu`] | `cargo xtask bench --device gpu` |

mod builds;
pub(crate) mod compiles;
mod configuration;
mod goals;
mod gpu;
pub(crate) mod machine;
mod own_program;
mod plots;
mod report;
mod results_page;
mod rounds;
mod rust;
mod sample;
mod samples;
pub(crate) mod statistics;
pub(crate) mod workload;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use self::builds::Builds;
use self::configuration::{Build, Configuration, Length};
use self::machine::Machine;
use self::report::Report;
use self::rounds::{Outcome, Rounds};
use self::rust::Libraries;
use self::workload::Sources;
use crate::build::{LlvmBuilds, Staged};
use crate::corpus::tools;
use crate::openmp::OpenMp;
use crate::workspace::Workspace;
use crate::{bench_launch, bench_link};

/// Options of `cargo xtask bench`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    builds: LlvmBuilds,
    /// What runs the workloads. On `gpu`, of the options below only `--only` counts
    #[arg(long, value_enum, default_value_t = Device::Host)]
    device: Device,
    #[command(flatten)]
    extent: Extent,
    /// A program that was linked with `--jit`, and its arguments: compare it with itself, with the JIT off,
    /// sync and async, in as many rounds as both kinds are together
    #[arg(last = true)]
    program: Vec<String>,
}

/// What runs the workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Device {
    /// The x86_64 device of libomptarget.
    Host,
    /// NVIDIA GPUs: the virtual one, and a real one where it is.
    Gpu,
}

/// What is measured, and how often.
#[derive(clap::Args, Debug)]
pub(crate) struct Extent {
    /// Rounds: how often each is run
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    samples: u32,
    /// Further rounds, of the configurations alone that a goal is about; nulls, guards and short runs have
    /// two turns in each
    #[arg(long, value_name = "N", default_value_t = 5)]
    goal_samples: u32,
    /// Begin no further round that would end later than this many minutes after the first one began
    #[arg(long, value_name = "N", default_value_t = 100)]
    minutes: u64,
    /// Only workloads whose name contains this; may be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Only this configuration beside the stock build; may be given several times
    #[arg(long = "configuration", value_name = "NAME")]
    configurations: Vec<String>,
    /// Few launches in all runs: minutes instead of a quarter of an hour, and nothing has time to pay for a
    /// compile
    #[arg(long)]
    quick: bool,
    /// Another size than `large`
    #[arg(long, default_value = "large")]
    size: String,
    /// Threads of the device
    #[arg(long, default_value_t = 1)]
    threads: u32,
    /// Do not measure what goals are about a second time, with as many threads as there are processors
    #[arg(long)]
    no_busy: bool,
    /// Folder for the report. Default: `docs/results` for a whole run, the build folder for a part of one
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

impl Extent {
    /// A minute at most: small runs of a few workloads, which show that the task works and that results are
    /// right.
    pub(crate) fn short() -> Self {
        Self {
            samples: 1,
            goal_samples: 0,
            minutes: 15,
            only: ["polynomial", "transpose"].map(str::to_owned).into(),
            configurations: configuration::WITH_GOALS.map(str::to_owned).into(),
            quick: true,
            size: "small".to_owned(),
            threads: 1,
            no_busy: false,
            output: None,
        }
    }

    /// Whether nothing is left out that goals are about.
    fn is_whole(&self) -> bool {
        self.only.is_empty()
            && self.configurations.is_empty()
            && !self.quick
            && self.size == "large"
            && self.threads == 1
            && !self.no_busy
    }

    /// Whether so many rounds decide anything; says so where a whole run has too few of them.
    fn has_enough(&self, rounds: u32) -> bool {
        let has_enough = rounds as usize >= statistics::FEWEST_THAT_DECIDE;
        if self.is_whole() && !has_enough {
            println!(
                "{rounds} rounds decide nothing, {} do: this goes into no page of the project",
                statistics::FEWEST_THAT_DECIDE
            );
        }
        has_enough
    }

    /// The threads with which all processors are busy, if that is to be measured and is anything else than
    /// what is measured anyway.
    fn busy_threads(&self, processors: usize) -> Option<u32> {
        let processors = u32::try_from(processors).ok()?;
        (!self.no_busy && processors > self.threads).then_some(processors)
    }

    /// The folder for reports of measurements that are for all to see, or are not.
    fn results(&self, workspace: &Workspace, is_public: bool) -> PathBuf {
        match &self.output {
            Some(folder) => folder.clone(),
            None if is_public => workspace.root.join("docs/results"),
            None => workspace.target.join("bench-results"),
        }
    }
}

/// Runs `cargo xtask bench`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if !arguments.program.is_empty() {
        return own_program::run(
            &arguments.program,
            arguments.extent.samples + arguments.extent.goal_samples,
        );
    }
    let workspace = Workspace::find()?;
    let Arguments { builds, extent, .. } = arguments;
    if arguments.device == Device::Gpu {
        return gpu::run(&workspace, builds, &extent.only);
    }
    builds.check_each(&workspace, |staged| check(&workspace, staged, extent))?;
    if !extent.only.is_empty() {
        return Ok(());
    }
    let is_whole = extent.is_whole();
    let output = (!is_whole || extent.output.is_some()).then(|| extent.results(&workspace, is_whole));
    let launches = bench_launch::Arguments::beside_workloads(builds.clone(), output.clone(), !is_whole);
    bench_launch::run(&launches)?;
    let links = bench_link::Arguments::beside_workloads(builds.clone(), output, !is_whole);
    bench_link::run(&links)
}

/// Measures with one LLVM and writes the report.
///
/// Fails when a program does not print what the stock build prints; then there is no report.
pub(crate) fn check(workspace: &Workspace, staged: &Staged, arguments: &Extent) -> Result<()> {
    let start = Instant::now();
    plots::prepare()?;
    let folder = workspace.llvm_target(staged.llvm.major).join("bench");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make folder `{}`", folder.display()))?;
    // Held to the end: outputs and caches of programs lie there.
    let lock = File::create(folder.join("lock")).context("cannot write the lock of measurements")?;
    ensure!(
        lock.try_lock().is_ok(),
        "another measurement works in `{}`: wait until it has ended, or their results would mix",
        folder.display()
    );
    // Before hours are spent on them.
    arguments.has_enough(arguments.samples + arguments.goal_samples);
    let openmp = OpenMp::prepare(workspace, &staged.llvm)?;
    let mut workloads = workload::workloads(&workspace.root, &arguments.only)?;
    if let Some(reason) = rust::not_for_llvm(staged.llvm.major) {
        println!("workloads in Rust are left out: {reason}");
        workloads.retain(|workload| !matches!(workload.sources, Sources::Rust(_)));
    }
    let has_rust = workloads
        .iter()
        .any(|workload| matches!(workload.sources, Sources::Rust(_)));
    let libraries = has_rust
        .then(|| Libraries::build(workspace, staged))
        .transpose()?;
    let builds = Builds {
        staged,
        openmp: &openmp,
        root: &workspace.root,
        folder: &folder,
        libraries,
    };
    let configurations = configurations(arguments)?;
    let mut to_build: BTreeSet<_> = configurations
        .iter()
        .map(|configuration| configuration.build)
        .collect();
    to_build.insert(Build::Stock);
    builds.all(&workloads, &to_build)?;

    let mut machine = Machine::look(arguments.threads);
    let Outcome {
        samples,
        busy,
        wrong,
        rounds,
        goal_rounds,
        compiles,
    } = Rounds {
        builds: &builds,
        workloads: &workloads,
        configurations: &configurations,
        rounds: arguments.samples,
        goal_rounds: arguments.goal_samples,
        threads: arguments.threads,
        busy_threads: arguments.busy_threads(machine.parallelism()),
        size: &arguments.size,
        only_short: arguments.quick,
        most: Duration::from_secs(60 * arguments.minutes),
    }
    .run()?;
    machine.look_again();
    ensure!(
        wrong.is_empty(),
        "wrong results, LLVM {}:\n{}",
        staged.llvm.major,
        wrong.join("\n")
    );
    let has_enough = arguments.has_enough(rounds + goal_rounds);
    let is_public = arguments.is_whole() && has_enough;
    let results = arguments
        .results(workspace, is_public)
        .join(format!("llvm-{}", staged.llvm.major));
    let report = Report {
        machine: &machine,
        llvm: &staged.llvm.version,
        workloads: &workloads,
        configurations: &configurations,
        samples: &samples,
        busy: &busy,
        compiles: &compiles,
        rounds,
        goal_rounds,
        is_whole: arguments.is_whole(),
        revision: &revision(&workspace.root),
    };
    report.write(&results)?;
    if is_public && arguments.output.is_none() {
        results_page::put_results(
            &workspace.root.join("docs/results/README.md"),
            staged.llvm.major,
            &report.summary(),
        )?;
    }
    println!(
        "{} samples in {:.0} s; the report is {}",
        samples.0.len() + busy.0.len(),
        start.elapsed().as_secs_f64(),
        results.join("README.md").display()
    );
    Ok(())
}

/// Which revision of the project is measured: as Git has it, `with changes` where files differ from it.
fn revision(root: &Path) -> String {
    let git = |arguments: &[&str]| {
        let printed = tools::output(Command::new("git").current_dir(root).args(arguments));
        printed.ok().map(|text| text.trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return "unknown".to_owned();
    };
    // What a measurement itself writes is no change.
    let changed = git(&[
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        ".",
        ":!docs/results",
    ]);
    match changed.as_deref() {
        Some("") => commit,
        _ => format!("{commit} with changes"),
    }
}

/// Those that were asked for and can run here.
fn configurations(arguments: &Extent) -> Result<Vec<Configuration>> {
    let names = &arguments.configurations;
    let all = configuration::ALL;
    for name in names {
        ensure!(
            all.iter()
                .any(|configuration| configuration.name == name.as_str()),
            "there is no configuration `{name}`; there are {}",
            all.map(|configuration| configuration.name).join(", ")
        );
    }
    Ok(all
        .into_iter()
        .filter(|configuration| names.is_empty() || names.iter().any(|name| name == configuration.name))
        .filter(|configuration| configuration::cannot_run(configuration).is_none())
        .map(|configuration| Configuration {
            length: if arguments.quick {
                Length::Short
            } else {
                configuration.length
            },
            ..configuration
        })
        .collect())
}
