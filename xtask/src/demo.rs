//! `cargo xtask demo`: the ZAXPY program of Clang's offloading design, from source to a region that runs on libomptarget's
//! x86_64 device, by the stock toolchain and by our tools in three ways. Every command is shown; every result is compared with the
//! stock program's, bit for bit.

mod by_hand;
mod program;
mod table;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::build::{self, LlvmBuilds, Staged};
use crate::openmp::OpenMp;
use crate::setup;
use crate::workspace::Workspace;
use program::Reference;
use table::Table;

/// Runs `cargo xtask demo`.
pub(crate) fn run(arguments: &LlvmBuilds) -> Result<()> {
    let workspace = Workspace::find()?;
    let mut tables = Vec::new();
    for llvm in setup::install(&arguments.llvm.majors())? {
        let major = llvm.major;
        let staged = build::build(&workspace, llvm, &arguments.staging)?;
        let table = Demo::new(&workspace, staged)?
            .run()
            .with_context(|| format!("demo, LLVM {major}"))?;
        tables.push((major, table));
    }
    for (major, table) in tables {
        println!("\nLLVM {major}\n{table}");
    }
    Ok(())
}

/// The demo with one LLVM.
struct Demo {
    staged: Staged,
    openmp: OpenMp,
    /// The program's source.
    source: PathBuf,
    /// Where everything that is made goes.
    folder: PathBuf,
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
            folder,
            staged,
            table: Table::default(),
        })
    }

    fn run(mut self) -> Result<Table> {
        println!("\n# ZAXPY with LLVM {}", self.staged.llvm.version);
        println!("$ cd {}", self.folder.display());
        println!("\n## The stock toolchain");
        self.compile(
            "compile and link",
            "Clang, clang-linker-wrapper",
            &[],
            "zaxpy-stock",
        )?;
        let reference = Reference::run(&mut self, "zaxpy-stock")?;

        println!(
            "\n## By hand: entries, metadata, visibility, packing, device link and registration by our tools"
        );
        by_hand::build(&mut self, "zaxpy-by-hand")?;
        reference.compare(&mut self, "zaxpy-by-hand")?;

        println!("\n## Drop-in: one Clang command, with our tools in the place of LLVM's");
        let drop_in = format!("-B{}", self.staged.dist.join("libexec/offloom").display());
        self.compile(
            "compile and link",
            "Clang -B, wrapgen",
            &[&drop_in],
            "zaxpy-drop-in",
        )?;
        reference.compare(&mut self, "zaxpy-drop-in")?;

        println!("\n## JIT: the same program, its kernels compiled again while it runs");
        let jit = [drop_in.as_str(), "-foffload-lto", "-Xoffload-linker", "--jit"];
        self.compile("compile and link", "Clang -B, wrapgen --jit", &jit, "zaxpy-jit")?;
        reference.compare_jit(&mut self, "zaxpy-jit")?;
        Ok(self.table)
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
