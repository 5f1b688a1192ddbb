//! Builds the programs that are measured, and says how they run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::build::Staged;
use crate::command::leave_out_settings;
use crate::corpus::tools;
use crate::matrix::builds::Device;
use crate::openmp::OpenMp;
use crate::workspace::Workspace;

/// Options of a link whose kernels can get variants.
pub(super) const WITH_JIT: [&str; 2] = ["-Xoffload-linker", "--jit"];

/// Where the programs of one LLVM are made and run.
pub(super) struct Programs<'a> {
    pub(super) staged: &'a Staged,
    pub(super) openmp: OpenMp,
    /// The root of the checkout.
    pub(super) root: &'a Path,
    /// Empty at first.
    pub(super) folder: &'a Path,
    /// The GPU that programs are for, in the place of the x86_64 device.
    pub(super) gpu: Option<Gpu<'a>>,
}

/// A GPU.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gpu<'a> {
    pub(super) device: &'a Device,
    /// CUDA's tools.
    pub(super) cuda: &'a Path,
}

impl<'a> Programs<'a> {
    /// Makes the folder, for programs of the x86_64 device or of a GPU.
    pub(super) fn prepare(
        workspace: &'a Workspace,
        staged: &'a Staged,
        folder: &'a Path,
        gpu: Option<Gpu<'a>>,
    ) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make folder `{}`", folder.display()))?;
        Ok(Self {
            staged,
            openmp: OpenMp::prepare(workspace, &staged.llvm)?,
            root: &workspace.root,
            folder,
            gpu,
        })
    }

    /// Builds a program of C or C++ sources, named from the root of the checkout.
    pub(super) fn build(&self, name: &str, sources: &[&str], options: &[&str]) -> Result<PathBuf> {
        let mut objects = Vec::new();
        for (number, source) in sources.iter().enumerate() {
            let object = self.folder.join(format!("{name}-{number}.o"));
            let mut compile = self.clang(options, !source.ends_with(".c"));
            compile.arg("-c").arg(self.root.join(source));
            tools::output(compile.arg("-o").arg(&object))?;
            objects.push(object);
        }
        let program = self.folder.join(name);
        let mut link = self.clang(options, true);
        link.args(objects).args(&self.openmp.link_options);
        tools::output(link.args(["-lm", "-o"]).arg(&program))?;
        Ok(program)
    }

    fn clang(&self, options: &[&str], is_cxx: bool) -> Command {
        let mut clang = tools::clang(self.staged, is_cxx);
        clang.arg("-B").arg(self.staged.dist.join("libexec/offloom"));
        clang.arg("-O3");
        match &self.gpu {
            Some(gpu) => clang
                .args(["-fopenmp", "-foffload-lto"])
                .args(&self.openmp.include_options)
                .args(&gpu.device.options),
            None => clang
                .arg("-foffload-lto=thin")
                .args(self.openmp.compile_options()),
        };
        clang.args(options);
        clang.arg("-I").arg(self.root.join("test/workloads/common"));
        clang
    }

    /// A run of a program with this mode of the JIT and this folder as cache.
    pub(super) fn command(&self, program: &Path, mode: &str, cache: &Path) -> Command {
        let mut command = Command::new(program);
        leave_out_settings(&mut command);
        command
            .env("OMP_TARGET_OFFLOAD", "mandatory")
            // Threads that wait do not work.
            .env("KMP_BLOCKTIME", "0")
            .env("OFFLOOM_JIT", mode)
            .env("OFFLOOM_JIT_CACHE_DIR", cache);
        if let Some(gpu) = &self.gpu {
            command
                .envs(gpu.device.environment.iter().map(|(name, value)| (name, value)))
                .env("OFFLOOM_JIT_PTXAS", gpu.cuda.join("bin/ptxas"));
        }
        command
    }
}

/// The numbers that a program printed, which are all that it printed.
pub(super) fn numbers<const N: usize>(printed: &str) -> Result<[f64; N]> {
    let numbers: Result<Vec<f64>, _> = printed.split_whitespace().map(str::parse).collect();
    let numbers = numbers.with_context(|| format!("`{printed}` is no result"))?;
    <[f64; N]>::try_from(numbers).map_err(|numbers| anyhow::anyhow!("{numbers:?} are no result"))
}

/// The number behind `name` and a character in what a program printed.
pub(super) fn number_behind(printed: &str, name: &str) -> Result<f64> {
    let behind = printed.split_once(name).map(|(_, behind)| behind);
    let word = behind.and_then(|behind| behind.get(1..)?.split_whitespace().next());
    word.and_then(|word| word.parse().ok())
        .with_context(|| format!("no number behind `{name}` in `{printed}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_and_what_is_none_is_an_error() {
        assert_eq!(numbers::<2>("1 2.5\n").unwrap(), [1.0, 2.5]);
        assert!(numbers::<2>("1").is_err() && numbers::<1>("one").is_err());
        let printed = "time zaxpy first_s=0.25 min_s=0.125\norphans 0.5\n";
        assert_eq!(number_behind(printed, "first_s").unwrap(), 0.25);
        assert_eq!(number_behind(printed, "orphans").unwrap(), 0.5);
        assert!(number_behind(printed, "zaxpy").is_err() && number_behind(printed, "absent").is_err());
    }
}
