//! `cargo xtask specialize-check`: random kernels, specialised to random launches, give the bits that the kernels give as they are.
//!
//! A case is a kernel and a launch of it, both made from a seed. Cases come in batches, each a program of its own: built once with
//! its device code as it is and once with every kernel specialised to its launch, run on the x86_64 device, outputs compared. With
//! `--mutant` the descriptors are wrong on purpose, with `--code-mutant` the passes, and what must then be seen is a difference or a crash.

mod batch;
mod code_mutant;
mod kernel;
mod launch;
mod random;

use anyhow::{Result, bail, ensure};

use crate::build::{LlvmBuilds, Staged};
use crate::openmp::OpenMp;
use crate::workspace::Workspace;

use batch::{Batch, Outcome};
use code_mutant::{CODE_MUTANTS, CodeMutant};
pub(crate) use launch::Mutant;

/// Options of `cargo xtask specialize-check`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    builds: LlvmBuilds,
    /// How many cases
    #[arg(long, default_value_t = 2000)]
    cases: u64,
    /// The seed of the first case; the next ones follow
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Specialise to wrong descriptors, which must be noticed
    #[arg(long, value_enum)]
    mutant: Option<Mutant>,
    /// Make this mistake in a copy of the passes' code, which must be noticed; `all`: each in turn
    #[arg(long, value_name = "NAME", conflicts_with = "mutant", value_parser = code_mutants)]
    code_mutant: Option<CodeMutants>,
}

/// Mistakes in the code of the passes.
#[derive(Debug, Clone)]
struct CodeMutants(Vec<CodeMutant>);

fn code_mutants(name: &str) -> Result<CodeMutants, String> {
    if name == "all" {
        return Ok(CodeMutants(CODE_MUTANTS.to_vec()));
    }
    let known = || CODE_MUTANTS.map(|mutant| mutant.name).join(", ");
    CodeMutant::find(name)
        .map(|mutant| CodeMutants(vec![mutant]))
        .ok_or_else(|| format!("there are `all` and {}", known()))
}

/// Cases in one program.
pub(crate) const BATCH: u64 = 50;

/// Cases in a test run of minutes.
pub(crate) const SHORT: u64 = 100;

/// Runs `cargo xtask specialize-check`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    arguments.builds.for_each(&workspace, |staged| {
        for mutant in arguments.code_mutant.iter().flat_map(|mutants| &mutants.0) {
            let staged = mutant.build(&workspace, staged)?;
            check_caught(&workspace, &staged, arguments, mutant.name)?;
        }
        match arguments.mutant {
            _ if arguments.code_mutant.is_some() => {}
            None => check(&workspace, staged, arguments.seed, arguments.cases)?,
            Some(mutant) => check_caught(&workspace, staged, arguments, &format!("{mutant:?}"))?,
        }
        Ok(())
    })
}

/// Runs the cases; an error names the seeds of those that differ.
pub(crate) fn check(workspace: &Workspace, staged: &Staged, first: u64, cases: u64) -> Result<()> {
    let openmp = OpenMp::prepare(workspace, &staged.llvm)?;
    let end = first + cases;
    println!(
        "LLVM {}: {cases} cases, seeds {first} to {}",
        staged.llvm.major,
        end - 1
    );
    let mut wrong = Vec::new();
    for start in (first..end).step_by(BATCH as usize) {
        let batch = Batch::of(start..end.min(start + BATCH));
        match batch.run(staged, &openmp, None)? {
            Outcome::Same => {}
            Outcome::Different(seeds) => wrong.extend(seeds),
            Outcome::Crashed(message) => bail!("{message}: seeds {start} to {}", batch.last()),
        }
    }
    ensure!(
        wrong.is_empty(),
        "specialised kernels give other results with the seeds {wrong:?}; look at one with `cargo xtask specialize-check --llvm {} \
         --cases 1 --seed {}`",
        staged.llvm.major,
        wrong[0]
    );
    println!("LLVM {}: all bits are equal", staged.llvm.major);
    Ok(())
}

/// Runs the cases, which something is wrong with, until that is noticed; an error says that it was not.
fn check_caught(workspace: &Workspace, staged: &Staged, arguments: &Arguments, mutant: &str) -> Result<()> {
    let openmp = OpenMp::prepare(workspace, &staged.llvm)?;
    let end = arguments.seed + arguments.cases;
    for start in (arguments.seed..end).step_by(BATCH as usize) {
        let batch = Batch::of(start..end.min(start + BATCH));
        let how = match batch.run(staged, &openmp, arguments.mutant)? {
            Outcome::Same => continue,
            Outcome::Different(seeds) => format!("{} of {} cases differ", seeds.len(), batch.len()),
            Outcome::Crashed(message) => message.lines().next().unwrap_or_default().to_owned(),
        };
        println!("LLVM {}: {mutant} is caught: {how}", staged.llvm.major);
        return Ok(());
    }
    bail!("{mutant} is not noticed in {} cases", arguments.cases)
}
