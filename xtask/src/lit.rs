//! `cargo xtask lit`: runs the tests under `test/` with LLVM's lit, once for each LLVM.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context as _, Result, bail, ensure};
use offloom_find_llvm::Llvm;
use serde_json::{Value, json};

use crate::build::{LlvmBuilds, Staged};
use crate::command::{leave_out_cargos_libraries, shown};
use crate::cuda;
use crate::llvm;
use crate::openmp::OpenMp;
use crate::s3_server;
use crate::virtual_gpu;
use crate::virtual_gpu_check::runtime;
use crate::workspace::Workspace;

/// Options of `cargo xtask lit`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    builds: LlvmBuilds,
    /// Tests or folders of tests. Default: all
    paths: Vec<PathBuf>,
}

/// Runs `cargo xtask lit`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    // All builds first: some tests mix the builds of two LLVMs.
    let mut builds = Vec::new();
    arguments.builds.for_each(&workspace, |staged| {
        builds.push(staged.clone());
        Ok(())
    })?;
    let mut failed = Vec::new();
    for staged in builds {
        let major = staged.llvm.major;
        if let Err(error) = run_lit(&workspace, &staged, &arguments.paths) {
            println!("{error:#}");
            failed.push(format!("LLVM {major}"));
        }
    }
    ensure!(failed.is_empty(), "lit failed for {}", failed.join(" and "));
    Ok(())
}

/// Removes what libomp has left in shared memory for processes that are gone. One that was killed at the
/// wrong moment leaves an empty file, and whatever OpenMP program gets its number one day is ended by a bus
/// error when it starts. Tests kill many.
fn remove_what_libomp_left() {
    let Ok(files) = fs::read_dir("/dev/shm") else {
        return;
    };
    for file in files.flatten() {
        let name = file.file_name();
        let rest = name
            .to_str()
            .and_then(|name| name.strip_prefix("__KMP_REGISTERED_LIB_"));
        let process = rest.and_then(|rest| rest.split('_').next()?.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            // Another user's stays.
            let _ = fs::remove_file(file.path());
        }
    }
}

/// Runs lit for one build and prints its counts in a plain line.
///
/// Fails when a test fails, and when none ran at all.
pub(crate) fn run_lit(workspace: &Workspace, staged: &Staged, paths: &[PathBuf]) -> Result<()> {
    remove_what_libomp_left();
    let major = staged.llvm.major;
    let folder = workspace.target.join("lit").join(format!("llvm-{major}"));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make folder `{}`", folder.display()))?;
    let config = folder.join("config.json");
    fs::write(
        &config,
        format!("{:#}\n", configuration(workspace, staged, &folder)?),
    )
    .with_context(|| format!("cannot write `{}`", config.display()))?;

    let results = folder.join("results.json");
    if results.exists() {
        fs::remove_file(&results).with_context(|| format!("cannot remove `{}`", results.display()))?;
    }
    let mut command = Command::new("python3");
    command.arg(program(&staged.llvm)?).args(["-v", "--order=smart"]);
    // Some tests wait for most of their time.
    let workers = thread::available_parallelism().map_or(1, usize::from) + 1;
    command.arg(format!("--workers={workers}"));
    command.arg(format!("--param=config={}", config.display()));
    command.arg("--output").arg(&results);
    if paths.is_empty() {
        command.arg(workspace.root.join("test"));
    } else {
        command.args(outermost(paths)?);
    }
    println!("$ {}", shown(&command));
    leave_out_cargos_libraries(&mut command);
    let status = command.status().context("cannot run `python3`")?;
    let counts = Counts::read(&results)?;
    println!("lit, LLVM {major}:");
    println!("{} passed, {} failed", counts.passed, counts.failed);
    if counts.unsupported > 0 {
        println!("{} not for this LLVM or this machine", counts.unsupported);
    }
    ensure!(
        counts.passed + counts.failed > 0,
        "lit ran no test for LLVM {major}"
    );
    ensure!(
        status.success(),
        "lit failed for LLVM {major}: {status}{}",
        counts.failures
    );
    Ok(())
}

/// The paths without those that lie in others: lit would run their tests twice, at the same time and in the
/// same folder.
fn outermost(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut real = Vec::new();
    for path in paths {
        let path = path
            .canonicalize()
            .with_context(|| format!("no test is at `{}`", path.display()))?;
        real.push(path);
    }
    // What lies in a folder comes behind it.
    real.sort();
    real.dedup_by(|path, before| path.starts_with(before));
    Ok(real)
}

/// How the tests of one lit run ended.
struct Counts {
    passed: usize,
    failed: usize,
    unsupported: usize,
    /// Names the tests that failed, with the last of what the first of them printed: whoever has only the end
    /// of a long run's output sees why.
    failures: String,
}

impl Counts {
    fn read(results: &Path) -> Result<Self> {
        let text = fs::read(results)
            .with_context(|| format!("lit ended before it wrote its results in `{}`", results.display()))?;
        let results: Value = serde_json::from_slice(&text).context("lit's results are not JSON")?;
        let tests = results["tests"]
            .as_array()
            .context("lit's results name no tests")?;
        let (mut passed, mut unsupported, mut failed) = (0, 0, Vec::new());
        for test in tests {
            match test["code"].as_str().unwrap_or_default() {
                "PASS" | "FLAKYPASS" | "XFAIL" => passed += 1,
                "UNSUPPORTED" | "EXCLUDED" | "SKIPPED" => unsupported += 1,
                _ => failed.push(test),
            }
        }
        Ok(Self {
            passed,
            failed: failed.len(),
            unsupported,
            failures: failures(&failed),
        })
    }
}

/// The lines about failed tests, each begun on a new line.
fn failures(failed: &[&Value]) -> String {
    const SHOWN: usize = 3;
    const CHARACTERS: usize = 2000;
    let mut lines = String::new();
    for (index, test) in failed.iter().enumerate() {
        let _ = write!(
            lines,
            "\n{}",
            test["name"].as_str().unwrap_or("a test without a name")
        );
        let output = test["output"].as_str().unwrap_or_default().trim_end();
        if index < SHOWN && !output.is_empty() {
            let begin = output.char_indices().rev().nth(CHARACTERS - 1);
            let end = &output[begin.map_or(0, |(begin, _)| begin)..];
            let _ = write!(lines, ", at the end:\n{end}");
        }
    }
    lines
}

/// LLVM's own lit: `llvm-N-tools` brings it, in one of two places.
fn program(llvm: &Llvm) -> Result<PathBuf> {
    let prefix = llvm
        .lib_dir
        .parent()
        .context("LLVM's library folder has no parent")?;
    let candidates = [prefix.join("build/utils/lit/lit.py"), prefix.join("bin/lit")];
    match candidates.iter().find(|path| path.is_file()) {
        Some(path) => Ok(path.clone()),
        None => bail!(
            "no lit in `{}`: install the Debian package `llvm-{}-tools` (or run `cargo xtask setup`)",
            prefix.display(),
            llvm.major
        ),
    }
}

/// Everything that `lit/offloom_lit` has to know about this build and this machine.
fn configuration(workspace: &Workspace, staged: &Staged, folder: &Path) -> Result<Value> {
    let openmp = OpenMp::prepare(workspace, &staged.llvm)?;
    let other = llvm::other(&staged.llvm);
    let other_dist = other
        .as_ref()
        .map(|other| staged.dist.with_file_name(format!("llvm-{}", other.major)))
        .filter(|dist| dist.is_dir());
    let runtime = runtime::bitcode(workspace, &staged.llvm)?;
    Ok(json!({
        "llvm": staged.llvm.major,
        "llvm_bin": staged.llvm.bin_dir,
        "other_llvm_bin": other.map(|other| other.bin_dir),
        "dist": staged.dist,
        "other_dist": other_dist,
        "test_plugin": staged.test_plugin,
        "jit_cuda_test": staged.jit_cuda_test,
        "cuda": cuda::folder(workspace, staged.llvm.major)?,
        "device_runtime": runtime.as_ref().map(|(file, _)| file),
        "gpu_options": runtime::options(workspace, staged, &openmp)?,
        "has_own_device_runtime": runtime.as_ref().is_some_and(|(_, is_own)| *is_own),
        "s3_server": s3_server::program(workspace),
        "virtual_gpu": virtual_gpu::library_folder(workspace)?,
        "virtual_hsa": virtual_gpu::hsa::library_folder(workspace)?,
        "omp_compile": openmp.compile_options(),
        "omp_link": openmp.link_options,
        "exec_root": folder.join("test"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_tests_are_named_with_the_last_of_their_output() {
        let folder = tempfile::tempdir().unwrap();
        let results = folder.path().join("results.json");
        let long = format!("{}why\n", "\u{e9}".repeat(3000));
        let tests = json!({"tests": [
            {"name": "first", "code": "PASS", "output": "fine"},
            {"name": "second", "code": "FAIL", "output": long},
            {"name": "third", "code": "UNSUPPORTED", "output": "not here"},
            {"name": "fourth", "code": "TIMEOUT", "output": ""},
        ]});
        fs::write(&results, tests.to_string()).unwrap();
        let counts = Counts::read(&results).unwrap();
        assert_eq!((counts.passed, counts.failed, counts.unsupported), (1, 2, 1));
        let end = format!("{}why", "\u{e9}".repeat(1997));
        assert_eq!(counts.failures, format!("\nsecond, at the end:\n{end}\nfourth"));
    }

    #[test]
    fn a_test_in_a_folder_that_is_named_too_runs_once() {
        let folder = tempfile::tempdir().unwrap();
        let [all, part, other] = ["all", "all/part", "all-others"].map(|name| folder.path().join(name));
        for path in [&part, &other] {
            fs::create_dir_all(path).unwrap();
        }
        let outermost = outermost(&[part.clone(), other.clone(), all.clone(), part]).unwrap();
        assert_eq!(outermost, [&all, &other].map(|path| path.canonicalize().unwrap()));
        assert!(super::outermost(&[folder.path().join("none")]).is_err());
    }
}
