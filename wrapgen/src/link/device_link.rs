//! Phase 4: links a group's objects to a device image.
//!
//! A device that runs the host's own instructions is linked by lld directly, as the shared library that libomptarget opens:
//! starting Clang only to have it start the linker would double the time. Its start files and libraries are those that the host
//! link names. GPUs have a module each. Any other device is linked by Clang, which knows the tools of each.

mod amdgcn;
mod device_libraries;
mod nvptx;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::command_line::{CommandLine, Role};
use super::device_options::DeviceOptions;
use super::group::Group;
use super::library_search::LibrarySearch;
use super::target::{DeviceLinker, Target};
use super::work_folder::WorkFolder;
use crate::error::{Error, Result};
use crate::inputs::InputKind;
use crate::process::Runner;
use crate::toolchain;

/// Links `inputs` and returns the image's file.
///
/// # Errors
/// A tool is missing or fails.
pub fn link_device(
    group: &Group<'_>,
    inputs: &[PathBuf],
    line: &CommandLine,
    folder: &WorkFolder,
    runner: Runner,
) -> Result<PathBuf> {
    let bitcode = line.options.embed_bitcode;
    let image = folder.image(&group.target, bitcode);
    let device = DeviceOptions::new(&line.options, &group.target.triple);
    let mut command = match group.target.linker(line.options.host_triple()) {
        DeviceLinker::HostLike => host_like_link(group, inputs, line, folder, &image)?,
        DeviceLinker::Amdgcn if !device.needs_clang => {
            amdgcn::command(&group.target, inputs, &device, &image, bitcode, runner)?
        }
        DeviceLinker::Nvptx => {
            nvptx::link(group, inputs, &line.options, folder, &image, runner)?;
            return Ok(image);
        }
        DeviceLinker::Amdgcn | DeviceLinker::Clang => {
            clang_link(&group.target, inputs, line, &image, runner)?
        }
    };
    runner.run(&mut command)?;
    Ok(image)
}

/// The command that links for a device of the host's own kind.
fn host_like_link(
    group: &Group<'_>,
    inputs: &[PathBuf],
    line: &CommandLine,
    folder: &WorkFolder,
    image: &Path,
) -> Result<Command> {
    let start_files = StartFiles::find(line)?;
    let mut command = Command::new(device_linker(line)?);
    command.args(["-shared", "-Bsymbolic", "--hash-style=gnu", "--eh-frame-hdr"]);
    // An object to be linked again is linked without libraries: its images find theirs in the program that loads them.
    if !line.options.relocatable {
        command.arg("--no-undefined");
    }
    if size_of_code(group) < SIZE_WORTH_THREADS {
        command.arg("--threads=1");
    }
    if let Some(place) = folder.image_place() {
        command.arg(place.option());
    }
    command.args(["-m", "elf_x86_64", "-o"]).arg(image);
    command.arg(&start_files.crti).arg(&start_files.crtbegin);
    command.args(inputs);
    if let Some(sysroot) = &line.options.sysroot {
        let mut option = OsString::from("--sysroot=");
        option.push(sysroot);
        command.arg(option);
    }
    // Libraries as the host link has them: device code calls the same functions. But not `--whole-archive`, which would
    // bring in the host's own objects and their constructors.
    for argument in &line.host {
        match &argument.role {
            // Not `-static`: an image is a shared library also where the program is none that loads any.
            Role::LibraryPath(_)
            | Role::Library(_)
            | Role::RunPath(_)
            | Role::Static(_)
            | Role::AsNeeded
            | Role::PushState
            | Role::PopState => {
                command.args(&argument.words);
            }
            Role::Input(path) if is_library(path)? => {
                command.args(&argument.words);
            }
            _ => {}
        }
    }
    for folder in LibrarySearch::new(line).needed_own_folders() {
        command.arg("-L").arg(folder);
    }
    for argument in &line.options.device_linker {
        if argument.is_for(&group.target.triple) {
            command.arg(&argument.value);
        }
    }
    // What Clang adds to every link.
    command.args([
        "-Bdynamic",
        "-lgcc",
        "--as-needed",
        "-lgcc_s",
        "--no-as-needed",
        "-lc",
        "-lgcc",
    ]);
    command.arg(&start_files.crtend).arg(&start_files.crtn);
    Ok(command)
}

/// Below so many bytes of device code, starting the linker's threads takes longer than they save.
const SIZE_WORTH_THREADS: usize = 1 << 20;

fn size_of_code(group: &Group<'_>) -> usize {
    let members = group.members.iter();
    members.map(|found| found.member.image().len()).sum()
}

/// LLVM's linker; where it is not installed, the one of the host link does as well.
fn device_linker(line: &CommandLine) -> Result<PathBuf> {
    match (toolchain::find_device_linker(), &line.options.linker_path) {
        (Some(linker), _) => Ok(linker),
        (None, Some(linker)) => Ok(linker.clone()),
        (None, None) => toolchain::llvm_program("ld.lld"),
    }
}

/// The command that has Clang link for a device it knows.
fn clang_link(
    target: &Target,
    inputs: &[PathBuf],
    line: &CommandLine,
    image: &Path,
    runner: Runner,
) -> Result<Command> {
    let mut command = Command::new(toolchain::llvm_program("clang")?);
    command.args(["--no-default-config", "-o"]).arg(image);
    command.arg(format!("--target={}", target.triple));
    if !target.arch.is_empty() {
        let option = if target.triple.starts_with("amdgcn") {
            "-mcpu"
        } else {
            "-march"
        };
        command.arg(format!("{option}={}", target.arch));
    }
    if let Some(path) = &line.options.cuda_path {
        let mut option = OsString::from("--cuda-path=");
        option.push(path);
        command.arg(option);
    }
    if target.triple.starts_with("amdgcn") {
        // Its objects are bitcode unless somebody asks for others.
        command.args(["-flto", "-Wl,--no-undefined"]);
    }
    if line.options.embed_bitcode {
        command.arg("-Wl,--lto-emit-llvm");
    }
    command.args(inputs);
    let device = DeviceOptions::new(&line.options, &target.triple);
    for word in device_libraries::without_missing_runtime(&device.linker, target, runner) {
        command.arg("-Xlinker").arg(word);
    }
    command.args(device.compiler);
    Ok(command)
}

/// The files that frame the link of a shared library.
struct StartFiles {
    crti: PathBuf,
    crtbegin: PathBuf,
    crtend: PathBuf,
    crtn: PathBuf,
}

impl StartFiles {
    /// Finds them beside those of the host link, which may be of the kinds for executables, else in its library folders.
    fn find(line: &CommandLine) -> Result<Self> {
        let inputs = || {
            line.host.iter().filter_map(|argument| match &argument.role {
                Role::Input(path) => Some(path.as_path()),
                _ => None,
            })
        };
        let beside = |names: &[&str]| {
            let file = inputs().find(|path| {
                path.file_name()
                    .is_some_and(|name| names.iter().any(|known| name == *known))
            });
            file.and_then(Path::parent).map(Path::to_owned)
        };
        let gcc = beside(&["crtbeginS.o", "crtbegin.o", "crtbeginT.o"]);
        let libc = beside(&["crti.o", "Scrt1.o", "crt1.o"]);
        let find = |name: &str, folder: &Option<PathBuf>| {
            let searched = line.host.iter().filter_map(|argument| match &argument.role {
                Role::LibraryPath(folder) => Some(PathBuf::from(folder)),
                _ => None,
            });
            let mut folders = folder.iter().cloned().chain(searched);
            folders.find_map(|folder| Some(folder.join(name)).filter(|path| path.is_file())).ok_or_else(|| {
                Error::Usage(format!(
                    "cannot find '{name}', which a device image starts or ends with: it is neither beside the start \
                     files of the host link nor in a folder given by -L"
                ))
            })
        };
        Ok(Self {
            crti: find("crti.o", &libc)?,
            crtbegin: find("crtbeginS.o", &gcc)?,
            crtend: find("crtendS.o", &gcc)?,
            crtn: find("crtn.o", &libc)?,
        })
    }
}

/// Whether an input of the host link is a library that device code may use, too: an archive or a shared library.
fn is_library(path: &Path) -> Result<bool> {
    let object = path.extension() == Some(OsStr::new("o"));
    if object || !path.is_file() {
        return Ok(false);
    }
    let mut start = Vec::new();
    let file = File::open(path).map_err(Error::read(path))?;
    file.take(64).read_to_end(&mut start).map_err(Error::read(path))?;
    Ok(matches!(
        InputKind::of(&start),
        InputKind::Archive | InputKind::ThinArchive | InputKind::Linked
    ))
}
