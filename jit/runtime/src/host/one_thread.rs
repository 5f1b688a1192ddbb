//! Whether a launch in this process is likely to get one team of one thread.

use std::sync::OnceLock;

use offloom_jit_policy::process::processors;
use offloom_jit_policy::process::settings::variable_at_start;

/// What libomp takes the number of threads of a region from; a list, by level.
const NUM_THREADS: &str = "OMP_NUM_THREADS";

/// What it takes the number of teams of a league from.
const NUM_TEAMS: &str = "OMP_NUM_TEAMS";

/// Whether variants should be for one team of one thread. They ask libomp at each launch, so this is no
/// matter of right or wrong: with more threads or teams a kernel of nothing but a region runs its
/// ahead-of-time code, others have both forms.
///
/// Settled once, by what the process was started with. libomp is not asked: it would take note of the thread
/// that asks.
pub(crate) fn is_likely() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let threads = match number_at_start(NUM_THREADS) {
            Some(list) => asks_for_one(&list),
            // As libomp itself counts them. The standard library would also read files, about shares of a
            // processor's time.
            None => processors::count() == Some(1),
        };
        threads && number_at_start(NUM_TEAMS).is_none_or(|teams| asks_for_one(&teams))
    })
}

fn number_at_start(variable: &str) -> Option<String> {
    variable_at_start(variable).and_then(|value| value.into_string().ok())
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
