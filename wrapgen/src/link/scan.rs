//! Phase 1: opens the host linker's inputs and finds the device code in them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::command_line::{CommandLine, HostArgument, Role};
use crate::error::{Error, Result};
use crate::inputs::{EmbeddedMember, InputFile, InputKind};

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

/// Opens every object and archive among the inputs. Shared libraries and files of other kinds hold nothing that is linked
/// into this program.
///
/// # Errors
/// A library is not found, or a file cannot be read.
pub fn open_inputs(line: &CommandLine) -> Result<Vec<ScannedInput>> {
    let search = LibrarySearch::new(line);
    let mut inputs = Vec::new();
    let mut whole_archive = false;
    let mut prefer_archives = false;
    for argument in &line.host {
        let path = match &argument.role {
            Role::WholeArchive(whole) => {
                whole_archive = *whole;
                continue;
            }
            Role::Static(on) => {
                prefer_archives = *on;
                continue;
            }
            Role::Library(name) => search.find(name, prefer_archives)?,
            // The host linker has its own words for a missing file, and knows inputs that are none of our business.
            Role::Input(path) if path.is_file() => path.clone(),
            _ => continue,
        };
        if is_shared_library_name(&path) {
            continue;
        }
        let file = InputFile::open(&path)?;
        let archive = matches!(file.kind(), InputKind::Archive | InputKind::ThinArchive);
        if archive || matches!(file.kind(), InputKind::Object | InputKind::Bitcode) {
            inputs.push(ScannedInput {
                file,
                lazy: archive && !whole_archive,
            });
        }
    }
    Ok(inputs)
}

/// The device code in the inputs, in order.
///
/// # Errors
/// An input is malformed.
pub fn device_code(inputs: &[ScannedInput]) -> Result<Vec<DeviceCode<'_>>> {
    let mut code = Vec::new();
    for input in inputs {
        let found = input.file.embedded()?;
        let found = found.into_iter().filter(|found| !found.linked);
        code.extend(found.map(|found| DeviceCode {
            found,
            lazy: input.lazy,
        }));
    }
    Ok(code)
}

/// Where `-l` finds libraries.
struct LibrarySearch {
    folders: Vec<PathBuf>,
}

impl LibrarySearch {
    /// Every `-L` counts for every `-l`, wherever it stands.
    fn new(line: &CommandLine) -> Self {
        let sysroot = line.options.sysroot.as_deref().unwrap_or(Path::new("/"));
        let folders = line
            .host
            .iter()
            .filter_map(|argument: &HostArgument| match &argument.role {
                Role::LibraryPath(folder) => Some(match folder.as_bytes().strip_prefix(b"=") {
                    Some(inside) => {
                        sysroot.join(OsStr::from_bytes(inside.strip_prefix(b"/").unwrap_or(inside)))
                    }
                    None => PathBuf::from(folder),
                }),
                _ => None,
            })
            .collect();
        Self { folders }
    }

    fn find(&self, name: &OsStr, prefer_archives: bool) -> Result<PathBuf> {
        let names: Vec<OsString> = match name.as_bytes().strip_prefix(b":") {
            Some(exact) => vec![OsStr::from_bytes(exact).to_owned()],
            None => {
                let file = |suffix: &str| {
                    let mut file = OsString::from("lib");
                    file.push(name);
                    file.push(suffix);
                    file
                };
                match prefer_archives {
                    true => vec![file(".a")],
                    false => vec![file(".so"), file(".a")],
                }
            }
        };
        self.folders
            .iter()
            .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
            .find(|path| path.is_file())
            .ok_or_else(|| Error::LibraryNotFound {
                name: name.to_owned(),
                folders: self.folders.clone(),
            })
    }
}

fn is_shared_library_name(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("so"))
}
