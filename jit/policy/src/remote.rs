//! The tier behind the folders: a remote store, which a process of its own asks ([`Transport`]) and which
//! must cost no launch more than the deadline.
//!
//! What it brings is in the private folder then, checked, and used as all that is there. A store that is out
//! of order three times is left alone for a while, by the processes that start meanwhile too.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, Once, OnceLock};
use std::time::{Duration, Instant};

use offloom_abi::jit_remote::Device;
use offloom_jit_cache::remote::{Health, PATIENCE, REST, Trouble};
use offloom_jit_cache::settings::{CacheMode, Mode};
use offloom_jit_cache::stats::RemoteUses;
use offloom_jit_cache::store::{ImageKey, KeyHash, Place, file_size};
use offloom_jit_variants::trial::Times;

use crate::disk_cache::with_store;
use crate::process::fork_gate;
use crate::process::lock::lock;
use crate::process::report;
use crate::process::settings::settings;

/// How the store is asked.
pub trait Transport: Sync {
    /// Has an object put into the private folder, and waits for that as long as this; or for `patience` where
    /// another machine is known to make it. Where that is no time at all, the store is asked without waiting
    /// ([`Reply::Later`]), unless it owes answers to such questions.
    fn fetch(&self, hash: KeyHash, deadline: Duration, patience: Duration) -> Reply;
    /// Has an object of the private folder put into the store, without waiting.
    fn publish(&self, hash: KeyHash);
    /// Takes note of a list of what a program wants, which is brought once anything is asked; `now`: without
    /// waiting for that.
    fn expect(&self, list: KeyHash, now: bool);
    /// Takes note that the program of a list uses a GPU: what launches took on others of its model is brought
    /// once anything is asked, without waiting for that.
    fn expect_verdicts(&self, list: KeyHash, device: Device<'_>);
    /// Has what launches of an object of the private folder took put into the store, without waiting.
    fn publish_verdict(&self, list: KeyHash, device: Device<'_>, hash: KeyHash, times: Times);
    /// Takes note of what has come by now without being asked for.
    fn catch_up(&self);
}

/// What came of asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The object is in the private folder.
    Arrived,
    /// The store does not have it.
    Absent,
    /// What the store has is not to be trusted, for this reason.
    Refused(String),
    /// The store could not be asked, for this reason.
    Failed(String),
    /// The store has not answered in time, for this reason.
    Late(String),
    /// No store can be asked by this process, for this reason.
    Unusable(String),
    /// Others are asking, or have asked and wait no longer; or there is no connection yet.
    Busy,
    /// It is asked, and [`note`] hears of what comes of it.
    Later,
}

static TRANSPORT: OnceLock<&'static dyn Transport> = OnceLock::new();

/// What is known of the store, and what was asked of it.
#[derive(Default)]
struct State {
    health: Health,
    /// No store can be asked.
    is_unusable: bool,
    /// Whether it was looked if other processes leave it alone.
    has_looked: bool,
    /// What this process has had brought; with where it is, if it came with others.
    brought: HashMap<KeyHash, Option<Place>>,
    uses: RemoteUses,
}

fn state() -> &'static Mutex<State> {
    // Leaked, as all of this library's state.
    static STATE: OnceLock<&'static Mutex<State>> = OnceLock::new();
    STATE.get_or_init(|| Box::leak(Box::default()))
}

/// Says how the store is asked. The first call counts.
pub fn use_transport(transport: &'static dyn Transport) {
    let _ = TRANSPORT.set(transport);
}

/// Whether there is a store to ask: what it brings needs a folder that is written.
pub fn is_wanted() -> bool {
    settings().remote.is_some() && settings().cache_mode == CacheMode::ReadWrite
}

/// The way to the store, unless it is to be left alone. `is_waited`: an answer is waited for.
fn transport(is_waited: bool) -> Option<&'static dyn Transport> {
    if !is_wanted() {
        return None;
    }
    let transport = *TRANSPORT.get()?;
    let mut state = lock(state());
    if state.is_unusable {
        return None;
    }
    if !state.has_looked {
        state.has_looked = true;
        let is_in =
            |trouble| with_store(|store| store.is_out_of_order(&name_of(trouble), REST)).unwrap_or(true);
        if let Some(trouble) = Trouble::ALL.into_iter().find(|trouble| is_in(*trouble)) {
            report::log(match trouble {
                Trouble::Failing => {
                    "the remote store is left alone: another process has found it out of order"
                }
                Trouble::Late => "the remote store is not waited for: another process has found it slow",
            });
            state.health.rest(Instant::now(), trouble);
        }
    }
    let now = Instant::now();
    let is_wanted = match is_waited {
        true => state.health.is_to_be_asked(now),
        false => state.health.is_to_be_used(now),
    };
    is_wanted.then_some(transport)
}

fn url() -> &'static str {
    settings().remote.as_deref().unwrap_or_default()
}

/// Under this the cache remembers in what way the store is out of order.
fn name_of(trouble: Trouble) -> String {
    trouble.name(url())
}

/// Has an object put into the private folder, if the store has it, and waits for that within the deadline. A
/// store that has let launches wait that long is asked beside them until it answers. True: it is there.
pub(crate) fn bring(key: &ImageKey) -> bool {
    let Some(transport) = transport(true) else {
        return false;
    };
    let hash = key.hash();
    let deadline = Duration::from_millis(u64::from(settings().remote_deadline));
    let (deadline, patience) = match settings().mode {
        // A launch waits.
        Mode::Sync => {
            let left = lock(state()).health.left_to_wait(deadline);
            (left, left)
        }
        Mode::Async | Mode::Off => (deadline, deadline.max(PATIENCE)),
    };
    let begun = Instant::now();
    let reply = transport.fetch(hash, deadline, patience);
    match reply {
        Reply::Arrived => {
            lock(state()).brought.entry(hash).or_default();
        }
        Reply::Failed(_) | Reply::Late(_) | Reply::Busy => {
            lock(state()).health.note_wait(begun.elapsed());
        }
        Reply::Absent | Reply::Refused(_) | Reply::Unusable(_) | Reply::Later => {}
    }
    note(&reply);
    reply == Reply::Arrived
}

/// Has an object that was just compiled put into the store, unless it is too large.
pub(crate) fn publish(key: &ImageKey, object: &[u8]) {
    if let Some(transport) = transport(false) {
        if file_size(key, object) > settings().remote_limit {
            lock(state()).uses.too_large += 1;
            return;
        }
        lock(state()).uses.published += 1;
        transport.publish(key.hash());
    }
}

/// Takes note of the list of what a program wants; `now`: it is likely to want it soon.
pub fn expect(list: KeyHash, now: bool) {
    if let Some(transport) = transport(false) {
        transport.expect(list, now);
    }
}

/// Takes note that the program of a list uses this device, of which what launches took on other machines is
/// wanted. That of processors comes with the list.
pub(crate) fn expect_verdicts(list: KeyHash, device: Device<'_>) {
    if device != Device::Processor
        && settings().retire
        && let Some(transport) = transport(false)
    {
        transport.expect_verdicts(list, device);
    }
}

/// Has what launches of an object took put into the store.
pub(crate) fn publish_verdict(list: KeyHash, device: Device<'_>, key: &ImageKey, times: Times) {
    if let Some(transport) = transport(false) {
        lock(state()).uses.verdicts_published += 1;
        transport.publish_verdict(list, device, key.hash(), times);
    }
}

/// Whether this process has had an object brought.
pub(crate) fn has_brought(hash: KeyHash) -> bool {
    is_wanted() && brought(hash).is_some()
}

/// Where the object of a key is that has come with others, and may have no file of its own yet.
pub(crate) fn place_of(key: &ImageKey) -> Option<(KeyHash, Place)> {
    // Telling the hash of a key takes as long as reading a file.
    let hash = is_wanted().then(|| key.hash())?;
    Some((hash, brought(hash)??))
}

/// What is noted of an object, if it was brought.
fn brought(hash: KeyHash) -> Option<Option<Place>> {
    let noted = || lock(state()).brought.get(&hash).cloned();
    noted().or_else(|| {
        TRANSPORT.get()?.catch_up();
        noted()
    })
}

/// Takes note of objects that came together without being asked for one by one, and where they are.
pub fn note_brought(objects: impl IntoIterator<Item = (KeyHash, Place)>) {
    let mut state = lock(state());
    let before = state.brought.len();
    let places = objects.into_iter().map(|(hash, place)| (hash, Some(place)));
    state.brought.extend(places);
    let more = state.brought.len() - before;
    state.uses.fetched_ahead += more as u64;
    state.health.note_object();
}

/// Takes note that the private folder says now, for so many objects, what launches took on other machines.
pub fn note_verdicts(count: u32) {
    lock(state()).uses.verdicts += u64::from(count);
}

/// Takes note of what came of asking, also where nobody waited for it.
pub fn note(reply: &Reply) {
    static SAID_FAILED: Once = Once::new();
    static SAID_LATE: Once = Once::new();
    static SAID_REFUSED: Once = Once::new();
    static SAID_UNUSABLE: Once = Once::new();
    let mut state = lock(state());
    let uses = &mut state.uses;
    let counter = match reply {
        Reply::Arrived => &mut uses.fetched,
        Reply::Absent | Reply::Busy => &mut uses.absent,
        Reply::Refused(_) => &mut uses.refused,
        Reply::Failed(_) | Reply::Late(_) | Reply::Unusable(_) => &mut uses.failed,
        Reply::Later => return,
    };
    *counter += 1;
    match reply {
        Reply::Arrived => state.health.note_object(),
        Reply::Absent => state.health.note_answer(),
        Reply::Busy | Reply::Later => {}
        Reply::Refused(reason) => {
            state.health.note_answer();
            drop(state);
            SAID_REFUSED.call_once(|| {
                report::line(format_args!(
                    "an entry of the remote store is not used: {reason}. What it is for is compiled here; more such entries are only counted"
                ));
            });
        }
        Reply::Failed(reason) => {
            if note_failure(state, Trouble::Failing, reason) {
                SAID_FAILED.call_once(|| {
                    report::line(format_args!(
                        "the remote store {} is left alone, and tried again in a minute: {reason}",
                        url()
                    ));
                });
            }
        }
        Reply::Late(reason) => {
            if note_failure(state, Trouble::Late, reason) {
                SAID_LATE.call_once(|| {
                    report::line(format_args!(
                        "the remote store {} answers later than OFFLOOM_JIT_REMOTE_DEADLINE allows ({} ms): for a minute \
                         it is not asked for single kernels; what an earlier run wanted is brought, and what is compiled \
                         here is offered to it ({reason})",
                        url(),
                        settings().remote_deadline
                    ));
                });
            }
        }
        Reply::Unusable(reason) => {
            state.is_unusable = true;
            drop(state);
            SAID_UNUSABLE.call_once(|| report::line(format_args!("no remote store is used: {reason}")));
        }
    }
}

/// Takes note of a request that failed. True: the store is left alone from now on.
fn note_failure(mut state: MutexGuard<'_, State>, trouble: Trouble, reason: &str) -> bool {
    let is_left_alone = state.health.note_failure(Instant::now(), trouble);
    drop(state);
    report::log(format_args!("the remote store: {reason}"));
    if is_left_alone {
        with_store(|store| store.note_out_of_order(&name_of(trouble)));
    }
    is_left_alone
}

/// Takes note that something which was to be put into the store is not there.
pub fn note_not_put(reason: &str) {
    static SAID: Once = Once::new();
    let mut state = lock(state());
    state.uses.not_put += 1;
    // What is wrong with all that is asked is said elsewhere.
    let is_failing = state.health.is_failing();
    drop(state);
    if is_failing {
        return;
    }
    SAID.call_once(|| {
        report::line(format_args!(
            "what is compiled here is not put into the remote store {}: {reason}. More such failures are only counted",
            url()
        ));
    });
}

/// What was asked of the store, if there is one.
pub fn uses() -> Option<RemoteUses> {
    if !is_wanted() {
        return None;
    }
    // A child that was forked while another thread held a lock cannot tell.
    let _change = fork_gate::enter()?;
    if let Some(transport) = TRANSPORT.get() {
        transport.catch_up();
    }
    Some(lock(state()).uses)
}
