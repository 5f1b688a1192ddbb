//! One program, built by Clang with LLVM's offload tools and with ours, in every form of link.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, anyhow};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::build::Staged;
use crate::command::shown;
use crate::corpus::program::Program;
use crate::corpus::tools;
use crate::openmp::OpenMp;

/// How a program is put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Form {
    /// Of objects.
    Objects,
    /// Of a static library with all of it and an object with other device code.
    StaticLibrary,
    /// Of a shared library with all of it and an object with other device code.
    SharedLibrary,
    /// Of one object, merged by `-r` and linked as one without device code.
    Relocatable,
    /// Of objects whose device code is bitcode.
    Lto,
    /// Of objects whose device code is bitcode and native by turns.
    Mixed,
}

impl Form {
    /// Every form.
    pub(crate) const ALL: [Self; 6] = [
        Self::Objects,
        Self::StaticLibrary,
        Self::SharedLibrary,
        Self::Relocatable,
        Self::Lto,
        Self::Mixed,
    ];
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Objects => "objects",
            Self::StaticLibrary => "static library",
            Self::SharedLibrary => "shared library",
            Self::Relocatable => "-r",
            Self::Lto => "-foffload-lto",
            Self::Mixed => "mixed",
        })
    }
}

/// What else differs between builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Variant {
    /// `-O2`, a position-independent executable.
    Pie,
    /// `-O2`, libstdc++ inside the executable.
    StaticLibstdcxx,
    /// `-O2 -g`.
    Debug,
    /// `-O0`.
    O0,
    /// `-O1`.
    O1,
    /// `-O3`.
    O3,
}

impl Variant {
    /// Those that every form of link is tried with.
    pub(crate) const ALL: [Self; 5] = [Self::Pie, Self::StaticLibstdcxx, Self::Debug, Self::O0, Self::O3];

    fn compile_options(self) -> &'static [&'static str] {
        match self {
            Self::Pie | Self::StaticLibstdcxx => &["-O2"],
            Self::Debug => &["-O2", "-g"],
            Self::O0 => &["-O0"],
            Self::O1 => &["-O1"],
            Self::O3 => &["-O3"],
        }
    }

    /// Options of the link of the executable.
    fn executable_options(self) -> &'static [&'static str] {
        match self {
            Self::Pie => &["-pie"],
            Self::StaticLibstdcxx => &["-no-pie", "-static-libstdc++"],
            _ => &["-no-pie"],
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pie => "PIE",
            Self::StaticLibstdcxx => "static libstdc++",
            Self::Debug => "-g",
            Self::O0 => "-O0",
            Self::O1 => "-O1",
            Self::O3 => "-O3",
        })
    }
}

/// A program and how to build and run it.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) program: Program,
    include_options: Vec<String>,
    run_arguments: &'static [&'static str],
    /// How lines start that differ from run to run.
    changing_lines: Option<&'static str>,
}

impl Subject {
    /// A program of the corpus.
    pub(crate) fn of_corpus(program: Program) -> Self {
        Self {
            program,
            include_options: Vec::new(),
            run_arguments: &[],
            changing_lines: None,
        }
    }

    /// A workload, small. Its header is in a folder beside it; the lines with times change.
    pub(crate) fn workload(program: Program, workloads: &Path) -> Self {
        Self {
            program,
            include_options: vec![format!("-I{}", workloads.join("common").display())],
            run_arguments: &["--size", "small"],
            changing_lines: Some("time "),
        }
    }
}

/// Device code as bitcode, and a link that takes some: without it LLVM 22 hands bitcode to a linker that
/// knows none.
const LTO: &str = "-foffload-lto";

/// The most seconds one run may take before it counts as hanging.
const SECONDS_PER_RUN: &str = "120";

/// Device code of its own, in the executable of a program whose other code is in a library, and beside
/// bitcode.
const COMPANION: &str = "int companion(int value) {
#pragma omp target map(tofrom : value)
  value += 1;
  return value;
}
";

/// A device to build for and to run on, other than the x86_64 one.
#[derive(Debug, Clone)]
pub(crate) struct Device {
    /// Options of compiles and links, in the place of those for the x86_64 device.
    pub(crate) options: Vec<String>,
    /// Options of a link with `-r` besides: where the device runtime is.
    pub(crate) relocatable_options: Vec<String>,
    /// What a program needs in its environment.
    pub(crate) environment: Vec<(&'static str, OsString)>,
}

/// Both builds of a program.
#[derive(Debug)]
pub(crate) struct Builds<'a> {
    pub(crate) stock: Build<'a>,
    pub(crate) ours: Build<'a>,
}

impl<'a> Builds<'a> {
    /// Prepares the folders of both, for the x86_64 device.
    pub(crate) fn begin(
        staged: &'a Staged,
        openmp: &'a OpenMp,
        subject: &'a Subject,
        variant: Variant,
    ) -> Result<Self> {
        Self::begin_for(staged, openmp, subject, variant, None)
    }

    /// As [`begin`](Self::begin), for a device.
    pub(crate) fn begin_for(
        staged: &'a Staged,
        openmp: &'a OpenMp,
        subject: &'a Subject,
        variant: Variant,
        device: Option<&'a Device>,
    ) -> Result<Self> {
        let build = |drop_ins: Option<PathBuf>| -> Result<Build<'a>> {
            let folder = tempfile::tempdir()?;
            fs::write(folder.path().join("companion.c"), COMPANION)?;
            Ok(Build {
                staged,
                openmp,
                subject,
                variant,
                device,
                drop_ins,
                folder,
                native: OnceCell::new(),
                bitcode: OnceCell::new(),
                companion: OnceCell::new(),
            })
        };
        Ok(Self {
            stock: build(None)?,
            ours: build(Some(staged.dist.join("libexec/offloom")))?,
        })
    }
}

/// One way to build a program. Its objects serve several forms.
#[derive(Debug)]
pub(crate) struct Build<'a> {
    staged: &'a Staged,
    openmp: &'a OpenMp,
    subject: &'a Subject,
    variant: Variant,
    device: Option<&'a Device>,
    /// The folder for `-B`.
    drop_ins: Option<PathBuf>,
    folder: TempDir,
    native: OnceCell<Result<Vec<String>, String>>,
    bitcode: OnceCell<Result<Vec<String>, String>>,
    companion: OnceCell<Result<(), String>>,
}

impl Build<'_> {
    /// Builds and runs the program in a form; returns what it printed.
    pub(crate) fn output(&self, form: Form) -> Result<String> {
        self.build(form)?;
        self.run(&[])
    }

    /// Builds the program in a form.
    pub(crate) fn build(&self, form: Form) -> Result<()> {
        match form {
            Form::Objects => self.link_executable(self.native()?, &[]),
            Form::Lto => self.link_executable(self.bitcode()?, &[LTO]),
            Form::Mixed => {
                let pairs = self.bitcode()?.iter().zip(self.native()?);
                let pick = |(index, (bitcode, native)): (usize, (&String, &String))| match index % 2 {
                    0 => bitcode.clone(),
                    _ => native.clone(),
                };
                let mut inputs: Vec<_> = pairs.enumerate().map(pick).collect();
                inputs.push(self.companion()?);
                self.link_executable(&inputs, &[LTO])
            }
            Form::StaticLibrary => {
                let mut archive = self.in_folder(tools::tool(self.staged, "llvm-ar"));
                archive.args(["rcs", "libstatic.a"]).args(self.native()?);
                tools::output(&mut archive)?;
                self.link_executable(&[self.companion()?, "libstatic.a".to_owned()], &[])
            }
            Form::SharedLibrary => {
                let mut library = self.clang(true);
                library
                    .args(["-shared", "-o", "libshared.so"])
                    .args(self.native()?);
                library.args(&self.openmp.link_options);
                tools::output(&mut library)?;
                let inputs = [
                    self.companion()?,
                    "-L.".to_owned(),
                    "-lshared".to_owned(),
                    "-Wl,-rpath,$ORIGIN".to_owned(),
                ];
                self.link_executable(&inputs, &[])
            }
            Form::Relocatable => {
                let mut merge = self.clang(true);
                merge.args(["-r", "-o", "merged.o"]).args(self.native()?);
                merge.args(self.device.iter().flat_map(|device| &device.relocatable_options));
                tools::output(&mut merge)?;
                let mut link = self.in_folder(tools::clang(self.staged, true));
                link.arg("merged.o").args(self.variant.executable_options());
                link.args(&self.openmp.link_options);
                link.args(["-lomp", "-lomptarget", "-lm", "-o", "program"]);
                tools::output(&mut link)?;
                Ok(())
            }
        }
    }

    /// Where it is built and run.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Links the program of bitcode for the JIT.
    pub(crate) fn link_for_jit(&self, options: &[&str]) -> Result<()> {
        self.link_executable(self.bitcode()?, options)
    }

    /// Links the executable, with `options` besides.
    fn link_executable(&self, inputs: &[String], options: &[&str]) -> Result<()> {
        let mut command = self.clang(true);
        command
            .args(self.variant.compile_options())
            .args(inputs)
            .args(options);
        command.args(self.variant.executable_options());
        command.args(&self.openmp.link_options);
        command.args(["-lm", "-o", "program"]);
        tools::output(&mut command)?;
        Ok(())
    }

    /// Runs the executable on the device, with these variables in its environment.
    pub(crate) fn run(&self, environment: &[(&str, &str)]) -> Result<String> {
        self.run_with(environment, &[])
    }

    /// As [`Self::run`], with these arguments behind those that it always has.
    pub(crate) fn run_with(&self, environment: &[(&str, &str)], arguments: &[String]) -> Result<String> {
        let mut command = self.executable();
        command.envs(environment.iter().copied()).args(arguments);
        let printed = tools::output(&mut command)?;
        Ok(match self.subject.changing_lines {
            None => printed,
            Some(start) => {
                let lines = printed.lines().filter(|line| !line.starts_with(start));
                lines.map(|line| format!("{line}\n")).collect()
            }
        })
    }

    /// Runs the executable on the device, with these variables in its environment, whatever it ends with;
    /// returns what it printed, then what was written on the error stream.
    pub(crate) fn all_written(&self, environment: &[(&str, &str)]) -> Result<String> {
        let mut command = self.executable();
        command.envs(environment.iter().copied());
        let output = command
            .output()
            .with_context(|| format!("cannot run {}", shown(&command)))?;
        let written = [output.stdout, output.stderr].concat();
        Ok(String::from_utf8_lossy(&written).into_owned())
    }

    /// A run of the executable on the device.
    fn executable(&self) -> Command {
        let mut command = self.in_folder(Command::new("timeout"));
        command
            .args([SECONDS_PER_RUN, "./program"])
            .args(self.subject.run_arguments);
        command.env("OMP_TARGET_OFFLOAD", "mandatory");
        let device = self.device.iter().flat_map(|device| &device.environment);
        command.envs(device.map(|(name, value)| (name, value)));
        command
    }

    /// The objects with native device code, one for each source.
    fn native(&self) -> Result<&[String]> {
        objects(self.native.get_or_init(|| self.compile_all("native", &[])))
    }

    /// The objects with bitcode for devices.
    fn bitcode(&self) -> Result<&[String]> {
        objects(self.bitcode.get_or_init(|| self.compile_all("bitcode", &[LTO])))
    }

    fn compile_all(&self, name: &str, options: &[&str]) -> Result<Vec<String>, String> {
        let mut made = Vec::new();
        for (number, source) in self.subject.program.sources.iter().enumerate() {
            let object = format!("{name}-{number}.o");
            let mut command = self.compile(source.is_cxx(), &object);
            command.args(options).args(&source.flags).arg(&source.path);
            tools::output(&mut command).map_err(|error| format!("{error:#}"))?;
            made.push(object);
        }
        Ok(made)
    }

    /// The object of [`COMPANION`].
    fn companion(&self) -> Result<String> {
        let object = "companion.o";
        let compile = || {
            let compiled = tools::output(self.compile(false, object).arg("companion.c"));
            compiled
                .map(drop)
                .map_err(|error| format!("companion: {error:#}"))
        };
        match self.companion.get_or_init(compile) {
            Ok(()) => Ok(object.to_owned()),
            Err(error) => Err(anyhow!("{error}")),
        }
    }

    /// The start of a compile to `object`. All code is position-independent: the same objects go into a
    /// shared library.
    fn compile(&self, is_cxx: bool, object: &str) -> Command {
        let mut command = self.clang(is_cxx);
        command.args(["-fPIC", "-c", "-o", object]);
        command.args(self.variant.compile_options());
        command.args(&self.subject.include_options);
        command
    }

    fn clang(&self, is_cxx: bool) -> Command {
        let mut command = self.in_folder(tools::clang(self.staged, is_cxx));
        if let Some(folder) = &self.drop_ins {
            command.arg("-B").arg(folder);
        }
        match self.device {
            None => command.args(self.openmp.compile_options()),
            Some(device) => command
                .args(["-fopenmp"])
                .args(&device.options)
                .args(&self.openmp.include_options),
        };
        command
    }

    fn in_folder(&self, mut command: Command) -> Command {
        command.current_dir(self.folder.path());
        command
    }
}

fn objects(made: &Result<Vec<String>, String>) -> Result<&[String]> {
    made.as_deref().map_err(|error| anyhow!("{error}"))
}
