//! `cargo xtask dist`: Debian packages and a tarball for each LLVM in `dist/packages`, all installed and
//! tried in a root of their own.

mod debian;
#[cfg(test)]
mod recipe_tests;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use offloom_abi::HostProcessor;

use crate::build::{self, DOCUMENTED, LlvmBuilds, Staged};
use crate::corpus::tools;
use crate::progress::run_folded;
use crate::workspace::Workspace;

/// Folders of the staged tree that are installed.
const FOLDERS: [&str; 5] = ["bin", "include", "lib", "libexec", "share"];

/// Options of `cargo xtask dist`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    builds: LlvmBuilds,
    /// Try them over this folder, which holds a Debian system, instead of over this machine's: apt-get
    /// installs there what the package needs
    #[arg(long, value_name = "FOLDER", default_value = "/")]
    over: PathBuf,
}

/// Runs `cargo xtask dist`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    let over = fs::canonicalize(&arguments.over)
        .with_context(|| format!("there is no folder `{}`", arguments.over.display()))?;
    arguments
        .builds
        .for_each(&workspace, |staged| make(&workspace, staged, &over))
}

/// Makes packages and tarball for one LLVM and tries them on this machine.
pub(crate) fn check(workspace: &Workspace, staged: &Staged) -> Result<()> {
    make(workspace, staged, Path::new("/"))
}

/// Makes them for one LLVM and tries them over the Debian system in a folder.
fn make(workspace: &Workspace, staged: &Staged, over: &Path) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let packages = staged.dist.with_file_name("packages");
    fs::create_dir_all(&packages).with_context(|| format!("cannot make folder `{}`", packages.display()))?;
    let time = format!("@{}", commit_time(workspace));
    let packing = Packing {
        workspace,
        staged,
        scratch: scratch.path(),
        packages: &packages,
        time: &time,
    };
    let prefix = packing.stage()?;
    let tarball = packing.tarball(&prefix)?;
    let made = debian::packages(&packing)?;
    packing.attempt(&made, &tarball, over)?;
    for file in made.iter().chain([&tarball]) {
        println!("{}", file.display());
    }
    Ok(())
}

/// When the last commit was made: the same sources give the same packages.
fn commit_time(workspace: &Workspace) -> u64 {
    let mut git = Command::new("git");
    git.current_dir(&workspace.root)
        .args(["log", "-1", "--format=%ct"]);
    let printed = tools::output(&mut git).ok();
    printed
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or_default()
}

/// What an installation is called, and the package that builds programs.
fn name(major: u32) -> String {
    format!("offloom-{major}")
}

struct Packing<'a> {
    workspace: &'a Workspace,
    staged: &'a Staged,
    scratch: &'a Path,
    packages: &'a Path,
    time: &'a str,
}

impl Packing<'_> {
    fn name(&self) -> String {
        name(self.staged.llvm.major)
    }

    fn root(&self) -> PathBuf {
        self.scratch.join("package")
    }

    /// Lays out the root of the package, without debugging information. Returns where the installation is in
    /// it.
    fn stage(&self) -> Result<PathBuf> {
        let (root, name) = (self.root(), self.name());
        let prefix = root.join("usr/lib").join(&name);
        fs::create_dir_all(&prefix)?;
        let mut copy = Command::new("cp");
        copy.args(["--recursive", "--no-dereference", "--preserve=mode,links"]);
        copy.args(FOLDERS.map(|folder| self.staged.dist.join(folder)));
        tools::output(copy.arg(&prefix))?;
        for program in programs(&prefix)? {
            let mut strip = tools::tool(self.staged, "llvm-strip");
            tools::output(strip.arg("--strip-debug").arg(program))?;
        }
        let major = self.staged.llvm.major;
        fs::create_dir_all(root.join("usr/bin"))?;
        for program in ["offloom", "wrapgen"] {
            symlink(
                format!("../lib/{name}/bin/{program}"),
                root.join(format!("usr/bin/{program}-{major}")),
            )?;
        }
        fs::create_dir_all(root.join("usr/lib/cmake"))?;
        symlink(
            format!("../{name}/lib/cmake/Offloom"),
            root.join(format!("usr/lib/cmake/Offloom-{major}")),
        )?;
        for program in DOCUMENTED {
            let share = root.join("usr/share");
            build::write_documentation(
                self.workspace,
                major,
                program,
                &share,
                &format!("{program}-{major}"),
            )?;
        }
        let pages = prefix.join("share/doc/offloom");
        fs::create_dir_all(&pages)?;
        for page in fs::read_dir(self.workspace.root.join("docs/user"))? {
            let page = page?.path();
            fs::copy(&page, pages.join(page.file_name().context("a page has a name")?))?;
        }
        fs::copy(self.workspace.root.join("LICENSE"), prefix.join("LICENSE"))?;
        Ok(prefix)
    }

    fn tarball(&self, prefix: &Path) -> Result<PathBuf> {
        let version = env!("CARGO_PKG_VERSION");
        let folder = format!("offloom-{version}-llvm-{}", self.staged.llvm.major);
        let file = self
            .packages
            .join(format!("{folder}-{}.tar.gz", HostProcessor::NATIVE.multiarch));
        let mut tar = Command::new("tar");
        tar.args(["--create", "--gzip", "--sort=name", "--owner=0", "--group=0"]);
        tar.args(["--numeric-owner", "--mtime", self.time]);
        tar.arg(format!("--transform=flags=r;s,^\\.,{folder},"));
        tar.arg("--file")
            .arg(&file)
            .arg("--directory")
            .arg(prefix)
            .arg(".");
        run_folded(&mut tar, "packing the tarball")?;
        Ok(file)
    }

    /// Installs all where nothing of the checkout is to be seen, and builds programs.
    fn attempt(&self, packages: &[PathBuf], tarball: &Path, over: &Path) -> Result<()> {
        let root = &self.workspace.root;
        let mut command = Command::new("bash");
        command
            .arg(root.join("packaging/try-installation.sh"))
            .args(packages)
            .arg(tarball)
            .arg(self.staged.llvm.major.to_string())
            .arg(root.join("test/demo/zaxpy.cpp"))
            .arg(root.join("test/packaging/Inputs/cmake-app"))
            .arg(self.scratch)
            .arg(over)
            .args([root, &self.workspace.target]);
        for variable in ["CARGO_HOME", "RUSTUP_HOME"] {
            if let Some(folder) = std::env::var_os(variable) {
                command.arg(folder);
            }
        }
        run_folded(&mut command, "trying what was packed")?;
        Ok(())
    }
}

/// The files that are machine code.
fn programs(prefix: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in ["bin", "lib", "libexec/offloom"] {
        let folder = prefix.join(folder);
        if !folder.is_dir() {
            continue;
        }
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_file() && !path.is_symlink() {
                found.push(path);
            }
        }
    }
    Ok(found)
}
