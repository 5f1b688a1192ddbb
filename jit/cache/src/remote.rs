//! What goes for every remote store: when it is asked, how long an answer is waited for, and what is
//! remembered. Without a clock and a store of its own: the process that talks to stores, the library, and the
//! simulation of a cluster (`tests/cluster.rs`) go by this.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::store::KeyHash;

/// Failures, one after the other, after which a store is left alone.
pub const MOST_FAILURES: u32 = 3;
/// For how long it is left alone then.
pub const REST: Duration = Duration::from_secs(60);
/// The most bytes of an object in a store, as it is in the cache: kernels take kilobytes, base images of
/// large programs some megabytes.
pub const LARGEST: u64 = 32 << 20;
/// How long it is remembered that a store does not have an object.
pub const ABSENT_FOR: Duration = Duration::from_secs(60);
/// How long a machine may make an object before others make it too: as long as most compiles take.
pub const CLAIM: Duration = Duration::from_secs(10);
/// How long it is waited beside a program for an object that another machine is making.
pub const PATIENCE: Duration = Duration::from_secs(1);
/// How long it is waited before it is looked again whether another machine has made an object: as long as was
/// waited so far, between these. Thousands of machines may wait for the same object.
const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(250)];

/// Whether a store works.
#[derive(Debug, Clone, Default)]
pub struct Health {
    /// Since the last success.
    failures: u32,
    /// What the last failure said.
    last: Option<Trouble>,
    /// How long launches have waited in vain since the store last gave an object.
    waited: Duration,
    /// Until when it is left alone, and why.
    rests: Option<(Instant, Trouble)>,
}

/// In what way a store is out of order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// It does not answer, or not as a store does: it is left alone altogether.
    Failing,
    /// It answers later than is waited for it: it is not asked for single objects. What nobody waits for goes
    /// on: a list is brought, and what is made is put there.
    Late,
}

impl Trouble {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Failing, Self::Late];

    /// The name under which a cache remembers this of the store with this URL.
    pub fn name(self, url: &str) -> String {
        match self {
            Self::Failing => format!("remote store {url}"),
            Self::Late => format!("late remote store {url}"),
        }
    }
}

impl Health {
    /// Whether the store is to be asked for an object that somebody waits for.
    pub fn is_to_be_asked(&self, now: Instant) -> bool {
        self.trouble(now).is_none()
    }

    /// Whether the store is to be used for what nobody waits for.
    pub fn is_to_be_used(&self, now: Instant) -> bool {
        self.trouble(now) != Some(Trouble::Failing)
    }

    /// Whether the last request failed, and not for being late.
    pub fn is_failing(&self) -> bool {
        self.failures > 0 && self.last == Some(Trouble::Failing)
    }

    fn trouble(&self, now: Instant) -> Option<Trouble> {
        self.rests
            .and_then(|(until, trouble)| (now < until).then_some(trouble))
    }

    /// Takes note of an answer, whatever it says.
    pub fn note_answer(&mut self) {
        self.failures = 0;
    }

    /// Takes note of an object that the store gave, which saves more than waiting for it takes.
    pub fn note_object(&mut self) {
        self.failures = 0;
        self.waited = Duration::ZERO;
    }

    /// How long a launch may wait for an answer: all launches together as long as one may, until the store
    /// gives an object. Zero: the store is asked, and nobody waits.
    pub fn left_to_wait(&self, deadline: Duration) -> Duration {
        deadline.saturating_sub(self.waited)
    }

    /// Takes note that a launch has waited this long for nothing.
    pub fn note_wait(&mut self, waited: Duration) {
        self.waited = self.waited.saturating_add(waited);
    }

    /// Takes note of a request that failed. True: the store is left alone from now on, as much as the last of
    /// several failures says.
    pub fn note_failure(&mut self, now: Instant, trouble: Trouble) -> bool {
        self.failures = self.failures.saturating_add(1);
        self.last = Some(trouble);
        let is_out_of_order = self.failures >= MOST_FAILURES;
        if is_out_of_order {
            self.rest(now, trouble);
        }
        is_out_of_order
    }

    /// Has the store left alone: it failed elsewhere.
    pub fn rest(&mut self, now: Instant, trouble: Trouble) {
        self.rests = Some((now + REST, trouble));
    }
}

/// What a store did not have.
#[derive(Debug, Clone, Default)]
pub struct Absences(HashMap<KeyHash, Instant>);

impl Absences {
    /// Takes note that the store does not have an object.
    pub fn note(&mut self, hash: KeyHash, now: Instant) {
        self.0.insert(hash, now);
    }

    /// Whether that was noted lately.
    pub fn has(&self, hash: KeyHash, now: Instant) -> bool {
        self.0
            .get(&hash)
            .is_some_and(|since| now.saturating_duration_since(*since) < ABSENT_FOR)
    }
}

/// An object that somebody waits for.
#[derive(Debug, Clone, Copy)]
pub struct Wait {
    begun: Instant,
    deadline: Duration,
    patience: Duration,
    /// When it was found last that another machine is making the object.
    claimed: Option<Instant>,
}

impl Wait {
    /// Begins now. `deadline`: how long it is waited for the store; `patience`: for another machine that
    /// makes the object.
    pub fn new(now: Instant, deadline: Duration, patience: Duration) -> Self {
        Self {
            begun: now,
            deadline,
            patience,
            claimed: None,
        }
    }

    /// Whether anybody waits.
    pub fn is_waited(&self) -> bool {
        !self.deadline.max(self.patience).is_zero()
    }

    /// What is left of the deadline.
    pub fn left(&self, now: Instant) -> Duration {
        self.deadline
            .saturating_sub(now.saturating_duration_since(self.begun))
    }

    /// The store does not have the object: whether to claim it, since no claim of another machine can hold.
    pub fn is_to_be_claimed(&self, now: Instant) -> bool {
        self.claimed
            .is_none_or(|since| now.saturating_duration_since(since) >= CLAIM)
    }

    /// Another machine has claimed the object: how long to wait until the store is asked again. `None`: no
    /// longer, the object is to be made here.
    pub fn before_next(&mut self, now: Instant) -> Option<Duration> {
        if self.is_to_be_claimed(now) {
            self.claimed = Some(now);
        }
        let waited = now.saturating_duration_since(self.begun);
        let [shortest, longest] = PAUSES;
        (waited < self.deadline.max(self.patience)).then(|| waited.clamp(shortest, longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_rests_after_failures_in_a_row_and_is_tried_again() {
        let now = Instant::now();
        let mut health = Health::default();
        for _ in 1..MOST_FAILURES {
            assert!(!health.note_failure(now, Trouble::Failing) && health.is_failing());
        }
        health.note_answer();
        assert!(!health.is_failing());
        for _ in 1..MOST_FAILURES {
            assert!(!health.note_failure(now, Trouble::Late) && health.is_to_be_asked(now));
            assert!(!health.is_failing());
        }
        assert!(health.note_failure(now, Trouble::Failing));
        let soon = now + REST / 2;
        assert!(!health.is_to_be_asked(soon) && !health.is_to_be_used(soon));
        let later = now + REST;
        assert!(health.is_to_be_asked(later) && health.is_to_be_used(later));
        // One more failure is enough then. A store that is late still takes what nobody waits for.
        assert!(health.note_failure(later, Trouble::Late) && !health.is_to_be_asked(later));
        assert!(health.is_to_be_used(later));
    }

    #[test]
    fn launches_wait_for_one_deadline_together_until_there_is_an_object() {
        let deadline = Duration::from_millis(50);
        let mut health = Health::default();
        assert_eq!(health.left_to_wait(deadline), deadline);
        health.note_wait(deadline / 5);
        health.note_failure(Instant::now(), Trouble::Late);
        assert_eq!(health.left_to_wait(deadline), deadline / 5 * 4);
        health.note_wait(deadline);
        health.note_failure(Instant::now(), Trouble::Late);
        assert_eq!(health.left_to_wait(deadline), Duration::ZERO);
        // Garbage can look like this.
        health.note_answer();
        assert_eq!(health.left_to_wait(deadline), Duration::ZERO);
        health.note_object();
        assert_eq!(health.left_to_wait(deadline), deadline);
    }

    #[test]
    fn what_is_absent_is_asked_for_again_later() {
        let (now, hash) = (Instant::now(), KeyHash([1; 32]));
        let mut absences = Absences::default();
        assert!(!absences.has(hash, now));
        absences.note(hash, now);
        assert!(absences.has(hash, now + ABSENT_FOR / 2) && !absences.has(hash, now + ABSENT_FOR));
        assert!(!absences.has(KeyHash([2; 32]), now));
    }

    #[test]
    fn who_has_no_claim_waits_as_long_as_it_may() {
        let begun = Instant::now();
        let mut wait = Wait::new(begun, Duration::from_millis(50), PATIENCE);
        assert!(wait.is_to_be_claimed(begun));
        assert_eq!(wait.before_next(begun), Some(PAUSES[0]));
        assert!(!wait.is_to_be_claimed(begun + PAUSES[0]));
        assert_eq!(wait.before_next(begun + PATIENCE / 2), Some(PAUSES[1]));
        assert_eq!(wait.before_next(begun + PATIENCE), None);
        assert_eq!(
            wait.left(begun + Duration::from_millis(20)),
            Duration::from_millis(30)
        );
        assert_eq!(wait.left(begun + PATIENCE), Duration::ZERO);
        // The machine that had it may be gone.
        assert!(wait.is_to_be_claimed(begun + CLAIM));
    }
}
