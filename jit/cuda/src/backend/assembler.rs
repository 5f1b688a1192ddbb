//! Which assembler this process compiles with.
//!
//! Assemblers are found when the first bundle is attached, by a thread of its own: asking one for its version
//! takes some milliseconds, which no launch waits for. One is chosen once the driver is there.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use offloom_abi::jit_compile::join_words;
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

/// Those that were found, in the order of preference.
static FOUND: OnceLock<Result<Vec<Assembler>, String>> = OnceLock::new();
/// The one that this process compiles with.
static CHOSEN: OnceLock<Result<&'static Assembler, String>> = OnceLock::new();

/// Has assemblers looked for, with the environment as it is now.
pub(super) fn look_for(on_nvjitlink: OnNvJitLink) {
    if FOUND.get().is_some() {
        return;
    }
    let environment = Environment::now();
    let look = move || {
        FOUND.get_or_init(|| find(settings().ptxas.as_deref(), &environment, on_nvjitlink));
    };
    if spawn_without_signals(look.clone()).is_err() {
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
    FOUND.get_or_init(|| find(settings().ptxas.as_deref(), &Environment::now(), on_nvjitlink));
    found(driver)
}

/// The assembler whose code `driver` loads, of those that have been looked for; else why there is none. The
/// first answer stays.
pub(super) fn found(driver: Option<DriverVersion>) -> Result<&'static Assembler, String> {
    let chosen = CHOSEN.get_or_init(|| {
        let found = FOUND.get_or_init(|| find(settings().ptxas.as_deref(), &Environment::default(), || None));
        choose(found.as_ref().map_err(String::clone)?, driver)
    });
    chosen.clone()
}

/// The first one of a CUDA that is no later than the driver's: a driver refuses code of a later major version
/// than its own. One that the user has named is taken as it is.
fn choose(found: &[Assembler], driver: Option<DriverVersion>) -> Result<&Assembler, String> {
    let is_taken = |assembler: &&Assembler| {
        let major = driver.map(DriverVersion::major);
        assembler.is_named || major.is_none_or(|major| assembler.major.is_none_or(|own| own <= major))
    };
    if let Some(taken) = found.iter().find(is_taken) {
        return Ok(taken);
    }
    let (Some(first), Some(driver)) = (found.first(), driver) else {
        return Err(NoPtxas::Nowhere.to_string());
    };
    Err(format!(
        "`{}` is {}, and the driver is for CUDA {driver}, which loads no code of a later major version; install \
         NVIDIA's cuda-nvcc or libnvjitlink for CUDA {}, or name one by OFFLOOM_JIT_PTXAS",
        first.library.as_ref().unwrap_or(&first.path),
        first.identity,
        driver.major(),
    ))
}

/// What the environment says of where the assembler is.
#[derive(Clone, Default)]
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

fn find(
    chosen: Option<&Path>,
    environment: &Environment,
    on_nvjitlink: OnNvJitLink,
) -> Result<Vec<Assembler>, String> {
    let limit = Duration::from_millis(u64::from(settings().time_limit));
    let places = ptxas::places(chosen, |name| environment.variable(name), environment.is_trusted);
    let mut reason = NoPtxas::Nowhere;
    let mut all = Vec::new();
    for place in places.map_err(|error| error.to_string())? {
        let found = match &place {
            Place::Ptxas(path) => {
                ptxas::version(path, limit).map(|version| (path.clone(), version, "ptxas", None))
            }
            Place::NvJitLink(library) => {
                let Some(program) = on_nvjitlink() else { continue };
                let found = ptxas::nvjitlink(&program, library, limit);
                found.map(|(library, version)| (program, version, "nvJitLink", Some(library)))
            }
        };
        match found {
            Ok((path, version, name, library)) => {
                let path = path.into_os_string().into_string();
                let path = path.map_err(|path| {
                    format!("the path of the assembler, `{}`, is not UTF-8", path.display())
                })?;
                all.push(Assembler {
                    path,
                    identity: format!("{name} {version}"),
                    library,
                    major: ptxas::major(&version),
                    is_named: chosen.is_some(),
                });
            }
            // A name that the loader does not know is no reason.
            Err(_) if matches!(place, Place::NvJitLink(_)) && chosen.is_none() => {}
            Err(error) => reason = error,
        }
    }
    match all.is_empty() {
        true => Err(reason.to_string()),
        false => Ok(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assembler(version: &str, is_named: bool) -> Assembler {
        Assembler {
            path: format!("/cuda-{version}/bin/ptxas"),
            identity: format!("ptxas {version}"),
            library: None,
            major: ptxas::major(version),
            is_named,
        }
    }

    #[test]
    fn the_first_whose_code_the_driver_loads_is_chosen() {
        let found = [assembler("13.0.1", false), assembler("12.9.86", false)];
        let chosen = |driver| choose(&found, driver).map(|chosen| chosen.identity.as_str());
        let driver = |number| Some(DriverVersion(number));
        assert_eq!(chosen(None), Ok("ptxas 13.0.1"));
        assert_eq!(chosen(driver(13_000)), Ok("ptxas 13.0.1"));
        // A driver takes code of later minor versions.
        assert_eq!(chosen(driver(12_020)), Ok("ptxas 12.9.86"));
        let reason = chosen(driver(11_040)).unwrap_err();
        let expected = "`/cuda-13.0.1/bin/ptxas` is ptxas 13.0.1, and the driver is for CUDA 11.4,";
        assert!(reason.starts_with(expected), "{reason}");
        // Who names one knows better.
        let named = [assembler("13.0.1", true)];
        assert!(choose(&named, driver(12_020)).is_ok());
        assert!(choose(&[], driver(12_020)).is_err());
    }
}
