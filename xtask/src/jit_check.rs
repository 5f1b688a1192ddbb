//! `cargo xtask jit-check`: programs linked with `--jit` or `--jit=only` print what the stock build prints,
//! in every mode of the JIT.
//!
//! For each LLVM, each program of the corpus and of the workloads, at several levels of optimisation: Clang
//! builds it once with LLVM's own tools, without the JIT, and twice with ours, with `--jit` and with
//! `--jit=only`. The latter two run with the JIT off, before each launch and beside launches, each with an
//! empty cache and with a full one, and a failure of the JIT ends them (`OFFLOOM_JIT_STRICT=1`).

use std::num::NonZeroUsize;

use anyhow::{Context as _, Result, ensure};

use crate::build::{LlvmBuilds, Staged};
use crate::corpus::workers;
use crate::matrix;
use crate::matrix::builds::{Build, Builds, Form, Subject, Variant};
use crate::names::is_wanted;
use crate::openmp::OpenMp;
use crate::workspace::Workspace;

/// Of how many programs and levels one is checked where the time is short. It shares no factor with the
/// number of levels.
pub(crate) const SHORT: NonZeroUsize = NonZeroUsize::MIN.saturating_add(39);

/// How programs are compiled.
const VARIANTS: [Variant; 3] = [Variant::Pie, Variant::O0, Variant::O3];

/// Modes of the JIT, in the order in which they run: name, mode, whether slow variants are retired, cache
/// folder.
const MODES: [(&str, &str, &str, &str); 6] = [
    ("off", "off", "1", "unused"),
    ("sync, cold", "sync", "0", "sync"),
    ("sync, warm", "sync", "0", "sync"),
    ("sync, retiring", "sync", "1", "sync"),
    ("async, cold", "async", "1", "async"),
    ("async, warm", "async", "0", "async"),
];

/// Forms of programs for the JIT: with an image, and with bitcode that becomes one when they start.
const FORMS: [&str; 2] = ["--jit", "--jit=only"];

/// Options of `cargo xtask jit-check`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    builds: LlvmBuilds,
    /// Check every N-th pair of program and level of optimisation, in all modes
    #[arg(long, value_name = "N", default_value = "1")]
    every: NonZeroUsize,
    /// Only programs whose name contains one of these. Default: all
    programs: Vec<String>,
}

/// Runs `cargo xtask jit-check`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    arguments.builds.check_each(&workspace, |staged| {
        check(&workspace, staged, arguments.every, &arguments.programs)
    })
}

/// Checks every `every`-th pair of program and level for one LLVM, and prints what differs.
///
/// Fails when a program with the JIT does not do what the stock build does, and when nothing could be
/// compared.
pub(crate) fn check(
    workspace: &Workspace,
    staged: &Staged,
    every: NonZeroUsize,
    only: &[String],
) -> Result<()> {
    let major = staged.llvm.major;
    let openmp = OpenMp::prepare(workspace, &staged.llvm)?;
    let mut subjects = matrix::subjects(workspace, major)?;
    subjects.retain(|subject| is_wanted(&subject.program.name, only));
    let pairs = subjects
        .iter()
        .flat_map(|subject| VARIANTS.map(|variant| (subject, variant)));
    let pairs: Vec<_> = pairs.step_by(every.get()).collect();
    println!(
        "LLVM {major}: {} pairs of program and level, each in {} forms and {} modes of the JIT",
        pairs.len(),
        FORMS.len(),
        MODES.len()
    );
    let (mut same, mut without_stock, mut different) = (0, 0, 0);
    workers::for_each(
        "modes of the JIT",
        &pairs,
        |&(subject, variant)| compare(staged, &openmp, subject, variant),
        |(subject, variant), outcome| match outcome {
            Ok(true) => same += 1,
            Ok(false) => without_stock += 1,
            Err(error) => {
                different += 1;
                println!("different: {}, {variant}: {error:#}", subject.program.name);
            }
        },
    )?;
    println!(
        "LLVM {major}: {same} the same, {without_stock} without a stock build that runs, {different} different"
    );
    ensure!(
        same > 0,
        "LLVM {major}: nothing could be compared: no program of that name, or none runs"
    );
    ensure!(
        different == 0,
        "LLVM {major}: {different} programs do not do with the JIT what they do without"
    );
    Ok(())
}

/// Builds one program in every form and runs it in every mode. False when the stock build does not run.
fn compare(staged: &Staged, openmp: &OpenMp, subject: &Subject, variant: Variant) -> Result<bool> {
    let builds = Builds::begin(staged, openmp, subject, variant)?;
    let Ok(expected) = builds.stock.output(Form::Objects) else {
        return Ok(false);
    };
    let folder = builds.ours.folder().display().to_string();
    for form in FORMS {
        builds
            .ours
            .link_for_jit(&["-foffload-lto", "-Xoffload-linker", form])?;
        run_in_modes(&builds.ours, form, &folder, &expected, &[])?;
    }
    Ok(true)
}

/// Runs a program that is linked for the JIT, in this form, in every mode, with `more` in its environment.
/// Caches are made in `folder`.
///
/// Fails when it does not print what is expected.
pub(crate) fn run_in_modes(
    program: &Build<'_>,
    form: &str,
    folder: &str,
    expected: &str,
    more: &[(&str, &str)],
) -> Result<()> {
    for (name, mode, retire, cache) in MODES {
        let cache = format!("{folder}/{cache}{form}");
        let environment = [
            ("OFFLOOM_JIT", mode),
            ("OFFLOOM_JIT_RETIRE", retire),
            ("OFFLOOM_JIT_STRICT", "1"),
            ("OFFLOOM_JIT_CACHE_DIR", cache.as_str()),
        ];
        let what = || format!("{form}, {name}");
        let printed = program.run(&[&environment, more].concat()).with_context(what)?;
        ensure!(
            printed == expected,
            "{}: it prints\n{printed}instead of\n{expected}",
            what()
        );
    }
    Ok(())
}
