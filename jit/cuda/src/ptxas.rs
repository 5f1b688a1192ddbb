//! Finds the assembler that makes cubins of PTX: NVIDIA's `ptxas`, or its library nvJitLink behind a program
//! of ours that is called alike.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use offloom_jit_policy::process::fork_gate;
use offloom_jit_policy::process::spawn::{self, Start};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process_group, pidfd_open, waitpid};

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
/// Where NVIDIA's packages put CUDA.
const USUAL: &str = "/usr/local/cuda";
/// Where programs and libraries are in a folder with CUDA.
const PROGRAMS: &str = "bin";
const LIBRARIES: &str = "lib64";
/// nvJitLink. Those of CUDA 12 first: the libomptarget of LLVM 19 takes images of no later one.
const NVJITLINK: [&str; 2] = ["libnvJitLink.so.12", "libnvJitLink.so.13"];

/// How long one that has said its version may take to end.
const SOON: Duration = Duration::from_secs(1);
/// More than ptxas says of its version.
const MOST_OUTPUT: usize = 1 << 16;

/// Why there is no assembler.
#[derive(Debug, thiserror::Error)]
pub enum NoPtxas {
    /// The one that was chosen cannot be run.
    #[error("{VARIABLE} names `{}`, which is no program that can be run, and no nvJitLink", .0.display())]
    Chosen(PathBuf),
    /// None was found.
    #[error(
        "there is no ptxas: it is looked for in the folders CUDA_HOME and CUDA_PATH, in PATH and in {USUAL}; nor is there \
         {}, which would do; install NVIDIA's package cuda-nvcc or libnvjitlink, or set {VARIABLE}",
        NVJITLINK[0]
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
    /// The path of the library is not known, or no text.
    #[error("`{}` does not say where nvJitLink is", .0.display())]
    OfNoPath(PathBuf),
}

/// Where an assembler may be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Place {
    /// `ptxas`.
    Ptxas(PathBuf),
    /// A library that may be nvJitLink, by its path, or by a name that the loader finds.
    NvJitLink(OsString),
}

/// Where assemblers may be, in the order of preference. `chosen` is what the user has set; `variable` gives
/// the values of environment variables, none of which are trusted if `is_trusted` is false.
///
/// # Errors
/// When what the user has set is none.
pub fn places(
    chosen: Option<&Path>,
    variable: impl Fn(&str) -> Option<OsString>,
    is_trusted: bool,
) -> Result<Vec<Place>, NoPtxas> {
    if let Some(chosen) = chosen {
        let is_library = chosen
            .file_name()
            .is_some_and(|name| name.to_string_lossy().contains(".so"));
        return match (is_library, is_program(chosen)) {
            (true, _) if chosen.is_file() => Ok(vec![Place::NvJitLink(chosen.into())]),
            (false, true) => Ok(vec![Place::Ptxas(chosen.to_owned())]),
            _ => Err(NoPtxas::Chosen(chosen.to_owned())),
        };
    }
    // Relative ones lead elsewhere once the program has left its folder, and anybody may have put anything
    // there.
    let named = FOLDERS.into_iter().filter_map(&variable).map(PathBuf::from);
    let named: Vec<_> = named.filter(|folder| folder.is_absolute()).collect();
    let search = variable(SEARCH).unwrap_or_default();
    let searched = std::env::split_paths(&search).filter(|folder| folder.is_absolute());
    let usual = PathBuf::from(USUAL);
    let programs = named
        .iter()
        .map(|folder| folder.join(PROGRAMS))
        .chain(searched)
        .chain([usual.join(PROGRAMS)])
        .map(|folder| folder.join(NAME));
    let mut found = Vec::new();
    for program in programs.filter(|path| is_program(path)) {
        // Folders of `PATH` may be the same.
        let file = program.canonicalize().unwrap_or_else(|_| program.clone());
        if !found.iter().any(|(_, known)| *known == file) {
            found.push((program, file));
        }
    }
    if !found.is_empty() {
        let programs = found.into_iter().map(|(program, _)| Place::Ptxas(program));
        return Ok(programs.collect());
    }
    let of_folder = |folder: &PathBuf| NVJITLINK.map(|name| folder.join(LIBRARIES).join(name));
    let libraries = named.iter().chain([&usual]).flat_map(of_folder);
    let libraries = libraries.filter(|path| path.is_file());
    let libraries = libraries.map(PathBuf::into_os_string);
    // The loader may ask the environment.
    let names = NVJITLINK.iter().filter(|_| is_trusted).map(OsString::from);
    Ok(libraries.chain(names).map(Place::NvJitLink).collect())
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// What the assembler says its version is. One that has not said so after `limit` is ended.
///
/// # Errors
/// When it does not say so.
pub fn version(path: &Path, limit: Duration) -> Result<String, NoPtxas> {
    let text = output(path, &[], limit)?;
    read_version(&String::from_utf8_lossy(&text))
        .map(str::to_owned)
        .ok_or_else(|| NoPtxas::OfNoVersion(path.to_owned()))
}

/// Whether `library` is nvJitLink: its path and version, as `program` says, which assembles by it.
///
/// # Errors
/// When it is not, or the program does not run.
pub fn nvjitlink(program: &Path, library: &OsStr, limit: Duration) -> Result<(String, String), NoPtxas> {
    let text = output(program, &["--library".as_ref(), library], limit)?;
    let text = String::from_utf8(text).map_err(|_| NoPtxas::OfNoPath(program.to_owned()))?;
    let version = read_version(&text).ok_or_else(|| NoPtxas::OfNoVersion(PathBuf::from(library)))?;
    let path = text.lines().find_map(|line| line.strip_prefix("library="));
    let path = path.ok_or_else(|| NoPtxas::OfNoPath(program.to_owned()))?;
    Ok((path.to_owned(), version.to_owned()))
}

/// What a program prints when it is asked for its version. Nobody is told how it ends: it is no child of the
/// program that this library is in, which may wait for its children, or have them go without a word.
fn output(path: &Path, arguments: &[&OsStr], limit: Duration) -> Result<Vec<u8>, NoPtxas> {
    let failed = |error| NoPtxas::DoesNotRun {
        path: path.to_owned(),
        error,
    };
    let late = Instant::now() + limit;
    let (mut stdout, started) = {
        // A child forked meanwhile would hold the other end.
        let _undivided = fork_gate::enter_undivided();
        let (stdout, other_end) = spawn::pipe().map_err(failed)?;
        let started = spawn::spawn_detached(&Start {
            program: path,
            arguments: &[arguments, &["--version".as_ref()]].concat(),
            passed_on: &[],
            input: None,
            output: Some(other_end.as_fd()),
            leads_group: true,
        });
        (stdout, started)
    };
    let _group = Group::of(started.map_err(failed)?);
    let mut text = Vec::new();
    let mut part = [0; 4096];
    // Ends with the output, which what it starts may hold open, or once that is longer than any ptxas prints.
    while text.len() < MOST_OUTPUT {
        if !is_ready(&stdout, late).map_err(failed)? {
            return Err(NoPtxas::Hangs(path.to_owned(), limit.as_millis()));
        }
        match stdout.read(&mut part) {
            Ok(0) => break,
            Ok(count) => text.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(text)
}

/// Waits until there is something to read, or the end of it. False: it is late.
fn is_ready(file: impl AsFd, late: Instant) -> io::Result<bool> {
    loop {
        let left = late.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&file, PollFlags::IN)], Some(&left)) {
            Ok(0) if Instant::now() >= late => return Ok(false),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
}

/// A process that leads a group of its own, which is ended with this if the leader has not ended soon.
struct Group {
    leader: Pid,
    /// Says whether it has ended: somebody else is told, and its number may be that of another then. None:
    /// the system has no such thing (Linux before 5.3, or a filter of system calls), and it is left alone.
    end: Option<OwnedFd>,
}

impl Group {
    fn of(started: Option<Pid>) -> Option<Self> {
        let leader = started?;
        // It was started a moment ago: the number is not yet another's.
        let end = pidfd_open(leader, PidfdFlags::empty()).ok();
        Some(Self { leader, end })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let Some(end) = &self.end else { return };
        if let Ok(false) = is_ready(end, Instant::now() + SOON) {
            let _ = kill_process_group(self.leader, Signal::KILL);
            // It does not take long.
            let _ = is_ready(end, Instant::now() + SOON);
        }
        // It is a child of this process after all.
        if spawn::adopts_orphans() {
            let _ = waitpid(Some(self.leader), WaitOptions::NOHANG);
        }
    }
}

/// The major version of the CUDA that a version is from: `12.9.86` is from CUDA 12.
pub fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.parse().ok()
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
    use std::thread;

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
            let places = places(chosen, |name| variables.get(name).cloned(), true)?;
            let Some(Place::Ptxas(program)) = places.first() else {
                panic!("{places:?}");
            };
            Ok::<_, NoPtxas>(program.clone())
        };
        assert_eq!(find_with(&variables, None).unwrap(), searched);
        variables.insert("CUDA_PATH", at("nowhere").into());
        variables.insert("CUDA_HOME", "relative".into());
        assert_eq!(find_with(&variables, None).unwrap(), searched);
        variables.insert("CUDA_HOME", at("home").into());
        assert_eq!(find_with(&variables, None).unwrap(), home);
        // One that is found twice is one.
        variables.insert("CUDA_PATH", at("home").into());
        let all = places(None, |name| variables.get(name).cloned(), false).unwrap();
        let expected = [&home, &searched].map(|path| Place::Ptxas(path.clone()));
        assert_eq!(all[..2], expected);
        assert_eq!(find_with(&variables, Some(&chosen)).unwrap(), chosen);
        let error = find_with(&variables, Some(&no_program)).unwrap_err();
        assert!(matches!(error, NoPtxas::Chosen(path) if path == no_program));
    }

    #[test]
    fn a_library_is_taken_where_there_is_no_program() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("lib64/libnvJitLink.so.12");
        fs::create_dir_all(library.parent().unwrap()).unwrap();
        fs::write(&library, "").unwrap();
        let home = |name: &str| (name == "CUDA_HOME").then(|| folder.path().into());
        let of_library = || Place::NvJitLink(library.clone().into());
        // What this machine has in its usual place comes behind it.
        let found = |is_trusted| places(None, home, is_trusted).unwrap();
        if !Path::new(USUAL).exists() {
            assert_eq!(found(false), [of_library()]);
            let names = NVJITLINK.map(|name| Place::NvJitLink(name.into()));
            assert_eq!(found(true), [&[of_library()][..], &names].concat());
        }
        assert_eq!(places(Some(&library), |_| None, true).unwrap(), [of_library()]);
        let absent = folder.path().join("libnvJitLink.so.13");
        let error = places(Some(&absent), |_| None, true).unwrap_err();
        assert!(matches!(error, NoPtxas::Chosen(path) if path == absent));
    }

    #[test]
    fn what_a_library_is_is_asked_of_the_program_that_loads_it() {
        let folder = tempfile::tempdir().unwrap();
        let limit = Duration::from_secs(600);
        let says = script(
            folder.path(),
            "[ \"$1 $3\" = '--library --version' ] && echo library=/l/$2 && echo 'it, release 12.9, V12.9'",
        );
        let found = nvjitlink(&says, "name".as_ref(), limit).unwrap();
        assert_eq!(found, ("/l/name".to_owned(), "12.9".to_owned()));
        for (fails, text) in [
            ("silent", "exit 1"),
            ("other", "echo 'it, release 12.9, V12.9'; exit 1"),
        ] {
            let fails = script(&folder.path().join(fails), text);
            let error = nvjitlink(&fails, "name".as_ref(), limit).unwrap_err();
            let is_silent = text == "exit 1";
            assert!(matches!(error, NoPtxas::OfNoVersion(_)) == is_silent, "{error}");
            assert!(matches!(error, NoPtxas::OfNoPath(_)) != is_silent, "{error}");
        }
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
        assert_eq!(major("12.9.86"), Some(12));
        assert_eq!(major("12"), Some(12));
        assert_eq!(major(""), None);
    }
}
