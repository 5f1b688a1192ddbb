//! The device link for the host's own instructions: the shared library that libomptarget opens.
//!
//! lld is run directly: starting Clang only to have it start the linker would double the time. Start files
//! and libraries are those that the host link names. Only options that nobody but Clang can read have Clang
//! start the linker.

use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use offloom_abi::HostProcessor;

use super::super::command_line::{CommandLine, Role};
use super::super::device_options::DeviceOptions;
use super::super::group::Group;
use super::super::library_search::LibrarySearch;
use super::super::linker_script;
use super::super::work_folder::WorkFolder;
use super::sanitizer_runtime;
use crate::error::{Error, Result};
use crate::inputs::{InputFile, InputKind};
use crate::toolchain;

/// The command with which lld links objects to `image`. With `compiles_bitcode`, there is bitcode among the
/// inputs, which takes LLVM's own linker.
///
/// # Errors
/// There is no linker, or the files that frame a shared library are not found.
pub(super) fn lld_command(
    group: &Group<'_>,
    inputs: &[PathBuf],
    line: &CommandLine,
    folder: &WorkFolder,
    image: &Path,
    compiles_bitcode: bool,
) -> Result<Command> {
    let start_files = StartFiles::find(line, &group.target.triple)?;
    let mut command = Command::new(match compiles_bitcode {
        true => toolchain::llvm_program("ld.lld")?,
        false => device_linker(line)?,
    });
    command.args(["-shared", "-Bsymbolic", "--hash-style=gnu", "--eh-frame-hdr"]);
    if must_define_all(line) {
        command.arg("--no-undefined");
    }
    if size_of_code(group) < SIZE_WORTH_THREADS {
        command.arg("--threads=1");
    }
    if let Some(place) = folder.image_place() {
        command.arg(place.option());
    }
    let device = DeviceOptions::new(&line.options, &group.target.triple);
    if compiles_bitcode {
        command.args(device.lto_words());
        if line.options.embed_bitcode {
            command.arg("--lto-emit-llvm");
        }
    }
    let processor = group.target.host_processor().unwrap_or(HostProcessor::NATIVE);
    command.args(["-m", processor.linker_emulation, "-o"]).arg(image);
    command.arg(&start_files.crti).arg(&start_files.crtbegin);
    command.args(inputs).args(library_words(line)?);
    for folder in &start_files.folders_of_clang {
        command.arg("-L").arg(folder);
    }
    command.args(device.linker);
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

/// The command with which Clang does the same, and reads its own options.
///
/// # Errors
/// There is no Clang, or a library cannot be read.
pub(super) fn clang_command(
    group: &Group<'_>,
    inputs: &[PathBuf],
    line: &CommandLine,
    image: &Path,
) -> Result<Command> {
    let target = &group.target;
    let device = DeviceOptions::new(&line.options, &target.triple);
    let mut command = Command::new(toolchain::llvm_program("clang")?);
    command.args(["--no-default-config", "-o"]).arg(image);
    // What the link writes besides, such as records of optimisations, has names that start like this in
    // LLVM's linker wrapper.
    let output = line.output();
    let mut names = OsString::from(output.file_name().unwrap_or_default());
    names.push(format!(".{}.{}.img.", target.architecture(), target.image_arch()));
    command.arg("-dumpdir").arg(names);
    command.arg(format!("--target={}", target.triple));
    // For what Clang adds, the linker's own among the libraries' words comes too late.
    command.args(sysroot_option(line));
    command.args(["-fuse-ld=lld", "-shared", "-Wl,-Bsymbolic"]);
    if must_define_all(line) {
        command.arg("-Wl,--no-undefined");
    }
    if group.has_bitcode() {
        command.arg("-flto");
    }
    let mut linker = device.lto_words();
    if line.options.embed_bitcode {
        linker.push("--lto-emit-llvm".into());
    }
    command.args(inputs);
    linker.extend(library_words(line)?);
    linker.extend(device.linker);
    // Clang's own libraries follow.
    linker.push("-Bdynamic".into());
    for word in linker {
        command.arg("-Xlinker").arg(word);
    }
    command.args(device.for_clang);
    Ok(command)
}

/// Whether an image must have a definition of each name that it uses, in itself or in a library that it
/// names.
///
/// Not the image of an object to be linked again: it is linked without libraries, and finds them in the
/// program that loads it. Nor one in a program with a sanitizer, whose functions are the program's own.
fn must_define_all(line: &CommandLine) -> bool {
    !line.options.relocatable && sanitizer_runtime::of_program(line).is_none()
}

/// The libraries of the host link, and where they are found: device code calls the same functions.
fn library_words(line: &CommandLine) -> Result<Vec<OsString>> {
    let mut words: Vec<OsString> = Vec::new();
    let search = LibrarySearch::new(line);
    words.extend(sysroot_option(line));
    // Not `--whole-archive`, which would bring in the host's own objects and their constructors.
    for argument in &line.host {
        match &argument.role {
            // Not `-static`: an image is a shared library also where the program is none that loads any.
            Role::LibraryPath(_)
            | Role::Library(_)
            | Role::RunPath(_)
            | Role::Static(_)
            | Role::AsNeeded
            | Role::PushState
            | Role::PopState => words.extend_from_slice(&argument.words),
            // Each instrumented image writes a profile of its own, once something asks for the code that does
            // so.
            Role::Undefined(name) if name == sanitizer_runtime::PROFILE_WRITER => {
                words.extend_from_slice(&argument.words);
            }
            Role::Input(path) if sanitizer_runtime::belongs_to_program(path) => {}
            Role::Input(path) if is_library(path, &search, 0)? => words.extend_from_slice(&argument.words),
            _ => {}
        }
    }
    for folder in search.needed_own_folders() {
        words.extend(["-L".into(), folder.into()]);
    }
    Ok(words)
}

/// `--sysroot=`, as the host link has it.
fn sysroot_option(line: &CommandLine) -> Option<OsString> {
    let sysroot = line.options.sysroot.as_ref()?;
    let mut option = OsString::from("--sysroot=");
    option.push(sysroot);
    Some(option)
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

/// The files that frame the link of a shared library.
struct StartFiles {
    crti: PathBuf,
    crtbegin: PathBuf,
    crtend: PathBuf,
    crtn: PathBuf,
    /// Where Clang looks for libraries; empty where the host link says where they are.
    folders_of_clang: Vec<PathBuf>,
}

impl StartFiles {
    /// Finds them beside those of the host link, which may be of the kinds for executables, else in its
    /// library folders, else where Clang looks for them: a host link that Clang did not write, such as one
    /// with `-r`, may name neither.
    fn find(line: &CommandLine, triple: &str) -> Result<Self> {
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
        let of_clang = OnceCell::new();
        let find = |name: &str, folder: &Option<PathBuf>| {
            let searched = line.host.iter().filter_map(|argument| match &argument.role {
                Role::LibraryPath(folder) => Some(PathBuf::from(folder)),
                _ => None,
            });
            let mut folders = folder.iter().cloned().chain(searched);
            let is_there = |folder: PathBuf| Some(folder.join(name)).filter(|path| path.is_file());
            let found = folders.find_map(is_there).or_else(|| {
                let folders = of_clang.get_or_init(|| folders_of_clang(line, triple));
                folders.iter().cloned().find_map(is_there)
            });
            found.ok_or_else(|| {
                Error::Usage(format!(
                    "cannot find '{name}', which a device image starts or ends with: it is neither beside the start \
                     files of the host link, nor in a folder given by -L, nor where Clang looks for it"
                ))
            })
        };
        Ok(Self {
            crti: find("crti.o", &libc)?,
            crtbegin: find("crtbeginS.o", &gcc)?,
            crtend: find("crtendS.o", &gcc)?,
            crtn: find("crtn.o", &libc)?,
            folders_of_clang: of_clang.into_inner().unwrap_or_default(),
        })
    }
}

/// The folders in which Clang looks for start files and libraries; none without Clang.
fn folders_of_clang(line: &CommandLine, triple: &str) -> Vec<PathBuf> {
    let Some(clang) = toolchain::find_llvm_program("clang") else {
        return Vec::new();
    };
    let mut command = Command::new(clang);
    command.args(["--no-default-config", "-print-search-dirs"]);
    command.arg(format!("--target={triple}"));
    command.args(sysroot_option(line));
    let Ok(output) = command.output() else {
        return Vec::new();
    };
    let lines = output.stdout.split(|&byte| byte == b'\n');
    let folders = lines.filter_map(|line| line.strip_prefix(b"libraries: ="));
    folders
        .flat_map(|folders| folders.split(|&byte| byte == b':'))
        .map(|folder| PathBuf::from(OsStr::from_bytes(folder)))
        .collect()
}

/// Whether an input of the host link is a library that device code may use, too: an archive, a shared
/// library, or a linker script that names such files alone.
fn is_library(path: &Path, search: &LibrarySearch<'_>, depth: usize) -> Result<bool> {
    let object = path.extension() == Some(OsStr::new("o"));
    if object || !path.is_file() {
        return Ok(false);
    }
    let mut start = Vec::new();
    let file = File::open(path).map_err(Error::read(path))?;
    file.take(64).read_to_end(&mut start).map_err(Error::read(path))?;
    match InputKind::of(&start) {
        InputKind::Archive | InputKind::ThinArchive | InputKind::Linked => Ok(true),
        InputKind::Unknown if depth < linker_script::MAX_DEPTH => is_script_of_libraries(path, search, depth),
        _ => Ok(false),
    }
}

/// Whether `path` is a linker script that names libraries, and no objects: those are the host's own.
fn is_script_of_libraries(path: &Path, search: &LibrarySearch<'_>, depth: usize) -> Result<bool> {
    let Some(script) = InputFile::open_if_regular(path)? else {
        return Ok(false);
    };
    let inputs = linker_script::inputs(script.bytes());
    for input in &inputs {
        match search.named_in(path, input, false) {
            Some(named) if is_library(&named, search, depth + 1)? => {}
            _ => return Ok(false),
        }
    }
    Ok(!inputs.is_empty())
}
