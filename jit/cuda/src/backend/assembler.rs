//! Which assembler this process compiles with.
//!
//! It is found when the first bundle is attached, by a thread of its own: asking it for its version takes
//! some milliseconds, which no launch waits for.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use offloom_abi::jit_compile::join_words;
use offloom_jit_policy::process::settings::settings;
use offloom_thread::spawn_without_signals;

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

static FOUND: OnceLock<Result<Assembler, String>> = OnceLock::new();

/// Has the assembler looked for, with the environment as it is now.
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

/// The assembler, looked for with the environment as it is now, unless that was done before; else why there
/// is none.
///
/// # Errors
/// One line on why there is none.
pub fn find_now(on_nvjitlink: OnNvJitLink) -> Result<&'static Assembler, String> {
    let find = || find(settings().ptxas.as_deref(), &Environment::now(), on_nvjitlink);
    FOUND.get_or_init(find).as_ref().map_err(String::clone)
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

/// The assembler, once it has been looked for; else why there is none.
pub(super) fn found() -> Result<&'static Assembler, String> {
    let found = FOUND.get_or_init(|| find(settings().ptxas.as_deref(), &Environment::default(), || None));
    found.as_ref().map_err(String::clone)
}

fn find(
    chosen: Option<&Path>,
    environment: &Environment,
    on_nvjitlink: OnNvJitLink,
) -> Result<Assembler, String> {
    let limit = Duration::from_millis(u64::from(settings().time_limit));
    let places = ptxas::places(chosen, |name| environment.variable(name), environment.is_trusted);
    let mut reason = NoPtxas::Nowhere;
    for place in places.map_err(|error| error.to_string())? {
        let found = match &place {
            Place::Ptxas(path) => ptxas::version(path, limit).map(|version| {
                let identity = format!("ptxas {version}");
                (path.clone(), identity, None)
            }),
            Place::NvJitLink(library) => {
                let Some(program) = on_nvjitlink() else { continue };
                ptxas::nvjitlink(&program, library, limit).map(|(library, version)| {
                    let identity = format!("nvJitLink {version}");
                    (program, identity, Some(library))
                })
            }
        };
        match found {
            Ok((path, identity, library)) => {
                let path = path.into_os_string().into_string();
                let path = path.map_err(|path| {
                    format!("the path of the assembler, `{}`, is not UTF-8", path.display())
                })?;
                return Ok(Assembler {
                    path,
                    identity,
                    library,
                });
            }
            // A name that the loader does not know is no reason.
            Err(_) if matches!(place, Place::NvJitLink(_)) && chosen.is_none() => {}
            Err(error) => reason = error,
        }
    }
    Err(reason.to_string())
}
