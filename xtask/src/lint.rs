//! `cargo xtask lint`: formatting, clippy and documentation, nothing of which may warn.

use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use offloom_find_llvm::Llvm;

use crate::command::run_shown;
use crate::llvm::{self, Choice};
use crate::steps::Steps;
use crate::workspace::{Workspace, cargo};

/// Options of `cargo xtask lint`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    llvm: Choice,
}

/// Runs `cargo xtask lint`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    let llvms = arguments.llvm.find()?;
    let mut steps = Steps::of(steps(llvms.len()));
    lint(&workspace, &llvms, Missing::IsAnError, &mut steps);
    steps.finish()
}

/// How many steps [`lint`] has for so many LLVMs.
pub(crate) fn steps(llvms: usize) -> usize {
    1 + 2 * llvms
}

/// What becomes of a step whose tool is not installed: rustup installs these, distributions may not.
#[derive(Debug, Clone, Copy, Eq, PartialEq)]
pub(crate) enum Missing {
    /// It fails.
    IsAnError,
    /// It is left out.
    IsLeftOut,
}

impl Missing {
    /// Runs a step that needs a subcommand of Cargo.
    fn run<T>(
        self,
        steps: &mut Steps,
        name: &str,
        [tool, component]: [&str; 2],
        step: impl FnOnce() -> Result<T>,
    ) {
        let found = Command::new(cargo()).args([tool, "--version"]).output();
        if found.is_ok_and(|found| found.status.success()) {
            steps.run(name, step);
            return;
        }
        let why = format!("`cargo {tool}` is not installed; it is rustup's component `{component}`");
        match self {
            Self::IsAnError => {
                steps.run(name, || -> Result<()> { bail!(why) });
            }
            Self::IsLeftOut => steps.leave_out(name, &why),
        }
    }
}

/// Adds the lint steps for every one of `llvms` to `steps`.
pub(crate) fn lint(workspace: &Workspace, llvms: &[Llvm], missing: Missing, steps: &mut Steps) {
    missing.run(steps, "formatting", ["fmt", "rustfmt"], || {
        run_shown(
            Command::new(cargo())
                .current_dir(&workspace.root)
                .args(["fmt", "--all", "--check"]),
        )?;
        let llvm = llvms.first().context("no LLVM to check with")?;
        cpp_formatting(workspace, llvm)
    });
    for (index, llvm) in llvms.iter().enumerate() {
        let cargo_command = |task: &str| -> Result<Command> {
            let mut command = Command::new(cargo());
            command
                .current_dir(&workspace.root)
                .args([task, "--workspace", "--locked"]);
            if index > 0 {
                command.args(llvm::without_packages_of_none()?);
            }
            command.args(llvm::features(llvm.major));
            command.arg("--target-dir").arg(workspace.llvm_target(llvm.major));
            Ok(command)
        };
        let name = format!("clippy, LLVM {}", llvm.major);
        missing.run(steps, &name, ["clippy", "clippy"], || {
            run_shown(cargo_command("clippy")?.args(["--all-targets", "--", "-D", "warnings"]))
        });
        steps.run(&format!("documentation, LLVM {}", llvm.major), || {
            run_shown(
                cargo_command("doc")?
                    .args(["--no-deps", "--document-private-items"])
                    .env("RUSTDOCFLAGS", "-D warnings"),
            )
        });
    }
}

/// Folders with C and C++ of the project. Those of tests are inputs, whose lines are often what is tested.
const CPP: [&str; 3] = ["launch", "support", "wrapgen"];

/// Checks C and C++ against `.clang-format`.
fn cpp_formatting(workspace: &Workspace, llvm: &Llvm) -> Result<()> {
    let mut list = Command::new("git");
    list.current_dir(&workspace.root)
        .args(["ls-files", "--"])
        .args(CPP);
    let listed = list.output().context("cannot run `git`")?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let is_cpp = |file: &&str| [".c", ".h", ".cpp", ".hpp"].iter().any(|end| file.ends_with(end));
    let files: Vec<_> = listed.lines().filter(is_cpp).collect();
    ensure!(!files.is_empty(), "git lists no C++ in {}", CPP.join(", "));
    let mut check = Command::new(llvm.bin_dir.join("clang-format"));
    check
        .current_dir(&workspace.root)
        .args(["--dry-run", "-Werror"])
        .args(files);
    run_shown(&mut check)?;
    Ok(())
}
