//! Phase 3: brings the members of a group to files that the device linker takes, compiling bitcode.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::slice;

use offloom_abi::OffloadKind;

use super::command_line::{CommandLine, JitForm, Options};
use super::device_link::device_libraries;
use super::device_options::DeviceOptions;
use super::device_symbols::names_shared_with_native_code;
use super::embedded_files::{input_word, takes_parts};
use super::group::{Group, is_assembly};
use super::link_step::LinkStep;
use super::scan::ScannedInput;
use super::target::{DeviceLinker, Target};
use super::work_folder::WorkFolder;
use crate::bitcode_tool::BitcodeTool;
use crate::error::{Error, Result};
use crate::inputs::{EmbeddedMember, bitcode_symbols, is_bitcode};
use crate::jit::{self, GpuFacts, HostPiece};
use crate::process::Runner;
use crate::steps::Phase;
use crate::toolchain;

/// What the rest of the link gets from a group.
#[derive(Debug, Default)]
pub struct Compiled {
    /// The image, where that is bitcode and compiling made it already.
    pub bitcode_image: Option<PathBuf>,
    /// Objects for the device link.
    pub device_inputs: Vec<PathBuf>,
    /// Objects and libraries to add to the host link.
    pub host_inputs: Vec<PathBuf>,
    /// The bundle that the registration object announces to the JIT library.
    pub jit_bundle: Option<PathBuf>,
    /// Whether the JIT library makes the image when the program starts.
    pub image_at_start: bool,
}

/// Compiles a group.
///
/// Bitcode hides what neither the host program nor native code of the image nor a library among `inputs` can
/// ask for, so that it can be optimised as a whole. With `--jit`, bitcode goes through the job that makes
/// dispatch stubs, anchors and the bundle first; with `--jit=only` it is only merged.
///
/// # Errors
/// A member cannot be written, or compiling failed.
pub fn compile(
    group: &Group<'_>,
    inputs: &[ScannedInput],
    line: &CommandLine,
    folder: &WorkFolder,
    runner: Runner,
) -> Result<Compiled> {
    let options = &line.options;
    let jit = jit_form(group, options)?;
    if options.embed_bitcode {
        check_all_bitcode(group, "--embed-bitcode (-fopenmp-target-jit of Clang)")?;
    }
    if jit == Some(JitForm::Only) {
        check_all_bitcode(group, "--jit=only")?;
    }
    let mut members = write_members(group, inputs, options, folder, runner)?;
    let kept_names = kept_names(group, inputs, options, &members)?;
    let mut compiled = Compiled::default();
    match jit {
        Some(JitForm::Only) => {
            merge_for_jit(group, line, folder, runner, &members, &mut compiled)?;
            return Ok(compiled);
        }
        Some(JitForm::WithImage) => {
            let kept_names = kept_names.as_deref();
            prepare_for_jit(
                group,
                line,
                folder,
                runner,
                kept_names,
                &mut members,
                &mut compiled,
            )?;
        }
        None => {}
    }
    if group.linker(options).takes_bitcode() {
        compiled.device_inputs = members.all;
        return Ok(compiled);
    }
    compiled.device_inputs = std::mem::take(&mut members.native);
    if let Some(kept_names) = kept_names {
        let compiled_file = match options.embed_bitcode {
            true => folder.image(&group.target, true),
            false => folder.named(&group.target, "lto.o"),
        };
        let mut command = Command::new(BitcodeTool::find()?.program());
        command
            .arg("lto")
            .arg(format!("--opt-level={}", optimization_level(group, options)));
        if options.embed_bitcode {
            command.arg("--emit-bitcode");
        }
        jit::add_kept_names(&mut command, &kept_names);
        command.arg("-o").arg(&compiled_file).args(&members.bitcode);
        let step = group
            .step(Phase::Lto)
            .reads(&members.bitcode)
            .makes([&compiled_file]);
        runner.step(&step, || runner.run(&mut command))?;
        match options.embed_bitcode {
            true => compiled.bitcode_image = Some(compiled_file),
            false => compiled.device_inputs.insert(0, compiled_file),
        }
    }
    Ok(compiled)
}

/// What the JIT is to do with the group. Code of another processor than the host's stays as it is: no device
/// of libomptarget's runs it.
fn jit_form(group: &Group<'_>, options: &Options) -> Result<Option<JitForm>> {
    let target = &group.target;
    let is_known = jit::supports(&target.triple)
        && (jit::is_gpu(&target.triple) || target.is_host(options.host_triple()))
        && group.kinds().any(|kind| kind == OffloadKind::OpenMp);
    let form = options.jit.filter(|_| is_known);
    if form.is_some() {
        jit::check_host(options.host_triple())?;
    }
    Ok(form)
}

/// The names of the group's bitcode that stay visible. None where there is no bitcode, or where the device
/// linker takes it as it is.
fn kept_names(
    group: &Group<'_>,
    inputs: &[ScannedInput],
    options: &Options,
    members: &MemberFiles,
) -> Result<Option<Vec<OsString>>> {
    if members.bitcode.is_empty() || group.linker(options).takes_bitcode() {
        return Ok(None);
    }
    let names = names_shared_with_native_code(&group.members, inputs)?;
    Ok(Some(names.into_iter().map(OsString::from_vec).collect()))
}

/// The first of the group's code that is no bitcode.
fn native_member<'g, 'a>(group: &'g Group<'a>) -> Option<&'g EmbeddedMember<'a>> {
    let mut members = group.members.iter();
    members.find(|found| !is_bitcode(found.member.image()))
}

/// In an image of bitcode, which `option` asks for, there is no place for native code. LLVM's wrapper leaves
/// it out without a word.
fn check_all_bitcode(group: &Group<'_>, option: &str) -> Result<()> {
    match native_member(group) {
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

/// Puts the base image's bitcode in the place of the group's, and adds what the JIT needs to the host link.
fn prepare_for_jit(
    group: &Group<'_>,
    line: &CommandLine,
    folder: &WorkFolder,
    runner: Runner,
    kept_names: Option<&[OsString]>,
    members: &mut MemberFiles,
    compiled: &mut Compiled,
) -> Result<()> {
    let bitcode: Vec<PathBuf> = members.bitcode_of_program().cloned().collect();
    if bitcode.is_empty() {
        runner.say(&format!(
            "wrapgen: warning: --jit has no device bitcode to work on for {}: compile with -foffload-lto",
            group.target.triple
        ));
        return Ok(());
    }
    if let Some(native) = native_member(group) {
        runner.say(&format!(
            "wrapgen: warning: --jit: the code of '{}' for {} is no bitcode: its kernels stay as they are; compile it with -foffload-lto",
            native.origin, group.target.triple
        ));
    }
    let base = match group.linker(&line.options).takes_bitcode() {
        true => folder.named(&group.target, "jit.bitcode.o"),
        false => folder.named(&group.target, "jit.bc"),
    };
    let bundle = folder.named(&group.target, "jit");
    let files = jit::Preparation {
        bitcode: &bitcode,
        base: &base,
        bundle: &bundle,
        kept_names,
        facts: link_facts(group, line),
        gpu: gpu_facts(group, line, members),
        is_all_bitcode: native_member(group).is_none(),
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
    if prepared {
        compiled.host_inputs = vec![piece, location];
        compiled.jit_bundle = Some(bundle);
    }
    // LLVM links modules that come with a summary, as Clang's do and this one does not, behind those without.
    // What the optimiser does to functions of the device runtime depends on the order.
    members.bitcode = [&members.libraries[..], slice::from_ref(&base)].concat();
    members.all = [&members.bitcode[..], &members.native].concat();
    Ok(())
}

/// What code for a GPU is made with at run time; `None`: the group is for no GPU.
fn gpu_facts<'a>(group: &'a Group<'_>, line: &CommandLine, members: &MemberFiles) -> Option<GpuFacts<'a>> {
    jit::is_gpu(&group.target.triple).then(|| {
        let device = DeviceOptions::new(&line.options, &group.target.triple);
        let mut runtime = members.libraries.clone();
        runtime.extend(device_libraries::runtime(&device.linker, &group.target));
        GpuFacts {
            processor: &group.target.arch,
            assembler_arguments: assembler_arguments(group, &line.options),
            runtime,
        }
    })
}

/// What variants are assembled with, as far as the image's code is.
fn assembler_arguments(group: &Group<'_>, options: &Options) -> Vec<OsString> {
    let device = DeviceOptions::new(options, &group.target.triple);
    let given = device.ptxas.iter().map(|&argument| argument.to_owned());
    let debug = device.debug.then(|| OsString::from("-lineinfo"));
    given.chain(debug).collect()
}

/// Merges the group's bitcode to the image that the program holds, and adds what has the JIT library make
/// another of it.
fn merge_for_jit(
    group: &Group<'_>,
    line: &CommandLine,
    folder: &WorkFolder,
    runner: Runner,
    members: &MemberFiles,
    compiled: &mut Compiled,
) -> Result<()> {
    let image = folder.image(&group.target, true);
    let piece = folder.named(&group.target, HostPiece::Register.extension());
    let location = folder.named(&group.target, "jit.location.o");
    let step = group
        .step(Phase::PrepareJit)
        .reads(&members.bitcode)
        .makes([&image, &piece, &location]);
    let bitcode: Vec<PathBuf> = members.bitcode_of_program().cloned().collect();
    let gpu = gpu_facts(group, line, members);
    runner.step(&step, || {
        jit::merge(&bitcode, &image, link_facts(group, line), gpu.as_ref(), runner)?;
        write_jit_objects(HostPiece::Register, &piece, &location, runner)
    })?;
    compiled.host_inputs = vec![piece, location];
    compiled.image_at_start = true;
    compiled.bitcode_image = Some(image);
    Ok(())
}

fn link_facts(group: &Group<'_>, line: &CommandLine) -> jit::LinkFacts {
    jit::LinkFacts {
        optimization_level: optimization_level(group, &line.options),
        own_unwinder: line.has_own_unwinder(),
    }
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
    fn bitcode_of_program(&self) -> impl Iterator<Item = &PathBuf> {
        self.bitcode.iter().filter(|file| !self.libraries.contains(file))
    }
}

/// A function that the OpenMP device runtime of every LLVM defines, and nobody else does.
const OF_DEVICE_RUNTIME: &[u8] = b"__kmpc_target_init";

/// Whether a member of a GPU's image is the device runtime, or a library that an option names: what variants
/// are linked with once they are specialised. LLVM 19 has the runtime in a static library of the host link's
/// command line, later releases in one of the device link.
fn is_device_library(found: &EmbeddedMember<'_>, options: &Options) -> Result<bool> {
    let image = found.member.image();
    if options.jit.is_none() || !is_bitcode(image) {
        return Ok(false);
    }
    if is_library(found, options) {
        return Ok(true);
    }
    let symbols = bitcode_symbols(&found.origin, image)?;
    Ok(symbols
        .iter()
        .any(|symbol| !symbol.undefined && symbol.name == OF_DEVICE_RUNTIME))
}

/// Whether a member is a library that an option names.
fn is_library(found: &EmbeddedMember<'_>, options: &Options) -> bool {
    let mut libraries = options.bitcode_libraries.iter();
    libraries.any(|library| library.path == found.origin.path)
}

/// Writes each member's image to a file, in the order of the inputs. Native ones that the device linker can
/// read where they lie stay there.
///
/// # Errors
/// A file cannot be written.
pub fn write_members(
    group: &Group<'_>,
    inputs: &[ScannedInput],
    options: &Options,
    folder: &WorkFolder,
    runner: Runner,
) -> Result<MemberFiles> {
    // `nvlink` goes by the name, and Clang would compile `.bc` by itself instead of handing it to the link.
    let linker = group.linker(options);
    let bitcode = if linker.takes_bitcode() { "bitcode.o" } else { "bc" };
    let native = if linker == DeviceLinker::Nvptx {
        "cubin"
    } else {
        "o"
    };
    let mut files = MemberFiles::default();
    let mut origins = Vec::new();
    let mut written = Vec::new();
    let by_path: HashMap<_, _> = match takes_parts(group, options, runner) {
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
        if jit::is_gpu(&group.target.triple) && is_device_library(found, options)? {
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
        members.try_for_each(|(found, path)| write_member(found, path, options, folder, runner))
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
    options: &Options,
    folder: &WorkFolder,
    runner: Runner,
) -> Result<()> {
    if runner.shows_commands() {
        let origin = found.origin.path;
        if is_library(found, options) {
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

/// What stands behind `-O`, as the driver of each release passes it for the group's target.
fn optimization_level(group: &Group<'_>, options: &Options) -> u8 {
    DeviceOptions::new(options, &group.target.triple)
        .level
        .unwrap_or(DEFAULT_LEVEL)
}

/// The level of a link that is told none.
const DEFAULT_LEVEL: u8 = 2;
