//! Puts what a program made and found out into the store, on a thread of its own: nobody waits for it.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use offloom_abi::jit_remote::Answer;
use offloom_jit_cache::remote::Health;
use offloom_jit_cache::store::KeyHash;

use super::{Shared, tell};
use crate::session::{Sent, Session};
use crate::stores::{Limits, Put, RemoteStore, StoreFailure};
use crate::verdicts::Verdict;

/// How long verdicts are collected before they are put into the store together.
const COLLECTING: Duration = Duration::from_secs(10);

/// What is to be put into the store.
pub(super) enum Job {
    /// This object, which a list may name.
    Put(KeyHash),
    /// This verdict, into the entry for this subject.
    Judged(KeyHash, Verdict),
    /// The program has ended.
    End,
}

/// Puts what was compiled and found out into the store, and at the end the lists.
pub(super) fn publish(shared: &Shared, jobs: &Receiver<Job>) {
    let session = &shared.session;
    let Ok(remote) = session.connect(Limits::BESIDE) else {
        return;
    };
    let mut publisher = Publisher {
        shared,
        session,
        remote,
        health: Health::default(),
        put: Vec::new(),
        judged: HashMap::new(),
    };
    // When verdicts that were collected are to be put there.
    let mut due: Option<Instant> = None;
    loop {
        let job = match due {
            None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => jobs.recv_timeout(due.saturating_duration_since(Instant::now())),
        };
        match job {
            Ok(Job::Put(hash)) => publisher.put(hash),
            Ok(Job::Judged(subject, verdict)) => {
                publisher.judged.entry(subject).or_default().push(verdict);
                due.get_or_insert_with(|| Instant::now() + COLLECTING);
            }
            Ok(Job::End) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                publisher.put_verdicts();
                due = None;
            }
        }
    }
    let state = shared.state();
    let (lists, mut wanted) = (state.lists.clone(), state.wanted.clone());
    drop(state);
    wanted.extend(&publisher.put);
    wanted.retain(|hash| session.store.is_in_private_layer(*hash));
    publisher.put_verdicts();
    publisher.put_lists(&lists, &wanted);
}

/// What puts things into the store.
struct Publisher<'s> {
    shared: &'s Shared,
    session: &'s Session,
    remote: Box<dyn RemoteStore>,
    health: Health,
    /// Objects that are in the store now.
    put: Vec<KeyHash>,
    /// Verdicts that are not, by the subject of their entry.
    judged: HashMap<KeyHash, Vec<Verdict>>,
}

impl Publisher<'_> {
    /// Whether anything can be put into the store now.
    fn can(&self) -> bool {
        self.session.private.is_some() && self.health.is_to_be_asked(Instant::now()) && !self.shared.is_over()
    }

    fn note<T>(&mut self, done: Result<T, StoreFailure>) -> Option<T> {
        match done {
            Ok(done) => {
                self.health.note_answer();
                Some(done)
            }
            Err(failure) => {
                self.health.note_failure(Instant::now(), failure.trouble());
                None
            }
        }
    }

    fn put(&mut self, hash: KeyHash) {
        if !self.can() {
            if self.session.private.is_some() {
                tell(0, &Answer::NotPut("it is left alone after failures"));
            }
            return;
        }
        let how = match self.shared.state().refused.remove(&hash) {
            true => Put::Replacing,
            false => Put::New,
        };
        let done = self.session.put(self.remote.as_mut(), hash, how);
        if let Err(failure) = &done {
            tell(0, &Answer::NotPut(&failure.to_string()));
        }
        if let Some(Sent::New | Sent::Known) = self.note(done) {
            self.put.push(hash);
        }
    }

    /// Puts the verdicts into the store, or forgets them: nothing is tried again.
    fn put_verdicts(&mut self) {
        for (subject, verdicts) in std::mem::take(&mut self.judged) {
            if self.can() {
                let done = self
                    .session
                    .add_verdicts(self.remote.as_mut(), subject, &verdicts);
                self.note(done);
            }
        }
    }

    /// Puts the lists of what was wanted or made into the store.
    fn put_lists(&mut self, lists: &[KeyHash], wanted: &[KeyHash]) {
        for list in lists {
            if !self.can() {
                return;
            }
            let remote = self.remote.as_mut();
            let done = self.session.add_to_list(remote, *list, wanted);
            if self.note(done).is_none() {
                return;
            }
        }
    }
}
