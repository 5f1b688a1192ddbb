//! What the JIT gets of a group: stubs and a bundle for `--jit`, or the merged bitcode for `--jit=only`, and
//! the objects that connect the program with the JIT library.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::slice;

use super::super::device_link::device_libraries;
use super::super::link_step::LinkStep;
use super::super::members::{MemberFiles, write_members};
use super::super::plan::TargetPlan;
use super::super::scan::ScannedInput;
use super::super::work_folder::WorkFolder;
use super::check_all_bitcode;
use super::names_in_entries;
use crate::error::Result;
use crate::jit::{self, GpuFacts, HostPiece};
use crate::process::Runner;
use crate::steps::Phase;

/// What the JIT adds to a program.
#[derive(Debug, Default)]
pub struct JitParts {
    /// Objects to add to the host link.
    pub host_inputs: Vec<PathBuf>,
    /// The bundle that the registration object announces to the JIT library.
    pub bundle: Option<PathBuf>,
}

/// Puts the base image's bitcode in the place of the group's. `kept_names` are those that stay visible, if
/// the others are to be hidden.
///
/// # Errors
/// The bitcode cannot be read or merged, or an object cannot be written.
pub(super) fn prepare(
    plan: &TargetPlan<'_>,
    kept_names: Option<&[OsString]>,
    members: &mut MemberFiles,
    folder: &WorkFolder,
    runner: Runner,
) -> Result<JitParts> {
    let group = plan.group;
    let bitcode: Vec<PathBuf> = members.bitcode_of_program().cloned().collect();
    if bitcode.is_empty() {
        runner.say(&format!(
            "wrapgen: warning: --jit has no device bitcode to work on for {}: compile with -foffload-lto",
            group.target.triple
        ));
        return Ok(JitParts::default());
    }
    if let Some(native) = group.native_member() {
        runner.say(&format!(
            "wrapgen: warning: --jit: the code of '{}' for {} is no bitcode: its kernels stay as they are; compile it with -foffload-lto",
            native.origin, group.target.triple
        ));
    }
    let base = match plan.linker.takes_bitcode() {
        true => folder.named(&group.target, "jit.bitcode.o"),
        false => folder.named(&group.target, "jit.bc"),
    };
    let bundle = folder.named(&group.target, "jit");
    let files = jit::Preparation {
        bitcode: &bitcode,
        base: &base,
        bundle: &bundle,
        kept_names,
        facts: plan.facts,
        gpu: gpu_facts(plan, members),
        is_all_bitcode: group.native_member().is_none(),
    };
    let piece = folder.named(&group.target, HostPiece::Attach.extension());
    let location = folder.named(&group.target, "jit.location.o");
    let step = group
        .step(Phase::PrepareJit)
        .reads(&members.bitcode)
        .makes([&base, &bundle, &piece, &location]);
    let prepared = runner.step(&step, || {
        let prepared = jit::prepare(&files, runner)?;
        if prepared {
            write_jit_objects(HostPiece::Attach, &piece, &location, runner)?;
        }
        Ok(prepared)
    })?;
    // LLVM links modules that come with a summary, as Clang's do and this one does not, behind those without.
    // What the optimiser does to functions of the device runtime depends on the order.
    members.bitcode = [&members.libraries[..], slice::from_ref(&base)].concat();
    members.all = [&members.bitcode[..], &members.native].concat();
    Ok(match prepared {
        true => JitParts {
            host_inputs: vec![piece, location],
            bundle: Some(bundle),
        },
        false => JitParts::default(),
    })
}

/// What code for a GPU is made with at run time; `None`: the plan is for no GPU.
fn gpu_facts<'a>(plan: &'a TargetPlan<'_>, members: &MemberFiles) -> Option<GpuFacts<'a>> {
    let target = &plan.group.target;
    target.triple().is_gpu().then(|| {
        let mut runtime = members.libraries.clone();
        runtime.extend(device_libraries::runtime(&plan.options.linker, target));
        GpuFacts {
            processor: &target.arch,
            assembler_arguments: plan.options.assembler_arguments(),
            runtime,
        }
    })
}

/// Merges the group's bitcode to the image that the program holds, and adds what has the JIT library make
/// another of it.
///
/// # Errors
/// The group has other code, the bitcode cannot be read or merged, or a file cannot be written.
pub fn merge(
    plan: &TargetPlan<'_>,
    inputs: &[ScannedInput],
    image: &PathBuf,
    folder: &WorkFolder,
    runner: Runner,
) -> Result<JitParts> {
    let group = plan.group;
    check_all_bitcode(group, "--jit=only")?;
    if let Some(option) = plan.options.llvm.first() {
        runner.say(&format!(
            "wrapgen: warning: --jit=only keeps no options for LLVM, such as '{}': the image for {} is made when the program starts, \
             without them; link with --jit",
            option.display(),
            group.target.triple
        ));
    }
    let members = write_members(plan, inputs, folder, runner)?;
    let piece = folder.named(&group.target, HostPiece::Register.extension());
    let location = folder.named(&group.target, "jit.location.o");
    let step = group
        .step(Phase::PrepareJit)
        .reads(&members.bitcode)
        .makes([image, &piece, &location]);
    let bitcode: Vec<PathBuf> = members.bitcode_of_program().cloned().collect();
    let gpu = gpu_facts(plan, &members);
    let asked_for: Vec<_> = names_in_entries(inputs)?.into_iter().collect();
    runner.step(&step, || {
        jit::merge(&bitcode, image, &asked_for, plan.facts, gpu.as_ref(), runner)?;
        write_jit_objects(HostPiece::Register, &piece, &location, runner)
    })?;
    Ok(JitParts {
        host_inputs: vec![piece, location],
        bundle: None,
    })
}

/// Writes the objects that connect the program with the JIT library.
fn write_jit_objects(which: HostPiece, piece: &Path, location: &Path, runner: Runner) -> Result<()> {
    if runner.shows_commands() {
        let mut command = LinkStep::command("jit-objects", [piece, location])?;
        command.arg(format!("--piece={}", which.name()));
        runner.print(&command);
    }
    match runner.dry_run {
        true => Ok(()),
        false => jit::write_host_objects(which, piece, location),
    }
}
