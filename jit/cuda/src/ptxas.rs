//! Finds the assembler that makes cubins of PTX.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

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

/// More than ptxas says of its version.
const MOST_OUTPUT: usize = 1 << 16;

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
    /// It did not end in time.
    #[error("`{}` has not said its version after {} ms", .0.display(), .1)]
    Hangs(PathBuf, u128),
    /// It is no ptxas.
    #[error("`{}` does not say its version as ptxas does", .0.display())]
    OfNoVersion(PathBuf),
}

/// The assembler's path. `chosen` is what the user has set; `variable` gives the values of environment
/// variables.
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
        // Relative ones lead elsewhere once the program has left its folder, and anybody may have put
        // anything there.
        .filter(|folder| folder.is_absolute())
        .chain([PathBuf::from(USUAL)])
        .map(|folder| folder.join(NAME));
    candidates.find(|path| is_program(path)).ok_or(NoPtxas::Nowhere)
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// What the assembler says its version is. One that has not said so after `limit` is ended.
///
/// # Errors
/// When it does not say so.
pub fn version(path: &Path, limit: Duration) -> Result<String, NoPtxas> {
    let (text, is_success) = output(path, limit)?;
    read_version(&String::from_utf8_lossy(&text))
        .filter(|_| is_success)
        .map(str::to_owned)
        .ok_or_else(|| NoPtxas::OfNoVersion(path.to_owned()))
}

/// What a program prints when it is asked for its version, and whether it ends well.
fn output(path: &Path, limit: Duration) -> Result<(Vec<u8>, bool), NoPtxas> {
    let failed = |error| NoPtxas::DoesNotRun {
        path: path.to_owned(),
        error,
    };
    let late = Instant::now() + limit;
    let child = Command::new(path)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    let mut child = Group {
        leader: child,
        is_ended: false,
    };
    let Some(mut stdout) = child.leader.stdout.take() else {
        return Err(NoPtxas::OfNoVersion(path.to_owned()));
    };
    let mut text = Vec::new();
    let mut part = [0; 4096];
    // Ends with the output, which what it starts may hold open, or once that is longer than any ptxas prints.
    while text.len() < MOST_OUTPUT {
        if !is_readable(&stdout, late).map_err(failed)? {
            return Err(NoPtxas::Hangs(path.to_owned(), limit.as_millis()));
        }
        match stdout.read(&mut part) {
            Ok(0) => break,
            Ok(count) => text.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    drop(stdout);
    loop {
        match child.leader.try_wait().map_err(failed)? {
            Some(status) => {
                child.is_ended = true;
                return Ok((text, status.success()));
            }
            None if Instant::now() >= late => return Err(NoPtxas::Hangs(path.to_owned(), limit.as_millis())),
            None => thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Waits until there is something to read, or the end of it. False: it is late.
fn is_readable(stdout: &ChildStdout, late: Instant) -> io::Result<bool> {
    loop {
        let left = late.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(stdout, PollFlags::IN)], Some(&left)) {
            Ok(0) if Instant::now() >= late => return Ok(false),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
}

/// A process that leads a group of its own. The group is ended with this, unless its leader has ended and was
/// waited for.
struct Group {
    leader: Child,
    is_ended: bool,
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.is_ended {
            return;
        }
        // The leader was not waited for, so the number is still its own.
        let _ = kill_process_group(Pid::from_child(&self.leader), Signal::KILL);
        // It is ended: this does not take long.
        let _ = self.leader.wait();
    }
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

    fn script(folder: &Path, text: &str) -> PathBuf {
        let path = program(folder);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        path
    }

    #[test]
    fn one_that_hangs_is_ended_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let child = folder.path().join("child");
        let text = format!("sleep 1000 & echo $! > {}; wait", child.display());
        let hangs = script(folder.path(), &text);
        let error = version(&hangs, Duration::from_millis(500)).unwrap_err();
        assert!(matches!(error, NoPtxas::Hangs(..)), "{error}");
        let child = fs::read_to_string(child).unwrap();
        let state = || fs::read_to_string(format!("/proc/{}/stat", child.trim()));
        // Gone, or waiting for whoever is to hear of its end. The signal may be on its way still.
        let end = Instant::now() + Duration::from_secs(60);
        while state().is_ok_and(|state| !state.contains(") Z ")) {
            assert!(Instant::now() < end, "it is not ended");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn one_that_says_too_much_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let endless = script(folder.path(), "exec yes");
        let error = version(&endless, Duration::from_secs(600)).unwrap_err();
        assert!(matches!(error, NoPtxas::OfNoVersion(_)), "{error}");
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
