//! `cargo xtask setup`: installs the Debian packages that are missing, and CUDA's tools and an S3 server for
//! the tests. The demo needs some of them alone.

use std::collections::HashSet;
use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use offloom_find_llvm::Llvm;

use crate::cuda;
use crate::llvm::Choice;
use crate::progress::run_folded;
use crate::s3_server;
use crate::workspace::Workspace;

/// A Debian package and what it is needed for.
type Package = (&'static str, &'static str);

/// What packages are wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// A build and the demo.
    Build,
    /// Tests, the evaluation and packages as well.
    All,
}

/// Packages that a build for any LLVM needs.
const COMMON: &[Package] = &[
    (
        "g++",
        "C++ compiler and standard library, for the C++ shims and for the test programs",
    ),
    ("libzstd-dev", "decompression, which lld needs"),
    ("zlib1g-dev", "decompression, which lld needs"),
];

/// Packages that tests, the evaluation and packages need besides.
const COMMON_FOR_TESTS: &[Package] = &[
    ("chromium", "looks at the page of `offloom report` in a test"),
    ("cmake", "builds a project with `find_package(Offloom)` in a test"),
    ("dpkg-dev", "which packages ours depend on"),
    ("fonts-dejavu-core", "text in the figures of the evaluation"),
    ("libopenmpi-dev", "builds the documentation's program with MPI"),
    ("meson", "builds a project of the documentation in a test"),
    ("ninja-build", "the same"),
    ("openmpi-bin", "runs the documentation's program with MPI"),
    ("pkg-config", "finds the files for it in a test"),
    ("pybind11-dev", "builds the documentation's extension of Python"),
    ("python3", "runs lit"),
    ("python3-dev", "builds the documentation's extension of Python"),
    ("python3-pip", "installs CUDA's tools"),
    (
        "redis-server",
        "a store that tests of the JIT's remote cache start",
    ),
];

/// Packages for LLVM 19.
const FOR_19: &[Package] = &[
    ("bolt-19", "lays out the code of the JIT's worker"),
    ("clang-19", "the compiler"),
    (
        "clang-tools-19",
        "clang-linker-wrapper and the offload packager, which our tools are compared with",
    ),
    (
        "libclang-rt-19-dev",
        "sanitizers and profiles, which tests build programs with",
    ),
    ("liblld-19-dev", "lld as a library, for the device linker"),
    ("libomp-19-dev", "OpenMP runtime, libomptarget, omp.h"),
    ("lld-19", "ld.lld"),
    ("llvm-19-dev", "headers, libLLVM, llvm-config"),
];

/// Packages for LLVM 22. Its own `libomp-22-dev` would push `libomp-19-dev` out; the host runtime of 19
/// serves both.
const FOR_22: &[Package] = &[
    ("bolt-22", "lays out the code of the JIT's worker"),
    ("clang-22", "the compiler"),
    (
        "clang-tools-22",
        "clang-linker-wrapper and the offload packager, which our tools are compared with",
    ),
    ("liboffload-22-dev", "libomptarget"),
    (
        "libclang-rt-22-dev",
        "sanitizers and profiles, which tests build programs with",
    ),
    ("liblld-22-dev", "lld as a library, for the device linker"),
    ("libomp-19-dev", "OpenMP host runtime, omp.h"),
    ("lld-22", "ld.lld"),
    ("llvm-22-dev", "headers, libLLVM, llvm-config"),
];

/// Packages of LLVM that tests need besides. Flang is 57 MB to download and 950 MB on the disk; that of LLVM
/// 19 would be as much again, and makes wrong code of loops on GPUs.
const LLVM_FOR_TESTS: [(u32, Package); 3] = [
    (19, ("llvm-19-tools", "lit, FileCheck, not, split-file")),
    (22, ("flang-22", "builds Fortran programs in tests")),
    (22, ("llvm-22-tools", "lit, FileCheck, not, split-file")),
];

/// Options of `cargo xtask setup`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    llvm: Choice,
    /// Only what a build and the demo need: nothing that tests, the evaluation and packages need besides
    #[arg(long)]
    build_only: bool,
}

/// Runs `cargo xtask setup`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let extent = if arguments.build_only {
        Extent::Build
    } else {
        Extent::All
    };
    for llvm in install(&arguments.llvm.majors(), extent)? {
        println!("LLVM {} is in {}", llvm.version, llvm.bin_dir.display());
    }
    if extent == Extent::All {
        let workspace = Workspace::find()?;
        cuda::install(&workspace)?;
        s3_server::install(&workspace)?;
    }
    Ok(())
}

/// Installs what is missing for these LLVMs and finds them.
pub(crate) fn install(majors: &[u32], extent: Extent) -> Result<Vec<Llvm>> {
    let wanted = packages(majors.iter().copied().filter(|&major| !is_given(major)), extent);
    if has_program("dpkg-query") && has_program("apt-get") {
        let missing = missing(&wanted)?;
        if missing.is_empty() {
            println!("every package is installed");
        } else {
            install_by_apt(&missing)?;
        }
    } else {
        println!("This is not a Debian system; have these installed by other means:");
        list(&wanted);
    }
    majors
        .iter()
        .map(|&major| offloom_find_llvm::find(major).map_err(Into::into))
        .collect()
}

/// Whether an LLVM's place was given by hand: it is left as it is.
fn is_given(major: u32) -> bool {
    env::var_os(offloom_find_llvm::prefix_variable(major)).is_some()
}

/// The packages that everything and these LLVMs need.
fn packages(majors: impl IntoIterator<Item = u32>, extent: Extent) -> Vec<Package> {
    let mut wanted = COMMON.to_vec();
    if extent == Extent::All {
        wanted.extend_from_slice(COMMON_FOR_TESTS);
    }
    for major in majors {
        wanted.extend_from_slice(if major == 19 { FOR_19 } else { FOR_22 });
        let for_tests = LLVM_FOR_TESTS.iter().filter(|(of, _)| *of == major);
        if extent == Extent::All {
            wanted.extend(for_tests.map(|(_, package)| package));
        }
    }
    let mut seen = HashSet::new();
    wanted.retain(|(name, _)| seen.insert(*name) && (*name != "python3-pip" || !has_pip()));
    wanted
}

/// Those of `wanted` that are not installed.
fn missing(wanted: &[Package]) -> Result<Vec<Package>> {
    let output = Command::new("dpkg-query")
        .args(["--show", "--showformat=${Package} ${db:Status-Status}\n"])
        .args(wanted.iter().map(|(name, _)| name))
        .output()
        .context("cannot run `dpkg-query`")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let installed: HashSet<_> = text
        .lines()
        .filter_map(|line| line.strip_suffix(" installed"))
        .collect();
    Ok(wanted
        .iter()
        .copied()
        .filter(|(name, _)| !installed.contains(name))
        .collect())
}

/// Installs packages, with `sudo` when this is not the administrator.
fn install_by_apt(missing: &[Package]) -> Result<()> {
    println!("Debian packages to install:");
    list(missing);
    let names = missing.iter().map(|(name, _)| *name);
    let update = ["apt-get", "update"];
    let install: Vec<_> = ["apt-get", "install", "--yes", "--no-install-recommends"]
        .into_iter()
        .chain(names)
        .collect();
    let by_hand = format!(
        "run this as administrator, then try again:\n  {}\n  {}",
        update.join(" "),
        install.join(" ")
    );

    ensure!(
        is_root()? || has_program("sudo"),
        "installing packages takes an administrator, and there is no `sudo`: {by_hand}"
    );
    as_administrator(&update, "asking what there is").with_context(|| by_hand.clone())?;
    let unavailable = unavailable(missing)?;
    ensure!(
        unavailable.is_empty(),
        "no package source offers {}. Debian 12 has LLVM 19 in `bookworm` and LLVM 22 in `bookworm-security`, Debian 13 both in `trixie`: \
         enable them in /etc/apt/sources.list, or choose one LLVM with `--llvm`",
        unavailable.join(", ")
    );
    if let Some(sizes) = sizes(&install) {
        println!("{sizes}");
    }
    as_administrator(&install, "installing packages").with_context(|| by_hand)
}

/// What apt says of how much it would download and how much would be on the disk then.
fn sizes(install: &[&str]) -> Option<String> {
    let [program, arguments @ ..] = install else {
        return None;
    };
    let arguments = arguments.iter().filter(|argument| **argument != "--yes");
    let output = Command::new(program)
        .args(arguments)
        .arg("--assume-no")
        .env("LC_ALL", "C")
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text
        .lines()
        .filter(|line| line.starts_with("Need to get") || line.starts_with("After this operation"));
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// Runs a command of apt as administrator, so that it asks nothing about the packages.
fn as_administrator(words: &[&str], what: &str) -> Result<()> {
    // `env`, because `sudo` drops variables.
    let mut command = if is_root()? {
        Command::new("env")
    } else {
        let mut command = Command::new("sudo");
        command.arg("env");
        command
    };
    run_folded(command.arg("DEBIAN_FRONTEND=noninteractive").args(words), what)?;
    Ok(())
}

/// The packages that no source offers.
fn unavailable(missing: &[Package]) -> Result<Vec<&'static str>> {
    let mut none = Vec::new();
    for (name, _) in missing {
        let output = Command::new("apt-cache")
            .args(["policy", name])
            .env("LC_ALL", "C")
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let candidate = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("Candidate: "));
        if candidate.is_none_or(|version| version == "(none)") {
            none.push(*name);
        }
    }
    Ok(none)
}

fn is_root() -> Result<bool> {
    let owner = fs::metadata("/proc/self")
        .context("cannot ask /proc who runs this")?
        .uid();
    Ok(owner == 0)
}

fn list(packages: &[Package]) {
    for (name, purpose) in packages {
        println!("  {name:18} {purpose}");
    }
}

/// Whether Python has pip, from wherever.
fn has_pip() -> bool {
    let pip = Command::new("python3").args(["-m", "pip", "--version"]).output();
    pip.is_ok_and(|output| output.status.success())
}

fn has_program(name: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(name).is_file()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_llvm_does_not_need_the_packages_of_the_other() {
        let names = |majors: &[u32]| {
            packages(majors.iter().copied(), Extent::All)
                .into_iter()
                .map(|(name, _)| name)
                .collect::<Vec<_>>()
        };
        assert!(names(&[19]).iter().all(|name| !name.contains("22")));
        assert!(names(&[19]).contains(&"llvm-19-tools"));
        let for_22 = names(&[22]);
        assert!(
            for_22
                .iter()
                .all(|name| !name.contains("19") || *name == "libomp-19-dev")
        );
        let both = names(&[19, 22]);
        assert_eq!(both.iter().filter(|name| **name == "libomp-19-dev").count(), 1);
    }

    #[test]
    fn a_build_needs_nothing_that_only_tests_use() {
        let all = packages([19, 22], Extent::All);
        let build = packages([19, 22], Extent::Build);
        assert!(build.iter().all(|package| all.contains(package)));
        for name in [
            "chromium",
            "fonts-dejavu-core",
            "meson",
            "python3-pip",
            "llvm-19-tools",
        ] {
            assert!(build.iter().all(|(built, _)| *built != name), "{name}");
        }
    }

    #[test]
    fn a_package_that_does_not_exist_is_missing() {
        if has_program("dpkg-query") {
            let missing = missing(&[("dpkg", ""), ("no-such-package-of-offloom", "")]).unwrap();
            assert_eq!(missing, [("no-such-package-of-offloom", "")]);
        }
    }
}
