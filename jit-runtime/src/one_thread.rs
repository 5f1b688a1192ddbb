//! Whether a launch in this process is likely to get one team of one thread.

use std::ffi::OsStr;
use std::sync::OnceLock;

use crate::processors;
use crate::settings::variable_at_start;

/// What libomp takes the number of threads of a region from; a list, by level.
const NUM_THREADS: &str = "OMP_NUM_THREADS";

/// Whether variants should have a form for one team of one thread. They ask libomp at each launch, so this decides about compile time alone,
/// and is settled once.
pub(crate) fn is_likely() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(
        || match variable_at_start(NUM_THREADS).as_deref().and_then(OsStr::to_str) {
            Some(list) => asks_for_one(list),
            // As libomp itself counts them. The standard library would also read files, about shares of a processor's time.
            None => processors::count() == Some(1),
        },
    )
}

fn asks_for_one(list: &str) -> bool {
    list.split(',').next().is_some_and(|first| first.trim() == "1")
}

#[cfg(test)]
mod tests {
    use super::asks_for_one;

    #[test]
    fn the_first_number_of_the_list_is_that_of_a_kernels_regions() {
        assert!(asks_for_one("1"));
        assert!(asks_for_one(" 1 ,4"));
        assert!(!asks_for_one("4,1"));
        assert!(!asks_for_one("10"));
        assert!(!asks_for_one(""));
    }
}
