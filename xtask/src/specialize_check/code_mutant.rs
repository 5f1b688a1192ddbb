//! Mistakes made on purpose in the code of the passes: each is put into a copy of the sources, the passes are
//! built of that, and the check has to notice.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::build::Staged;
use crate::command::run_shown;
use crate::corpus::tools::output;
use crate::llvm;
use crate::workspace::{Workspace, cargo};

use super::Device;

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
    /// Where it can be seen.
    devices: &'static [Device],
}

/// Mistakes in what all go through.
const ALL: &[Device] = &[Device::Host, Device::Jit, Device::Gpu];
/// Contents of objects and the form for one thread are not for GPUs; the JIT was not tried with these.
const HOST: &[Device] = &[Device::Host];
/// What only variants for processors go through.
const JIT_ON_HOST: &[Device] = &[Device::Jit];
/// Grid and block are numbers of GPUs.
const GPU: &[Device] = &[Device::Gpu];

/// All of them.
pub(crate) const CODE_MUTANTS: [CodeMutant; 15] = [
    CodeMutant {
        name: "mask-one-byte-less",
        file: "jit-passes/src/specialize/arguments.rs",
        right: "integer.const_int(word.value, false)",
        wrong: "integer.const_int(word.value & (u64::MAX >> (64 - word.bits) >> 8), false)",
        devices: ALL,
    },
    CodeMutant {
        name: "next-argument",
        file: "jit-passes/src/specialize/arguments.rs",
        right: "replace_argument(kernel, index as u32, constant)",
        wrong: "replace_argument(kernel, index as u32 + 1, constant)",
        devices: ALL,
    },
    CodeMutant {
        name: "higher-alignment",
        file: "jit-passes/src/specialize/alignment.rs",
        right: "alignment.bytes());",
        wrong: "alignment.bytes() * 2);",
        devices: ALL,
    },
    CodeMutant {
        name: "highest-alignment-of-all-calls",
        file: "jit-passes/src/propagate.rs",
        right: "alignments.min()",
        wrong: "alignments.max()",
        devices: ALL,
    },
    CodeMutant {
        name: "first-call-decides",
        file: "jit-passes/src/propagate.rs",
        right: "if same.is_some_and(|same| same != value) {",
        wrong: "if same.is_some_and(|same| same != value && index > 90) {",
        devices: ALL,
    },
    CodeMutant {
        name: "captured-though-written-again",
        file: "jit-passes/src/captured.rs",
        right: ".filter(|_| overlapping.next().is_none())?",
        wrong: "?",
        devices: ALL,
    },
    CodeMutant {
        name: "contents-of-next-byte",
        file: "jit-passes/src/specialize/contents.rs",
        right: "contents.known_bytes(load.offset..load.offset + load.size)",
        wrong: "contents.known_bytes(load.offset + 1..load.offset + 1 + load.size)",
        devices: HOST,
    },
    CodeMutant {
        name: "contents-though-written",
        file: "jit-passes/src/object_contents.rs",
        right: "|| types_differ(write.instruction, load.instruction)",
        wrong: "|| types_differ(write.instruction, load.instruction) || load.size > 0",
        devices: HOST,
    },
    CodeMutant {
        name: "direct-with-any-number-of-threads",
        file: "jit-passes/src/one_thread/guard.rs",
        right: "let one_thread = is(ask(module, builder, \"omp_get_max_threads\")?, one)?;",
        wrong: "let one_thread = is(one, one)?;",
        devices: HOST,
    },
    CodeMutant {
        name: "direct-without-whole-loop",
        file: "jit-passes/src/one_thread/runtime_calls.rs",
        right: "builder.build_store(self.stride, stride)?;",
        wrong: "builder.build_store(self.stride, self.increment)?;",
        devices: HOST,
    },
    CodeMutant {
        name: "direct-without-reduction",
        file: "jit-passes/src/one_thread/runtime_calls.rs",
        right: "(\"__kmpc_reduce\" | \"__kmpc_reduce_nowait\", _) => Outcome::Number(1)",
        wrong: "(\"__kmpc_reduce\" | \"__kmpc_reduce_nowait\", _) => Outcome::Number(0)",
        devices: HOST,
    },
    CodeMutant {
        name: "another-number-of-teams",
        file: "jit-passes/src/specialize/launch.rs",
        right: "            fold_queries(module, query, teams);\n        }\n        for query in TEAM_NUMBER {",
        wrong: "            fold_queries(module, query, teams + 1);\n        }\n        for query in TEAM_NUMBER {",
        devices: GPU,
    },
    CodeMutant {
        name: "another-number-of-threads",
        file: "jit-passes/src/specialize/launch.rs",
        right: "if let Some(threads) = descriptor.threads {\n        for query in THREAD_QUERIES {\n            fold_queries(module, query, threads);",
        wrong: "if let Some(threads) = descriptor.threads {\n        for query in THREAD_QUERIES {\n            fold_queries(module, query, threads + 32);",
        devices: GPU,
    },
    CodeMutant {
        name: "block-of-one-iteration-more",
        file: "support/ir/passes/divisions.cpp",
        right: "ConstantInt::get(T, Length - 1)",
        wrong: "ConstantInt::get(T, Length)",
        devices: JIT_ON_HOST,
    },
    CodeMutant {
        name: "numbers-below-zero",
        file: "support/ir/passes/divisions.cpp",
        right: "if (!IsShared && !SE.isKnownNonNegative(First))",
        wrong: "if (!IsShared && !First)",
        devices: JIT_ON_HOST,
    },
];

/// What is built of the code.
#[derive(Debug)]
struct Made {
    package: &'static str,
    file: &'static str,
    /// Its folder in the staged tree.
    folder: &'static str,
}

/// What specialises for the x86_64 device in this check.
const PLUGIN: [Made; 1] = [Made {
    package: "offloom-passes",
    file: "liboffloom_passes.so",
    folder: "lib",
}];

/// What specialises in a program with the JIT: library and worker take only each other of one build.
const JIT: [Made; 2] = [
    Made {
        package: "offloom-jit-runtime",
        file: "liboffloom_jit.so",
        folder: "lib",
    },
    Made {
        package: "offloom-jit-worker",
        file: "offloom-jit-worker",
        folder: "libexec/offloom",
    },
];

impl CodeMutant {
    /// Whether kernels on this device show it.
    pub(crate) fn is_for(&self, device: Device) -> bool {
        self.devices.contains(&device)
    }

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
    pub(crate) fn build(&self, workspace: &Workspace, staged: &Staged, device: Device) -> Result<Staged> {
        let folder = workspace.target.join("mutants");
        let sources = folder.join("sources");
        copy_sources(&workspace.root, &sources)?;
        fs::write(sources.join(self.file), self.apply(&workspace.root)?)?;
        let major = staged.llvm.major;
        let target = folder.join(format!("llvm-{major}"));
        let made: &[Made] = match device {
            Device::Host => &PLUGIN,
            Device::Jit | Device::Gpu => &JIT,
        };
        let mut command = Command::new(cargo());
        command
            .current_dir(&sources)
            .args(["build", "--release", "--locked"])
            .args(made.iter().flat_map(|made| ["-p", made.package]))
            .args(llvm::features(major))
            .arg("--target-dir")
            .arg(&target);
        run_shown(&mut command)?;
        let dist = folder.join(format!("dist-{major}"));
        let mut copy = Command::new("cp");
        run_shown(copy.args(["-a", "-T"]).arg(&staged.dist).arg(&dist))?;
        for made in made {
            // A name of its own first: the file there may be the staged one itself.
            let place: PathBuf = dist.join(made.folder).join(made.file);
            fs::remove_file(&place)?;
            fs::copy(target.join("release").join(made.file), &place)?;
        }
        Ok(Staged {
            dist,
            ..staged.clone()
        })
    }
}

/// Copies what is in the checkout; a file that is there as it is now stays, so that Cargo does not build it
/// again.
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
