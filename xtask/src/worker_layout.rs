//! The JIT's worker with a profile-guided layout: LLVM's post-link optimiser, BOLT, puts what compiles
//! execute in the order in which they execute it, and the rest, which is most of LLVM, apart.
//!
//! What compiles execute is counted once for each LLVM, in an instrumented worker that compiles the
//! workloads' kernels. The counts are kept in the build folder: LLVM's code, of which the worker mostly
//! consists, does not change from build to build.

mod exercise;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::build::Staged;
use crate::command::shown;
use crate::corpus::tools;
use crate::workspace::{Workspace, write_whole};

/// How BOLT lays code out. Nothing in it changes what the code does, nor which functions are one.
const LAYOUT: [&str; 5] = [
    "-reorder-blocks=ext-tsp",
    "-reorder-functions=cdsort",
    "-split-functions",
    "-split-all-cold",
    "-split-eh",
];

/// The worker to install, made of the one that Cargo has linked: laid out where BOLT is installed, and
/// without symbols.
pub(crate) fn worker(workspace: &Workspace, staged: &Staged, linked: &Path) -> Result<PathBuf> {
    let folder = workspace.llvm_target(staged.llvm.major).join("worker-layout");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make folder `{}`", folder.display()))?;
    let layout = Layout {
        staged,
        linked,
        folder: &folder,
        bolt: staged.llvm.bin_dir.join("llvm-bolt"),
    };
    layout.worker(workspace)
}

/// The one that Cargo has linked, without symbols: for another machine, on which alone what it executes can
/// be counted, and where that takes too long.
pub(crate) fn as_linked(staged: &Staged, linked: &Path) -> Result<PathBuf> {
    let worker = linked.with_extension("stripped");
    strip(staged, linked, &worker)?;
    Ok(worker)
}

/// Removes symbols. By LLVM's tool: others damage what BOLT wrote.
fn strip(staged: &Staged, from: &Path, to: &Path) -> Result<()> {
    let mut strip = tools::tool(staged, "llvm-strip");
    run_quietly(strip.arg("--strip-all").arg(from).arg("-o").arg(to))
}

struct Layout<'a> {
    staged: &'a Staged,
    linked: &'a Path,
    folder: &'a Path,
    /// May not be there.
    bolt: PathBuf,
}

impl Layout<'_> {
    fn worker(&self, workspace: &Workspace) -> Result<PathBuf> {
        let worker = self.folder.join("offloom-jit-worker");
        let note = self.folder.join("made-from");
        let made_from = self.made_from()?;
        if worker.is_file() && fs::read_to_string(&note).is_ok_and(|noted| noted == made_from) {
            return Ok(worker);
        }
        let laid_out = if self.bolt.is_file() {
            let profile = self.profile(workspace)?;
            let laid_out = self.folder.join("laid-out");
            let mut bolt = Command::new(&self.bolt);
            bolt.arg(self.linked).args(LAYOUT).arg("-data").arg(profile);
            run_quietly(bolt.arg("-o").arg(&laid_out))?;
            laid_out
        } else {
            println!(
                "no `{}`: the JIT's worker stays as it was linked, and compiles take a fourth longer",
                self.bolt.display()
            );
            self.linked.to_owned()
        };
        strip(self.staged, &laid_out, &worker)?;
        if laid_out != self.linked {
            fs::remove_file(&laid_out).with_context(|| format!("cannot remove `{}`", laid_out.display()))?;
        }
        write_whole(&note, &made_from)?;
        Ok(worker)
    }

    /// What the worker's bytes follow from, but for the profile.
    fn made_from(&self) -> Result<String> {
        let linked = fs::metadata(self.linked)
            .and_then(|linked| Ok((linked.len(), linked.modified()?)))
            .with_context(|| format!("cannot look at `{}`", self.linked.display()))?;
        Ok(format!("{linked:?} {LAYOUT:?} {}\n", self.bolt.is_file()))
    }

    /// How often each piece of code runs while kernels are compiled.
    fn profile(&self, workspace: &Workspace) -> Result<PathBuf> {
        let profile = self.folder.join(format!("{}.fdata", self.staged.llvm.version));
        if profile.is_file() {
            return Ok(profile);
        }
        let instrumented = self.folder.join("instrumented");
        let counts = self.folder.join("counts");
        let mut bolt = Command::new(&self.bolt);
        bolt.arg(self.linked)
            .arg("-instrument")
            .arg(format!("-instrumentation-file={}", counts.display()))
            // What it would look at otherwise is for administrators.
            .arg(format!("-instrumentation-binpath={}", instrumented.display()));
        run_quietly(bolt.arg("-o").arg(&instrumented))?;
        exercise::compile_workloads(workspace, self.staged, &instrumented, self.folder)?;
        ensure!(
            counts.is_file(),
            "`{}` has left no counts in `{}`",
            instrumented.display(),
            counts.display()
        );
        fs::rename(&counts, &profile)
            .and_then(|()| fs::remove_file(&instrumented))
            .with_context(|| format!("cannot change what is in `{}`", self.folder.display()))?;
        Ok(profile)
    }
}

/// Shows the command, and of what it prints only what it says when it fails.
fn run_quietly(command: &mut Command) -> Result<()> {
    println!("$ {}", shown(command));
    tools::output(command)?;
    Ok(())
}
