//! `cargo xtask matrix`: programs with device code in every form of link, through `wrapgen` and through LLVM's own wrapper.
//!
//! For each LLVM, each program of the corpus and of the workloads, each [`Variant`] and each [`Form`]: Clang builds the program twice,
//! once with our drop-ins (`-B`) for its packager and linker wrapper and once without, and both run on the x86_64 device. They must
//! print the same.
//!
//! Ends with the counts for each form, after every difference. Where LLVM's tools make nothing that runs, ours may do better; that is
//! counted apart.

mod builds;
mod report;

use std::num::NonZeroUsize;

use anyhow::{Result, ensure};

use self::builds::{Builds, Form, Subject, Variant};
use self::report::{Outcome, Report};
use crate::build::{self, Staged, Staging};
use crate::corpus::{program, workers};
use crate::llvm::Choice;
use crate::openmp::OpenMp;
use crate::workspace::Workspace;

/// Where the workloads are, from the root of the checkout.
const WORKLOADS: &str = "test/workloads";

/// Of how many pairs of program and variant one is checked where the time is short. It shares no factor with the number of variants,
/// so each variant gets its turn.
pub(crate) const SHORT: NonZeroUsize = NonZeroUsize::MIN.saturating_add(42);

/// Options of `cargo xtask matrix`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    llvm: Choice,
    #[command(flatten)]
    staging: Staging,
    /// Check every N-th pair of program and variant, in all forms
    #[arg(long, value_name = "N", default_value = "1")]
    every: NonZeroUsize,
    /// Only programs whose name contains one of these. Default: all
    programs: Vec<String>,
}

/// Runs `cargo xtask matrix`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    let mut failed = Vec::new();
    for llvm in arguments.llvm.find()? {
        let staged = build::build(&workspace, llvm, &arguments.staging)?;
        if let Err(error) = check(&workspace, &staged, arguments.every, &arguments.programs) {
            failed.push(format!("{error:#}"));
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join("; "));
    Ok(())
}

/// Checks every `every`-th pair of program and variant for one LLVM, and prints the report.
///
/// Fails when a program built through `wrapgen` does not do what the stock build does, and when nothing could be compared.
pub(crate) fn check(
    workspace: &Workspace,
    staged: &Staged,
    every: NonZeroUsize,
    only: &[String],
) -> Result<()> {
    let major = staged.llvm.major;
    let openmp = OpenMp::prepare(workspace, &staged.llvm)?;
    let mut subjects = Vec::new();
    for program in program::programs(&workspace.root)? {
        subjects.push(Subject::of_corpus(program));
    }
    let workloads = workspace.root.join(WORKLOADS);
    for program in program::programs_in(&workloads)? {
        subjects.push(Subject::workload(program, &workloads));
    }
    subjects.retain(|subject| {
        let name = &subject.program.name;
        let is_wanted = only.is_empty() || only.iter().any(|part| name.contains(part.as_str()));
        is_wanted && subject.program.is_for_llvm(major)
    });

    let pairs = subjects
        .iter()
        .flat_map(|subject| Variant::ALL.map(|variant| (subject, variant)));
    let pairs: Vec<_> = pairs.step_by(every.get()).collect();
    println!(
        "LLVM {major}: {} pairs of program and variant, each in {} forms",
        pairs.len(),
        Form::ALL.len()
    );
    let mut report = Report::default();
    workers::for_each(
        &pairs,
        |&(subject, variant)| compare(staged, &openmp, subject, variant),
        |(subject, variant), outcomes| {
            for (form, outcome) in outcomes {
                report.add(&subject.program.name, *variant, form, outcome);
            }
        },
    )?;
    report.finish(major)
}

/// Builds and runs one program in every form, both ways.
fn compare(staged: &Staged, openmp: &OpenMp, subject: &Subject, variant: Variant) -> Vec<(Form, Outcome)> {
    let builds = Builds::begin(staged, openmp, subject, variant);
    let of_objects = builds
        .as_ref()
        .ok()
        .map(|builds| builds.stock.output(Form::Objects));
    Form::ALL
        .into_iter()
        .map(|form| {
            let outcome = match &builds {
                Ok(builds) => {
                    let stock = builds.stock.output(form);
                    Outcome::of(stock, builds.ours.output(form), of_objects.as_ref())
                }
                Err(error) => Outcome::Different(format!("{error:#}")),
            };
            (form, outcome)
        })
        .collect()
}
