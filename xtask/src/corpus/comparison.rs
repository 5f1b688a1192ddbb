//! One module of the corpus: made by Clang, stripped, regenerated, compared.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::build::Staged;
use crate::command::shown;
use crate::corpus::canonical::Canonical;
use crate::corpus::program::Source;
use crate::openmp::OpenMp;

/// A pipeline with the extension points at which a plugin's passes run without having been named.
const UNASKED: &str = "default<O0>";

/// What one Clang job makes of a source.
#[derive(Debug)]
pub(crate) struct Module {
    /// The source, for reports.
    pub(crate) name: String,
    /// The source.
    pub(crate) source: Source,
    /// `-O0` or `-O2`.
    pub(crate) level: &'static str,
    /// Which of the two jobs.
    pub(crate) side: Side,
}

/// Host or device job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The host.
    Host,
    /// The x86_64 device.
    Device,
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            Side::Host => "host",
            Side::Device => "device",
        };
        write!(f, "{} {} {side}", self.name, self.level)
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
}

/// Makes the module twice and compares.
pub(crate) fn compare(staged: &Staged, openmp: &OpenMp, module: &Module) -> Result<Outcome> {
    let scratch = tempfile::tempdir()?;
    let file = |name: &str| scratch.path().join(name);
    let (front_end, stripped) = (file("clang.bc"), file("stripped.bc"));
    compile(staged, openmp, module, &front_end)?;

    let regenerate = match module.side {
        Side::Host => "offload-entries",
        Side::Device => "offload-entries,offload-visibility",
    };
    let clang = print(staged, &front_end, "verify")?;
    opt(staged, &front_end, "test-strip-offload,verify", &stripped)?;
    let without = Canonical::read(&print(staged, &stripped, "verify")?);
    let ours = print(staged, &stripped, &format!("{regenerate},verify"))?;

    let twice = print(staged, &stripped, &format!("{regenerate},{regenerate},verify"))?;
    ensure!(
        twice == ours,
        "the passes run twice do not give what they give run once"
    );
    let without_plugin = run(opt_command(staged, &front_end, UNASKED, &[]).args(["-S", "-o", "-"]))?;
    ensure!(
        print(staged, &front_end, UNASKED)? == without_plugin,
        "loading the plugin changes what Clang has made already"
    );

    let (clang, ours) = (Canonical::read(&clang), Canonical::read(&ours));
    ensure!(
        without.entries() == 0 && without.operands() == 0,
        "the test plugin left entries behind"
    );
    let (differences, dropped) = clang.differences(&ours);
    Ok(Outcome {
        differences,
        entries: clang.entries(),
        operands: clang.operands() - dropped,
        dropped,
    })
}

fn compile(staged: &Staged, openmp: &OpenMp, module: &Module, output: &Path) -> Result<()> {
    let driver = if module.source.is_cxx() {
        "clang++"
    } else {
        "clang"
    };
    let mut command = Command::new(staged.llvm.bin_dir.join(driver));
    command.args(openmp.compile_options());
    command.args([module.level, "-w", "-c", "-emit-llvm"]);
    command.arg(match module.side {
        Side::Host => "--offload-host-only",
        Side::Device => "--offload-device-only",
    });
    command.args(&module.source.flags);
    command.arg(&module.source.path).arg("-o").arg(output);
    run(&mut command).map(drop)
}

/// Runs passes and writes bitcode.
fn opt(staged: &Staged, input: &Path, passes: &str, output: &Path) -> Result<()> {
    run(opt_command(staged, input, passes, &plugins(staged))
        .arg("-o")
        .arg(output))
    .map(drop)
}

/// Runs passes and returns the module's text.
fn print(staged: &Staged, input: &Path, passes: &str) -> Result<String> {
    run(opt_command(staged, input, passes, &plugins(staged)).args(["-S", "-o", "-"]))
}

/// The passes under test and those that only tests use.
fn plugins(staged: &Staged) -> [PathBuf; 2] {
    [
        staged.dist.join("lib/liboffloom_passes.so"),
        staged.test_plugin.clone(),
    ]
}

fn opt_command(staged: &Staged, input: &Path, passes: &str, plugins: &[PathBuf]) -> Command {
    let mut command = Command::new(staged.llvm.bin_dir.join("opt"));
    for plugin in plugins {
        command.arg("-load-pass-plugin").arg(plugin);
    }
    command.arg(format!("-passes={passes}")).arg(input);
    command
}

/// Runs a command and returns what it printed on its standard output.
fn run(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {}", shown(command)))?;
    ensure!(
        output.status.success(),
        "{} ended with {}: {}",
        shown(command),
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
