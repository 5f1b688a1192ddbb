//! The programs in the archive, built in each form, and what they print.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use offloom_gpu_bundle::plan::{self, Group};

use super::{copy, make_folder};
use crate::bench::workload::gpu_sizes;
use crate::build::Staged;
use crate::corpus::program::{self, Program, WORKLOADS};
use crate::corpus::workers;
use crate::matrix::builds::{Builds, Form, Subject, Variant};
use crate::openmp::OpenMp;
use crate::virtual_gpu_check::Targets;
use crate::workspace::Workspace;

/// Programs that are written to break the JIT: the parts of this test.
const BREAKING: &str = "test/jit-gpu/programs.test";

/// How a part begins.
const PART: &str = "//--- ";

/// Programs of the corpus: what the ones written to break the JIT have not.
const CORPUS: [&str; 11] = [
    "array_reductions.cpp",
    "data_regions.c",
    "declare_target_link.c",
    "function_pointers.cpp",
    "launch_bounds.cpp",
    "many_arguments.cpp",
    "nested_data_structures.cpp",
    "private_copies.cpp",
    "recursion.cpp",
    "shared_globals",
    "virtual_calls.cpp",
];

/// The program by which launches are timed, one by one: the arguments, and the settings that have it launch
/// as many variants as it asks for.
const LAUNCHES: &str = "test/gpu-bundle/Inputs/launches";
const LAUNCHES_ARGUMENTS: [&str; 2] = ["--size", "large"];
const LAUNCHES_SETTINGS: [(&str, &str); 2] =
    [("OFFLOOM_JIT_THRESHOLD", "1000000"), ("OFFLOOM_JIT_RETIRE", "0")];

/// How many programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// All.
    All,
    /// What shows that all parts of the archive work.
    Few,
}

/// Those of [`Choice::Few`].
const FEW: [&str; 3] = ["globals", "recursion.cpp", "zaxpy"];

/// A program with what the plan says of it.
struct Candidate {
    subject: Subject,
    group: Group,
    arguments: Vec<String>,
    timed: Option<Vec<String>>,
    settings: Vec<(String, String)>,
}

/// Builds all programs into folders in `folder`.
///
/// Fails when one cannot be built, or prints with the JIT something else than without.
pub(super) fn build(
    workspace: &Workspace,
    staged: &Staged,
    targets: &Targets,
    folder: &Path,
    choice: Choice,
) -> Result<Vec<plan::Program>> {
    let openmp = OpenMp::prepare(workspace, &staged.llvm)?;
    let parts = tempfile::tempdir()?;
    let mut candidates = candidates(workspace, parts.path())?;
    if choice == Choice::Few {
        candidates.retain(|candidate| FEW.contains(&name(candidate)));
    }
    let (mut built, mut wrong) = (BTreeMap::new(), Vec::new());
    let numbered: Vec<_> = candidates.iter().enumerate().collect();
    workers::for_each(
        "programs for GPUs",
        &numbered,
        |(_, candidate)| build_one(staged, &openmp, targets, candidate, folder),
        |(number, candidate), program| match program {
            Ok(program) => {
                built.insert(*number, program);
            }
            Err(error) => wrong.push(format!("{}: {error:#}", name(candidate))),
        },
    )?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(built.into_values().collect())
}

fn name(candidate: &Candidate) -> &str {
    let name = &candidate.subject.program.name;
    match candidate.group {
        Group::Breaking | Group::Workload => name.trim_end_matches(".cpp"),
        Group::Corpus => name,
    }
}

/// All programs, those of [`BREAKING`] written to `parts`.
fn candidates(workspace: &Workspace, parts: &Path) -> Result<Vec<Candidate>> {
    let plain = |program: Program, group: Group| Candidate {
        subject: Subject::of_corpus(program),
        group,
        arguments: Vec::new(),
        timed: None,
        settings: Vec::new(),
    };
    let test = workspace.root.join(BREAKING);
    split(
        &fs::read_to_string(&test).with_context(|| format!("cannot read `{}`", test.display()))?,
        parts,
    )?;
    let breaking = program::programs_in(parts)?;
    ensure!(!breaking.is_empty(), "`{BREAKING}` has no parts");
    let mut candidates: Vec<_> = breaking
        .into_iter()
        .map(|program| plain(program, Group::Breaking))
        .collect();
    let corpus = program::programs(&workspace.root)?;
    let corpus: Vec<_> = corpus
        .into_iter()
        .filter(|program| CORPUS.contains(&program.name.as_str()))
        .collect();
    ensure!(
        corpus.len() == CORPUS.len(),
        "not all of {CORPUS:?} are in the corpus"
    );
    candidates.extend(corpus.into_iter().map(|program| plain(program, Group::Corpus)));
    let folder = workspace.root.join(WORKLOADS);
    let timed: BTreeMap<_, _> = gpu_sizes(&workspace.root)?.into_iter().collect();
    for program in program::programs_in(&folder)? {
        if let Some(timed) = timed.get(&program.name) {
            candidates.push(Candidate {
                group: Group::Workload,
                arguments: ["--size", "small"].map(str::to_owned).to_vec(),
                timed: Some(timed.clone()),
                settings: Vec::new(),
                subject: Subject::workload(program, &folder),
            });
        }
    }
    for program in program::programs_in(&workspace.root.join(LAUNCHES))? {
        candidates.push(Candidate {
            group: Group::Workload,
            arguments: ["--size", "small"].map(str::to_owned).to_vec(),
            subject: Subject::workload(program, &folder),
            timed: Some(LAUNCHES_ARGUMENTS.map(str::to_owned).to_vec()),
            settings: LAUNCHES_SETTINGS
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
        });
    }
    Ok(candidates)
}

/// Writes the parts of a test to files.
fn split(text: &str, folder: &Path) -> Result<()> {
    for part in text.split(&format!("\n{PART}")).skip(1) {
        let (name, text) = part.split_once('\n').context("a part of a test has no text")?;
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}

/// Builds one program in all forms, and runs it by LLVM's tools on the virtual GPU and the x86_64 device.
fn build_one(
    staged: &Staged,
    openmp: &OpenMp,
    targets: &Targets,
    candidate: &Candidate,
    folder: &Path,
) -> Result<plan::Program> {
    let folder = folder.join(name(candidate));
    make_folder(&folder)?;
    let subject = &candidate.subject;
    let builds = Builds::begin_for(staged, openmp, subject, Variant::Pie, Some(&targets.two))?;
    let keep = |build: &crate::matrix::builds::Build<'_>, form: &str| {
        copy(&build.folder().join("program"), &folder.join(form))
    };
    builds.stock.build(Form::Lto).context("by LLVM's tools")?;
    keep(&builds.stock, "stock")?;
    let expected = builds.stock.run(&[]).context("by LLVM's tools")?;
    for (form, option) in [("jit", "--jit"), ("only", "--jit=only")] {
        builds
            .ours
            .link_for_jit(&["-foffload-lto", "-Xoffload-linker", option])?;
        keep(&builds.ours, form)?;
    }
    fs::write(folder.join("expected"), &expected)?;
    let host = Builds::begin_for(staged, openmp, subject, Variant::Pie, Some(&targets.host))?;
    let of_host = host.stock.output(Form::Objects);
    Ok(plan::Program {
        name: name(candidate).to_owned(),
        group: candidate.group,
        is_exact: of_host.is_ok_and(|of_host| of_host == expected) && !approximates(&folder.join("stock"))?,
        arguments: candidate.arguments.clone(),
        timed: candidate.timed.clone(),
        settings: candidate.settings.clone(),
    })
}

/// Whether a program's images have approximations in their PTX, which `ptxas` of the virtual GPU leaves in
/// them: the virtual GPU rounds correctly, a GPU does not.
fn approximates(program: &Path) -> Result<bool> {
    let bytes = fs::read(program).with_context(|| format!("cannot read `{}`", program.display()))?;
    Ok(bytes.windows(7).any(|word| word == b".approx"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_there() -> Result<()> {
        let parts = tempfile::tempdir()?;
        let candidates = candidates(&Workspace::find()?, parts.path())?;
        let names: Vec<_> = candidates.iter().map(name).collect();
        for expected in CORPUS.iter().chain(&FEW) {
            assert!(names.contains(expected), "{expected} is not in {names:?}");
        }
        let is_timed = |name_of_one: &str| {
            let mut timed = candidates.iter().filter(|candidate| candidate.timed.is_some());
            timed.any(|candidate| name(candidate) == name_of_one)
        };
        assert!(is_timed("launches"));
        let root = Workspace::find()?.root;
        for (row, _) in gpu_sizes(&root)? {
            // A row may be another run of a program that has one of its own.
            assert_eq!(is_timed(&row), root.join(WORKLOADS).join(&row).is_dir(), "{row}");
        }
        Ok(())
    }
}
