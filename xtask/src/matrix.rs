//! `cargo xtask matrix`: programs with device code in every form of link, through `wrapgen` and through
//! LLVM's own wrapper.
//!
//! For each LLVM, each program of the corpus and of the workloads, each [`Variant`] and each [`Form`]: Clang
//! builds the program twice, once with our drop-ins (`-B`) for its packager and linker wrapper and once
//! without, and both run on the x86_64 device. They must print the same.
//!
//! Ends with the counts for each form, after every difference. Where LLVM's tools make nothing that runs,
//! ours may do better; that is counted apart. All of it takes hours, so it can be done slice by slice: what
//! each found is kept, and `docs/results/matrix.md` is written of what is there.

pub(crate) mod builds;
mod records;
mod report;

use std::num::NonZeroUsize;
use std::str::FromStr;

use anyhow::Result;

use self::builds::{Builds, Form, Subject, Variant};
use self::records::Records;
use self::report::{Outcome, Report};
use crate::build::{LlvmBuilds, Staged};
use crate::corpus::program::{self, WORKLOADS};
use crate::corpus::workers;
use crate::names::is_wanted;
use crate::openmp::OpenMp;
use crate::workspace::Workspace;

/// Which pairs of program and variant to check: of every so many of them, the one of this number, counted
/// from 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slice {
    number: usize,
    of: NonZeroUsize,
}

impl Slice {
    /// Every pair.
    const ALL: Self = Self {
        number: 1,
        of: NonZeroUsize::MIN,
    };

    /// What is checked where the time is short. 43 shares no factor with the number of variants, so each
    /// variant gets its turn.
    pub(crate) const SHORT: Self = Self {
        number: 1,
        of: NonZeroUsize::MIN.saturating_add(42),
    };
}

impl FromStr for Slice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let slice = parts.and_then(|(number, of)| {
            let slice = Self {
                number: number.parse().ok()?,
                of: of.parse().ok()?,
            };
            (1..=slice.of.get()).contains(&slice.number).then_some(slice)
        });
        slice.ok_or_else(|| "expected N/M, as in 1/43: the first of 43 slices".to_owned())
    }
}

/// Options of `cargo xtask matrix`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    builds: LlvmBuilds,
    /// Check the N-th of M slices of all pairs of program and variant, in all forms
    #[arg(long, value_name = "N/M")]
    slice: Option<Slice>,
    /// Check only what no run has found the same yet
    #[arg(long)]
    missing: bool,
    /// Only programs whose name contains one of these. Default: all
    programs: Vec<String>,
}

/// Runs `cargo xtask matrix`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    let checked = arguments.builds.check_each(&workspace, |staged| {
        let mut records = Records::load(&workspace, staged.llvm.major)?;
        let subjects = subjects(&workspace, staged.llvm.major)?;
        let all = pairs(&subjects);
        let is_left = |(subject, variant): &Pair<'_>| {
            let name = &subject.program.name;
            is_wanted(name, &arguments.programs) && !(arguments.missing && records.has(name, *variant))
        };
        let wanted = slice(&all, arguments.slice.unwrap_or(Slice::ALL));
        let wanted: Vec<_> = wanted.into_iter().filter(is_left).collect();
        check_pairs(&workspace, staged, &wanted, &mut |pair, form, outcome| {
            records.add(&pair.0.program.name, pair.1, form, outcome)
        })
    });
    records::write_document(&workspace)?;
    checked
}

/// A program and how to build it.
type Pair<'a> = (&'a Subject, Variant);

/// Checks a slice of the pairs for one LLVM, and prints the report.
///
/// Fails when a program built through `wrapgen` does not do what the stock build does, and when nothing could
/// be compared.
pub(crate) fn check(workspace: &Workspace, staged: &Staged, part: Slice) -> Result<()> {
    let subjects = subjects(workspace, staged.llvm.major)?;
    let wanted = slice(&pairs(&subjects), part);
    check_pairs(workspace, staged, &wanted, &mut |_, _, _| Ok(()))
}

/// Every program of the corpus and of the workloads for an LLVM.
pub(crate) fn subjects(workspace: &Workspace, major: u32) -> Result<Vec<Subject>> {
    let mut subjects = Vec::new();
    for program in program::programs(&workspace.root)? {
        subjects.push(Subject::of_corpus(program));
    }
    let workloads = workspace.root.join(WORKLOADS);
    for program in program::programs_in(&workloads)? {
        subjects.push(Subject::workload(program, &workloads));
    }
    subjects.retain(|subject| subject.program.is_for_llvm(major));
    Ok(subjects)
}

fn pairs(subjects: &[Subject]) -> Vec<Pair<'_>> {
    let variants = |subject| Variant::ALL.map(|variant| (subject, variant));
    subjects.iter().flat_map(variants).collect()
}

fn slice<'a>(pairs: &[Pair<'a>], slice: Slice) -> Vec<Pair<'a>> {
    let pairs = pairs.iter().skip(slice.number - 1);
    pairs.step_by(slice.of.get()).copied().collect()
}

/// Checks `pairs` for one LLVM, hands each outcome to `note`, and prints the report.
fn check_pairs(
    workspace: &Workspace,
    staged: &Staged,
    pairs: &[Pair<'_>],
    note: &mut (dyn FnMut(&Pair<'_>, Form, &Outcome) -> Result<()> + Send),
) -> Result<()> {
    let major = staged.llvm.major;
    let openmp = OpenMp::prepare(workspace, &staged.llvm)?;
    println!(
        "LLVM {major}: {} pairs of program and variant, each in {} forms",
        pairs.len(),
        Form::ALL.len()
    );
    let mut report = Report::default();
    let mut noted = Ok(());
    workers::for_each(
        "forms of links",
        pairs,
        |&(subject, variant)| compare(staged, &openmp, subject, variant),
        |pair, outcomes| {
            for (form, outcome) in outcomes {
                report.add(&pair.0.program.name, pair.1, form, &outcome);
                if noted.is_ok() {
                    noted = note(pair, form, &outcome);
                }
            }
        },
    )?;
    noted?;
    report.finish(major)
}

/// Builds and runs one program in every form, both ways.
fn compare(staged: &Staged, openmp: &OpenMp, subject: &Subject, variant: Variant) -> Vec<(Form, Outcome)> {
    let builds = match Builds::begin(staged, openmp, subject, variant) {
        Ok(builds) => builds,
        Err(error) => {
            let failed = |form| (form, Outcome::Different(format!("{error:#}")));
            return Form::ALL.map(failed).to_vec();
        }
    };
    let of_objects = builds.stock.output(Form::Objects);
    Form::ALL
        .into_iter()
        .map(|form| {
            let of_form = (form != Form::Objects).then(|| builds.stock.output(form));
            let stock = of_form.as_ref().unwrap_or(&of_objects);
            (form, Outcome::of(stock, builds.ours.output(form), &of_objects))
        })
        .collect()
}
