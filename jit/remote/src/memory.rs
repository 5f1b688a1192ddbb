//! The memory that this process may take.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Address space, in bytes: more than what any entry takes several times over. What a store answers must not
/// take the machine's memory.
const MOST_BYTES: u64 = 2 << 30;

/// Limits it, as far as it is not limited already. Where that is not possible the library's deadlines still
/// hold.
pub(crate) fn limit() {
    let before = getrlimit(Resource::As);
    let limit = before
        .maximum
        .map_or(MOST_BYTES, |maximum| maximum.min(MOST_BYTES));
    let _ = setrlimit(
        Resource::As,
        Rlimit {
            current: Some(limit),
            maximum: before.maximum,
        },
    );
}
