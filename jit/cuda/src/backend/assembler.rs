//! Which assembler this process compiles with.
//!
//! It is found when the first bundle is attached, by a thread of its own: asking it for its version takes
//! some milliseconds, which no launch waits for.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use offloom_jit_policy::process::settings::settings;
use offloom_thread::spawn_without_signals;

use crate::ptxas;

/// An assembler.
#[derive(Debug)]
pub struct Assembler {
    /// Its path.
    pub path: String,
    /// What it says its version is.
    pub version: String,
}

static FOUND: OnceLock<Result<Assembler, String>> = OnceLock::new();

/// Has the assembler looked for, with the environment as it is now.
pub(super) fn look_for() {
    if FOUND.get().is_some() {
        return;
    }
    let variables = variables();
    let look = move || {
        FOUND.get_or_init(|| find(settings().ptxas.as_deref(), &variables));
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
pub fn find_now() -> Result<&'static Assembler, String> {
    let found = FOUND.get_or_init(|| find(settings().ptxas.as_deref(), &variables()));
    found.as_ref().map_err(String::clone)
}

/// What the environment says of where the assembler is.
fn variables() -> [(&'static str, Option<OsString>); ptxas::VARIABLES.len()] {
    // Of a program with more rights than its user the environment is the user's.
    // SAFETY: only asks.
    let is_trusted = unsafe { libc::getauxval(libc::AT_SECURE) } == 0;
    ptxas::VARIABLES.map(|name| (name, env::var_os(name).filter(|_| is_trusted)))
}

/// The assembler; else why there is none.
pub(super) fn found() -> Result<&'static Assembler, String> {
    let found = FOUND.get_or_init(|| find(settings().ptxas.as_deref(), &[]));
    found.as_ref().map_err(String::clone)
}

fn find(chosen: Option<&Path>, variables: &[(&str, Option<OsString>)]) -> Result<Assembler, String> {
    let variable = |name: &str| {
        let known = variables.iter().find(|(known, _)| *known == name);
        known.and_then(|(_, value)| value.clone())
    };
    let limit = Duration::from_millis(u64::from(settings().time_limit));
    let path = ptxas::find(chosen, variable).map_err(|error| error.to_string())?;
    let version = ptxas::version(&path, limit).map_err(|error| error.to_string())?;
    let path = path
        .into_os_string()
        .into_string()
        .map_err(|path| format!("the path of ptxas, `{}`, is not UTF-8", path.display()))?;
    Ok(Assembler { path, version })
}
