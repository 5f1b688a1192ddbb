//! What the worker may use. A limit that cannot be set is one less protection, not a reason not to compile.

use offloom_abi::jit_compile::Priority;
use offloom_ir::priority::run_when_idle;
use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit};

/// How readily the process is ended where the machine's memory runs out: before all others.
const ENDED_FIRST: &str = "1000";

/// Of a processor that one other thread wants as well, this leaves 3.4 %: weights are 1024 and 36.
const SHARE: i32 = 15;

/// The last resort where there is no idle scheduling.
const NICEST: i32 = 19;

/// Limits memory (in MiB), has the process ended before the program where memory runs out, and lets go of the
/// program's working directory.
pub(crate) fn apply(memory: u32) {
    let _ = std::fs::write("/proc/self/oom_score_adj", ENDED_FIRST);
    let limit = |bytes: u64| Rlimit {
        current: Some(bytes),
        maximum: Some(bytes),
    };
    // Address space, since there is no limit on memory itself; the program itself maps some tens of MiB. Of
    // the limits that the program has set itself, those hold that it cannot lift.
    let least = |resource, bytes| getrlimit(resource).maximum.map_or(bytes, |most| most.min(bytes));
    let bytes = u64::from(memory) << 20;
    for resource in [Resource::As, Resource::Data] {
        let _ = setrlimit(resource, limit(least(resource, bytes)));
    }
    let _ = setrlimit(Resource::Core, limit(0));
    let _ = std::env::set_current_dir("/");
}

/// Has the calling thread, which compiles, take no more processor time than it may. The thread that watches
/// stays as the program is.
pub(crate) fn take(priority: Priority) {
    match priority {
        Priority::Program => {}
        Priority::Share => {
            let _ = nice(SHARE);
        }
        Priority::Idle => {
            if !run_when_idle() {
                let _ = nice(NICEST);
            }
        }
    }
}
