//! `cargo xtask bench-link`: what links with device code take, by ours, by LLVM's linker wrapper, and of both
//! the host link alone.
//!
//! The programs run in turn within each repetition, so that a machine that does other work slows all of them
//! alike. What is measured is said by `Bench::all`; the figures are written to `docs/results/link.md`, beside
//! those of the other LLVM that are there.

mod document;
mod goal;
mod inputs;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use self::document::DOCUMENT;
use self::goal::Goal;
use crate::build::{LlvmBuilds, Staged};
use crate::clang_job;
use crate::figures::Figures;
use crate::measurement::{self, Measured};
use crate::names::is_wanted;
use crate::openmp::OpenMp;
use crate::workspace::Workspace;

/// Repetitions, by default.
const REPETITIONS: u32 = 9;

/// Options of `cargo xtask bench-link`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    builds: LlvmBuilds,
    #[command(flatten)]
    extent: Extent,
    /// Folder for the page. Default: `docs/results`
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// What is measured, and how often.
#[derive(clap::Args, Debug)]
pub(crate) struct Extent {
    /// Repetitions
    #[arg(long, default_value_t = REPETITIONS, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
    /// Only what has one of these in its title; the document keeps what it has of the rest. Default: all
    titles: Vec<String>,
}

impl Extent {
    /// Everything as by default.
    fn whole() -> Self {
        Self {
            repetitions: REPETITIONS,
            titles: Vec::new(),
        }
    }

    /// The least that shows that it works.
    pub(crate) fn short() -> Self {
        let [first, ..] = document::TITLES;
        Self {
            repetitions: 1,
            titles: vec![first.to_owned()],
        }
    }
}

impl Arguments {
    /// Everything as by default; or, if `short`, the least that shows that it works.
    pub(crate) fn beside_workloads(builds: LlvmBuilds, output: Option<PathBuf>, short: bool) -> Self {
        let extent = if short { Extent::short() } else { Extent::whole() };
        Self {
            builds,
            extent,
            output,
        }
    }
}

/// Runs `cargo xtask bench-link`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    let output = arguments.output.as_deref();
    arguments.builds.for_each(&workspace, |staged| {
        measure(&workspace, staged, &arguments.extent, output)
    })
}

/// Measures with one LLVM and writes the page.
pub(crate) fn measure(
    workspace: &Workspace,
    staged: &Staged,
    extent: &Extent,
    output: Option<&Path>,
) -> Result<()> {
    DOCUMENT.fill(workspace, staged, output, |page, folder| {
        let bench = Bench {
            openmp: OpenMp::prepare(workspace, &staged.llvm)?,
            staged,
            folder,
            repetitions: extent.repetitions,
            titles: &extent.titles,
        };
        bench.all(page)
    })
}

/// One LLVM's tools, and the folder to work in.
struct Bench<'a> {
    staged: &'a Staged,
    openmp: OpenMp,
    folder: &'a Path,
    repetitions: u32,
    titles: &'a [String],
}

/// A program under measurement.
struct Configuration {
    name: &'static str,
    command: Command,
    runs: Vec<Measured>,
}

impl Configuration {
    fn new(name: &'static str, command: Command) -> Self {
        Self {
            name,
            command,
            runs: Vec::new(),
        }
    }
}

impl Bench<'_> {
    /// Measures everything that is wanted, and keeps each as soon as it is there.
    fn all(&self, page: &Path) -> Result<()> {
        for title in document::TITLES {
            if !self.is_wanted(title) {
                continue;
            }
            let [zaxpy, large, host_only, with_device_code, archive, for_jit, _] = document::TITLES;
            let figures = if title == zaxpy {
                self.link(title, &[self.zaxpy()?], true, Goal::TimesOfHost(2.2))
            } else if title == large {
                self.link(title, &[self.large_image(200 << 20)?], true, Goal::Overhead(0.1))
            } else if title == host_only {
                self.link(title, &self.objects(1500, false)?, false, Goal::Overhead(0.5))
            } else if title == with_device_code {
                self.link(title, &self.objects(300, true)?, true, Goal::TimesOfStock(0.25))
            } else if title == archive {
                self.link(title, &self.archive(5000, 10)?, true, Goal::TimesOfStock(1.0))
            } else if title == for_jit {
                self.link_for_jit(title, 600, Goal::TimesOfStock(2.0))
            } else {
                self.wrap(title, 1 << 30)
            };
            DOCUMENT.put(page, self.staged.llvm.major, title, self.repetitions, &figures?)?;
        }
        Ok(())
    }

    fn is_wanted(&self, title: &str) -> bool {
        is_wanted(title, self.titles)
    }

    fn wrapgen(&self) -> PathBuf {
        self.staged.dist.join("bin/wrapgen")
    }

    fn llvm_tool(&self, name: &str) -> Command {
        let mut command = Command::new(self.staged.llvm.bin_dir.join(name));
        command.current_dir(self.folder);
        command
    }

    fn clang(&self) -> Command {
        self.llvm_tool("clang++")
    }

    /// Measures the link of `inputs`.
    fn link(&self, title: &str, inputs: &[PathBuf], device_code: bool, goal: Goal) -> Result<String> {
        let mut clang = self.clang();
        clang
            .args(["-O2", "-fuse-ld=lld", "-o", "out"])
            .args(self.openmp.compile_options())
            .args(inputs)
            .args(&self.openmp.link_options);
        let words = clang_job::find(&mut clang, "--host-triple=")?;
        let arguments = words.get(1..).unwrap_or_default();
        let wrapper = |program: PathBuf| {
            let mut command = Command::new(program);
            command.current_dir(self.folder).args(arguments);
            command
        };
        let stock = wrapper(self.staged.llvm.bin_dir.join("clang-linker-wrapper"));
        let ours = || wrapper(self.staged.dist.join("libexec/offloom/clang-linker-wrapper"));
        self.run(ours().arg("--save-temps"))?;

        let mut host = self.llvm_tool("ld.lld");
        let of_the_wrapper = [
            "--host-triple=",
            "--linker-path=",
            "--opt-level=",
            "--device-compiler=",
        ];
        host.args(
            arguments
                .iter()
                .filter(|word| !of_the_wrapper.iter().any(|own| word.starts_with(own))),
        );
        if device_code {
            host.arg("out.openmp.image.wrapper.o");
        }
        let configurations = vec![
            Configuration::new("host", host),
            Configuration::new("stock", stock),
            Configuration::new("ours", ours()),
        ];
        let mut figures = self.compare(title, configurations, goal)?;
        let output = ours()
            .arg("--time")
            .output()
            .context("cannot run the link again for its phases")?;
        let table = String::from_utf8_lossy(&output.stderr).into_owned();
        let _ = writeln!(
            figures,
            "\nWhere ours spends its time, in one run more:\n\n```\n{}\n```",
            table.trim_end()
        );
        Ok(figures)
    }

    /// Measures links of one object with so many kernels: of machine code and of bitcode by Clang's own
    /// wrapper, and of bitcode by ours for the JIT.
    fn link_for_jit(&self, title: &str, kernels: usize, goal: Goal) -> Result<String> {
        const BITCODE: &str = "-foffload-lto=thin";
        let native = self.kernels(kernels, &[])?;
        let bitcode = self.kernels(kernels, &[BITCODE])?;
        let link = |object: &Path, options: &[&str]| {
            let mut clang = self.clang();
            clang
                .args(["-O2", "-fuse-ld=lld", "-o", "out"])
                .args(self.openmp.compile_options())
                .args(options)
                .arg(object)
                .args(&self.openmp.link_options);
            clang
        };
        let mut ours = link(&bitcode, &[BITCODE, "-Xoffload-linker", "--jit"]);
        ours.arg("-B").arg(self.staged.dist.join("libexec/offloom"));
        let configurations = vec![
            Configuration::new("native", link(&native, &[])),
            Configuration::new("bitcode", link(&bitcode, &[BITCODE])),
            Configuration::new("--jit", ours),
        ];
        self.compare(title, configurations, goal)
    }

    /// Measures wrapping an image of `bytes` bytes beside copying it.
    fn wrap(&self, title: &str, bytes: usize) -> Result<String> {
        let image = self.folder.join("image");
        fs::write(&image, vec![90; bytes])?;
        let mut copy = Command::new("cp");
        copy.current_dir(self.folder).args(["image", "copy"]);
        let mut wrap = Command::new(self.wrapgen());
        wrap.current_dir(self.folder)
            .args(["wrap", "image", "-o", "wrapped.o"]);
        let configurations = vec![Configuration::new("cp", copy), Configuration::new("wrap", wrap)];
        self.compare(title, configurations, Goal::TimesOfHost(1.2))
    }

    /// Runs the configurations in turn and writes down their figures.
    fn compare(&self, title: &str, mut configurations: Vec<Configuration>, goal: Goal) -> Result<String> {
        println!("LLVM {}: {title}", self.staged.llvm.major);
        for repetition in 0..=self.repetitions {
            for configuration in &mut configurations {
                let measured = measurement::measure(&mut configuration.command)?;
                // The first run warms the file cache.
                if repetition > 0 {
                    configuration.runs.push(measured);
                }
            }
        }
        let mut text = format!(
            "\n| | wall: minimum, median, maximum | processor: minimum, median, maximum | peak memory, with the linkers | private memory | \
             wall / {first} | processor / {first} |\n| --- | --- | --- | --- | --- | --- | --- |\n",
            first = configurations
                .first()
                .map_or("", |configuration| configuration.name)
        );
        let mut bases: Option<(Figures, Figures)> = None;
        for configuration in &mut configurations {
            let milliseconds =
                |time: fn(&Measured) -> f64| Figures::of(configuration.runs.iter().map(time).collect());
            let wall = milliseconds(|run| run.wall.as_secs_f64() * 1e3);
            let processor = milliseconds(|run| run.processor.as_secs_f64() * 1e3);
            let resident = configuration
                .runs
                .iter()
                .map(|run| run.resident)
                .max()
                .unwrap_or_default();
            let private = measurement::private_memory(&mut configuration.command)?;
            let (wall_base, processor_base) = bases.get_or_insert((wall, processor));
            let _ = writeln!(
                text,
                "| {} | {wall} | {processor} | {} | {} | {:.2} | {:.2} |",
                configuration.name,
                resident >> 20,
                private >> 20,
                wall.minimum / wall_base.minimum,
                processor.minimum / processor_base.minimum,
            );
        }
        text.push_str(&goal.verdict(&configurations));
        print!("{text}");
        Ok(text)
    }
}
