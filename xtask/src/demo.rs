//! `cargo xtask demo`: the ZAXPY program of Clang's offloading design, from source to a region that runs on
//! libomptarget's x86_64 device, by the stock toolchain and by our tools in three ways. Every command is
//! shown; every result is compared with the stock program's, bit for bit. Then a program for which the JIT
//! can do something: what it gains is the last sentence.

mod by_hand;
mod gain;
mod program;
mod table;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::build::{self, LlvmBuilds, Staged};
use crate::openmp::OpenMp;
use crate::setup::{self, Extent};
use crate::steps::Steps;
use crate::workspace::Workspace;
use gain::Gain;
use program::Reference;
use table::Table;

/// Runs `cargo xtask demo`.
pub(crate) fn run(arguments: &LlvmBuilds) -> Result<()> {
    let workspace = Workspace::find()?;
    let majors = arguments.llvm.wanted();
    let mut steps = Steps::of(1 + majors.len() * STEPS);
    let mut staging = arguments.staging.clone();
    staging.folded = true;
    let mut shown = Vec::new();
    steps.begin("packages");
    for llvm in setup::install(&majors, Extent::Build)? {
        let major = llvm.major;
        steps.begin(&format!("build for LLVM {major}"));
        let staged = build::build(&workspace, llvm, &staging)?;
        let found = Demo::new(&workspace, staged)?
            .run(&mut steps)
            .with_context(|| format!("demo, LLVM {major}"))?;
        shown.push((major, found));
    }
    for (major, (table, _)) in &shown {
        println!("\nLLVM {major}\n{table}");
    }
    let gains: Vec<_> = shown
        .iter()
        .map(|(major, (_, gain))| format!("{gain} with LLVM {major}"))
        .collect();
    println!(
        "Shown: ZAXPY gave the same bits on the device by the stock tools, by ours step by step, in the place of LLVM's, and with the JIT, \
         and the JIT ran the kernel of docs/user/wave.cpp {}; next, docs/user/getting-started.md does the same with a program of yours.",
        gains.join(" and ")
    );
    Ok(())
}

/// How many steps there are for one LLVM: the build, and those of [`Demo::run`].
const STEPS: usize = 6;

/// The demo with one LLVM.
struct Demo {
    staged: Staged,
    openmp: OpenMp,
    /// The program's source.
    source: PathBuf,
    /// Where everything that is made goes.
    folder: PathBuf,
    root: PathBuf,
    table: Table,
}

impl Demo {
    fn new(workspace: &Workspace, staged: Staged) -> Result<Self> {
        let folder = workspace.target.join(format!("demo/llvm-{}", staged.llvm.major));
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot empty `{}`", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
        Ok(Self {
            openmp: OpenMp::prepare(workspace, &staged.llvm)?,
            source: workspace.root.join("test/demo/zaxpy.cpp"),
            root: workspace.root.clone(),
            folder,
            staged,
            table: Table::default(),
        })
    }

    fn run(mut self, steps: &mut Steps) -> Result<(Table, Gain)> {
        let version = self.staged.llvm.version.clone();
        steps.begin(&format!("ZAXPY with the stock toolchain, LLVM {version}"));
        println!("$ cd {}", self.folder.display());
        self.compile(
            "compile and link",
            "Clang, clang-linker-wrapper",
            &[],
            "zaxpy-stock",
        )?;
        let reference = Reference::run(&mut self, "zaxpy-stock")?;

        steps.begin(
            "ZAXPY by hand: entries, metadata, visibility, packing, device link and registration by our tools",
        );
        by_hand::build(&mut self, "zaxpy-by-hand")?;
        reference.compare(&mut self, "zaxpy-by-hand")?;

        steps.begin("ZAXPY by one Clang command, with our tools in the place of LLVM's");
        let drop_in = format!("-B{}", self.staged.dist.join("libexec/offloom").display());
        self.compile(
            "compile and link",
            "Clang -B, wrapgen",
            &[&drop_in],
            "zaxpy-drop-in",
        )?;
        reference.compare(&mut self, "zaxpy-drop-in")?;

        steps.begin("ZAXPY with the JIT, its kernel compiled again in each run");
        let jit = [drop_in.as_str(), "-foffload-lto", "-Xoffload-linker", "--jit"];
        self.compile("compile and link", "Clang -B, wrapgen --jit", &jit, "zaxpy-jit")?;
        reference.compare_jit(&mut self, "zaxpy-jit")?;

        steps.begin("what the JIT gains: a filter whose width only a launch knows");
        let gain = gain::measure(&mut self)?;
        Ok((self.table, gain))
    }

    /// Compiles and links the program with one Clang command.
    fn compile(
        &mut self,
        step: &'static str,
        tool: &'static str,
        options: &[&str],
        output: &str,
    ) -> Result<()> {
        let mut command = self.tool("clang++");
        command
            .args(["-O2"])
            .args(options)
            .args(self.openmp.compile_options());
        command
            .arg(&self.source)
            .args(["-o", output])
            .args(&self.openmp.link_options);
        self.step(step, tool, &mut command)
    }

    /// A program of the stock LLVM, to be run in the demo's folder.
    fn tool(&self, name: &str) -> Command {
        self.command(self.staged.llvm.bin_dir.join(name))
    }

    fn command(&self, program: PathBuf) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder);
        command
    }

    /// Shows a command, runs it, and puts it in the table.
    fn step(&mut self, step: &'static str, tool: &'static str, command: &mut Command) -> Result<()> {
        let time = crate::command::run_shown(command)?;
        self.table.add(step, tool, time, "ok".to_owned());
        Ok(())
    }
}
