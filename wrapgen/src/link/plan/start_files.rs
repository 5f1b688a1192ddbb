//! The files that frame the link of a shared library (`crti.o` and the like), as some device images are.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::host_command::HostCommand;
use crate::error::{Error, Result};
use crate::toolchain;

/// The files that frame the link of a shared library.
#[derive(Debug)]
pub struct StartFiles {
    /// First of all.
    pub crti: PathBuf,
    /// Behind it.
    pub crtbegin: PathBuf,
    /// Before the last.
    pub crtend: PathBuf,
    /// Last of all.
    pub crtn: PathBuf,
    /// Where Clang looks for libraries; empty where the host link says where they are.
    pub folders_of_clang: Vec<PathBuf>,
}

impl StartFiles {
    /// Finds them beside those of the host link, which may be of the kinds for executables, else in its
    /// library folders, else where Clang looks for them: a host link that Clang did not write, such as one
    /// with `-r`, may name neither.
    ///
    /// # Errors
    /// One is in none of these places.
    pub(super) fn find(host: &HostCommand, triple: &str) -> Result<Self> {
        let beside = |names: &[&str]| {
            let file = host.inputs().find(|path| {
                path.file_name()
                    .is_some_and(|name| names.iter().any(|known| name == *known))
            });
            file.and_then(|file| file.parent()).map(Path::to_owned)
        };
        let gcc = beside(&["crtbeginS.o", "crtbegin.o", "crtbeginT.o"]);
        let libc = beside(&["crti.o", "Scrt1.o", "crt1.o"]);
        let of_clang = OnceCell::new();
        let find = |name: &str, folder: &Option<PathBuf>| {
            let searched = host.library_paths().map(PathBuf::from);
            let mut folders = folder.iter().cloned().chain(searched);
            let is_there = |folder: PathBuf| Some(folder.join(name)).filter(|path| path.is_file());
            let found = folders.find_map(is_there).or_else(|| {
                let folders = of_clang.get_or_init(|| folders_of_clang(host, triple));
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
fn folders_of_clang(host: &HostCommand, triple: &str) -> Vec<PathBuf> {
    let Some(clang) = toolchain::find_llvm_program("clang") else {
        return Vec::new();
    };
    let mut command = Command::new(clang);
    command.args(["--no-default-config", "-print-search-dirs"]);
    command.arg(format!("--target={triple}"));
    command.args(host.sysroot_option());
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
