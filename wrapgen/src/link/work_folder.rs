//! The folder of a link's intermediate files, and their names.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use offloom_abi::OffloadKind;
use rustix::fs::statvfs;
use tempfile::TempDir;

use super::embedded_files::ImagePlace;
use super::stale_folders;
use super::target::Target;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::output::{folder_of, write_file};
use crate::process::{Runner, shell_line};

/// Where intermediate files go: a folder that vanishes with this value, or with `--save-temps` the current
/// folder.
#[derive(Debug)]
pub struct WorkFolder {
    temporary: Option<TempDir>,
    /// Says that the folder is in use.
    _lock: Option<File>,
    output_name: OsString,
    image_place: Option<ImagePlace>,
}

impl WorkFolder {
    /// Makes the folder for a link that writes `output`.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(output: &Path, keep: bool) -> Result<Self> {
        interrupt::watch();
        let output_name = output.file_name().unwrap_or_default().to_owned();
        let temporary = match keep {
            true => None,
            false => {
                let parent = std::env::temp_dir();
                stale_folders::remove(&parent);
                // Programs of the same user work in it, and nobody else.
                let folder = tempfile::Builder::new()
                    .prefix(stale_folders::PREFIX)
                    .permissions(Permissions::from_mode(0o700))
                    .tempdir_in(&parent)
                    .map_err(Error::temporary(&parent))?;
                Some(folder)
            }
        };
        Ok(Self {
            _lock: temporary
                .as_ref()
                .and_then(|folder| stale_folders::hold(folder.path())),
            temporary,
            output_name,
            image_place: None,
        })
    }

    /// Has the image linked into the registration object.
    pub fn set_image_place(&mut self, place: Option<ImagePlace>) {
        self.image_place = place;
    }

    /// Where the image is to be linked to in the registration object, if it is.
    pub fn image_place(&self) -> Option<&ImagePlace> {
        self.image_place.as_ref()
    }

    /// Where the image lies in the registration object, if it was not linked to the file `path` after all.
    pub fn used_image_place(&self, path: &Path) -> Option<&ImagePlace> {
        self.image_place.as_ref().filter(|_| !path.exists())
    }

    /// Prints the commands that make the folder and have it removed, so that the commands that write to it
    /// can be run as a script.
    pub fn print(&self, runner: Runner<'_>) {
        if let Some(folder) = &self.temporary {
            let removal = shell_line(Command::new("rm").arg("-r").arg(folder.path()));
            let removal = OsStr::from_bytes(removal.trim_ascii());
            runner.print(Command::new("mkdir").arg("-p").arg(folder.path()));
            runner.print(Command::new("trap").arg(removal).arg("EXIT"));
        }
    }

    /// An error of a link that writes `output`, with what may be behind it: a disk that has hardly any space
    /// left. To be asked while the folder is still there.
    pub fn explain(&self, error: Error, output: &Path) -> Error {
        if !matches!(
            error,
            Error::Program { .. } | Error::Write { .. } | Error::Copy { .. }
        ) {
            return error;
        }
        let temporary = self.temporary.as_ref().map(|_| {
            let text = "where temporary files go (TMPDIR names another folder)";
            (std::env::temp_dir(), text)
        });
        let of_output = (folder_of(output).to_owned(), "where the output goes");
        for (folder, role) in temporary.into_iter().chain([of_output]) {
            let Ok(disk) = statvfs(&folder) else { continue };
            let left = disk.f_bavail.saturating_mul(disk.f_frsize);
            if left < LITTLE_SPACE {
                return Error::LittleSpace {
                    source: Box::new(error),
                    folder,
                    role,
                    left: left >> 10,
                };
            }
        }
        error
    }

    /// Writes an intermediate file. Nobody else looks into a temporary folder, so that no care is taken
    /// there.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        match self.temporary {
            Some(_) => std::fs::write(path, bytes).map_err(Error::write(path)),
            None => write_file(path, bytes),
        }
    }

    /// The file of the registration object: `<output>.<kind>.image.wrapper.<extension>`.
    pub fn wrapper(&self, kind: OffloadKind, extension: &str) -> PathBuf {
        self.output(&format!("{}.image.wrapper.{extension}", kind.name()))
    }

    /// A file that belongs to the whole link: `<output>.<extension>`.
    pub fn output(&self, extension: &str) -> PathBuf {
        let mut name = self.output_name.clone();
        name.push(".");
        name.push(extension);
        self.place(name)
    }

    /// The file that a `-r` link merges the inputs into: `<output>.merged.o`.
    pub fn merged_object(&self) -> PathBuf {
        self.output("merged.o")
    }

    /// The file of a linked image: `<output>.<triple>.<arch>.img`, with `.bc` behind it where that is
    /// `bitcode`.
    pub fn image(&self, target: &Target, bitcode: bool) -> PathBuf {
        self.named(target, if bitcode { "img.bc" } else { "img" })
    }

    /// A file that belongs to a target: `<output>.<triple>.<arch>.<extension>`, without the arch where there
    /// is none.
    pub fn named(&self, target: &Target, extension: &str) -> PathBuf {
        let mut name = self.output_name.clone();
        name.push(format!(".{}.{extension}", target_name(target, '.')));
        self.place(name)
    }

    /// The file of a group's member: `<input stem>-<triple>-<arch>.<number>.<extension>`, without the arch
    /// where there is none.
    pub fn member(&self, origin: &Path, target: &Target, number: usize, extension: &str) -> PathBuf {
        let stem = origin.file_stem().unwrap_or_default().to_string_lossy();
        self.place(OsString::from(format!(
            "{}-{}.{number}.{extension}",
            file_name_part(&stem),
            target_name(target, '-')
        )))
    }

    fn place(&self, name: OsString) -> PathBuf {
        match &self.temporary {
            Some(folder) => folder.path().join(name),
            None => PathBuf::from(name),
        }
    }
}

/// Below so many bytes of free space, a failure may well be due to the lack of it.
const LITTLE_SPACE: u64 = 16 << 20;

/// Triple and arch, if there is one, as a part of a file name.
fn target_name(target: &Target, separator: char) -> String {
    let mut name = file_name_part(&target.triple);
    if !target.arch.is_empty() {
        name.push(separator);
        name.push_str(&file_name_part(&target.arch));
    }
    name
}

/// Text from an input as a part of a file name.
fn file_name_part(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' | '+' | '.' => c,
            _ => '-',
        })
        .take(100)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_user_may_look_into_it() {
        let work = WorkFolder::create(Path::new("a.out"), false).unwrap();
        let folder = work.output("o").parent().unwrap().to_owned();
        let mode = std::fs::metadata(&folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        drop(work);
        assert!(!folder.exists());
    }
}
