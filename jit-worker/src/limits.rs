//! What the worker may use. A limit that cannot be set is one less protection, not a reason not to compile.

use rustix::process::{Resource, Rlimit, nice, setrlimit};

/// Limits memory (in MiB) and priority, and lets go of the program's working directory.
pub(crate) fn apply(memory: u32, niceness: u32) {
    let limit = |bytes: u64| Rlimit {
        current: Some(bytes),
        maximum: Some(bytes),
    };
    // Address space, since there is no limit on memory itself; the program itself maps some tens of MiB.
    let _ = setrlimit(Resource::As, limit(u64::from(memory) << 20));
    let _ = setrlimit(Resource::Core, limit(0));
    let _ = nice(i32::try_from(niceness).unwrap_or(19));
    let _ = std::env::set_current_dir("/");
}
