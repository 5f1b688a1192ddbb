//! Mistakes made on purpose in the code of the passes: each is put into a copy of the sources, the passes are built of that, and the check has
//! to notice.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::build::Staged;
use crate::command::run_shown;
use crate::corpus::tools::output;
use crate::llvm;
use crate::workspace::{Workspace, cargo};

/// One mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodeMutant {
    /// What the command line calls it.
    pub(crate) name: &'static str,
    /// The file, from the root of the checkout.
    file: &'static str,
    /// The text in it, which occurs once.
    right: &'static str,
    /// What takes its place.
    wrong: &'static str,
}

/// All of them.
pub(crate) const CODE_MUTANTS: [CodeMutant; 11] = [
    CodeMutant {
        name: "mask-one-byte-less",
        file: "jit-passes/src/specialize/arguments.rs",
        right: "integer.const_int(word.value, false)",
        wrong: "integer.const_int(word.value & (u64::MAX >> (64 - word.bits) >> 8), false)",
    },
    CodeMutant {
        name: "next-argument",
        file: "jit-passes/src/specialize/arguments.rs",
        right: "replace_argument(kernel, index as u32, constant)",
        wrong: "replace_argument(kernel, index as u32 + 1, constant)",
    },
    CodeMutant {
        name: "higher-alignment",
        file: "jit-passes/src/specialize/alignment.rs",
        right: "alignment.bytes());",
        wrong: "alignment.bytes() * 2);",
    },
    CodeMutant {
        name: "highest-alignment-of-all-calls",
        file: "jit-passes/src/propagate.rs",
        right: "alignments.min()",
        wrong: "alignments.max()",
    },
    CodeMutant {
        name: "first-call-decides",
        file: "jit-passes/src/propagate.rs",
        right: "if same.is_some_and(|same| same != value) {",
        wrong: "if same.is_some_and(|same| same != value && index > 90) {",
    },
    CodeMutant {
        name: "captured-though-written-again",
        file: "jit-passes/src/captured.rs",
        right: ".filter(|_| overlapping.next().is_none())?",
        wrong: "?",
    },
    CodeMutant {
        name: "contents-of-next-byte",
        file: "jit-passes/src/specialize/contents.rs",
        right: "contents.known_bytes(load.offset..load.offset + load.size)",
        wrong: "contents.known_bytes(load.offset + 1..load.offset + 1 + load.size)",
    },
    CodeMutant {
        name: "contents-though-written",
        file: "jit-passes/src/object_contents.rs",
        right: "|| types_differ(write.instruction, load.instruction)",
        wrong: "|| types_differ(write.instruction, load.instruction) || load.size > 0",
    },
    CodeMutant {
        name: "direct-with-any-number-of-threads",
        file: "jit-passes/src/one_thread/guard.rs",
        right: "let one_thread = is(ask(module, builder, \"omp_get_max_threads\")?, one)?;",
        wrong: "let one_thread = is(one, one)?;",
    },
    CodeMutant {
        name: "direct-without-whole-loop",
        file: "jit-passes/src/one_thread/runtime_calls.rs",
        right: "builder.build_store(self.stride, stride)?;",
        wrong: "builder.build_store(self.stride, self.increment)?;",
    },
    CodeMutant {
        name: "direct-without-reduction",
        file: "jit-passes/src/one_thread/runtime_calls.rs",
        right: "(\"__kmpc_reduce\" | \"__kmpc_reduce_nowait\", _) => Outcome::Number(1)",
        wrong: "(\"__kmpc_reduce\" | \"__kmpc_reduce_nowait\", _) => Outcome::Number(0)",
    },
];

impl CodeMutant {
    /// The mistake of this name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        CODE_MUTANTS.into_iter().find(|mutant| mutant.name == name)
    }

    /// The text of the file with the mistake in it.
    fn apply(&self, root: &Path) -> Result<String> {
        let file = root.join(self.file);
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
        ensure!(
            text.matches(self.right).count() == 1,
            "`{}` has to have the text `{}` once: mend the mutant `{}`",
            self.file,
            self.right,
            self.name
        );
        Ok(text.replace(self.right, self.wrong))
    }

    /// Builds the passes with the mistake, and stages them with the rest of a build.
    pub(crate) fn build(&self, workspace: &Workspace, staged: &Staged) -> Result<Staged> {
        let folder = workspace.target.join("mutants");
        let sources = folder.join("sources");
        copy_sources(&workspace.root, &sources)?;
        fs::write(sources.join(self.file), self.apply(&workspace.root)?)?;
        let major = staged.llvm.major;
        let target = folder.join(format!("llvm-{major}"));
        let mut command = Command::new(cargo());
        command
            .current_dir(&sources)
            .args(["build", "--release", "--locked", "-p", "offloom-passes"])
            .args(llvm::features(major))
            .arg("--target-dir")
            .arg(&target);
        run_shown(&mut command)?;
        let dist = folder.join(format!("dist-{major}"));
        let mut copy = Command::new("cp");
        run_shown(copy.args(["-a", "-T"]).arg(&staged.dist).arg(&dist))?;
        let plugin = "liboffloom_passes.so";
        // A name of its own first: the file there may be the staged one itself.
        let place: PathBuf = dist.join("lib").join(plugin);
        fs::remove_file(&place)?;
        fs::copy(target.join("release").join(plugin), &place)?;
        Ok(Staged {
            dist,
            ..staged.clone()
        })
    }
}

/// Copies what is in the checkout; a file that is there as it is now stays, so that Cargo does not build it again.
fn copy_sources(root: &Path, to: &Path) -> Result<()> {
    let listed = output(
        Command::new("git")
            .current_dir(root)
            .args(["ls-files", "--cached"]),
    )?;
    for name in listed.lines() {
        let (from, to) = (root.join(name), to.join(name));
        let Ok(text) = fs::read(&from) else {
            continue;
        };
        if fs::read(&to).is_ok_and(|there| there == text) {
            continue;
        }
        fs::create_dir_all(to.parent().unwrap_or(&to))?;
        fs::write(&to, text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::CODE_MUTANTS;
    use std::path::Path;

    #[test]
    fn every_mistake_can_be_made() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for mutant in CODE_MUTANTS {
            assert!(mutant.apply(&root).is_ok(), "{}", mutant.name);
        }
    }
}
