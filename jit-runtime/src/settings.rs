//! What the user asked for, read once.

use std::ffi::OsString;
use std::sync::OnceLock;

use offloom_jit_cache::settings::{Found, Settings};
use offloom_jit_cache::store::runs_with_more_rights;

use crate::error_stream;

/// The worker process's niceness where no launch waits for it: the program's own threads come first.
pub(crate) const WORKER_NICENESS: u32 = 5;

/// Other variables that are needed later, on threads that the program does not know of: it may change its environment then.
const KEPT_VARIABLES: [&str; 3] = ["HOME", "XDG_CACHE_HOME", "LD_LIBRARY_PATH"];

static VARIABLES_AT_START: OnceLock<[Option<OsString>; KEPT_VARIABLES.len()]> = OnceLock::new();

/// The value that one of [`KEPT_VARIABLES`] had when settings were read.
pub(crate) fn variable_at_start(name: &str) -> Option<OsString> {
    let number = KEPT_VARIABLES.iter().position(|kept| *kept == name)?;
    VARIABLES_AT_START.get()?.get(number)?.clone()
}

/// The settings of this process. What cannot be done of what was asked for is said the first time.
pub(crate) fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<&'static Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        VARIABLES_AT_START.get_or_init(|| KEPT_VARIABLES.map(std::env::var_os));
        // The environment of a program with more rights than its user is the user's: no file that it names is touched.
        let environment = (!runs_with_more_rights()).then(std::env::vars_os);
        let found = Found::read(environment.into_iter().flatten());
        for warning in &found.warnings {
            error_stream::line(warning);
        }
        // Leaked: read until the last launch, which may come after destructors of static variables.
        Box::leak(Box::new(found.settings))
    })
}
