//! `cargo xtask build`: compiles the project for each LLVM and stages what a user would install in
//! `dist/llvm-N`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use object::{Object as _, ObjectSection as _};
use offloom_abi::{HostProcessor, LlvmVersion, Triple};
use offloom_find_llvm::Llvm;

use crate::command::run_shown;
use crate::llvm::{self, Choice};
use crate::openmp::{self, replace_link};
use crate::progress::run_folded;
use crate::worker_layout;
use crate::workspace::{Workspace, cargo};

/// What `cargo build` is asked for: the installed artefacts, and the plugin and the library that only tests
/// load.
const PACKAGES: [&str; 10] = [
    "offloom",
    "wrapgen",
    "offloom-device-linker",
    "offloom-passes",
    "offloom-nvjitlink",
    "offloom-jit-remote",
    "offloom-jit-runtime",
    "offloom-jit-worker",
    "offloom-test-plugin",
    "offloom-jit-cuda-test",
];

/// Files that are installed: name in Cargo's output folder, folder in the staged tree.
const STAGED: [(&str, &str); 9] = [
    ("offloom", "bin"),
    ("wrapgen", "bin"),
    ("wrapgen-bitcode", "libexec/offloom"),
    ("offloom-jit-ptxas", "libexec/offloom"),
    ("offloom-jit-remote", "libexec/offloom"),
    ("offloom-jit-call", "libexec/offloom"),
    ("wrapgen-lld", "libexec/offloom"),
    ("liboffloom_passes.so", "lib"),
    ("liboffloom_jit.so", "lib"),
];

/// The JIT's worker, which is not installed as Cargo links it.
const WORKER: (&str, &str) = ("offloom-jit-worker", "libexec/offloom");

/// Configuration files of Clang, and of Flang, installed as they are.
const CONFIGURATION_FILES: [&str; 4] = [
    "offloom.cfg",
    "offloom-gpu.cfg",
    "offloom-jit.cfg",
    "offloom-fortran.cfg",
];

/// Files for build systems: where they are in `packaging`, and the folder in the staged tree. `@NAME@` in
/// them is filled in.
const TEMPLATES: [(&str, &str); 4] = [
    ("cmake/OffloomConfig.cmake", "lib/cmake/Offloom"),
    ("cmake/OffloomConfigVersion.cmake", "lib/cmake/Offloom"),
    ("pkgconfig/offloom.pc", "lib/pkgconfig"),
    ("pkgconfig/offloom-jit.pc", "lib/pkgconfig"),
];

/// Headers for programs that launch kernels themselves, installed as they are.
const HEADERS: [&str; 2] = ["launch.h", "launch.hpp"];

/// The LLVM tools that `wrapgen` stands in for when it is called by their name.
const DROP_IN_NAMES: [&str; 4] = [
    "clang-linker-wrapper",
    "clang-offload-packager",
    "llvm-offload-binary",
    "llvm-offload-wrapper",
];

/// The programs that have man pages and completions, each written by `NAME-documentation`.
pub(crate) const DOCUMENTED: [&str; 2] = ["offloom", "wrapgen"];

/// Links, and what they name, where Debian has an LLVM use the OpenMP host runtime of another: that runtime
/// for Clang's linker, and its header for the compiler. `libomp-22-dev` brings both, but cannot be installed
/// beside `libomp-19-dev`, which brings them for LLVM 19 alone: with these links, it does for LLVM 22 too.
/// `packaging/clang/llvm-N/runtime.cfg` names their folders.
fn openmp_links(version: LlvmVersion, processor: &HostProcessor) -> Vec<(&'static str, PathBuf)> {
    if version.host_runtime == version.major() {
        return Vec::new();
    }
    // Of whichever release it is.
    let library = format!("/usr/lib/{}/libomp.so.5", processor.multiarch);
    vec![
        ("lib/openmp/libomp.so", PathBuf::from(library)),
        ("lib/openmp/include/omp.h", openmp::header(version)),
    ]
}

/// Every file of an installation, below its folder, but man pages and completions.
#[cfg(test)]
pub(crate) fn files(version: LlvmVersion) -> Vec<String> {
    let named = STAGED.into_iter().chain([WORKER]);
    let templates = TEMPLATES.iter().filter_map(|(template, folder)| {
        let (_, name) = template.rsplit_once('/')?;
        Some((name, *folder))
    });
    let named = named
        .chain(templates)
        .chain(CONFIGURATION_FILES.map(|name| (name, "share/offloom")))
        .chain(HEADERS.map(|name| (name, "include/offloom")))
        .chain(DROP_IN_NAMES.map(|name| (name, "libexec/offloom")));
    let links = openmp_links(version, HostProcessor::NATIVE).into_iter();
    named
        .map(|(name, folder)| format!("{folder}/{name}"))
        .chain(links.map(|(link, _)| link.to_owned()))
        .collect()
}

/// The builds that a task works on: options of `cargo xtask build`, and of every task that builds first.
#[derive(clap::Args, Debug, Clone)]
pub(crate) struct LlvmBuilds {
    #[command(flatten)]
    pub(crate) llvm: Choice,
    #[command(flatten)]
    pub(crate) staging: Staging,
}

/// Where the builds are staged.
#[derive(clap::Args, Debug, Clone)]
pub(crate) struct Staging {
    /// Folder to stage in, instead of `dist` in the checkout
    #[arg(long, value_name = "FOLDER")]
    dist: Option<PathBuf>,
    /// Whether Cargo's output is left out where nothing is wrong.
    #[arg(skip)]
    pub(crate) folded: bool,
    /// Whether the JIT's worker stays as it was linked. What is laid out is the same code, and counting what
    /// it executes takes minutes.
    #[arg(skip)]
    pub(crate) plain_worker: bool,
    /// The machine that is built for, if it is another one.
    #[arg(skip)]
    other: Option<OtherMachine>,
}

/// Options of `cargo xtask build`.
#[derive(clap::Args, Debug, Clone)]
pub(crate) struct BuildArgs {
    #[command(flatten)]
    builds: LlvmBuilds,
    /// Build for another machine, staged in `dist/TARGET`: what Cargo calls its target, as in
    /// aarch64-unknown-linux-gnu; docs/dev/packaging.md says what that needs
    #[arg(long, value_name = "TARGET", value_parser = other_machine)]
    target: Option<OtherMachine>,
}

/// A machine that is built for, and not on.
#[derive(Debug, Clone)]
struct OtherMachine {
    /// What Cargo calls its target.
    target: String,
    processor: &'static HostProcessor,
}

fn other_machine(target: &str) -> Result<OtherMachine, String> {
    let processor = Triple(target).host_processor();
    let processor = processor.ok_or("Offloom runs on x86_64 and AArch64 with Linux alone")?;
    let target = target.to_owned();
    Ok(OtherMachine { target, processor })
}

impl LlvmBuilds {
    /// Builds for one LLVM after the other, and does `work` with each build before the next begins.
    ///
    /// Fails at the first error.
    pub(crate) fn for_each(
        &self,
        workspace: &Workspace,
        mut work: impl FnMut(&Staged) -> Result<()>,
    ) -> Result<()> {
        for llvm in self.llvm.find()? {
            work(&build(workspace, llvm, &self.staging)?)?;
        }
        Ok(())
    }

    /// As [`for_each`](Self::for_each), but what `check` finds with one LLVM does not keep the next from
    /// being checked.
    ///
    /// Fails with all that was found.
    pub(crate) fn check_each(
        &self,
        workspace: &Workspace,
        mut check: impl FnMut(&Staged) -> Result<()>,
    ) -> Result<()> {
        let mut failed = Vec::new();
        self.for_each(workspace, |staged| {
            failed.extend(check(staged).err().map(|error| format!("{error:#}")));
            Ok(())
        })?;
        ensure!(failed.is_empty(), "{}", failed.join("\n"));
        Ok(())
    }
}

/// One finished build.
#[derive(Debug, Clone)]
pub(crate) struct Staged {
    /// The LLVM it is for.
    pub(crate) llvm: Llvm,
    /// The staged tree, laid out as it would be installed.
    pub(crate) dist: PathBuf,
    /// The plugin with the passes that only tests use. It is not installed.
    pub(crate) test_plugin: PathBuf,
    /// The library with which tests see launches on NVIDIA GPUs. It is not installed.
    pub(crate) jit_cuda_test: PathBuf,
}

/// Runs `cargo xtask build`.
pub(crate) fn run(arguments: &BuildArgs) -> Result<()> {
    let mut builds = arguments.builds.clone();
    builds.staging.other.clone_from(&arguments.target);
    builds.for_each(&Workspace::find()?, |staged| {
        println!("staged in {}", staged.dist.display());
        Ok(())
    })
}

/// What compiles all that is staged.
fn cargo_build(workspace: &Workspace, llvm: &Llvm, target: &Path) -> Command {
    let mut command = Command::new(cargo());
    command
        .current_dir(&workspace.root)
        .args(["build", "--release", "--locked"]);
    command.args(PACKAGES.iter().flat_map(|package| ["-p", package]));
    command
        .args(llvm::features(llvm.major))
        .arg("--target-dir")
        .arg(target);
    command
}

/// Builds for one LLVM and stages the result.
pub(crate) fn build(workspace: &Workspace, llvm: Llvm, staging: &Staging) -> Result<Staged> {
    let target = workspace.llvm_target(llvm.major);
    let mut command = cargo_build(workspace, &llvm, &target);
    let other = staging.other.as_ref();
    command.args(other.iter().flat_map(|other| ["--target", &other.target]));
    if staging.folded {
        command.envs([
            ("CARGO_TERM_PROGRESS_WHEN", "always"),
            ("CARGO_TERM_PROGRESS_WIDTH", "60"),
        ]);
        run_folded(&mut command, &format!("building for LLVM {}", llvm.major))?;
    } else {
        run_shown(&mut command)?;
    }

    let built = match other {
        Some(other) => target.join(&other.target).join("release"),
        None => target.join("release"),
    };
    let processor = other.map_or(HostProcessor::NATIVE, |other| other.processor);
    let dist = staging.dist.clone().unwrap_or_else(|| {
        let dist = workspace.root.join("dist");
        other.map_or(dist.clone(), |other| dist.join(&other.target))
    });
    let dist = std::path::absolute(dist)?.join(format!("llvm-{}", llvm.major));
    for (name, folder) in STAGED {
        install(&built.join(name), &dist.join(folder).join(name))?;
    }
    for name in CONFIGURATION_FILES {
        install(
            &workspace.root.join("packaging/clang").join(name),
            &dist.join("share/offloom").join(name),
        )?;
    }
    for name in HEADERS {
        install(
            &workspace.root.join("launch/include/offloom").join(name),
            &dist.join("include/offloom").join(name),
        )?;
    }
    let runtime = format!("clang/llvm-{}/runtime.cfg", llvm.major);
    for (template, folder) in TEMPLATES.into_iter().chain([(runtime.as_str(), "share/offloom")]) {
        let template = workspace.root.join("packaging").join(template);
        install_template(&template, &dist.join(folder), &llvm, processor)?;
    }
    for name in DROP_IN_NAMES {
        replace_link(
            &dist.join("libexec/offloom").join(name),
            Path::new("../../bin/wrapgen"),
        )?;
    }
    for (link, file) in openmp_links(llvm::version(llvm.major)?, processor) {
        replace_link(&dist.join(link), &file)?;
    }
    // What writes the pages runs on the other machine alone.
    for program in DOCUMENTED.iter().filter(|_| other.is_none()) {
        write_documentation(workspace, llvm.major, program, &dist.join("share"), program)?;
    }
    let staged = Staged {
        llvm,
        dist,
        test_plugin: built.join("liboffloom_test_plugin.so"),
        jit_cuda_test: built.join("liboffloom_jit_cuda_test.so"),
    };
    let (worker, folder) = WORKER;
    let laid_out = match other.is_some() || staging.plain_worker {
        true => worker_layout::as_linked(&staged, &built.join(worker))?,
        false => worker_layout::worker(workspace, &staged, &built.join(worker))?,
    };
    install(&laid_out, &staged.dist.join(folder).join(worker))?;
    Ok(staged)
}

/// Writes a program's man pages and completions into a folder that stands for `share`, as those of a program
/// of this name.
pub(crate) fn write_documentation(
    workspace: &Workspace,
    major: u32,
    program: &str,
    share: &Path,
    name: &str,
) -> Result<()> {
    let built = workspace.llvm_target(major).join("release");
    let mut command = Command::new(built.join(format!("{program}-documentation")));
    run_shown(command.arg(share).arg(name))?;
    Ok(())
}

/// Programs that are linked with static libraries of LLVM, whose order matters to some linkers.
const STATIC_PROGRAMS: [&str; 2] = ["offloom-jit-worker", "wrapgen-lld"];

/// After [`build`]: links by GNU ld what its rules could keep from being linked. Little else is compiled
/// again, and what is staged stays as it is.
pub(crate) fn link_by_gnu_ld(workspace: &Workspace, llvm: &Llvm) -> Result<()> {
    let target = workspace.llvm_target(llvm.major);
    run_shown(cargo_build(workspace, llvm, &target).env("OFFLOOM_LINKER", "bfd"))?;
    for program in STATIC_PROGRAMS {
        let file = target.join("release").join(program);
        let contents = fs::read(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
        let elf = object::File::parse(&*contents)
            .with_context(|| format!("`{}` is no ELF file", file.display()))?;
        let comment = elf
            .section_by_name(".comment")
            .context("it has no comment")?
            .data()?;
        // lld leaves its name there, GNU ld none.
        ensure!(
            !comment.windows(12).any(|bytes| bytes == b"Linker: LLD "),
            "`{}` is linked by lld",
            file.display()
        );
    }
    Ok(())
}

/// Fills a template in and puts it into a folder.
fn install_template(template: &Path, folder: &Path, llvm: &Llvm, processor: &HostProcessor) -> Result<()> {
    let text =
        fs::read_to_string(template).with_context(|| format!("cannot read `{}`", template.display()))?;
    let filled = text
        .replace("@LLVM_MAJOR@", &llvm.major.to_string())
        .replace("@LLVM_LIBRARIES@", &llvm.lib_dir.display().to_string())
        .replace("@DEVICE_TRIPLE@", processor.triple)
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"))
        .replace("@VERSION_MAJOR@", env!("CARGO_PKG_VERSION_MAJOR"))
        .replace("@VERSION_MINOR@", env!("CARGO_PKG_VERSION_MINOR"));
    let scratch = tempfile::NamedTempFile::new()?;
    fs::write(scratch.path(), filled)?;
    let name = template.file_name().context("a template has a name")?;
    install(scratch.path(), &folder.join(name))?;
    // A temporary file is for its owner alone; an installed one for all.
    fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o644))
        .with_context(|| format!("cannot make `{}` readable", folder.join(name).display()))
}

/// Puts a copy of `from` at `to`, whole at every moment: a running program keeps the file it has mapped.
fn install(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().context("an installed file needs a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make folder `{}`", folder.display()))?;
    let scratch = tempfile::tempdir_in(folder)?;
    let new = scratch.path().join("file");
    fs::copy(from, &new)
        .and_then(|_| fs::rename(&new, to))
        .with_context(|| format!("cannot stage `{}` as `{}`", from.display(), to.display()))
}
