//! Every pass over a module: the verifier is content after each, and a pass run twice gives what it gives run
//! once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

use crate::build::Staged;
use crate::corpus::canonical::Canonical;
use crate::corpus::target::{Device, Target};
use crate::corpus::tools::{self, PRINT};
use crate::workspace::Workspace;

/// The device runtime that `offload-runtime` links, from the root of the checkout.
const RUNTIME_SOURCE: &str = "test/corpus/device-runtime.c";

/// A small device runtime for each device, as bitcode. Removed when dropped.
#[derive(Debug)]
pub(crate) struct Runtimes {
    files: BTreeMap<Device, PathBuf>,
    _folder: TempDir,
}

impl Runtimes {
    /// Compiles them.
    pub(crate) fn compile(workspace: &Workspace, staged: &Staged) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut files = BTreeMap::new();
        for device in [Device::X86_64, Device::Nvptx64, Device::Amdgcn] {
            let file = folder.path().join(format!("{}.bc", device.name()));
            let mut command = tools::clang(staged, false);
            command.args(["-O1", "-c", "-emit-llvm", "-fvisibility=hidden"]);
            command.arg(format!("--target={}", device.triple()));
            if device != Device::X86_64 {
                command.args(["-nogpulib", "-nogpuinc"]);
            }
            match device {
                Device::X86_64 => &mut command,
                Device::Nvptx64 => {
                    command.args(["-march=sm_70", "-Xclang", "-target-feature", "-Xclang", "+ptx63"])
                }
                Device::Amdgcn => command.arg("-mcpu=gfx90a"),
            };
            command
                .arg(workspace.root.join(RUNTIME_SOURCE))
                .arg("-o")
                .arg(&file);
            tools::output(&mut command)?;
            files.insert(device, file);
        }
        Ok(Self {
            files,
            _folder: folder,
        })
    }

    /// The runtime for one device.
    pub(crate) fn file(&self, device: Device) -> Result<&Path> {
        let file = self.files.get(&device);
        file.map(PathBuf::as_path).context("no runtime for the device")
    }
}

/// What to run the passes over.
#[derive(Debug)]
pub(crate) struct Input<'a> {
    /// Clang's module.
    pub(crate) module: &'a Path,
    /// What it is for.
    pub(crate) target: Target,
    /// The host module of the same source.
    pub(crate) host: &'a Path,
    /// The module's canonical lines.
    pub(crate) clang: &'a Canonical,
}

/// A pass as it is written in a pipeline, and whether it must leave Clang's modules alone.
struct Pass {
    text: String,
    leaves_alone: bool,
}

/// Runs the passes in the order of a compile, each twice, over what those before it made.
///
/// Returns how many passes ran, and what those changed that had nothing to do.
pub(crate) fn run(
    staged: &Staged,
    runtimes: &Runtimes,
    input: &Input<'_>,
    scratch: &Path,
) -> Result<(usize, Vec<String>)> {
    let passes = passes(runtimes, input)?;
    let pipeline: Vec<_> = passes
        .iter()
        .flat_map(|Pass { text, .. }| [text, "verify", PRINT, text, "verify", PRINT])
        .collect();
    let printed = tools::printed(staged, input.module, &pipeline, scratch)?;
    let mut differences = Vec::new();
    for (pass, modules) in passes.iter().zip(printed.chunks_exact(2)) {
        let text = &pass.text;
        if let [once, twice] = modules {
            ensure!(
                once == twice,
                "`{text}` run twice does not give what it gives run once"
            );
            if pass.leaves_alone {
                let found = input.clang.changes(&Canonical::read(once));
                differences.extend(found.iter().map(|line| format!("`{text}` changed {line}")));
            }
        }
    }
    Ok((passes.len(), differences))
}

/// The passes for a module that Clang made.
fn passes(runtimes: &Runtimes, input: &Input<'_>) -> Result<Vec<Pass>> {
    let pass = |text: String, leaves_alone| Pass { text, leaves_alone };
    Ok(match input.target {
        Target::Host => vec![
            pass("offload-entries".to_owned(), true),
            pass("offload-host".to_owned(), true),
            pass("offload-internalize".to_owned(), false),
        ],
        Target::Device(device) => {
            let host = input.host.display();
            let runtime = runtimes.file(device)?.display();
            let mut passes = vec![
                pass("offload-entries".to_owned(), true),
                pass("offload-device".to_owned(), true),
                pass(format!("offload-runtime<bitcode={runtime}>"), false),
                pass("offload-visibility".to_owned(), false),
                pass("offload-internalize".to_owned(), false),
            ];
            // The pass refuses a host module that lists nothing; Clang copies the list to the device module.
            if input.clang.operands() > 0 {
                passes.insert(1, pass(format!("offload-device<host-ir={host}>"), true));
            }
            passes
        }
    })
}
