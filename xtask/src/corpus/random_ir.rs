//! Random modules (`llvm-stress`) through every pass: no crash, no error, and the verifier is content.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::build::Staged;
use crate::corpus::every_pass::Runtimes;
use crate::corpus::target::{Device, Target};
use crate::corpus::tools;

/// How many instructions a module has, about.
const SIZE: &str = "300";

/// The passes.
const PASSES: [&str; 5] = [
    "offload-device",
    "offload-entries",
    "offload-internalize",
    "offload-runtime",
    "offload-visibility",
];

/// The targets. Not AMD GPUs: `llvm-stress` makes allocas in an address space that LLVM 22's verifier rejects
/// there.
const TARGETS: [Target; 3] = [
    Target::Host,
    Target::Device(Device::X86_64),
    Target::Device(Device::Nvptx64),
];

/// A section that makes a kernel of a function.
const KERNEL: &str = " section \".offload.kernel\" {";

/// What makes a device module: something that needs the device runtime, and the flag that tells it apart.
const DEVICE_PART: &str = "
declare i32 @omp_get_thread_num()
define i32 @device_function() {
  %number = call i32 @omp_get_thread_num()
  ret i32 %number
}
!llvm.module.flags = !{!0}
!0 = !{i32 7, !\"openmp-device\", i32 51}
";

/// One random module and the pass it goes through.
#[derive(Debug)]
pub(crate) struct Case {
    pass: &'static str,
    seed: u32,
    target: Target,
    /// Whether the module's function is marked to be a kernel.
    marked: bool,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let marked = if self.marked { ", marked" } else { "" };
        write!(
            f,
            "`{}` on the module of seed {} ({}{marked})",
            self.pass, self.seed, self.target
        )
    }
}

/// `seeds` modules for each pass: for every target in turn, every other one marked.
pub(crate) fn cases(seeds: u32) -> Vec<Case> {
    let targets = (0..seeds).zip(TARGETS.into_iter().cycle());
    targets
        .flat_map(|(seed, target)| {
            PASSES.map(|pass| Case {
                pass,
                seed,
                // A module of the host is no input of a pass that makes device modules.
                target: match (pass, target) {
                    ("offload-device" | "offload-runtime", Target::Host) => Target::Device(Device::X86_64),
                    _ => target,
                },
                marked: (seed / 3) % 2 == 0,
            })
        })
        .collect()
}

/// Makes the module and runs the pass.
pub(crate) fn run(staged: &Staged, runtimes: &Runtimes, case: &Case) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let module = scratch.path().join("random.ll");
    let mut stress = tools::tool(staged, "llvm-stress");
    stress.arg(format!("-seed={}", case.seed)).args(["-size", SIZE]);
    let text = tools::output(&mut stress)?;
    write(&module, &dressed(&text, case))?;

    let pass = match (case.pass, case.target.device()) {
        ("offload-runtime", device) => {
            format!("offload-runtime<bitcode={}>", runtimes.file(device)?.display())
        }
        (pass, _) => pass.to_owned(),
    };
    let mut opt = tools::opt(staged, &format!("{pass},verify,{pass},verify"));
    tools::output(opt.arg("-disable-output").arg(&module)).map(drop)
}

/// The text of a random module, with what makes the pass do something.
fn dressed(text: &str, case: &Case) -> String {
    let mut module = format!("target triple = \"{}\"\n", case.target.device().triple());
    for line in text.split_inclusive('\n') {
        match line.strip_suffix(" {\n") {
            Some(definition) if case.marked && line.starts_with("define ") => {
                module.push_str(definition);
                module.push_str(KERNEL);
                module.push('\n');
            }
            _ => module.push_str(line),
        }
    }
    if case.target != Target::Host {
        module.push_str(DEVICE_PART);
    }
    module
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}
