//! Phase 1: opens the host linker's inputs and finds the device code in them.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::host_command::{HostCommand, Role};
use super::library_search::LibrarySearch;
use super::linker_script;
use crate::error::{Error, Result};
use crate::inputs::{EmbeddedMember, InputFile, InputKind};

/// The inputs of the host link that matter.
#[derive(Debug, Default)]
pub struct HostInputs {
    /// Objects and archives, in order.
    pub files: Vec<ScannedInput>,
    /// Shared libraries, which hold nothing that is linked into this program, but can refer to it.
    pub shared_libraries: Vec<PathBuf>,
}

/// An input of the host link that can hold device code, open.
#[derive(Debug)]
pub struct ScannedInput {
    file: InputFile,
    /// Whether its members are linked only if something needs them.
    lazy: bool,
}

impl ScannedInput {
    /// The file.
    pub fn file(&self) -> &InputFile {
        &self.file
    }

    /// Whether its members are linked only if something needs them.
    pub fn is_lazy(&self) -> bool {
        self.lazy
    }
}

/// Device code found in an input.
#[derive(Debug, Clone, Copy)]
pub struct DeviceCode<'a> {
    /// The code and what it is for.
    pub found: EmbeddedMember<'a>,
    /// Whether it comes from an archive, whose members are linked only if something needs them.
    pub lazy: bool,
}

/// Opens every object and archive among the inputs, also those that linker scripts name. Files of other kinds
/// hold nothing that is linked into this program.
///
/// # Errors
/// A library is not found, or a file cannot be read.
pub fn open_inputs(host: &HostCommand) -> Result<HostInputs> {
    let mut scan = Scan {
        search: LibrarySearch::new(host),
        inputs: HostInputs::default(),
        taken: HashSet::new(),
        state: LinkState::default(),
    };
    let mut saved = Vec::new();
    for role in host.roles() {
        match role {
            Role::WholeArchive(whole) => scan.state.whole_archive = *whole,
            Role::Static(on) => scan.state.prefer_archives = *on,
            Role::WholeProgramStatic => scan.state.prefer_archives = true,
            Role::Lib(open) => scan.state.in_lib = *open,
            Role::PushState => saved.push(scan.state),
            // More of these than of the others is the host linker's to report.
            Role::PopState => {
                let in_lib = scan.state.in_lib;
                scan.state = saved.pop().unwrap_or(scan.state);
                scan.state.in_lib = in_lib;
            }
            Role::Library(name) => {
                let path = scan.search.library(name, scan.state.prefer_archives)?;
                scan.add(&path, 0)?;
            }
            Role::Input(path) => scan.add(path, 0)?,
            _ => {}
        }
    }
    Ok(scan.inputs)
}

/// What decides how the host linker takes the files that follow; `--push-state` saves it.
#[derive(Debug, Clone, Copy, Default)]
struct LinkState {
    whole_archive: bool,
    prefer_archives: bool,
    /// Between `--start-lib` and `--end-lib`, where objects are what members of an archive are.
    in_lib: bool,
}

struct Scan<'a> {
    search: LibrarySearch<'a>,
    inputs: HostInputs,
    /// Those taken so far, by the path that leads to them without links.
    taken: HashSet<PathBuf>,
    state: LinkState,
}

impl Scan<'_> {
    fn add(&mut self, path: &Path, depth: usize) -> Result<()> {
        // Mapping a whole shared library only to see that it is one would cost more than this.
        let may_be_shared = path
            .file_name()
            .is_some_and(|name| name.as_bytes().windows(3).any(|part| part == b".so"));
        if may_be_shared && path.is_file() && kind_by_start(path)? == InputKind::Linked {
            self.inputs.shared_libraries.push(path.to_owned());
            return Ok(());
        }
        // The host linker has its own words for a missing file, and knows inputs that are none of our
        // business.
        let Some(file) = InputFile::open_if_regular(path)? else {
            return Ok(());
        };
        match file.kind() {
            InputKind::Linked => self.inputs.shared_libraries.push(path.to_owned()),
            InputKind::Archive | InputKind::ThinArchive => self.take(file, !self.state.whole_archive),
            InputKind::Object | InputKind::Bitcode => self.take(file, self.state.in_lib),
            // What the packager wrote, as HIP without relocatable device code has it.
            InputKind::OffloadBinary => self.take(file, false),
            InputKind::Unknown if depth < linker_script::MAX_DEPTH => {
                for input in linker_script::inputs(file.bytes()) {
                    let found = self.search.named_in(path, &input, self.state.prefer_archives);
                    if let Some(found) = found {
                        self.add(&found, depth + 1)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn take(&mut self, file: InputFile, lazy: bool) {
        let path = fs::canonicalize(file.path()).unwrap_or_else(|_| file.path().to_owned());
        let is_new = self.taken.insert(path);
        // `-lgcc -lgcc_s -lc -lgcc`: a second time nothing new is found in it, nor in one that was taken
        // whole.
        if !lazy || is_new {
            self.inputs.files.push(ScannedInput { file, lazy });
        }
    }
}

/// The kind of a file, by its first bytes alone.
///
/// # Errors
/// It cannot be read.
pub(super) fn kind_by_start(path: &Path) -> Result<InputKind> {
    let mut start = Vec::new();
    let file = File::open(path).map_err(Error::read(path))?;
    file.take(64).read_to_end(&mut start).map_err(Error::read(path))?;
    Ok(InputKind::of(&start))
}

/// The device code in the inputs, in order.
///
/// # Errors
/// An input is malformed, or has code of a later LLVM.
pub fn device_code(inputs: &[ScannedInput]) -> Result<Vec<DeviceCode<'_>>> {
    let mut code = Vec::new();
    for input in inputs {
        let found = input.file.embedded()?;
        // Of archives' members, not all are linked: those are looked at when that is known.
        if let Some(later) = found.iter().find(|found| !input.lazy && found.is_of_later_llvm()) {
            return Err(Error::LaterDeviceCode {
                input: later.origin.to_string(),
            });
        }
        let found = found.into_iter().filter(|found| !found.linked);
        code.extend(found.map(|found| DeviceCode {
            found,
            lazy: input.lazy,
        }));
    }
    Ok(code)
}
