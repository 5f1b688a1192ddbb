//! Phase 1: opens the host linker's inputs and finds the device code in them.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::host_command::{HostCommand, Role};
use super::library_search::LibrarySearch;
use super::linker_script::{self, Script};
use crate::error::{Error, Result};
use crate::inputs::{EmbeddedMember, InputFile, InputKind};

/// The inputs of the host link that matter.
#[derive(Debug, Default)]
pub struct HostInputs {
    /// Objects and archives, in order. An archive that is named several times is here once.
    pub files: Vec<ScannedInput>,
    /// What the host linker meets on its way, as often as it does.
    pub met: Vec<Met>,
    /// Whether linker scripts among them do more than to name files.
    pub scripts_do_more: bool,
}

/// Something that the host linker meets among its inputs.
#[derive(Debug)]
pub struct Met {
    /// What.
    pub file: MetFile,
    /// What has the same number here is one group, whose archives are searched again and again.
    pub group: Option<usize>,
}

/// A file that the host linker meets.
#[derive(Debug)]
pub enum MetFile {
    /// An object or archive.
    File {
        /// Its place in [`HostInputs::files`].
        number: usize,
        /// Whether its members are linked, at this place, only if something needs them.
        lazy: bool,
    },
    /// A shared library, which holds nothing that is linked into this program, but defines symbols for it and
    /// can refer to it.
    SharedLibrary {
        /// Its path.
        path: PathBuf,
        /// Whether it counts only if something needs it.
        as_needed: bool,
    },
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
pub fn open_inputs(host: &HostCommand, relocatable: bool) -> Result<HostInputs> {
    let mut scan = Scan {
        search: LibrarySearch::new(host),
        inputs: HostInputs::default(),
        taken: HashMap::new(),
        state: LinkState::default(),
        // Where no program is linked, linkers have no use for a shared library.
        archives_only: relocatable,
        group: None,
        next_group: 0,
    };
    let mut saved = Vec::new();
    for role in host.roles() {
        match role {
            Role::WholeArchive(whole) => scan.state.whole_archive = *whole,
            Role::Static(on) => scan.state.prefer_archives = *on,
            Role::WholeProgramStatic => scan.state.prefer_archives = true,
            Role::Lib(open) => {
                scan.state.in_lib = *open;
                scan.set_group(*open);
            }
            Role::Group(open) => scan.set_group(*open),
            Role::AsNeeded(on) => scan.state.as_needed = *on,
            Role::PushState => saved.push(scan.state),
            // More of these than of the others is the host linker's to report.
            Role::PopState => {
                let in_lib = scan.state.in_lib;
                scan.state = saved.pop().unwrap_or(scan.state);
                scan.state.in_lib = in_lib;
            }
            Role::Library(name) => {
                let path = scan.search.library(name, scan.prefers_archives())?;
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
    as_needed: bool,
    /// Between `--start-lib` and `--end-lib`, where objects are what members of an archive are.
    in_lib: bool,
}

struct Scan<'a> {
    search: LibrarySearch<'a>,
    inputs: HostInputs,
    /// Those taken so far: their places, by the path that leads to them without links.
    taken: HashMap<PathBuf, usize>,
    state: LinkState,
    archives_only: bool,
    /// The group that is open.
    group: Option<usize>,
    next_group: usize,
}

impl Scan<'_> {
    fn prefers_archives(&self) -> bool {
        self.archives_only || self.state.prefer_archives
    }

    /// Opens a group, unless one is open, or ends it.
    fn set_group(&mut self, open: bool) {
        self.group = match open {
            true => self.group.or_else(|| {
                self.next_group += 1;
                Some(self.next_group)
            }),
            false => None,
        };
    }

    fn meet(&mut self, file: MetFile) {
        let group = self.group;
        self.inputs.met.push(Met { file, group });
    }

    fn meet_shared_library(&mut self, path: &Path) {
        self.meet(MetFile::SharedLibrary {
            path: path.to_owned(),
            as_needed: self.state.as_needed,
        });
    }

    fn add(&mut self, path: &Path, depth: usize) -> Result<()> {
        // Mapping a whole shared library only to see that it is one would cost more than this.
        let may_be_shared = path
            .file_name()
            .is_some_and(|name| name.as_bytes().windows(3).any(|part| part == b".so"));
        if may_be_shared && path.is_file() && kind_by_start(path)? == InputKind::Linked {
            self.meet_shared_library(path);
            return Ok(());
        }
        // The host linker has its own words for a missing file, and knows inputs that are none of our
        // business.
        let Some(file) = InputFile::open_if_regular(path)? else {
            return Ok(());
        };
        match file.kind() {
            InputKind::Linked => self.meet_shared_library(path),
            InputKind::Archive | InputKind::ThinArchive => self.take(file, !self.state.whole_archive),
            InputKind::Object | InputKind::Bitcode => self.take(file, self.state.in_lib),
            // What the packager wrote, as HIP without relocatable device code has it.
            InputKind::OffloadBinary => self.take(file, false),
            InputKind::Unknown if depth < linker_script::MAX_DEPTH => {
                let (outer, as_needed) = (self.group, self.state.as_needed);
                let script = Script::parse(file.bytes());
                self.inputs.scripts_do_more |= script.does_more;
                if script.is_group {
                    self.set_group(true);
                }
                for named in script.inputs {
                    self.state.as_needed = as_needed || named.as_needed;
                    let found = self.search.named_in(path, &named.input, self.prefers_archives());
                    if let Some(found) = found {
                        self.add(&found, depth + 1)?;
                    }
                }
                self.state.as_needed = as_needed;
                self.group = outer;
            }
            _ => {}
        }
        Ok(())
    }

    fn take(&mut self, file: InputFile, lazy: bool) {
        let path = fs::canonicalize(file.path()).unwrap_or_else(|_| file.path().to_owned());
        let files = &mut self.inputs.files;
        let known = self.taken.get(&path).copied();
        let number = match known.and_then(|number| Some((number, files.get_mut(number)?))) {
            // `-lgcc -lgcc_s -lc -lgcc`: the second time it has no device code that is new, nor if it was
            // taken whole.
            Some((number, _)) if lazy => number,
            // Now each of its members is linked, also those that nothing asked for the first time.
            Some((number, known)) if known.lazy => {
                known.lazy = false;
                number
            }
            _ => {
                files.push(ScannedInput { file, lazy });
                files.len() - 1
            }
        };
        self.taken.insert(path, number);
        self.meet(MetFile::File { number, lazy });
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
