//! What the user asked for, read once.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use offloom_abi::jit_remote::{CREDENTIAL_VARIABLES, NETWORK_VARIABLES};
use offloom_jit_cache::settings::{Found, Settings};

use crate::process::error_stream;

/// Other variables that are needed later, on threads that the program does not know of: it may change its
/// environment then.
const KEPT_VARIABLES: [&[&str]; 3] = [
    &[
        "HOME",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "LD_LIBRARY_PATH",
        "OMP_NUM_THREADS",
        "OMP_NUM_TEAMS",
    ],
    &CREDENTIAL_VARIABLES,
    &NETWORK_VARIABLES,
];

/// What the environment said when it was read.
struct AtStart {
    settings: Settings,
    /// Those of [`KEPT_VARIABLES`] that were there.
    variables: Vec<(&'static str, OsString)>,
    /// The folder that the program was in, which it may leave before anything is written. Empty if that is
    /// not to be known.
    folder: PathBuf,
}

/// The settings of this process. What cannot be done of what was asked for is said the first time.
pub fn settings() -> &'static Settings {
    &at_start().settings
}

/// Whether launches are counted: only where someone wants to know.
pub fn counts_launches() -> bool {
    settings().log || settings().stats.is_some()
}

/// The value that one of [`KEPT_VARIABLES`] had when the settings were read.
pub fn variable_at_start(name: &str) -> Option<OsString> {
    debug_assert!(
        KEPT_VARIABLES.iter().any(|some| some.contains(&name)),
        "{name} is not kept"
    );
    let mut kept = at_start().variables.iter();
    kept.find_map(|(kept, value)| (*kept == name).then(|| value.clone()))
}

fn at_start() -> &'static AtStart {
    static AT_START: OnceLock<&'static AtStart> = OnceLock::new();
    AT_START.get_or_init(|| {
        // The environment of a program with more rights than its user is the user's: no file that it names is
        // touched.
        let environment = (!runs_with_more_rights()).then(std::env::vars_os);
        let found = Found::read(environment.into_iter().flatten());
        for warning in &found.warnings {
            error_stream::line(warning);
        }
        // Leaked: read until the last launch, which may come after destructors of static variables.
        Box::leak(Box::new(AtStart {
            settings: found.settings,
            variables: KEPT_VARIABLES
                .iter()
                .flat_map(|some| some.iter())
                .filter_map(|name| Some((*name, std::env::var_os(name)?)))
                .collect(),
            folder: std::env::current_dir().unwrap_or_default(),
        }))
    })
}

/// Whether the kernel started this program with more rights than its user has: it has set-user-id or the
/// like.
pub fn runs_with_more_rights() -> bool {
    /// Not in the `libc` crate for this target.
    const AT_SECURE: libc::c_ulong = 23;
    // SAFETY: always valid; the C library took note of it when it was started, which `/proc` may not show.
    unsafe { libc::getauxval(AT_SECURE) != 0 }
}

/// The file or folder that the user means by a path: a relative one begins in the folder that the program was
/// in when the settings were read.
pub fn from_first_folder(path: &Path) -> PathBuf {
    at_start().folder.join(path)
}
