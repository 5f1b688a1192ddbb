//! `cargo xtask setup`: installs the Debian packages that are missing, and CUDA's tools and an S3 server for
//! the tests. The demo needs some of them alone.

use std::collections::{BTreeSet, HashSet};
use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use offloom_abi::LlvmVersion;
use offloom_find_llvm::Llvm;

use crate::cuda;
use crate::llvm::distribution::{Distribution, check_together};
use crate::llvm::{self, Choice};
use crate::progress::run_folded;
use crate::s3_server;
use crate::virtual_gpu_check::runtime;
use crate::workspace::Workspace;

/// A Debian package.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Package {
    name: String,
    /// What it is needed for.
    purpose: &'static str,
    /// The suite of the archive that it has to come from, where apt would choose another.
    suite: Option<&'static str>,
}

impl Package {
    fn new(name: impl Into<String>, purpose: &'static str) -> Self {
        Self {
            name: name.into(),
            purpose,
            suite: None,
        }
    }

    /// As apt is asked for it.
    fn word(&self) -> String {
        match self.suite {
            Some(suite) => format!("{}/{suite}", self.name),
            None => self.name.clone(),
        }
    }
}

/// What packages are wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// A build and the demo.
    Build,
    /// Tests, the evaluation and packages as well.
    All,
}

/// Packages that a build for any LLVM needs.
const COMMON: &[(&str, &str)] = &[
    (
        "g++",
        "C++ compiler and standard library, for the C++ shims and for the test programs",
    ),
    ("libzstd-dev", "decompression, which lld needs"),
    ("zlib1g-dev", "decompression, which lld needs"),
];

/// Packages that tests, the evaluation and packages need besides.
const COMMON_FOR_TESTS: &[(&str, &str)] = &[
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
    let llvms = install(&arguments.llvm.wanted(), extent)?;
    for llvm in &llvms {
        println!("LLVM {} is in {}", llvm.version, llvm.bin_dir.display());
    }
    if extent == Extent::All {
        let workspace = Workspace::find()?;
        for llvm in &llvms {
            // Programs for GPUs are left out then.
            if let Err(error) = runtime::install(&workspace, llvm) {
                println!("LLVM {}: no device runtime for tests: {error:#}", llvm.major);
            }
        }
        cuda::install(&workspace)?;
        s3_server::install(&workspace)?;
    }
    Ok(())
}

/// Installs what is missing for these LLVMs and finds them.
pub(crate) fn install(majors: &[u32], extent: Extent) -> Result<Vec<Llvm>> {
    let mut versions = Vec::new();
    for &major in majors.iter().filter(|&&major| !is_given(major)) {
        versions.push(llvm::version(major)?);
    }
    check_together(&versions)?;
    let distribution = Distribution::here();
    let wanted = packages(&versions, distribution, extent);
    if has_program("dpkg-query") && has_program("apt-get") {
        let missing = missing(&wanted)?;
        if missing.is_empty() {
            println!("every package is installed");
        } else {
            check_host_runtime(&versions)?;
            install_by_apt(&missing, &versions, distribution)?;
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
fn packages(
    versions: &[LlvmVersion],
    distribution: Option<&'static Distribution>,
    extent: Extent,
) -> Vec<Package> {
    let named = |packages: &[(&'static str, &'static str)]| {
        let packages = packages.iter();
        packages
            .map(|&(name, purpose)| Package::new(name, purpose))
            .collect::<Vec<_>>()
    };
    let mut wanted = named(COMMON);
    if extent == Extent::All {
        wanted.extend(named(COMMON_FOR_TESTS));
        wanted.extend(distribution.map(|distribution| {
            let purpose = "mathematics of AMD GPUs, which tests build programs with";
            Package::new(distribution.amd_libraries.package, purpose)
        }));
    }
    for &version in versions {
        wanted.extend(of_llvm(version, distribution, extent));
    }
    let mut seen = HashSet::new();
    wanted
        .retain(|package| seen.insert(package.name.clone()) && (package.name != "python3-pip" || !has_pip()));
    wanted
}

/// The packages of one LLVM.
fn of_llvm(
    version: LlvmVersion,
    distribution: Option<&'static Distribution>,
    extent: Extent,
) -> Vec<Package> {
    let major = version.major();
    let mut wanted = vec![
        Package::new(format!("bolt-{major}"), "lays out the code of the JIT's worker"),
        Package::new(format!("clang-{major}"), "the compiler"),
        Package::new(
            format!("clang-tools-{major}"),
            "clang-linker-wrapper and the offload packager, which our tools are compared with",
        ),
        Package::new(
            format!("libclang-rt-{major}-dev"),
            "sanitizers and profiles, which tests build programs with",
        ),
        Package::new(
            format!("liblld-{major}-dev"),
            "lld as a library, for the device linker",
        ),
        Package::new(version.libomptarget_dev_package(), "libomptarget"),
        Package::new(
            version.host_runtime_dev_package(),
            "OpenMP host runtime, omp.h, and where no other package has it, libomptarget",
        ),
        Package::new(format!("lld-{major}"), "ld.lld"),
        Package::new(format!("llvm-{major}-dev"), "headers, libLLVM, llvm-config"),
    ];
    if extent == Extent::All {
        wanted.push(Package::new(
            format!("llvm-{major}-tools"),
            "lit, FileCheck, not, split-file",
        ));
        wanted.push(Package::new(
            format!("clang-format-{major}"),
            "checks how our C++ is formatted",
        ));
        // 57 MB to download and 950 MB on the disk.
        if version.flang_shares_loops_on_gpus {
            wanted.push(Package::new(
                format!("flang-{major}"),
                "builds Fortran programs in tests",
            ));
        }
    }
    if let Some(source) = distribution.and_then(|distribution| distribution.source(major)) {
        wanted.extend(source.of_suite.iter().map(|&name| Package {
            suite: Some(source.suite),
            ..Package::new(name, "OpenMP host runtime of that release")
        }));
    }
    wanted
}

/// Those of `wanted` that are not installed.
fn missing(wanted: &[Package]) -> Result<Vec<Package>> {
    let installed = installed(wanted.iter().map(|package| package.name.as_str()))?;
    let missing = wanted.iter().filter(|package| !installed.contains(&package.name));
    Ok(missing.cloned().collect())
}

/// Those of the packages that are installed.
fn installed<'a>(names: impl Iterator<Item = &'a str>) -> Result<HashSet<String>> {
    let output = Command::new("dpkg-query")
        .args(["--show", "--showformat=${Package} ${db:Status-Status}\n"])
        .args(names)
        .output()
        .context("cannot run `dpkg-query`")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let names = text.lines().filter_map(|line| line.strip_suffix(" installed"));
    Ok(names.map(str::to_owned).collect())
}

/// Fails where another OpenMP host runtime is installed than these LLVMs need: apt would remove it, and what
/// uses it.
fn check_host_runtime(versions: &[LlvmVersion]) -> Result<()> {
    let Some(version) = versions.first() else {
        return Ok(());
    };
    let others: BTreeSet<_> = LlvmVersion::ALL
        .iter()
        .filter(|other| other.host_runtime != version.host_runtime)
        .map(|other| other.host_runtime_dev_package())
        .collect();
    let installed = installed(others.iter().map(String::as_str))?;
    if let Some(other) = others.iter().find(|other| installed.contains(*other)) {
        bail!(
            "LLVM {} needs `{}`, in whose place `{other}` is installed, and Debian has one OpenMP host runtime at a time: remove that one, or \
             use another root (`packaging/try-clean-root.sh`)",
            version.major(),
            version.host_runtime_dev_package()
        );
    }
    Ok(())
}

/// Installs packages, with `sudo` when this is not the administrator.
fn install_by_apt(
    missing: &[Package],
    versions: &[LlvmVersion],
    distribution: Option<&Distribution>,
) -> Result<()> {
    println!("Debian packages to install:");
    list(missing);
    let words: Vec<_> = missing.iter().map(Package::word).collect();
    let update = ["apt-get", "update"];
    let install: Vec<_> = ["apt-get", "install", "--yes", "--no-install-recommends"]
        .into_iter()
        .chain(words.iter().map(String::as_str))
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
        "no package source offers {}. {}",
        unavailable.join(", "),
        where_to_look(versions, distribution)
    );
    if let Some(sizes) = sizes(&install) {
        println!("{sizes}");
    }
    as_administrator(&install, "installing packages").with_context(|| by_hand)
}

/// Which distributions have these LLVMs, or in which suites of its archive this one has them.
fn where_to_look(versions: &[LlvmVersion], distribution: Option<&Distribution>) -> String {
    let Some(distribution) = distribution else {
        return "Packages are known of Debian 12 and 13 alone: install LLVM by other means and name its folder by `LLVM_SYS_NN1_PREFIX`".to_owned();
    };
    let not_there = versions
        .iter()
        .find(|version| distribution.source(version.major()).is_none());
    let offer = format!("{} has {}", distribution.name, distribution.offer());
    match not_there {
        Some(version) => format!("{offer}, and no LLVM {}: choose by `--llvm`", version.major()),
        None => format!("{offer}: enable the suite in apt's sources, or choose another LLVM by `--llvm`"),
    }
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
fn unavailable(missing: &[Package]) -> Result<Vec<&str>> {
    let mut none = Vec::new();
    for Package { name, .. } in missing {
        let output = Command::new("apt-cache")
            .args(["policy", name])
            .env("LC_ALL", "C")
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let candidate = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("Candidate: "));
        if candidate.is_none_or(|version| version == "(none)") {
            none.push(name.as_str());
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
    for package in packages {
        println!("  {:18} {}", package.word(), package.purpose);
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

    fn names(versions: &[LlvmVersion], extent: Extent) -> Vec<String> {
        let packages = packages(versions, None, extent);
        packages.into_iter().map(|package| package.name).collect()
    }

    fn has(names: &[String], name: &str) -> bool {
        names.iter().any(|present| present == name)
    }

    #[test]
    fn one_llvm_does_not_need_the_packages_of_the_other() {
        let for_19 = names(&[LlvmVersion::V19], Extent::All);
        assert!(for_19.iter().all(|name| !name.contains("22")));
        assert!(has(&for_19, "llvm-19-tools") && has(&for_19, "libomp-19-dev"));
        let for_22 = names(&[LlvmVersion::V22], Extent::All);
        let of_19 = for_22.iter().filter(|name| name.contains("19"));
        assert_eq!(of_19.collect::<Vec<_>>(), ["libomp-19-dev"]);
        assert!(has(&for_22, "liboffload-22-dev"));
        let both = names(&[LlvmVersion::V19, LlvmVersion::V22], Extent::All);
        assert_eq!(both.iter().filter(|name| *name == "libomp-19-dev").count(), 1);
    }

    #[test]
    fn a_build_needs_nothing_that_only_tests_use() {
        let both = [LlvmVersion::V19, LlvmVersion::V22];
        let all = names(&both, Extent::All);
        let build = names(&both, Extent::Build);
        assert!(build.iter().all(|name| has(&all, name)));
        for name in [
            "chromium",
            "fonts-dejavu-core",
            "meson",
            "python3-pip",
            "llvm-19-tools",
        ] {
            assert!(!has(&build, name), "{name}");
        }
    }

    #[test]
    fn a_package_of_two_suites_is_asked_for_by_its_suite() {
        let os_release = "ID=debian\nVERSION_CODENAME=trixie\n";
        let distribution = Distribution::of(os_release);
        let packages = packages(&[LlvmVersion::V21], distribution, Extent::Build);
        let words: Vec<_> = packages.iter().map(Package::word).collect();
        assert!(has(&words, "libomp5/trixie-backports"), "{words:?}");
        assert!(has(&words, "libomp-21-dev") && has(&words, "liboffload-21-dev"));
    }

    #[test]
    fn a_release_that_a_distribution_lacks_is_told() {
        let bookworm = Distribution::of("ID=debian\nVERSION_CODENAME=bookworm\n");
        let told = where_to_look(&[LlvmVersion::V21], bookworm);
        assert!(
            told.contains("Debian 12 has") && told.contains("no LLVM 21"),
            "{told}"
        );
    }

    #[test]
    fn a_package_that_does_not_exist_is_missing() {
        if has_program("dpkg-query") {
            let wanted = ["dpkg", "no-such-package-of-offloom"].map(|name| Package::new(name, ""));
            assert_eq!(missing(&wanted).unwrap(), wanted[1..]);
        }
    }
}
