//! A small offload program, built and run as a user would.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use offloom_jit_cache::stats::Statistics;

use super::{Check, Problem};
use crate::installation::{Installation, LLVM_MAJOR};

/// A kernel whose launches differ in one scalar.
const PROGRAM: &str = r#"
extern int printf(const char *, ...);
extern int omp_get_num_devices(void);
int main(int argc, char **argv) {
  int sum = 0;
  for (int n = 7; n < 9; ++n) {
#pragma omp target map(tofrom : sum) firstprivate(n)
    for (int i = 0; i < n; ++i)
      sum += i % n;
  }
  printf("%d devices, sum %d\n", omp_get_num_devices(), sum);
  return sum - 49;
}
"#;

/// Builds and runs the program. What needs something that failed is left out.
pub(super) fn checks(
    clang: &Path,
    installation: &Installation,
    libomptarget: &Path,
    options: &[String],
) -> Vec<Check> {
    let mut checks = Vec::new();
    let built = tempfile::tempdir()
        .map_err(|error| Problem::new(format!("no temporary folder: {error}"), "set TMPDIR to one"))
        .and_then(|folder| {
            Ok((
                build(clang, installation, libomptarget, options, folder.path())?,
                folder,
            ))
        });
    let (program, folder) = match built {
        Ok(built) => built,
        Err(problem) => {
            checks.push(Check {
                what: "building a program".to_owned(),
                found: Err(problem),
            });
            return checks;
        }
    };
    checks.push(Check {
        what: "building a program".to_owned(),
        found: Ok("it links".to_owned()),
    });
    let statistics = folder.path().join("statistics");
    let ran = run(&program, &statistics);
    let works = ran.is_ok();
    checks.push(Check {
        what: "running it on a device".to_owned(),
        found: ran,
    });
    if works {
        checks.push(Check {
            what: "specialising its kernel".to_owned(),
            found: was_specialized(&statistics),
        });
    }
    checks
}

fn build(
    clang: &Path,
    installation: &Installation,
    libomptarget: &Path,
    options: &[String],
    folder: &Path,
) -> Result<PathBuf, Problem> {
    let remedy = format!(
        "if libomp.so or omp.h is missing, install the Debian package libomp-{LLVM_MAJOR}-dev, or say where they are: \
         `offloom doctor -- -LFOLDER -Wl,-rpath,FOLDER`"
    );
    let failed = |reason: String| Problem::new(reason, remedy.as_str());
    let (source, program) = (folder.join("probe.c"), folder.join("probe"));
    fs::write(&source, PROGRAM).map_err(|error| failed(error.to_string()))?;
    let mut command = Command::new(clang);
    command
        .arg(format!("--config={}", installation.jit_configuration().display()))
        .args([
            "--driver-mode=gcc",
            "-O2",
            "-fopenmp",
            "-fopenmp-targets=x86_64-pc-linux-gnu",
        ])
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .args(options);
    if let Some(libraries) = libomptarget.parent() {
        command.arg(format!("-Wl,-rpath,{}", libraries.display()));
    }
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(program);
    }
    Err(failed(format!("{}; {}", output.status, first_error(&output))))
}

fn run(program: &Path, statistics: &Path) -> Result<String, Problem> {
    let remedy = format!(
        "libomptarget of LLVM {LLVM_MAJOR} needs its plugin for x86_64 and libffi; LIBOMPTARGET_INFO=-1 makes a program say more"
    );
    let output = Command::new(program)
        .env("OMP_TARGET_OFFLOAD", "mandatory")
        .env("OFFLOOM_JIT", "sync")
        .env("OFFLOOM_JIT_RETIRE", "0")
        .env("OFFLOOM_JIT_CACHE_MODE", "off")
        .env("OFFLOOM_JIT_STATS", statistics)
        .output();
    match output {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        Ok(output) => Err(Problem::new(
            format!("{}; {}", output.status, first_error(&output)),
            remedy,
        )),
        Err(error) => Err(Problem::new(error.to_string(), remedy)),
    }
}

fn was_specialized(statistics: &Path) -> Result<String, Problem> {
    let remedy = "run a program with OFFLOOM_JIT_LOG=1, it says what goes wrong";
    let statistics = Statistics::read(statistics).map_err(|_| {
        Problem::new(
            "the program did not load the JIT library",
            "OFFLOOM_JIT_LIBRARY, if set, must name liboffloom_jit.so of this installation",
        )
    })?;
    let launches: u64 = statistics
        .kernels
        .iter()
        .map(|kernel| kernel.launches_of_variants)
        .sum();
    if launches == 0 {
        return Err(Problem::new("no launch ran a variant", remedy));
    }
    Ok(format!(
        "{launches} launches ran a variant, by LLVM {}",
        statistics.llvm
    ))
}

/// The first line that tells what went wrong.
fn first_error(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let telling = lines().find(|line| line.contains("error"));
    telling
        .or_else(|| lines().next())
        .unwrap_or("it said nothing")
        .to_owned()
}
