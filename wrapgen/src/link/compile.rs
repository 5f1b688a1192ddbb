//! Phase 3: brings the members of a group to files that the device linker takes, compiling bitcode.

pub mod for_jit;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::Command;

use self::for_jit::JitParts;
use super::device_symbols::names_shared_with_native_code;
use super::group::Group;
use super::members::write_members;
use super::plan::TargetPlan;
use super::scan::ScannedInput;
use super::work_folder::WorkFolder;
use crate::bitcode_tool::BitcodeTool;
use crate::error::{Error, Result};
use crate::jit;
use crate::process::Runner;
use crate::steps::Phase;

/// The option that asks for images of bitcode, for people.
const EMBED_BITCODE: &str = "--embed-bitcode (-fopenmp-target-jit of Clang)";

/// What the rest of the link gets from a group.
#[derive(Debug, Default)]
pub struct Compiled {
    /// Objects for the device link.
    pub device_inputs: Vec<PathBuf>,
    /// What the JIT needs.
    pub jit: JitParts,
}

/// Compiles a group for its device link.
///
/// Bitcode hides what neither the host program nor native code of the image nor a library among `inputs` can
/// ask for, so that it can be optimised as a whole. With `--jit`, bitcode goes through the job that makes
/// dispatch stubs, anchors and the bundle first.
///
/// # Errors
/// A member cannot be written, or compiling failed.
pub fn compile(
    plan: &TargetPlan<'_>,
    inputs: &[ScannedInput],
    folder: &WorkFolder,
    runner: Runner,
) -> Result<Compiled> {
    if plan.image_is_bitcode {
        check_all_bitcode(plan.group, EMBED_BITCODE)?;
    }
    let mut members = write_members(plan, inputs, folder, runner)?;
    let kept_names = match members.bitcode.is_empty() || plan.linker.takes_bitcode() {
        true => None,
        false => Some(kept_names(plan.group, inputs)?),
    };
    let mut compiled = Compiled::default();
    if plan.prepares_for_jit {
        compiled.jit = for_jit::prepare(plan, kept_names.as_deref(), &mut members, folder, runner)?;
    }
    if plan.linker.takes_bitcode() {
        compiled.device_inputs = members.all;
        return Ok(compiled);
    }
    compiled.device_inputs = members.native;
    if let Some(kept_names) = kept_names {
        let object = folder.named(&plan.group.target, "lto.o");
        optimize(plan, &members.bitcode, &kept_names, &object, runner)?;
        compiled.device_inputs.insert(0, object);
    }
    Ok(compiled)
}

/// Merges and optimises the bitcode of a group to the image.
///
/// # Errors
/// The group has other code, a member cannot be written, or compiling failed.
pub fn merge(
    plan: &TargetPlan<'_>,
    inputs: &[ScannedInput],
    image: &PathBuf,
    folder: &WorkFolder,
    runner: Runner,
) -> Result<()> {
    check_all_bitcode(plan.group, EMBED_BITCODE)?;
    let members = write_members(plan, inputs, folder, runner)?;
    let kept_names = kept_names(plan.group, inputs)?;
    optimize(plan, &members.bitcode, &kept_names, image, runner)
}

/// Merges and optimises bitcode to `output`, which is the image if that is bitcode, else an object.
fn optimize(
    plan: &TargetPlan<'_>,
    bitcode: &[PathBuf],
    kept_names: &[OsString],
    output: &PathBuf,
    runner: Runner,
) -> Result<()> {
    let mut command = Command::new(BitcodeTool::find()?.program());
    command
        .arg("lto")
        .arg(format!("--opt-level={}", plan.facts.optimization_level));
    if plan.image_is_bitcode {
        command.arg("--emit-bitcode");
    }
    jit::add_kept_names(&mut command, kept_names);
    command.arg("-o").arg(output).args(bitcode);
    let step = plan.group.step(Phase::Lto).reads(bitcode).makes([output]);
    runner.step(&step, || runner.run(&mut command))
}

/// The names of the group's bitcode that stay visible.
fn kept_names(group: &Group<'_>, inputs: &[ScannedInput]) -> Result<Vec<OsString>> {
    let names = names_shared_with_native_code(&group.members, inputs)?;
    let names = names.into_iter().map(OsString::from_vec);
    Ok(names.chain(names_in_entries(inputs)?).collect())
}

/// The names of what is no kernel that entries in host objects ask for: device code lists most of them too,
/// but not all compilers have it do so.
fn names_in_entries(inputs: &[ScannedInput]) -> Result<BTreeSet<OsString>> {
    let mut names = BTreeSet::new();
    for input in inputs {
        for part in input.file().parts()? {
            let entries = part.offload_entries()?.into_iter();
            let entries = entries.filter(|entry| !entry.has_region_id);
            names.extend(entries.map(|entry| OsString::from(entry.name)));
        }
    }
    Ok(names)
}

/// In an image of bitcode, which `option` asks for, there is no place for native code. LLVM's wrapper leaves
/// it out without a word.
fn check_all_bitcode(group: &Group<'_>, option: &str) -> Result<()> {
    match group.native_member() {
        None => Ok(()),
        Some(native) => Err(Error::DeviceObject {
            input: native.origin.to_string(),
            problem: format!(
                "its code for {} is no bitcode, which {option} needs: compile it with -foffload-lto",
                group.target.triple
            ),
        }),
    }
}
