//! A small offload program, built and run as a user would.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use offloom_abi::HostProcessor;
use offloom_jit_cache::stats::Statistics;
use offloom_text_table::counted;

use super::{Check, Problem};
use crate::installation::{Installation, LLVM, LLVM_MAJOR};
use crate::scratch_folder::ScratchFolder;

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

/// The name of the file of statistics in the program's folder.
const STATISTICS: &str = "statistics";

/// What the program is built and run with.
pub(super) struct Probe {
    pub(super) clang: PathBuf,
    pub(super) installation: Installation,
    pub(super) libomptarget: PathBuf,
    /// Whether the settings have programs dump launches.
    pub(super) dumps: bool,
}

impl Probe {
    /// Builds and runs the program. What needs something that failed is left out. Returns also what the
    /// program said is ignored.
    pub(super) fn checks(&self, options: &[OsString]) -> (Vec<Check>, Vec<String>) {
        let mut checks = Vec::new();
        let mut add = |what: &str, found| {
            checks.push(Check {
                what: what.to_owned(),
                found,
            });
        };
        let folder = ScratchFolder::new()
            .map_err(|error| Problem::new(format!("no temporary folder: {error}"), "set TMPDIR to one"));
        let built = folder.and_then(|folder| {
            let program = self.build(options, folder.path())?;
            Ok((program, folder))
        });
        let (program, folder) = match built {
            Ok(built) => built,
            Err(problem) => {
                add("building a program", Err(problem));
                return (checks, Vec::new());
            }
        };
        add("building a program", Ok("it links".to_owned()));
        let mut ran = self.run(&program, folder.path());
        if let (Ok(output), Some(libraries)) = (&ran, self.libomptarget.parent())
            && let Some(library) = library_not_found(&output.stderr)
        {
            // Clang's name for it goes up and down the tree.
            let libraries = fs::canonicalize(libraries).unwrap_or_else(|_| libraries.to_owned());
            let mut option = OsString::from("-Wl,-rpath,");
            option.push(&libraries);
            add(
                "starting a program",
                Err(not_found(&library, &libraries, &option)),
            );
            let options = [options, &[option]].concat();
            ran = match self.build(&options, folder.path()) {
                Ok(program) => self.run(&program, folder.path()),
                Err(problem) => {
                    add("building a program that names the folder", Err(problem));
                    return (checks, Vec::new());
                }
            };
        }
        let ignored = ran.as_ref().map_or_else(|_| Vec::new(), ignored);
        let ran = what_it_printed(ran);
        let works = ran.is_ok();
        add("running it on a device", ran);
        if works {
            add(
                "specialising its kernel",
                was_specialized(&folder.path().join(STATISTICS)),
            );
        }
        (checks, ignored)
    }

    fn build(&self, options: &[OsString], folder: &Path) -> Result<PathBuf, Problem> {
        let failed = |reason: String| {
            let remedy = remedy(&reason);
            Problem::new(reason, remedy)
        };
        let (source, program) = (folder.join("probe.c"), folder.join("probe"));
        fs::write(&source, PROGRAM).map_err(|error| {
            Problem::new(
                format!("cannot write `{}`: {error}", source.display()),
                "make room in that folder, or name another with TMPDIR",
            )
        })?;
        let mut configuration = OsString::from("--config=");
        configuration.push(self.installation.jit_configuration());
        let output = Command::new(&self.clang)
            .arg(configuration)
            .args(["--driver-mode=gcc", "-O2", "-fopenmp"])
            .arg(format!("-fopenmp-targets={}", HostProcessor::NATIVE.triple))
            .arg(&source)
            .arg("-o")
            .arg(&program)
            .args(options)
            // A signal may end it before it has removed its own.
            .env("TMPDIR", folder)
            .output()
            .map_err(|error| {
                Problem::new(
                    format!("`{}` cannot be run: {error}", self.clang.display()),
                    format!(
                        "make room for another process, or install the Debian package clang-{LLVM_MAJOR} again"
                    ),
                )
            })?;
        if output.status.success() {
            return Ok(program);
        }
        Err(failed(format!("{}; {}", output.status, first_error(&output))))
    }

    fn run(&self, program: &Path, folder: &Path) -> io::Result<Output> {
        let mut command = Command::new(program);
        command
            .env("OMP_TARGET_OFFLOAD", "mandatory")
            .env("OFFLOOM_JIT", "sync")
            .env("OFFLOOM_JIT_RETIRE", "0")
            .env("OFFLOOM_JIT_CACHE_MODE", "off")
            .env("OFFLOOM_JIT_PERF", "0")
            .env("OFFLOOM_JIT_STATS", folder.join(STATISTICS));
        if self.dumps {
            // It may be the file of OFFLOOM_CONFIG that asks for them, so the variable cannot just be taken
            // away.
            command.env("OFFLOOM_JIT_DUMP_DIR", folder.join("dumps"));
        }
        command.output()
    }
}

/// What to do about a build that failed so.
fn remedy(reason: &str) -> String {
    if reason.contains("cannot start 'ld'") {
        return "install the Debian package binutils, or have another linker named ld on PATH".to_owned();
    }
    if !is_about_openmp(reason) {
        return "mend what Clang or the linker says; options that your programs need go behind `offloom doctor --`".to_owned();
    }
    format!(
        "install the Debian package {}; or say where libomp.so and omp.h are: `offloom doctor -- -LFOLDER -Wl,-rpath,FOLDER`",
        LLVM.host_runtime_dev_package()
    )
}

/// Whether a message is about what OpenMP's own package has.
fn is_about_openmp(message: &str) -> bool {
    ["omp.h", "-lomp", "libomp", "library 'omp'"].iter().any(|name| {
        let mut found = message.match_indices(name);
        // Not libomptarget, which is looked for by itself.
        found.any(|(at, _)| !message[at + name.len()..].starts_with(char::is_alphanumeric))
    })
}

/// What the JIT library said that it does not do of what was asked for.
fn ignored(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines = text.lines().filter_map(|line| line.strip_prefix("offloom-jit: "));
    lines
        .filter(|line| line.contains("is ignored"))
        .map(ToOwned::to_owned)
        .collect()
}

fn what_it_printed(ran: io::Result<Output>) -> Result<String, Problem> {
    let remedy = format!(
        "libomptarget of LLVM {LLVM_MAJOR} needs its plugin for {} and libffi; LIBOMPTARGET_INFO=-1 makes a program say more",
        HostProcessor::NATIVE.name
    );
    match ran {
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

/// The libomptarget that the dynamic loader looked for in vain, by what the loader says.
fn library_not_found(errors: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(errors);
    let names = text
        .lines()
        .filter_map(|line| line.split_once("error while loading shared libraries: "));
    let mut names = names.filter_map(|(_, rest)| rest.split(':').next());
    names
        .find(|name| name.starts_with("libomptarget.so"))
        .map(ToOwned::to_owned)
}

fn not_found(library: &str, libraries: &Path, option: &OsStr) -> Problem {
    let option = option.display();
    Problem::note(
        format!(
            "the loader does not find {library}, which is in {}, and Clang does not tell it; the rest is tried with {option}",
            libraries.display()
        ),
        format!(
            "link with {option}, or run programs with LD_LIBRARY_PATH={}",
            libraries.display()
        ),
    )
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
        .fold(0, u64::saturating_add);
    if launches == 0 {
        return Err(Problem::new("no launch ran a variant", remedy));
    }
    Ok(format!(
        "{} ran a variant, by LLVM {}",
        counted(launches, "launch", "launches"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_openmp_lacks_is_told_from_other_failures() {
        assert!(is_about_openmp("/usr/bin/ld: cannot find -lomp: No such file"));
        assert!(is_about_openmp("fatal error: 'omp.h' file not found"));
        assert!(is_about_openmp(
            "ld: cannot find -lomptarget: libomp.so: cannot open"
        ));
        assert!(!is_about_openmp("ld: cannot find -lno-such-library"));
        assert!(!is_about_openmp("ld: cannot find -lomptarget"));
        assert!(!is_about_openmp("ld: libomptarget.so: file not recognized"));
    }

    #[test]
    fn a_libomptarget_that_is_not_found_is_told_from_other_failures() {
        let of = |text: &str| library_not_found(text.as_bytes());
        assert_eq!(
            of(
                "/tmp/x/probe: error while loading shared libraries: libomptarget.so.19.1: cannot open shared object file: No such file or directory\n"
            ),
            Some("libomptarget.so.19.1".to_owned())
        );
        assert_eq!(
            of(
                "/tmp/x/probe: error while loading shared libraries: libomp.so.5: cannot open shared object file: No such file or directory\n"
            ),
            None
        );
        assert_eq!(of("omptarget fatal error 1: failure of target construct\n"), None);
    }
}
