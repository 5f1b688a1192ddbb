//! `cargo xtask corpus`: Clang's modules against the ones our passes make of them once everything our passes make is taken away.
//!
//! For each source of `test/corpus/sources`, each LLVM, `-O0` and `-O2`, host and x86_64 device: compile with Clang, strip with the
//! test plugin, regenerate with `offload-entries` (on the device also `offload-visibility`), and compare the two modules in a
//! canonical form. Ends with the numbers of modules compared, equal and different, after every difference.

mod canonical;
mod comparison;
mod program;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Result, bail, ensure};

use crate::build::{self, Staged, Staging};
use crate::corpus::comparison::{Module, Side, compare};
use crate::llvm::Choice;
use crate::openmp::OpenMp;
use crate::workspace::Workspace;

/// Options of `cargo xtask corpus`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    llvm: Choice,
    #[command(flatten)]
    staging: Staging,
    /// Only programs whose name contains one of these. Default: all
    programs: Vec<String>,
}

/// Runs `cargo xtask corpus`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    let mut failed = Vec::new();
    for llvm in arguments.llvm.find()? {
        let staged = build::build(&workspace, llvm, &arguments.staging)?;
        if let Err(error) = compare_all(&workspace, &staged, &arguments.programs) {
            failed.push(format!("{error:#}"));
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join("; "));
    Ok(())
}

/// Compares the corpus for one LLVM and prints the report.
///
/// Fails when a module differs, and when there was nothing to compare.
pub(crate) fn compare_all(workspace: &Workspace, staged: &Staged, only: &[String]) -> Result<()> {
    let major = staged.llvm.major;
    let openmp = OpenMp::prepare(workspace, &staged.llvm)?;
    let modules = modules(workspace, major, only)?;
    println!("LLVM {major}: comparing {} modules with Clang's", modules.len());
    let next = AtomicUsize::new(0);
    let report = Mutex::new(Report::default());
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(module) = modules.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = compare(staged, &openmp, module);
                    if let Ok(mut report) = report.lock() {
                        report.add(module, outcome);
                    }
                }
            });
        }
    });
    let Ok(report) = report.into_inner() else {
        bail!("a comparison panicked");
    };
    println!(
        "LLVM {major}: {} modules compared, {} equal, {} different",
        report.compared, report.equal, report.different
    );
    println!(
        "LLVM {major}: {} entries and {} operands of omp_offload.info were taken away and made again",
        report.entries, report.operands
    );
    if report.dropped > 0 {
        println!(
            "LLVM {major}: {} operands for variables that the optimiser had dropped were left out",
            report.dropped
        );
    }
    ensure!(report.compared > 0, "no program of that name in the corpus");
    ensure!(report.entries > 0, "the corpus has no entries: nothing was shown");
    ensure!(
        report.different == 0,
        "LLVM {major}: {} modules are not as Clang makes them",
        report.different
    );
    Ok(())
}

/// What has been found so far.
#[derive(Default)]
struct Report {
    compared: usize,
    equal: usize,
    different: usize,
    /// Entries taken away.
    entries: usize,
    /// Operands of `omp_offload.info` taken away.
    operands: usize,
    /// Operands left out of the comparison.
    dropped: usize,
}

impl Report {
    fn add(&mut self, module: &Module, outcome: Result<comparison::Outcome>) {
        self.compared += 1;
        match outcome {
            Ok(outcome) => {
                self.entries += outcome.entries;
                self.operands += outcome.operands;
                self.dropped += outcome.dropped;
                if outcome.differences.is_empty() {
                    self.equal += 1;
                    return;
                }
                println!("different: {module}");
                for line in outcome.differences {
                    println!("  {line}");
                }
            }
            Err(error) => println!("failed: {module}: {error:#}"),
        }
        self.different += 1;
    }
}

/// Every module to compare.
fn modules(workspace: &Workspace, major: u32, only: &[String]) -> Result<Vec<Module>> {
    let mut modules = Vec::new();
    for source in program::sources(&workspace.root)? {
        let name = source.name(&workspace.root);
        let is_wanted = only.is_empty() || only.iter().any(|part| name.contains(part));
        if !is_wanted || !source.is_for(major) {
            continue;
        }
        for level in ["-O0", "-O2"] {
            for side in [Side::Host, Side::Device] {
                modules.push(Module {
                    name: name.clone(),
                    source: source.clone(),
                    level,
                    side,
                });
            }
        }
    }
    Ok(modules)
}
