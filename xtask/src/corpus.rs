//! `cargo xtask corpus`: the passes over the corpus of `test/corpus`, measured by Clang.
//!
//! For each LLVM:
//! * each source at `-O0` and `-O2`, for the host and each device: compile with Clang, strip with the test
//!   plugin, regenerate with `offload-entries` (on devices also `offload-visibility`), and compare the two
//!   modules in a canonical form;
//! * every pass over each of these modules: verified, and the same when run twice;
//! * programs built through our passes, run on the x86_64 device next to the stock build;
//! * random modules through every pass.
//!
//! Ends with the numbers of modules compared, equal and different, after every difference.

mod canonical;
mod comparison;
pub(crate) mod device_code;
mod every_pass;
mod execution;
pub(crate) mod program;
mod random_ir;
mod report;
mod target;
pub(crate) mod tools;
pub(crate) mod workers;

use std::num::NonZeroUsize;

use anyhow::{Result, ensure};

use crate::build::{LlvmBuilds, Staged};
use crate::corpus::comparison::Module;
use crate::corpus::every_pass::Runtimes;
use crate::corpus::program::Source;
use crate::corpus::report::{Comparisons, Tally};
use crate::corpus::target::Target;
use crate::names::is_wanted;
use crate::openmp::OpenMp;
use crate::workspace::Workspace;

/// Options of `cargo xtask corpus`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    builds: LlvmBuilds,
    #[command(flatten)]
    extent: Extent,
    /// Only programs whose name contains one of these. Default: all
    programs: Vec<String>,
}

/// How much is done.
#[derive(clap::Args, Debug)]
pub(crate) struct Extent {
    /// Compare every N-th source
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) compare_every: NonZeroUsize,
    /// Build and run every N-th program
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) run_every: NonZeroUsize,
    /// How many random modules go through each pass
    #[arg(long, value_name = "NUMBER", default_value = "40")]
    pub(crate) random_modules: u32,
}

impl Extent {
    /// What fits in a test run of minutes; the whole takes several for each LLVM.
    pub(crate) fn short() -> Self {
        Self {
            compare_every: NonZeroUsize::MIN.saturating_add(2),
            run_every: NonZeroUsize::MIN.saturating_add(7),
            random_modules: 16,
        }
    }
}

/// Runs `cargo xtask corpus`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    arguments.builds.check_each(&workspace, |staged| {
        check_all(&workspace, staged, &arguments.extent, &arguments.programs)
    })
}

/// Does everything for one LLVM and prints the report.
///
/// Fails when a module or an output differs, and when there was nothing to compare.
pub(crate) fn check_all(
    workspace: &Workspace,
    staged: &Staged,
    extent: &Extent,
    only: &[String],
) -> Result<()> {
    let major = staged.llvm.major;
    let openmp = OpenMp::prepare(workspace, &staged.llvm)?;
    let runtimes = Runtimes::compile(workspace, staged)?;
    let is_wanted = |name: &str| is_wanted(name, only);

    let mut sources = program::sources(&workspace.root)?;
    sources.retain(|source| is_wanted(&source.name));
    let sources: Vec<_> = sources.into_iter().step_by(extent.compare_every.get()).collect();
    ensure!(!sources.is_empty(), "no program of that name in the corpus");
    let modules = modules(&sources, major);
    println!("LLVM {major}: comparing {} modules with Clang's", modules.len());
    let mut comparisons = Comparisons::default();
    workers::for_each(
        "modules",
        &modules,
        |module| comparison::compare(staged, &openmp, &runtimes, module),
        |module, outcome| comparisons.add(module, outcome),
    )?;

    let mut programs = program::programs(&workspace.root)?;
    programs.retain(|program| is_wanted(&program.name) && program.is_for_llvm(major));
    let programs: Vec<_> = programs.into_iter().step_by(extent.run_every.get()).collect();
    println!(
        "LLVM {major}: building and running {} programs twice",
        programs.len()
    );
    let mut runs = Tally::default();
    workers::for_each(
        "programs",
        &programs,
        |program| execution::run_both(staged, &openmp, program),
        |program, outcome| runs.add(&program.name, outcome),
    )?;

    let cases = random_ir::cases(extent.random_modules);
    let mut random = Tally::default();
    workers::for_each(
        "random modules",
        &cases,
        |case| random_ir::run(staged, &runtimes, case),
        |case, outcome| random.add(case, outcome),
    )?;

    println!();
    let found = [
        comparisons.finish(major),
        runs.finish(
            major,
            "programs built through our passes print what the stock builds print",
        ),
        random.finish(major, "random modules went through a pass"),
    ];
    let problems: Vec<_> = found
        .into_iter()
        .filter_map(Result::err)
        .map(|error| format!("{error:#}"))
        .collect();
    ensure!(problems.is_empty(), "LLVM {major}: {}", problems.join("; "));
    Ok(())
}

/// Every module to compare. Those that cannot be made are named, with the reason.
fn modules(sources: &[Source], major: u32) -> Vec<Module<'_>> {
    let mut modules = Vec::new();
    for source in sources {
        if let Some(reason) = source.not_for_llvm(major) {
            println!("left out: {} with LLVM {major}: {reason}", source.name);
            continue;
        }
        for target in Target::ALL {
            if let Some(reason) = source.not_for(target.device()) {
                println!("left out: {} for {target}: {reason}", source.name);
                continue;
            }
            for level in ["-O0", "-O2"] {
                modules.push(Module {
                    source,
                    level,
                    target,
                });
            }
        }
    }
    modules
}
