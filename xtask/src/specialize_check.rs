//! `cargo xtask specialize-check`: random kernels, specialised to random launches, give the bits that the
//! kernels give as they are.
//!
//! A case is a kernel and a launch of it, both made from a seed. Cases come in batches, each a program of its
//! own: built once with its device code as it is and once with every kernel specialised to its launch, run on
//! the x86_64 device, outputs compared. With `--mutant` the descriptors are wrong on purpose, with
//! `--code-mutant` the passes, and what must then be seen is a difference or a crash.
//!
//! With `--device jit` and `--device gpu` each batch is a program with the JIT in it, for the x86_64 device
//! or for NVIDIA GPUs, which specialises the kernels while it runs ([`jit`]).

mod batch;
mod code_mutant;
mod constructs;
mod jit;
mod kernel;
mod launch;
mod random;

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use crate::build::{LlvmBuilds, Staged};
use crate::corpus::workers;
use crate::openmp::OpenMp;
use crate::virtual_gpu_check::Targets;
use crate::workspace::Workspace;

use batch::{Batch, Outcome};
use code_mutant::{CODE_MUTANTS, CodeMutant};
use jit::Launches;
use kernel::Narrows;
pub(crate) use launch::Mutant;

/// Options of `cargo xtask specialize-check`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    builds: LlvmBuilds,
    #[command(flatten)]
    extent: Extent,
    /// Specialise to wrong descriptors, which must be noticed; with the passes alone, since the JIT makes its
    /// descriptors itself
    #[arg(long, value_enum)]
    mutant: Option<Mutant>,
    /// Make this mistake in a copy of the passes' code, which must be noticed; `all`: each in turn
    #[arg(long, value_name = "NAME", conflicts_with = "mutant", value_parser = code_mutants)]
    code_mutant: Option<CodeMutants>,
}

/// Which cases.
#[derive(clap::Args, Debug)]
pub(crate) struct Extent {
    /// How many cases
    #[arg(long, default_value_t = 2000)]
    pub(crate) cases: u64,
    /// The seed of the first case; the next ones follow
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the kernels run, and what specialises them
    #[arg(long, value_enum, default_value_t = Device::Host)]
    device: Device,
    /// Leave the programs and their sources in this folder; with the JIT its statistics, too
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

impl Extent {
    /// For a test run of minutes.
    pub(crate) fn short(device: Device) -> Self {
        Self {
            cases: 100,
            seed: 1,
            device,
            keep: None,
        }
    }
}

/// Where kernels run, and what specialises them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Device {
    /// On the x86_64 device, the passes.
    Host,
    /// On the x86_64 device, the JIT of the running program.
    Jit,
    /// On the virtual GPU, or with `OFFLOOM_TEST_GPU=1` a real one, the JIT.
    Gpu,
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

/// Runs `cargo xtask specialize-check`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    let extent = &arguments.extent;
    let device = extent.device;
    ensure!(
        arguments.mutant.is_none() || device == Device::Host,
        "`--mutant` is for `--device host`: the JIT makes its descriptors itself; use `--code-mutant`"
    );
    if let Some(CodeMutants(named)) = &arguments.code_mutant {
        ensure!(
            named.iter().any(|mutant| mutant.is_for(device)),
            "nothing of this device shows that mistake; see `--device`"
        );
    }
    arguments.builds.for_each(&workspace, |staged| {
        let mutants = arguments.code_mutant.iter().flat_map(|mutants| &mutants.0);
        for mutant in mutants.filter(|mutant| mutant.is_for(device)) {
            let staged = mutant.build(&workspace, staged, device)?;
            let Some(runner) = Runner::find(&workspace, &staged, extent)? else {
                return Ok(());
            };
            check_caught(&runner, arguments, mutant.name)?;
        }
        match arguments.mutant {
            _ if arguments.code_mutant.is_some() => {}
            None => check(&workspace, staged, extent)?,
            Some(mutant) => {
                let runner = Runner::find(&workspace, staged, extent)?;
                if let Some(runner) = runner {
                    check_caught(&runner, arguments, &format!("{mutant:?}"))?;
                }
            }
        }
        Ok(())
    })
}

/// What runs batches.
struct Runner<'a> {
    staged: &'a Staged,
    openmp: OpenMp,
    /// None: the passes specialise.
    jit: Option<jit::Device>,
    /// Where batches leave their files; none: nowhere.
    keep: Option<&'a Path>,
}

impl<'a> Runner<'a> {
    /// None where CUDA's tools or a device runtime are missing, which is said.
    fn find(workspace: &Workspace, staged: &'a Staged, extent: &'a Extent) -> Result<Option<Self>> {
        let jit = match extent.device {
            Device::Host => None,
            Device::Jit => Some(jit::Device::Host),
            Device::Gpu => {
                let Some(targets) = Targets::find(workspace, staged)? else {
                    return Ok(None);
                };
                Some(jit::Device::Gpu(Box::new(targets)))
            }
        };
        Ok(Some(Self {
            staged,
            openmp: OpenMp::prepare(workspace, &staged.llvm)?,
            jit,
            keep: extent.keep.as_deref(),
        }))
    }

    /// The cases from `first` on, in batches.
    fn batches(&self, first: u64, cases: u64) -> Vec<Batch> {
        match &self.jit {
            Some(jit::Device::Gpu(_)) => jit::batches_for_gpus(first, cases),
            None | Some(jit::Device::Host) => seeds_of_batches(first, cases)
                .map(|seeds| Batch::of(seeds, Narrows::InEveryOtherBatch))
                .collect(),
        }
    }

    /// What came of a batch, and of its launches with variants.
    fn run(&self, batch: &Batch, mutant: Option<Mutant>) -> Result<(Outcome, Launches)> {
        let scratch = tempfile::tempdir()?;
        let kept = self
            .keep
            .map(|folder| folder.join(batch.seeds().replace(' ', "-")));
        if let Some(folder) = &kept {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
        }
        let folder = kept.as_deref().unwrap_or(scratch.path());
        match &self.jit {
            None => {
                let outcome = batch.run(self.staged, &self.openmp, mutant, folder)?;
                Ok((outcome, Launches::default()))
            }
            Some(device) => jit::run(batch, self.staged, &self.openmp, device, folder),
        }
    }
}

/// The seeds from `first` on, by batches.
fn seeds_of_batches(first: u64, cases: u64) -> impl Iterator<Item = Range<u64>> {
    let end = first + cases;
    let starts = (first..end).step_by(BATCH as usize);
    starts.map(move |start| start..end.min(start + BATCH))
}

/// Runs the cases; an error names the seeds of those that differ.
pub(crate) fn check(workspace: &Workspace, staged: &Staged, extent: &Extent) -> Result<()> {
    let major = staged.llvm.major;
    let Some(runner) = Runner::find(workspace, staged, extent)? else {
        return Ok(());
    };
    let (device, first, cases) = (extent.device, extent.seed, extent.cases);
    println!(
        "LLVM {major}: {cases} cases, seeds {first} to {}",
        first + cases - 1
    );
    let (mut wrong, mut failed) = (Vec::new(), Vec::new());
    let (mut of_variants, mut not_used) = (0, 0);
    workers::for_each(
        "batches of kernels",
        &runner.batches(first, cases),
        |batch| runner.run(batch, None),
        |batch, outcome| match outcome {
            Ok((outcome, launches)) => {
                of_variants += launches.of_variants;
                not_used += launches.not_used;
                match outcome {
                    Outcome::Same => {}
                    Outcome::Different(seeds) => wrong.extend(seeds),
                    Outcome::Crashed(message) => failed.push(format!("{}: {message}", batch.seeds())),
                }
            }
            Err(error) => failed.push(format!("{}: {error:#}", batch.seeds())),
        },
    )?;
    wrong.sort_unstable();
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    let again = match device {
        Device::Host => "",
        Device::Jit => "--device jit ",
        Device::Gpu => "--device gpu ",
    };
    ensure!(
        wrong.is_empty(),
        "specialised kernels give other results with the seeds {wrong:?}; look at one with `cargo xtask specialize-check {again}--llvm \
         {major} --cases 1 --seed {} --keep FOLDER`",
        wrong[0]
    );
    match device {
        Device::Host => println!("LLVM {major}: all bits are equal"),
        Device::Jit | Device::Gpu => {
            ensure!(of_variants > 0, "LLVM {major}: no launch ran a variant");
            println!(
                "LLVM {major}: all bits are equal; {of_variants} launches ran variants, {not_used} variants needed too \
                 much local memory"
            );
        }
    }
    Ok(())
}

/// Runs the cases, which something is wrong with, until that is noticed; an error says that it was not.
fn check_caught(runner: &Runner<'_>, arguments: &Arguments, mutant: &str) -> Result<()> {
    for batch in runner.batches(arguments.extent.seed, arguments.extent.cases) {
        let how = match runner.run(&batch, arguments.mutant)?.0 {
            Outcome::Same => continue,
            Outcome::Different(seeds) => format!("{} of {} cases differ", seeds.len(), batch.len()),
            Outcome::Crashed(message) => message.lines().next().unwrap_or_default().to_owned(),
        };
        println!("LLVM {}: {mutant} is caught: {how}", runner.staged.llvm.major);
        return Ok(());
    }
    bail!("{mutant} is not noticed in {} cases", arguments.extent.cases)
}
