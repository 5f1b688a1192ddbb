//! Finds the assembler that makes cubins of PTX.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program's name.
const NAME: &str = "ptxas";
/// The setting that names it.
const VARIABLE: &str = "OFFLOOM_JIT_PTXAS";
/// Variables that name a folder with CUDA.
const FOLDERS: [&str; 2] = ["CUDA_HOME", "CUDA_PATH"];
/// The variable with the folders of programs.
const SEARCH: &str = "PATH";
/// All variables that are looked at.
pub const VARIABLES: [&str; 3] = [FOLDERS[0], FOLDERS[1], SEARCH];
/// Where NVIDIA's packages put it.
const USUAL: &str = "/usr/local/cuda/bin";

/// Why there is no assembler.
#[derive(Debug, thiserror::Error)]
pub enum NoPtxas {
    /// The one that was chosen cannot be run.
    #[error("{VARIABLE} names `{}`, which is no program that can be run", .0.display())]
    Chosen(PathBuf),
    /// None was found.
    #[error(
        "there is no ptxas: it is looked for in the folders CUDA_HOME and CUDA_PATH, in PATH and in {USUAL}; install \
         NVIDIA's package cuda-nvcc, or set {VARIABLE}"
    )]
    Nowhere,
    /// It does not run.
    #[error("`{}` cannot be run: {error}", .path.display())]
    DoesNotRun {
        /// The program.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// It is no ptxas.
    #[error("`{}` does not say its version as ptxas does", .0.display())]
    OfNoVersion(PathBuf),
}

/// The assembler's path. `chosen` is what the user has set; `variable` gives the values of environment variables.
///
/// # Errors
/// When there is none.
pub fn find(chosen: Option<&Path>, variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, NoPtxas> {
    if let Some(chosen) = chosen.map(Path::to_owned) {
        return if is_program(&chosen) {
            Ok(chosen)
        } else {
            Err(NoPtxas::Chosen(chosen))
        };
    }
    let folders = FOLDERS.into_iter().filter_map(&variable);
    let folders = folders.map(|folder| PathBuf::from(folder).join("bin"));
    let search = variable(SEARCH).unwrap_or_default();
    let mut candidates = folders
        .chain(std::env::split_paths(&search))
        // Relative ones lead elsewhere once the program has left its folder, and anybody may have put anything there.
        .filter(|folder| folder.is_absolute())
        .chain([PathBuf::from(USUAL)])
        .map(|folder| folder.join(NAME));
    candidates.find(|path| is_program(path)).ok_or(NoPtxas::Nowhere)
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// The version that a ptxas says it is, as in `12.9.86`. Runs it.
///
/// # Errors
/// When it does not run, or says none.
pub fn version(path: &Path) -> Result<String, NoPtxas> {
    let output = Command::new(path)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| NoPtxas::DoesNotRun {
            path: path.to_owned(),
            error,
        })?;
    let text = String::from_utf8_lossy(&output.stdout);
    read_version(&text)
        .filter(|_| output.status.success())
        .map(str::to_owned)
        .ok_or_else(|| NoPtxas::OfNoVersion(path.to_owned()))
}

/// The version in what ptxas prints: `Cuda compilation tools, release 12.9, V12.9.86`.
fn read_version(text: &str) -> Option<&str> {
    let line = text.lines().find(|line| line.contains(", release "))?;
    let version = line.rsplit(", V").next()?.trim();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (version.len() < line.len() && version.split('.').all(is_number)).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::os::unix::fs::OpenOptionsExt as _;

    fn program(folder: &Path) -> PathBuf {
        fs::create_dir_all(folder).unwrap();
        let path = folder.join(NAME);
        let mut options = fs::File::options();
        options.write(true).create(true).mode(0o755).open(&path).unwrap();
        path
    }

    #[test]
    fn the_first_place_that_has_it_wins() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let home = program(&at("home/bin"));
        let searched = program(&at("searched"));
        let chosen = program(&at("chosen"));
        let no_program = at("no-program/ptxas");
        fs::create_dir_all(at("no-program")).unwrap();
        fs::write(&no_program, "").unwrap();

        let mut variables: HashMap<&str, OsString> = HashMap::new();
        let search = std::env::join_paths(["relative".into(), at("no-program"), at("searched")]);
        variables.insert("PATH", search.unwrap());
        let find_with = |variables: &HashMap<&str, OsString>, chosen: Option<&Path>| {
            find(chosen, |name| variables.get(name).cloned())
        };
        assert_eq!(find_with(&variables, None).unwrap(), searched);
        variables.insert("CUDA_PATH", at("nowhere").into());
        variables.insert("CUDA_HOME", "relative".into());
        assert_eq!(find_with(&variables, None).unwrap(), searched);
        variables.insert("CUDA_HOME", at("home").into());
        assert_eq!(find_with(&variables, None).unwrap(), home);
        assert_eq!(find_with(&variables, Some(&chosen)).unwrap(), chosen);
        let error = find_with(&variables, Some(&no_program)).unwrap_err();
        assert!(matches!(error, NoPtxas::Chosen(path) if path == no_program));
    }

    #[test]
    fn the_version_is_that_of_the_tools() {
        let text = "ptxas: NVIDIA (R) Ptx optimizing assembler\nCopyright\nBuilt on Tue\n\
                    Cuda compilation tools, release 12.9, V12.9.86\nBuild cuda_12.9\n";
        assert_eq!(read_version(text), Some("12.9.86"));
        assert_eq!(read_version("Cuda compilation tools, release 12.9\n"), None);
        assert_eq!(
            read_version("Cuda compilation tools, release 12.9, V12.x\n"),
            None
        );
        assert_eq!(read_version(""), None);
    }
}
