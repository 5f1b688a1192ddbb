//! Barriers of a block, with counts.
//!
//! A warp arrives when all its live threads have: threads that have exited count as arrived, threads that are
//! alive do not. It then counts as 32 threads. A barrier without a count waits for all warps that have live
//! threads.

/// Barriers of a block.
pub(crate) const BARRIERS: usize = 16;
/// Warps of a block at most.
pub(crate) const WARPS: usize = 32;

/// What a reduction at a barrier gives to all its threads.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) count: u32,
    pub(crate) all: bool,
}

/// One barrier.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Threads that have arrived, in warps of which others are missing.
    arrived: [u32; WARPS],
    /// Warps that have arrived.
    warps: u32,
    /// Threads of warps that have arrived.
    threads: u32,
    /// The count that was asked for.
    expected: Option<u32>,
    in_use: bool,
    true_count: u32,
    false_count: u32,
}

/// The barriers of a block.
#[derive(Debug, Default)]
pub(crate) struct Barriers {
    states: [State; BARRIERS],
}

impl Barriers {
    /// Threads of a warp arrive; those of `condition` with a true predicate. The barrier's outcome, if that
    /// completes it.
    pub(crate) fn arrive(
        &mut self,
        number: usize,
        warp: usize,
        mask: u32,
        condition: u32,
        expected: Option<u32>,
        live: &[u32; WARPS],
    ) -> Option<Outcome> {
        let state = &mut self.states[number];
        state.in_use = true;
        state.expected = expected;
        state.arrived[warp] |= mask;
        state.true_count += (mask & condition).count_ones();
        state.false_count += (mask & !condition).count_ones();
        self.check(number, warp, live)
    }

    /// Whether threads that have exited complete a barrier: each completed one and its outcome.
    pub(crate) fn exited(&mut self, warp: usize, live: &[u32; WARPS]) -> Vec<(usize, Outcome)> {
        (0..BARRIERS)
            .filter(|&number| self.states[number].in_use)
            .collect::<Vec<_>>()
            .into_iter()
            .filter_map(|number| Some((number, self.check(number, warp, live)?)))
            .collect()
    }

    fn check(&mut self, number: usize, warp: usize, live: &[u32; WARPS]) -> Option<Outcome> {
        let state = &mut self.states[number];
        if state.arrived[warp] != 0 && live[warp] & !state.arrived[warp] == 0 {
            state.arrived[warp] = 0;
            state.warps |= 1 << warp;
            state.threads += 32;
        }
        let complete = match state.expected {
            Some(expected) => state.threads >= expected,
            None => {
                state.warps != 0
                    && live
                        .iter()
                        .enumerate()
                        .all(|(warp, &live)| live == 0 || state.warps >> warp & 1 == 1)
            }
        };
        if !complete {
            return None;
        }
        let outcome = Outcome {
            count: state.true_count,
            all: state.false_count == 0,
        };
        *state = State::default();
        Some(outcome)
    }

    /// What a barrier waits for, in words.
    pub(crate) fn describe(&self, number: usize) -> String {
        let state = &self.states[number];
        let partial: u32 = state.arrived.iter().map(|mask| mask.count_ones()).sum();
        let mut text = format!("barrier {number} has {} threads of whole warps", state.threads);
        if let Some(expected) = state.expected {
            text += &format!(" of {expected}");
        }
        if partial != 0 {
            text += &format!(", and {partial} threads of warps of which other live threads are missing");
        }
        text
    }
}
