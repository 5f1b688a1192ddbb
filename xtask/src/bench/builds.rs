//! Builds workloads in every way that is compared.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use anyhow::{Context as _, Result, bail};

use super::configuration::Build;
use super::rust::{self, Libraries};
use super::workload::{Sources, Workload};
use crate::build::Staged;
use crate::corpus::program::{Program, WORKLOADS};
use crate::corpus::{tools, workers};
use crate::openmp::OpenMp;

/// Where the programs of one LLVM are made.
#[derive(Debug)]
pub(super) struct Builds<'a> {
    pub(super) staged: &'a Staged,
    pub(super) openmp: &'a OpenMp,
    /// Where the workloads' common header is.
    pub(super) root: &'a Path,
    pub(super) folder: &'a Path,
    /// Where there are workloads in Rust.
    pub(super) libraries: Option<Libraries>,
}

impl Builds<'_> {
    /// The program that [`Builds::all`] made.
    pub(super) fn executable(&self, workload: &Workload, build: Build) -> PathBuf {
        self.folder.join(format!("{}-{}", workload.folder, build.name()))
    }

    /// Builds each program in each of these ways.
    pub(super) fn all(&self, workloads: &[Workload], builds: &BTreeSet<Build>) -> Result<()> {
        let mut seen = BTreeSet::new();
        let jobs: Vec<_> = workloads
            .iter()
            .filter(|workload| seen.insert(&workload.folder))
            .flat_map(|workload| builds.iter().map(move |&build| (workload, build)))
            .filter(|(workload, build)| workload.can_be_built(*build))
            .collect();
        println!("building {} programs", jobs.len());
        let failures = Mutex::new(Vec::new());
        workers::for_each(
            "building",
            &jobs,
            |&(workload, build)| self.build(workload, build),
            |(workload, build), made| {
                if let (Err(error), Ok(mut failures)) = (made, failures.lock()) {
                    failures.push(format!("{}, {}: {error:#}", workload.name, build.name()));
                }
            },
        )?;
        let failures = failures.into_inner().unwrap_or_default();
        if !failures.is_empty() {
            bail!("{}", failures.join("\n"));
        }
        Ok(())
    }

    fn build(&self, workload: &Workload, build: Build) -> Result<()> {
        let executable = self.executable(workload, build);
        let scratch = tempfile::tempdir_in(self.folder)?;
        let made = match (&workload.sources, &self.libraries) {
            (Sources::Clang(program), _) => self.by_clang(program, build, scratch.path())?,
            (Sources::Rust(source), Some(libraries)) => {
                rust::build(self.staged, self.openmp, libraries, source, build, scratch.path())?
            }
            (Sources::Rust(_), None) => bail!("no libraries for Rust"),
        };
        fs::rename(&made, &executable).with_context(|| format!("cannot make `{}`", executable.display()))
    }

    fn by_clang(&self, program: &Program, build: Build, scratch: &Path) -> Result<PathBuf> {
        let mut link = self.clang(build, true);
        for (number, source) in program.sources.iter().enumerate() {
            let object = scratch.join(format!("{number}.o"));
            let mut compile = self.clang(build, source.is_cxx());
            compile.args(&source.flags).arg("-c").arg(&source.path);
            tools::output(compile.arg("-o").arg(&object))?;
            link.arg(object);
        }
        let made = scratch.join("program");
        link.args(&self.openmp.link_options).args(["-lm", "-o"]);
        tools::output(link.arg(&made))?;
        Ok(made)
    }

    fn clang(&self, build: Build, is_cxx: bool) -> Command {
        let mut command = tools::clang(self.staged, is_cxx);
        if build.is_ours() {
            command.arg("-B").arg(self.staged.dist.join("libexec/offloom"));
        }
        command
            .arg("-O3")
            .arg("-I")
            .arg(self.root.join(WORKLOADS).join("common"));
        command.args(self.openmp.compile_options()).args(build.options());
        command
    }
}
