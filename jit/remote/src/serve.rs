//! Serves one program: answers what `liboffloom_jit.so` asks over the socket that is the standard input,
//! until that is closed; then puts what was compiled last into the store, and ends.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use offloom_abi::jit_remote::{Answer, MOST_BYTES, MOST_HASHES, Question};
use offloom_jit_cache::remote::{Absences, CLAIM, Health, Wait};
use offloom_jit_cache::settings::Found;
use offloom_jit_cache::store::KeyHash;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::stdio::stdin;

use crate::machine;
use crate::session::{Got, Session, claim_name};
use crate::stores::{Limits, RemoteStore, StoreFailure};

/// Objects that wait to be put into the store. What comes when so many wait is not put there.
const MOST_WAITING: usize = 256;
/// How long it is tried, once the program has ended, to put what waits into the store.
const LAST_TRIES: Duration = Duration::from_secs(20);

/// What is to be put into the store.
enum Job {
    /// This object, which a list may name.
    Put(KeyHash),
    /// The program has ended.
    End,
}

/// What the threads share.
struct Shared {
    session: Session,
    state: Mutex<State>,
    /// Something is no longer on its way.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Objects that were asked for together, and are not there yet.
    coming: HashSet<KeyHash>,
    /// What the store said that it does not have.
    absent: Absences,
    /// The programs' lists.
    lists: Vec<KeyHash>,
    /// What this run has wanted of the store or made.
    wanted: Vec<KeyHash>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves until the program has ended.
///
/// # Errors
/// The standard input is no socket of the library's.
pub(crate) fn serve() -> io::Result<()> {
    let mut buffer = vec![0; MOST_BYTES];
    let Some(length) = receive(&mut buffer)? else {
        return Ok(());
    };
    let begun = match Question::parse(&buffer[..length]).map_err(io::Error::other)? {
        (_, Question::Begin { variables }) => begin(&variables),
        _ => {
            return Err(io::Error::other("the first message does not say what to go by"));
        }
    };
    let session = match begun {
        Ok(session) => session,
        Err(reason) => return refuse_all(&reason, &mut buffer),
    };
    let shared = Arc::new(Shared {
        session,
        state: Mutex::default(),
        changed: Condvar::new(),
    });
    let (jobs, waiting) = sync_channel(MOST_WAITING);
    let publisher = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || publish(&shared, &waiting))
    };
    let ended = answer_all(&shared, &jobs, &mut buffer);
    // Blocks for as long as the publisher takes to make room, which has limits.
    if jobs.send(Job::End).is_ok() {
        let _ = publisher.join();
    }
    ended
}

fn begin(variables: &[(&str, &[u8])]) -> Result<Session, String> {
    let variables: HashMap<&str, OsString> = variables
        .iter()
        .map(|(name, value)| (*name, OsString::from_vec(value.to_vec())))
        .collect();
    let found = Found::read(
        variables
            .iter()
            .map(|(name, value)| (OsString::from(name), value.clone())),
    );
    Session::open(&found.settings, |name| variables.get(name).cloned())
}

/// Tells each that asks why nothing can be had.
fn refuse_all(reason: &str, buffer: &mut [u8]) -> io::Result<()> {
    tell(0, &Answer::Unusable(reason));
    while let Some(length) = receive(buffer)? {
        if let Ok((number, Question::Fetch { .. })) = Question::parse(&buffer[..length]) {
            tell(number, &Answer::Unusable(reason));
        }
    }
    Ok(())
}

fn answer_all(shared: &Arc<Shared>, jobs: &SyncSender<Job>, buffer: &mut [u8]) -> io::Result<()> {
    let limits = Limits::of_look_up(shared.session.deadline);
    let mut remote = match shared.session.connect(limits) {
        Ok(remote) => remote,
        Err(StoreFailure(reason)) => return refuse_all(&reason, buffer),
    };
    while let Some(length) = receive(buffer)? {
        let (number, question) = Question::parse(&buffer[..length]).map_err(io::Error::other)?;
        match question {
            Question::Begin { .. } => {}
            Question::Fetch {
                hash,
                deadline,
                patience,
            } => {
                let [deadline, patience] =
                    [deadline, patience].map(|time| Duration::from_millis(time.into()));
                let wait = Wait::new(Instant::now(), deadline, patience);
                match fetch(shared, remote.as_mut(), KeyHash(hash), wait, || {
                    tell(number, &Answer::Elsewhere);
                }) {
                    Ok(Got::Arrived) => tell(number, &Answer::Arrived),
                    Ok(Got::Absent) => tell(number, &Answer::Absent),
                    Ok(Got::Refused(refusal)) => tell(number, &Answer::Refused(&refusal.to_string())),
                    Err(StoreFailure(reason)) => tell(number, &Answer::Failed(&reason)),
                }
            }
            Question::Publish { hash } => {
                // What finds no room is put there by another machine, or by the next run.
                let _ = jobs.try_send(Job::Put(KeyHash(hash)));
            }
            Question::Expect { list } => {
                let list = KeyHash::of(&format!("{} on\n{}", KeyHash(list), machine::model()));
                shared.state().lists.push(list);
                let shared = Arc::clone(shared);
                thread::spawn(move || bring(&shared, list));
            }
        }
    }
    Ok(())
}

/// Asks the store. `elsewhere` is called once if another machine is making the object.
fn fetch(
    shared: &Shared,
    remote: &mut dyn RemoteStore,
    hash: KeyHash,
    mut wait: Wait,
    elsewhere: impl FnOnce(),
) -> Result<Got, StoreFailure> {
    let mut elsewhere = Some(elsewhere);
    {
        let mut state = shared.state();
        state.wanted.push(hash);
        while state.coming.contains(&hash) {
            let left = wait.left(Instant::now());
            if left.is_zero() {
                return Ok(Got::Absent);
            }
            state = shared
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        if state.absent.has(hash, Instant::now()) {
            return Ok(Got::Absent);
        }
    }
    if shared.session.store.is_in_private_layer(hash) {
        return Ok(Got::Arrived);
    }
    loop {
        let got = shared.session.get(remote, hash)?;
        if got != Got::Absent {
            return Ok(got);
        }
        // Who cannot sign makes it for itself, and keeps nobody waiting. A store that is full takes no
        // claims, and can still be read.
        if shared.session.private.is_none()
            || wait.is_to_be_claimed(Instant::now()) && remote.claim(&claim_name(hash), CLAIM).unwrap_or(true)
        {
            break;
        }
        let Some(pause) = wait.before_next(Instant::now()) else {
            break;
        };
        if let Some(elsewhere) = elsewhere.take() {
            elsewhere();
        }
        thread::sleep(pause);
    }
    shared.state().absent.note(hash, Instant::now());
    Ok(Got::Absent)
}

/// Puts what an earlier run wanted into the private folder.
fn bring(shared: &Shared, list: KeyHash) {
    let brought = shared.session.connect(Limits::BESIDE).and_then(|mut remote| {
        let hashes = match shared.session.list(remote.as_mut(), list)? {
            Ok(hashes) => hashes,
            Err(refusal) => {
                tell(0, &Answer::Refused(&format!("the list of a program: {refusal}")));
                return Ok(());
            }
        };
        let missing: Vec<_> = hashes
            .into_iter()
            .filter(|hash| !shared.session.store.is_in_any_layer(*hash))
            .collect();
        shared.state().coming.extend(&missing);
        // Told before: the program may find them right after.
        let before = |hashes: &[KeyHash]| {
            for some in hashes.chunks(MOST_HASHES) {
                tell(0, &Answer::Brought(some.iter().map(|hash| hash.0).collect()));
            }
        };
        let after = |hashes: &[KeyHash]| {
            shared.state().coming.retain(|hash| !hashes.contains(hash));
            shared.changed.notify_all();
        };
        let got = shared.session.get_many(remote.as_mut(), &missing, before, after);
        after(&missing);
        if let Some((refusal, _)) = got?.refused {
            tell(0, &Answer::Refused(&refusal.to_string()));
        }
        Ok(())
    });
    if let Err(StoreFailure(reason)) = brought {
        tell(0, &Answer::Failed(&reason));
    }
}

/// Puts what was compiled into the store, and at the end the lists.
fn publish(shared: &Shared, jobs: &Receiver<Job>) {
    let session = &shared.session;
    let Ok(mut remote) = session.connect(Limits::BESIDE) else {
        return;
    };
    let mut health = Health::default();
    let mut put = Vec::new();
    while let Ok(Job::Put(hash)) = jobs.recv() {
        if session.private.is_none() || !health.is_to_be_asked(Instant::now()) {
            continue;
        }
        match session.put(remote.as_mut(), hash) {
            Ok(done) => {
                health.note_answer();
                put.extend(done.map(|_| hash));
            }
            Err(_) => {
                health.note_failure(Instant::now());
            }
        }
    }
    if !health.is_to_be_asked(Instant::now()) || session.private.is_none() {
        return;
    }
    let state = shared.state();
    let (lists, mut wanted) = (state.lists.clone(), state.wanted.clone());
    drop(state);
    wanted.extend(put);
    wanted.retain(|hash| session.store.is_in_private_layer(*hash));
    let end = Instant::now() + LAST_TRIES;
    for list in lists {
        if Instant::now() >= end || session.add_to_list(remote.as_mut(), list, &wanted).is_err() {
            return;
        }
    }
}

/// The length of the next message. `None`: the other end is gone.
fn receive(buffer: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        match recv(stdin(), &mut *buffer, RecvFlags::empty()) {
            Ok((0, _)) | Err(Errno::CONNRESET) => return Ok(None),
            Ok((length, _)) => return Ok(Some(length)),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Says something, if anyone listens. Nobody waits here for a program that does not read: it asks again.
fn tell(number: u32, answer: &Answer<'_>) {
    let _ = send(
        stdin(),
        &answer.encode(number),
        SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
    );
}
