//! `cargo xtask specialize-check`: random kernels, specialised to random launches, give the bits that the kernels give as they are.
//!
//! A case is a kernel and a launch of it, both made from a seed. Cases come in batches, each a program of its own: built once with
//! its device code as it is and once with every kernel specialised to its launch, run on the x86_64 device, outputs compared. With
//! `--mutant` the descriptors are wrong on purpose, and what must then be seen is a difference or a crash.

mod batch;
mod kernel;
mod launch;
mod random;

use anyhow::{Result, bail, ensure};

use crate::build::{self, Staged, Staging};
use crate::llvm::Choice;
use crate::openmp::OpenMp;
use crate::workspace::Workspace;

use batch::{Batch, Outcome};
pub(crate) use launch::Mutant;

/// Options of `cargo xtask specialize-check`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    llvm: Choice,
    #[command(flatten)]
    staging: Staging,
    /// How many cases
    #[arg(long, default_value_t = 2000)]
    cases: u64,
    /// The seed of the first case; the next ones follow
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Specialise to wrong descriptors, which must be noticed
    #[arg(long, value_enum)]
    mutant: Option<Mutant>,
}

/// Cases in one program.
const BATCH: u64 = 50;

/// Cases in a test run of minutes.
pub(crate) const SHORT: u64 = 100;

/// Runs `cargo xtask specialize-check`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    for llvm in arguments.llvm.find()? {
        let staged = build::build(&workspace, llvm, &arguments.staging)?;
        match arguments.mutant {
            None => check(&workspace, &staged, arguments.seed, arguments.cases)?,
            Some(mutant) => check_caught(&workspace, &staged, arguments, mutant)?,
        }
    }
    Ok(())
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

/// Runs the cases with wrong descriptors until one is noticed; an error says that none was.
fn check_caught(workspace: &Workspace, staged: &Staged, arguments: &Arguments, mutant: Mutant) -> Result<()> {
    let openmp = OpenMp::prepare(workspace, &staged.llvm)?;
    let end = arguments.seed + arguments.cases;
    for start in (arguments.seed..end).step_by(BATCH as usize) {
        let batch = Batch::of(start..end.min(start + BATCH));
        let how = match batch.run(staged, &openmp, Some(mutant))? {
            Outcome::Same => continue,
            Outcome::Different(seeds) => format!("{} of {} cases differ", seeds.len(), batch.len()),
            Outcome::Crashed(message) => message.lines().next().unwrap_or_default().to_owned(),
        };
        println!("LLVM {}: {mutant:?} is caught: {how}", staged.llvm.major);
        return Ok(());
    }
    bail!("{mutant:?} is not noticed in {} cases", arguments.cases)
}
