//! Has the system tell this process how its children end, also where it was started to ignore that.

use std::sync::Arc;

use signal_hook::consts::SIGCHLD;

use crate::scratch_folder::ignored_signals;

/// Ends the ignorance of SIGCHLD, in which children cannot be waited for. Programs that are started
/// afterwards have the signal's default.
pub(crate) fn take_notice() {
    if ignored_signals() >> (SIGCHLD - 1) & 1 == 1 {
        // A handler, since that alone can be set without unsafe code; nobody reads what it notes. Without it
        // waiting fails, as it would have done.
        let _ = signal_hook::flag::register(SIGCHLD, Arc::default());
    }
}
