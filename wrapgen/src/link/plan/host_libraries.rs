//! The libraries of the host link, for device images of the host's own instructions: device code calls the
//! same functions.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::super::host_command::{HostCommand, Role};
use super::super::library_search::LibrarySearch;
use super::super::linker_script::{self, Script};
use super::super::scan::kind_by_start;
use super::sanitizer_runtime;
use crate::error::Result;
use crate::inputs::{InputFile, InputKind};

/// What an image for the host's own instructions is linked with.
#[derive(Debug)]
pub struct HostLibraries {
    /// `--sysroot=`, as the host link has it.
    pub sysroot: Option<OsString>,
    /// For a linker: libraries, and where they are found.
    pub words: Vec<OsString>,
    /// Whether the image must have a definition of each name that it uses.
    pub must_define_all: bool,
}

impl HostLibraries {
    /// Those of the host link; `relocatable` says whether it makes an object to be linked again.
    ///
    /// # Errors
    /// An input cannot be read.
    pub(super) fn find(host: &HostCommand, relocatable: bool) -> Result<Self> {
        Ok(Self {
            sysroot: host.sysroot_option(),
            words: words(host)?,
            must_define_all: must_define_all(host, relocatable),
        })
    }
}

/// Whether an image must have a definition of each name that it uses, in itself or in a library that it
/// names.
///
/// Not the image of an object to be linked again: it is linked without libraries, and finds them in the
/// program that loads it. Nor one in a program with a sanitizer, whose functions are the program's own.
fn must_define_all(host: &HostCommand, relocatable: bool) -> bool {
    !relocatable && sanitizer_runtime::of_program(host).is_none()
}

/// Libraries, and where they are found.
fn words(host: &HostCommand) -> Result<Vec<OsString>> {
    let mut words: Vec<OsString> = Vec::new();
    let search = LibrarySearch::new(host);
    words.extend(host.sysroot_option());
    // Not `--whole-archive`, which would bring in the host's own objects and their constructors.
    for argument in &host.arguments {
        match &argument.role {
            // Not `-static`: an image is a shared library also where the program is none that loads any.
            Role::LibraryPath(_)
            | Role::Library(_)
            | Role::RunPath(_)
            | Role::Static(_)
            | Role::AsNeeded(_)
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

/// Whether an input of the host link is a library that device code may use, too: an archive, a shared
/// library, or a linker script that names such files alone.
fn is_library(path: &Path, search: &LibrarySearch<'_>, depth: usize) -> Result<bool> {
    let object = path.extension() == Some(OsStr::new("o"));
    if object || !path.is_file() {
        return Ok(false);
    }
    match kind_by_start(path)? {
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
    let inputs = Script::parse(script.bytes()).inputs;
    for named in &inputs {
        match search.named_in(path, &named.input, false) {
            Some(named) if is_library(&named, search, depth + 1)? => {}
            _ => return Ok(false),
        }
    }
    Ok(!inputs.is_empty())
}
