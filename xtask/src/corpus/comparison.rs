//! One module of the corpus: made by Clang, stripped, regenerated, compared.

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail, ensure};

use crate::build::Staged;
use crate::corpus::canonical::Canonical;
use crate::corpus::program::Source;
use crate::corpus::target::Target;
use crate::corpus::tools::PRINT;
use crate::corpus::{every_pass, tools};
use crate::openmp::OpenMp;

/// A pipeline with the extension points at which a plugin's passes run without having been named.
const UNASKED: &str = "default<O0>";

/// What one Clang job makes of a source.
#[derive(Debug)]
pub(crate) struct Module<'a> {
    /// The source.
    pub(crate) source: &'a Source,
    /// `-O0` or `-O2`.
    pub(crate) level: &'static str,
    /// Which of the jobs.
    pub(crate) target: Target,
}

impl fmt::Display for Module<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.source.name, self.level, self.target)
    }
}

/// What came of a comparison.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Lines that one of the modules has and the other has not. Empty: the modules are equal.
    pub(crate) differences: Vec<String>,
    /// Entries that were taken away and made again.
    pub(crate) entries: usize,
    /// Operands of `omp_offload.info` that were taken away and made again.
    pub(crate) operands: usize,
    /// Operands for variables that are not in Clang's module any more, which nothing can bring back.
    pub(crate) dropped: usize,
    /// How often a pass was run, run again, and its result verified.
    pub(crate) pass_runs: usize,
}

/// Makes the module twice and compares; then runs every pass over it.
pub(crate) fn compare(
    staged: &Staged,
    openmp: &OpenMp,
    runtimes: &every_pass::Runtimes,
    module: &Module<'_>,
) -> Result<Outcome> {
    let scratch = tempfile::tempdir()?;
    let scratch = scratch.path();
    let front_end = scratch.join("clang.bc");
    compile(staged, openmp, module, module.target, &front_end)?;

    let regenerate: &[&str] = match module.target {
        Target::Host => &["offload-entries"],
        Target::Device(_) => &["offload-entries", "offload-visibility"],
    };
    let regenerate: Vec<_> = regenerate.iter().flat_map(|pass| [pass, "verify"]).collect();
    let pipeline = [
        &["verify", PRINT, "test-strip-offload", "verify", PRINT],
        &regenerate[..],
        &[PRINT],
        &regenerate[..],
        &[PRINT],
    ];
    let printed = tools::printed(staged, &front_end, &pipeline.concat(), scratch)?;
    let [clang, without, ours, twice] = printed.as_slice() else {
        bail!("{} modules were printed, not four", printed.len());
    };
    ensure!(
        twice == ours,
        "the passes run twice do not give what they give run once"
    );
    check_nothing_unasked(staged, &front_end)?;

    let [clang, without, ours] = [clang, without, ours].map(|text| Canonical::read(text));
    ensure!(
        without.entries() == 0 && without.operands() == 0,
        "the test plugin left entries behind"
    );
    let (mut differences, dropped) = clang.differences(&ours);

    let host = scratch.join("host.bc");
    compile(staged, openmp, module, Target::Host, &host)?;
    let every_pass = every_pass::Input {
        module: &front_end,
        target: module.target,
        host: &host,
        clang: &clang,
    };
    let (pass_runs, changes) = every_pass::run(staged, runtimes, &every_pass, scratch)?;
    differences.extend(changes);
    Ok(Outcome {
        differences,
        entries: clang.entries(),
        operands: clang.operands() - dropped,
        dropped,
        pass_runs,
    })
}

/// Checks that loading the plugin does not change what Clang has made already.
fn check_nothing_unasked(staged: &Staged, module: &Path) -> Result<()> {
    let text = ["-S", "-o", "-"];
    let with = tools::output(tools::opt(staged, UNASKED).arg(module).args(text))?;
    let mut without = tools::tool(staged, "opt");
    without.arg(format!("-passes={UNASKED}")).arg(module).args(text);
    ensure!(
        with == tools::output(&mut without)?,
        "loading the plugin changes what Clang has made already"
    );
    Ok(())
}

/// Compiles the module's source for `target`; for the host of the module's device if that is not the device
/// itself.
fn compile(
    staged: &Staged,
    openmp: &OpenMp,
    module: &Module<'_>,
    target: Target,
    output: &Path,
) -> Result<()> {
    let mut command = tools::clang(staged, module.source.is_cxx());
    command.args(module.target.device().compile_options(openmp));
    command.args([module.level, "-c", "-emit-llvm"]);
    command.arg(match target {
        Target::Host => "--offload-host-only",
        Target::Device(_) => "--offload-device-only",
    });
    command.args(&module.source.flags);
    command.arg(&module.source.path).arg("-o").arg(output);
    tools::output(&mut command).map(drop)
}
