//! `cargo xtask dist`: a Debian package and a tarball for each LLVM in `dist/packages`, both installed and tried in a root of their own.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::build::{LlvmBuilds, Staged};
use crate::command::run_shown;
use crate::corpus::tools;
use crate::workspace::Workspace;

/// Folders of the staged tree that are installed.
const FOLDERS: [&str; 5] = ["bin", "include", "lib", "libexec", "share"];

/// Options of `cargo xtask dist`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    builds: LlvmBuilds,
    /// Try them over this folder, which holds a Debian system, instead of over this machine's: apt-get installs there what the package needs
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

/// Makes both for one LLVM and tries them on this machine.
pub(crate) fn check(workspace: &Workspace, staged: &Staged) -> Result<()> {
    make(workspace, staged, Path::new("/"))
}

/// Makes both for one LLVM and tries them over the Debian system in a folder.
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
    let package = packing.package()?;
    packing.attempt(&package, &tarball, over)?;
    println!("{}\n{}", package.display(), tarball.display());
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

struct Packing<'a> {
    workspace: &'a Workspace,
    staged: &'a Staged,
    scratch: &'a Path,
    packages: &'a Path,
    time: &'a str,
}

impl Packing<'_> {
    fn name(&self) -> String {
        format!("offloom-{}", self.staged.llvm.major)
    }

    fn root(&self) -> PathBuf {
        self.scratch.join("package")
    }

    /// Lays out the root of the package, without debugging information. Returns where the installation is in it.
    fn stage(&self) -> Result<PathBuf> {
        let (root, name) = (self.root(), self.name());
        let prefix = root.join("usr/lib").join(&name);
        fs::create_dir_all(&prefix)?;
        let mut copy = Command::new("cp");
        copy.args(["--recursive", "--no-dereference", "--preserve=mode,links"]);
        copy.args(FOLDERS.map(|folder| self.staged.dist.join(folder)));
        tools::output(copy.arg(&prefix))?;
        for program in self.programs(&prefix)? {
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
        let documentation = root.join("usr/share/doc").join(&name);
        fs::create_dir_all(&documentation)?;
        fs::copy(
            self.workspace.root.join("LICENSE"),
            documentation.join("copyright"),
        )?;
        fs::copy(self.workspace.root.join("LICENSE"), prefix.join("LICENSE"))?;
        Ok(prefix)
    }

    /// The files that are machine code.
    fn programs(&self, prefix: &Path) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for folder in ["bin", "lib", "libexec/offloom"] {
            for entry in fs::read_dir(prefix.join(folder))? {
                let path = entry?.path();
                if path.is_file() && !path.is_symlink() {
                    found.push(path);
                }
            }
        }
        Ok(found)
    }

    fn tarball(&self, prefix: &Path) -> Result<PathBuf> {
        let version = env!("CARGO_PKG_VERSION");
        let folder = format!("offloom-{version}-llvm-{}", self.staged.llvm.major);
        let file = self.packages.join(format!("{folder}-x86_64-linux-gnu.tar.gz"));
        let mut tar = Command::new("tar");
        tar.args(["--create", "--gzip", "--sort=name", "--owner=0", "--group=0"]);
        tar.args(["--numeric-owner", "--mtime", self.time]);
        tar.arg(format!("--transform=flags=r;s,^\\.,{folder},"));
        tar.arg("--file")
            .arg(&file)
            .arg("--directory")
            .arg(prefix)
            .arg(".");
        run_shown(&mut tar)?;
        Ok(file)
    }

    fn package(&self) -> Result<PathBuf> {
        let root = self.root();
        let control = self.control()?;
        fs::create_dir_all(root.join("DEBIAN"))?;
        fs::write(root.join("DEBIAN/control"), control)?;
        let file = self
            .packages
            .join(format!("{}_{}_amd64.deb", self.name(), env!("CARGO_PKG_VERSION")));
        let mut build = Command::new("dpkg-deb");
        build.env("SOURCE_DATE_EPOCH", self.time.trim_start_matches('@'));
        build.args(["--root-owner-group", "-Zgzip", "--build"]);
        run_shown(build.arg(&root).arg(&file))?;
        Ok(file)
    }

    /// The package's description. The libraries that it needs are found by Debian's own tool.
    fn control(&self) -> Result<String> {
        let major = self.staged.llvm.major;
        let sources = self.scratch.join("debian");
        fs::create_dir_all(&sources)?;
        fs::write(
            sources.join("control"),
            "Source: offloom\n\nPackage: offloom\nArchitecture: amd64\n",
        )?;
        let mut find = Command::new("dpkg-shlibdeps");
        find.current_dir(self.scratch)
            .args(["-O", "--warnings=0", "--ignore-missing-info"]);
        for program in self.programs(&self.root().join("usr/lib").join(self.name()))? {
            find.arg(program);
        }
        let printed = tools::output(&mut find)?;
        let libraries = printed
            .lines()
            .find_map(|line| line.strip_prefix("shlibs:Depends="))
            .context("`dpkg-shlibdeps` names no libraries")?;
        // With either, Clang 22 is linked to the same libomp: `build::OPENMP`. The second lets both of our packages be installed.
        let runtime = match major {
            19 => "libomp-19-dev".to_owned(),
            _ => format!("liboffload-{major}-dev, libomp-{major}-dev | libomp-19-dev"),
        };
        Ok(format!(
            "Package: {name}\n\
             Version: {version}\n\
             Architecture: amd64\n\
             Maintainer: The Offloom developers <offloom@localhost>\n\
             Depends: {libraries}, clang-{major}, {runtime}\n\
             Section: devel\n\
             Priority: optional\n\
             Description: OpenMP target offloading with Clang {major}, without a patched compiler\n \
             Passes that give any LLVM front end its offload entries, a linker for device\n \
             images that stands in for LLVM's own, and a JIT that specialises kernels to\n \
             the values they are launched with.\n",
            name = self.name(),
            version = env!("CARGO_PKG_VERSION"),
        ))
    }

    /// Installs both where nothing of the checkout is to be seen, and builds programs.
    fn attempt(&self, package: &Path, tarball: &Path, over: &Path) -> Result<()> {
        let root = &self.workspace.root;
        let mut command = Command::new("bash");
        command
            .arg(root.join("packaging/try-installation.sh"))
            .arg(package)
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
        run_shown(&mut command)?;
        Ok(())
    }
}
