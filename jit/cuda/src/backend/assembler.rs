//! Which assembler this process compiles with.
//!
//! Assemblers are found when the first bundle is attached, by a thread of its own: asking one for its version
//! takes some milliseconds, which no launch waits for. One is chosen once the driver is there.

use std::collections::VecDeque;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use offloom_abi::jit_compile::join_words;
use offloom_jit_policy::process::lock::lock;
use offloom_jit_policy::process::settings::settings;
use offloom_thread::spawn_without_signals;

use crate::driver::DriverVersion;
use crate::ptxas::{self, NoPtxas, Place};

/// An assembler.
#[derive(Debug)]
pub struct Assembler {
    /// Path of the program.
    pub path: String,
    /// What decides on the code that it makes: its name and version.
    pub identity: String,
    /// The library that the program assembles by, if it is ours.
    library: Option<String>,
    /// The major version of its CUDA, where it is known.
    major: Option<u32>,
    /// Whether the user has named it.
    is_named: bool,
}

/// The path of the program that assembles by nvJitLink, called as `ptxas` is; none: it is not installed.
pub type OnNvJitLink = fn() -> Option<PathBuf>;

impl Assembler {
    /// What it is called with, each with a NUL behind it, before a kernel's own options, which are alike.
    #[must_use]
    pub fn arguments(&self, of_kernel: &str) -> String {
        match &self.library {
            Some(library) => join_words(["--library", library]) + of_kernel,
            None => of_kernel.to_owned(),
        }
    }
}

/// What the environment said when it was first asked, and what assembles where there is no `ptxas`.
static ASKED_WITH: OnceLock<(Environment, OnNvJitLink)> = OnceLock::new();
/// Where there may be more of them, and those that were found.
static CANDIDATES: OnceLock<Result<Mutex<Candidates>, String>> = OnceLock::new();
/// The one that this process compiles with.
static CHOSEN: OnceLock<Result<&'static Assembler, String>> = OnceLock::new();

/// Has an assembler looked for, with the environment as it is now.
pub(super) fn look_for(on_nvjitlink: OnNvJitLink) {
    let mut is_first = false;
    ASKED_WITH.get_or_init(|| {
        is_first = true;
        (Environment::now(), on_nvjitlink)
    });
    if !is_first {
        return;
    }
    // The first is the one, unless the driver turns out to be older.
    let look = || {
        if let Ok(candidates) = candidates() {
            let _ = lock(candidates).choose(None);
        }
    };
    if spawn_without_signals(look).is_err() {
        look();
    }
}

/// The assembler whose code `driver` loads, if there is one; looked for with the environment as it is now,
/// unless that was done before.
///
/// # Errors
/// One line on why there is none.
pub fn find_now(
    on_nvjitlink: OnNvJitLink,
    driver: Option<DriverVersion>,
) -> Result<&'static Assembler, String> {
    ASKED_WITH.get_or_init(|| (Environment::now(), on_nvjitlink));
    found(driver)
}

/// The assembler whose code `driver` loads, of those that are looked for; else why there is none. The first
/// answer stays.
pub(super) fn found(driver: Option<DriverVersion>) -> Result<&'static Assembler, String> {
    let chosen = CHOSEN.get_or_init(|| lock(candidates().as_ref().map_err(String::clone)?).choose(driver));
    chosen.clone()
}

fn candidates() -> &'static Result<Mutex<Candidates>, String> {
    CANDIDATES.get_or_init(|| {
        let (environment, on_nvjitlink) = ASKED_WITH.get().ok_or("nobody has looked for an assembler")?;
        let chosen = settings().ptxas.as_deref();
        let places = ptxas::places(chosen, |name| environment.variable(name), environment.is_trusted);
        let candidates = Candidates {
            places: places.map_err(|error| error.to_string())?.into(),
            found: Vec::new(),
            reason: NoPtxas::Nowhere.to_string(),
            is_named: chosen.is_some(),
            on_nvjitlink: *on_nvjitlink,
        };
        Ok(Mutex::new(candidates))
    })
}

/// Assemblers, in the order of preference. They are asked what they are one by one, up to one that will do:
/// one behind it may be on a file system that does not answer.
struct Candidates {
    /// Where others may be.
    places: VecDeque<Place>,
    found: Vec<&'static Assembler>,
    /// Why the last one was none.
    reason: String,
    is_named: bool,
    on_nvjitlink: OnNvJitLink,
}

impl Candidates {
    /// The first one of a CUDA that is no later than the driver's: a driver refuses code of a later major
    /// version than its own. One that the user has named is taken as it is.
    fn choose(&mut self, driver: Option<DriverVersion>) -> Result<&'static Assembler, String> {
        let is_taken = |assembler: &Assembler| {
            let major = driver.map(DriverVersion::major);
            assembler.is_named || major.is_none_or(|major| assembler.major.is_none_or(|own| own <= major))
        };
        if let Some(taken) = self.found.iter().find(|assembler| is_taken(assembler)) {
            return Ok(taken);
        }
        while let Some(place) = self.places.pop_front() {
            match self.ask(&place) {
                Ok(None) => {}
                Ok(Some(assembler)) => {
                    let assembler: &Assembler = Box::leak(Box::new(assembler));
                    self.found.push(assembler);
                    if is_taken(assembler) {
                        return Ok(assembler);
                    }
                }
                Err(reason) => self.reason = reason,
            }
        }
        let (Some(first), Some(driver)) = (self.found.first(), driver) else {
            return Err(self.reason.clone());
        };
        Err(format!(
            "`{}` is {}, and the driver is for CUDA {driver}, which loads no code of a later major version; \
             install NVIDIA's cuda-nvcc or libnvjitlink for CUDA {}, or name one by OFFLOOM_JIT_PTXAS",
            first.library.as_ref().unwrap_or(&first.path),
            first.identity,
            driver.major(),
        ))
    }

    /// What is at a place; nothing where there need not be anything.
    fn ask(&self, place: &Place) -> Result<Option<Assembler>, String> {
        let limit = Duration::from_millis(u64::from(settings().time_limit));
        let found = match place {
            Place::Ptxas(path) => {
                ptxas::version(path, limit).map(|version| (path.clone(), version, "ptxas", None))
            }
            Place::NvJitLink(library) => {
                let Some(program) = (self.on_nvjitlink)() else {
                    return Ok(None);
                };
                let found = ptxas::nvjitlink(&program, library, limit);
                found.map(|(library, version)| (program, version, "nvJitLink", Some(library)))
            }
        };
        let (path, version, name, library) = match found {
            Ok(found) => found,
            // A name that the loader does not know is no reason.
            Err(_) if matches!(place, Place::NvJitLink(_)) && !self.is_named => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let path = path.into_os_string().into_string();
        let path =
            path.map_err(|path| format!("the path of the assembler, `{}`, is not UTF-8", path.display()))?;
        Ok(Some(Assembler {
            path,
            identity: format!("{name} {version}"),
            library,
            major: ptxas::major(&version),
            is_named: self.is_named,
        }))
    }
}

/// What the environment says of where the assembler is.
struct Environment {
    variables: [Option<OsString>; ptxas::VARIABLES.len()],
    /// Of a program with more rights than its user the environment is the user's.
    is_trusted: bool,
}

impl Environment {
    fn now() -> Self {
        // SAFETY: only asks.
        let is_trusted = unsafe { libc::getauxval(libc::AT_SECURE) } == 0;
        Self {
            variables: ptxas::VARIABLES.map(|name| env::var_os(name).filter(|_| is_trusted)),
            is_trusted,
        }
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        let number = ptxas::VARIABLES.iter().position(|known| *known == name)?;
        self.variables.get(number)?.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn candidates(places: Vec<Place>, is_named: bool) -> Candidates {
        Candidates {
            places: places.into(),
            found: Vec::new(),
            reason: NoPtxas::Nowhere.to_string(),
            is_named,
            on_nvjitlink: || None,
        }
    }

    #[test]
    fn the_first_whose_code_the_driver_loads_is_chosen_and_no_other_is_asked() {
        let folder = tempfile::tempdir().unwrap();
        let asked = folder.path().join("asked");
        let ptxas = |version: &str| {
            let path = folder.path().join(version);
            let asked = asked.display();
            let text =
                format!("#!/bin/sh\necho {version} >> {asked}\necho 'tools, release 1.2, V{version}'\n");
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            Place::Ptxas(path)
        };
        let absent = Place::Ptxas(folder.path().join("absent"));
        let places = || vec![absent.clone(), ptxas("13.0.1"), ptxas("12.9.86"), ptxas("11.8.0")];
        let driver = |number| Some(DriverVersion(number));
        let chosen = |of: &mut Candidates, driver| of.choose(driver).map(|chosen| chosen.identity.clone());
        let asked = || fs::read_to_string(&asked).unwrap().split_whitespace().count();

        let mut all = candidates(places(), false);
        assert_eq!(chosen(&mut all, None).unwrap(), "ptxas 13.0.1");
        assert_eq!(chosen(&mut all, driver(13_000)).unwrap(), "ptxas 13.0.1");
        assert_eq!(asked(), 1);
        // A driver takes code of later minor versions.
        assert_eq!(chosen(&mut all, driver(12_020)).unwrap(), "ptxas 12.9.86");
        assert_eq!(asked(), 2);
        let reason = chosen(&mut all, driver(10_020)).unwrap_err();
        assert!(
            reason.contains("13.0.1` is ptxas 13.0.1, and the driver is for CUDA 10.2,"),
            "{reason}"
        );
        assert_eq!(asked(), 3);
        // Who names one knows better.
        assert!(
            candidates(vec![ptxas("13.0.1")], true)
                .choose(driver(12_020))
                .is_ok()
        );
        let reason = candidates(vec![absent], false).choose(None).unwrap_err();
        assert!(reason.contains("absent` cannot be run"), "{reason}");
        assert!(candidates(Vec::new(), false).choose(None).is_err());
    }
}
