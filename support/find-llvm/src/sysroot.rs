//! Builds for another machine than the one that builds: where that machine's files are, and how its programs
//! are run here.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that names the folder that is `/` on the machine that is built for.
pub(crate) const VARIABLE: &str = "OFFLOOM_LLVM_SYSROOT";

/// Another machine's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sysroot {
    folder: PathBuf,
    /// How Debian calls its architecture in names of folders.
    multiarch: String,
    /// The words of the command that runs its programs; none where the system does that by itself.
    runner: Vec<String>,
}

/// Whether a build script runs that is for another machine's code. Cargo tells build scripts both.
pub(crate) fn is_cross_build() -> bool {
    matches!((env::var_os("HOST"), env::var_os("TARGET")), (Some(host), Some(target)) if host != target)
}

impl Sysroot {
    /// The one that [`VARIABLE`] names. Its programs are run by the runner that Cargo is told for the target
    /// (`CARGO_TARGET_..._RUNNER`).
    pub(crate) fn of_environment() -> Option<Self> {
        let folder = PathBuf::from(env::var_os(VARIABLE)?);
        let target = env::var("TARGET").ok()?;
        let architecture = target.split('-').next()?;
        let variable = format!("CARGO_TARGET_{}_RUNNER", target.to_uppercase().replace('-', "_"));
        let runner = env::var(variable).unwrap_or_default();
        Some(Self {
            folder,
            multiarch: format!("{architecture}-linux-gnu"),
            runner: runner.split_whitespace().map(str::to_owned).collect(),
        })
    }

    /// Where a file of the machine is here.
    pub(crate) fn file(&self, path: &Path) -> PathBuf {
        self.folder.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Where the machine itself has a file that is here.
    pub(crate) fn as_seen_inside(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.folder) {
            Ok(inside) => Path::new("/").join(inside),
            Err(_) => path.to_owned(),
        }
    }

    /// The folder of the distribution's libraries, here.
    pub(crate) fn library_folder(&self) -> PathBuf {
        self.file(&Path::new("/usr/lib").join(&self.multiarch))
    }

    /// The command that runs one of the machine's programs.
    pub(crate) fn command(&self, program: &Path) -> Command {
        match self.runner.split_first() {
            Some((runner, arguments)) => {
                let mut command = Command::new(runner);
                command.args(arguments).arg(program);
                command
            }
            None => Command::new(program),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_into_the_folder_and_out_of_it() {
        let sysroot = Sysroot {
            folder: "/srv/arm64".into(),
            multiarch: "aarch64-linux-gnu".to_owned(),
            runner: vec![
                "qemu-aarch64".to_owned(),
                "-L".to_owned(),
                "/srv/arm64".to_owned(),
            ],
        };
        let inside = Path::new("/usr/lib/llvm-19/bin");
        let here = Path::new("/srv/arm64/usr/lib/llvm-19/bin");
        assert_eq!(sysroot.file(inside), here);
        assert_eq!(sysroot.as_seen_inside(here), inside);
        assert_eq!(
            sysroot.as_seen_inside(Path::new("/opt/llvm")),
            Path::new("/opt/llvm")
        );
        let folder = Path::new("/srv/arm64/usr/lib/aarch64-linux-gnu");
        assert_eq!(sysroot.library_folder(), folder);
        let command = sysroot.command(here);
        assert_eq!(command.get_program(), "qemu-aarch64");
        assert_eq!(command.get_args().last(), Some(here.as_os_str()));
    }
}
