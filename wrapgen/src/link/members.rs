//! Phase 3, first half: the members of a group as files that the tools take.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::embedded_files::input_word;
use super::group::is_assembly;
use super::plan::TargetPlan;
use super::scan::ScannedInput;
use super::target::{DeviceLinker, Target};
use super::work_folder::WorkFolder;
use crate::error::Result;
use crate::inputs::{EmbeddedMember, bitcode_symbols, is_bitcode};
use crate::process::Runner;
use crate::steps::Phase;
use crate::toolchain;

/// The members of a group as files.
#[derive(Debug, Default)]
pub struct MemberFiles {
    /// Bitcode files.
    pub bitcode: Vec<PathBuf>,
    /// Everything else.
    pub native: Vec<PathBuf>,
    /// Both, in the order of the inputs.
    pub all: Vec<PathBuf>,
    /// Those of a GPU's bitcode files that are the device runtime, or libraries that options name.
    pub libraries: Vec<PathBuf>,
}

impl MemberFiles {
    /// The bitcode that is no library's.
    pub fn bitcode_of_program(&self) -> impl Iterator<Item = &PathBuf> {
        self.bitcode.iter().filter(|file| !self.libraries.contains(file))
    }
}

/// A function that the OpenMP device runtime of every LLVM defines, and nobody else does.
const OF_DEVICE_RUNTIME: &[u8] = b"__kmpc_target_init";

/// Whether a member of a GPU's image is the device runtime, or a library that an option names: what variants
/// are linked with once they are specialised. LLVM 19 has the runtime in a static library of the host link's
/// command line, later releases in one of the device link.
fn is_device_library(found: &EmbeddedMember<'_>, plan: &TargetPlan<'_>) -> Result<bool> {
    let image = found.member.image();
    if !plan.is_for_jit() || !is_bitcode(image) {
        return Ok(false);
    }
    if is_library(found, plan) {
        return Ok(true);
    }
    let symbols = bitcode_symbols(&found.origin, image)?;
    Ok(symbols
        .iter()
        .any(|symbol| !symbol.undefined && symbol.name == OF_DEVICE_RUNTIME))
}

/// Whether a member is a library that an option names.
fn is_library(found: &EmbeddedMember<'_>, plan: &TargetPlan<'_>) -> bool {
    let mut libraries = plan.bitcode_libraries.iter();
    libraries.any(|library| library.path == found.origin.path)
}

/// Writes each member's image to a file, in the order of the inputs. Native ones that the device linker can
/// read where they lie stay there.
///
/// # Errors
/// A file cannot be written.
pub fn write_members(
    plan: &TargetPlan<'_>,
    inputs: &[ScannedInput],
    folder: &WorkFolder,
    runner: Runner,
) -> Result<MemberFiles> {
    let (group, linker) = (plan.group, plan.linker);
    // `nvlink` goes by the name, and Clang would compile `.bc` by itself instead of handing it to the link.
    let bitcode = if linker.takes_bitcode() { "bitcode.o" } else { "bc" };
    let native = if linker == DeviceLinker::Nvptx {
        "cubin"
    } else {
        "o"
    };
    let mut files = MemberFiles::default();
    let mut origins = Vec::new();
    let mut written = Vec::new();
    let by_path: HashMap<_, _> = match plan.takes_parts {
        true => inputs
            .iter()
            .map(|input| (input.file().path(), input.file()))
            .collect(),
        false => HashMap::new(),
    };
    for (number, found) in group.members.iter().enumerate() {
        let image = found.member.image();
        let (list, extension) = match is_bitcode(image) {
            true => (&mut files.bitcode, bitcode),
            // Clang assembles it, by its name.
            false if linker == DeviceLinker::HostLikeByClang && is_assembly(found) => {
                (&mut files.native, "s")
            }
            false => (&mut files.native, native),
        };
        let file = by_path.get(found.origin.path).filter(|_| extension == native);
        if let Some(word) = file.and_then(|file| input_word(found, file)) {
            list.push(word.clone());
            files.all.push(word);
            continue;
        }
        let origin = found.origin.member.map_or(found.origin.path, Path::new);
        let path = folder.member(origin, &group.target, number, extension);
        runner.name_copy(&path, || name_of_member(found));
        list.push(path.clone());
        files.all.push(path.clone());
        if group.target.triple().is_gpu() && is_device_library(found, plan)? {
            files.libraries.push(path.clone());
        }
        origins.push(found.origin.path.to_owned());
        written.push((found, path));
    }
    if written.is_empty() {
        return Ok(files);
    }
    origins.dedup();
    let paths = written.iter().map(|(_, path)| path);
    let step = group.step(Phase::Extract).reads(&origins).makes(paths);
    runner.step(&step, || {
        let mut members = written.iter();
        members.try_for_each(|(found, path)| write_member(found, path, plan, folder, runner))
    })?;
    Ok(files)
}

/// What the copy of a member is to people.
fn name_of_member(found: &EmbeddedMember<'_>) -> String {
    let target = Target::of(found);
    format!("{} (for {})", found.origin, target.name())
}

/// Writes a member's image, which is what `wrapgen extract` does; a library that an option names is the image
/// itself.
fn write_member(
    found: &EmbeddedMember<'_>,
    path: &Path,
    plan: &TargetPlan<'_>,
    folder: &WorkFolder,
    runner: Runner,
) -> Result<()> {
    if runner.shows_commands() {
        let origin = found.origin.path;
        if is_library(found, plan) {
            runner.print(Command::new("cp").arg(origin).arg(path));
        } else {
            let mut command = Command::new(toolchain::program()?);
            command.arg("extract").arg(origin);
            command
                .arg(format!("--number={}", found.number))
                .arg("-o")
                .arg(path);
            runner.print(&command);
        }
    }
    match runner.dry_run {
        true => Ok(()),
        false => folder.write(path, found.member.image()),
    }
}
