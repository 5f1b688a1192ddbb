//! The Debian packages of an installation: what a node needs that only runs programs, and the rest, which
//! builds them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use offloom_abi::HostProcessor;

use super::{Packing, programs};
use crate::corpus::tools;
use crate::llvm;
use crate::progress::run_folded;

/// What of an installation runs programs: the JIT's library, what it starts, and the program that tells what
/// it did.
const RUNTIME: [&str; 7] = [
    "bin/offloom",
    "lib/liboffloom_jit.so",
    "libexec/offloom/offloom-jit-ptxas",
    "libexec/offloom/offloom-jit-remote",
    "libexec/offloom/offloom-jit-worker",
    "libexec/offloom/offloom-jit-call",
    "libexec/offloom/wrapgen-lld",
];

/// Files of the program `offloom` below `usr`. `@NAME@` is the name that it is called by.
const RUNTIME_BESIDES: [&str; 4] = [
    "bin/@NAME@",
    "share/bash-completion/completions/@NAME@",
    "share/fish/vendor_completions.d/@NAME@.fish",
    "share/zsh/site-functions/_@NAME@",
];

/// Where man pages are, below `usr`.
const PAGES: &str = "share/man/man1";

/// What the package that runs programs is called.
pub(super) fn runtime_name(major: u32) -> String {
    format!("offloom-runtime-{major}")
}

/// Makes both packages of what `packing` has laid out. The one that runs programs comes first: the other one
/// needs it.
pub(super) fn packages(packing: &Packing<'_>) -> Result<[PathBuf; 2]> {
    let major = packing.staged.llvm.major;
    let (root, name) = (packing.root(), packing.name());
    let runtime_root = packing.scratch.join("runtime-package");
    let runtime_name = runtime_name(major);
    for file in RUNTIME {
        let file = format!("usr/lib/{name}/{file}");
        move_over(&root, &runtime_root, &file)?;
    }
    for file in RUNTIME_BESIDES {
        move_over(
            &root,
            &runtime_root,
            &format!("usr/{}", file.replace("@NAME@", &name)),
        )?;
    }
    for page in fs::read_dir(root.join("usr").join(PAGES))? {
        let page = page?.file_name().to_string_lossy().into_owned();
        if page.starts_with(&name) {
            move_over(&root, &runtime_root, &format!("usr/{PAGES}/{page}"))?;
        }
    }
    let version = env!("CARGO_PKG_VERSION");
    // libomptarget brings the libomp that it needs.
    let row = llvm::version(major)?;
    let runtime = Package {
        name: runtime_name.clone(),
        root: runtime_root,
        section: "libs",
        needs: row.libomptarget_package(),
        summary: format!("JIT for OpenMP target regions of Clang {major}, for running programs"),
        text: "What programs that were linked with Offloom's JIT use while they run: the library\n \
               that specialises kernels, the process in which it compiles them, and the program\n \
               that tells what it did and looks after its cache. Programs also run without it.",
    };
    let (offload, host) = (row.libomptarget_dev_package(), row.host_runtime_dev_package());
    let own = format!("libomp-{major}-dev");
    let libomp = if own == host {
        // One package may have both.
        BTreeSet::from([offload, host])
            .into_iter()
            .collect::<Vec<_>>()
            .join(", ")
    } else {
        // With either, Clang is linked to the same libomp: `build::openmp_links`. The second lets the
        // packages for both LLVMs be installed.
        format!("{offload}, {own} | {host}")
    };
    let build = Package {
        name,
        root,
        section: "devel",
        needs: format!("{runtime_name} (= {version}), clang-{major}, {libomp}"),
        summary: format!("OpenMP target offloading with Clang {major}, without a patched compiler"),
        text: "Passes that give any LLVM front end its offload entries, a linker for device\n \
               images that stands in for LLVM's own, and a JIT that specialises kernels to\n \
               the values they are launched with.",
    };
    Ok([runtime.make(packing)?, build.make(packing)?])
}

/// Moves a file to the same place below another root.
fn move_over(from: &Path, to: &Path, file: &str) -> Result<()> {
    let new = to.join(file);
    let folder = new.parent().context("a file has a folder")?;
    fs::create_dir_all(folder)?;
    fs::rename(from.join(file), &new).with_context(|| format!("the installation has no `{file}`"))
}

/// One package.
struct Package {
    name: String,
    /// What stands for the root of the system that it is installed in.
    root: PathBuf,
    section: &'static str,
    /// Packages that it needs besides those of the libraries that its programs name.
    needs: String,
    /// A line.
    summary: String,
    /// Lines, each but the first with a space before it.
    text: &'static str,
}

impl Package {
    fn make(&self, packing: &Packing<'_>) -> Result<PathBuf> {
        let documentation = self.root.join("usr/share/doc").join(&self.name);
        fs::create_dir_all(&documentation)?;
        fs::copy(
            packing.workspace.root.join("LICENSE"),
            documentation.join("copyright"),
        )?;
        let prefix = self.root.join("usr/lib").join(packing.name());
        if prefix.join("share/doc/offloom").is_dir() {
            let pages = format!("../../../lib/{}/share/doc/offloom", packing.name());
            std::os::unix::fs::symlink(pages, documentation.join("user"))?;
        }
        let control = self.control(packing, &prefix)?;
        fs::create_dir_all(self.root.join("DEBIAN"))?;
        fs::write(self.root.join("DEBIAN/control"), control)?;
        let architecture = HostProcessor::NATIVE.debian;
        let file = format!("{}_{}_{architecture}.deb", self.name, env!("CARGO_PKG_VERSION"));
        let file = packing.packages.join(file);
        let mut build = Command::new("dpkg-deb");
        build.env("SOURCE_DATE_EPOCH", packing.time.trim_start_matches('@'));
        build.args(["--root-owner-group", "-Zgzip", "--build"]);
        run_folded(build.arg(&self.root).arg(&file), "packing")?;
        Ok(file)
    }

    /// The package's description. The libraries that it needs are found by Debian's own tool.
    fn control(&self, packing: &Packing<'_>, prefix: &Path) -> Result<String> {
        let sources = packing.scratch.join("debian");
        fs::create_dir_all(&sources)?;
        fs::write(
            sources.join("control"),
            format!(
                "Source: offloom\n\nPackage: offloom\nArchitecture: {}\n",
                HostProcessor::NATIVE.debian
            ),
        )?;
        let mut find = Command::new("dpkg-shlibdeps");
        find.current_dir(packing.scratch)
            .args(["-O", "--warnings=0", "--ignore-missing-info"]);
        let printed = tools::output(find.args(programs(prefix)?))?;
        let libraries = printed
            .lines()
            .find_map(|line| line.strip_prefix("shlibs:Depends="))
            .context("`dpkg-shlibdeps` names no libraries")?;
        let Self {
            name,
            section,
            needs,
            summary,
            text,
            ..
        } = self;
        Ok(format!(
            "Package: {name}\n\
             Version: {version}\n\
             Architecture: {architecture}\n\
             Maintainer: The Offloom developers <offloom@localhost>\n\
             Installed-Size: {size}\n\
             Depends: {libraries}, {needs}\n\
             Section: {section}\n\
             Priority: optional\n\
             Description: {summary}\n {text}\n",
            version = env!("CARGO_PKG_VERSION"),
            architecture = HostProcessor::NATIVE.debian,
            size = self.installed_kib()?,
        ))
    }

    /// What it takes on the disk, in KiB.
    fn installed_kib(&self) -> Result<u64> {
        let mut usage = Command::new("du");
        usage.args(["--apparent-size", "--block-size=1K", "--summarize", "usr"]);
        let printed = tools::output(usage.current_dir(&self.root))?;
        let size = printed
            .split_whitespace()
            .next()
            .context("`du` printed no size")?;
        size.parse().context("`du` printed no number")
    }
}
