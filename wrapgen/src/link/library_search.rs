//! Finds the files that the host linker finds: by `-l`, and those that linker scripts name.

use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::host_command::HostCommand;
use super::linker_script::ScriptInput;
use crate::error::{Error, Result};

/// Where libraries are looked for.
///
/// As in GNU ld and in lld, each `-L` counts for each `-l`, wherever it stands, and a folder is done with
/// before the next: in each, a shared library goes before an archive.
#[derive(Debug)]
pub(super) struct LibrarySearch<'a> {
    host: &'a HostCommand,
    /// What was given by `-L`.
    folders: Vec<PathBuf>,
    /// What GNU ld searches behind those. Asked for only where a library is in none of them.
    own_folders: OnceCell<Vec<PathBuf>>,
}

impl<'a> LibrarySearch<'a> {
    pub(super) fn new(host: &'a HostCommand) -> Self {
        let mut search = Self {
            host,
            folders: Vec::new(),
            own_folders: OnceCell::new(),
        };
        let given = host.library_paths();
        search.folders = given.map(|folder| search.in_sysroot(folder)).collect();
        search
    }

    /// The file of `-l`, or of `-l:file`.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn library(&self, name: &OsStr, prefer_archives: bool) -> Result<PathBuf> {
        let names = file_names(name, prefer_archives);
        self.find(&names).ok_or_else(|| Error::LibraryNotFound {
            name: name.to_owned(),
            folders: self.folders.clone(),
            archives_only: prefer_archives && !name.as_bytes().starts_with(b":"),
            shared: self.find(&file_names(name, false)).filter(|_| prefer_archives),
        })
    }

    /// The linker's own folders, if one of the libraries on the command line, or of those looked for so far,
    /// is in none that `-L` names: another linker has to be told.
    pub(super) fn needed_own_folders(&self) -> &[PathBuf] {
        if let Some(folders) = self.own_folders.get() {
            return folders;
        }
        for name in self.host.libraries() {
            if find_in(&self.folders, &file_names(name, false)).is_none() {
                return self.own_folders();
            }
        }
        &[]
    }

    /// The file that the script at `script` names; `None` if there is none, which the host linker reports.
    pub(super) fn named_in(
        &self,
        script: &Path,
        input: &ScriptInput,
        prefer_archives: bool,
    ) -> Option<PathBuf> {
        let name = match input {
            ScriptInput::Library(name) => return self.library(name, prefer_archives).ok(),
            ScriptInput::File(name) => name,
        };
        let sysroot = self.sysroot();
        let relative = match name.as_bytes().strip_prefix(b"/") {
            // A script below the folder that stands for the root means files below it.
            Some(inside) if sysroot != Path::new("/") && script.starts_with(sysroot) => {
                let path = sysroot.join(OsStr::from_bytes(inside));
                if path.is_file() {
                    return Some(path);
                }
                false
            }
            Some(_) => false,
            None => !name.as_bytes().starts_with(b"="),
        };
        if !relative {
            return Some(self.in_sysroot(name)).filter(|path| path.is_file());
        }
        let beside = script.with_file_name(name);
        [beside, PathBuf::from(name)]
            .into_iter()
            .find(|path| path.is_file())
            .or_else(|| self.find(std::slice::from_ref(name)))
    }

    fn find(&self, names: &[OsString]) -> Option<PathBuf> {
        find_in(&self.folders, names).or_else(|| find_in(self.own_folders(), names))
    }

    fn own_folders(&self) -> &[PathBuf] {
        self.own_folders.get_or_init(|| self.ask_linker())
    }

    /// The folders that GNU ld is built to search, which it prints as `SEARCH_DIR("=/usr/lib");`. Other
    /// linkers have none.
    fn ask_linker(&self) -> Vec<PathBuf> {
        let Some(linker) = &self.host.linker else {
            return Vec::new();
        };
        let Ok(output) = Command::new(linker).arg("--verbose").output() else {
            return Vec::new();
        };
        let text = String::from_utf8_lossy(&output.stdout);
        text.split("SEARCH_DIR(\"")
            .skip(1)
            .filter_map(|rest| Some(self.in_sysroot(OsStr::new(rest.split_once('"')?.0))))
            .collect()
    }

    /// A path, in the folder that stands for the root if it starts with `=` or `$SYSROOT`.
    fn in_sysroot(&self, path: &OsStr) -> PathBuf {
        let bytes = path.as_bytes();
        let inside = bytes
            .strip_prefix(b"=")
            .or_else(|| bytes.strip_prefix(b"$SYSROOT"));
        match inside {
            Some(inside) => {
                let inside = inside.strip_prefix(b"/").unwrap_or(inside);
                self.sysroot().join(OsStr::from_bytes(inside))
            }
            None => PathBuf::from(path),
        }
    }

    fn sysroot(&self) -> &Path {
        self.host.sysroot.as_deref().unwrap_or(Path::new("/"))
    }
}

/// The names of the files that a library may have, the first choice first.
fn file_names(name: &OsStr, archives_only: bool) -> Vec<OsString> {
    if let Some(exact) = name.as_bytes().strip_prefix(b":") {
        return vec![OsStr::from_bytes(exact).to_owned()];
    }
    let file = |suffix: &str| {
        let mut file = OsString::from("lib");
        file.push(name);
        file.push(suffix);
        file
    };
    match archives_only {
        true => vec![file(".a")],
        false => vec![file(".so"), file(".a")],
    }
}

/// The first of the files `names` in the first of the folders that has one.
fn find_in(folders: &[PathBuf], names: &[OsString]) -> Option<PathBuf> {
    let mut candidates = folders
        .iter()
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)));
    candidates.find(|path| path.is_file())
}
