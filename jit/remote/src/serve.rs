//! Serves one program: answers what `liboffloom_jit.so` asks over the socket that is the standard input,
//! until that is closed; then puts what was compiled last into the store, and ends.

mod bring;
mod publisher;

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use offloom_abi::jit_remote::{Answer, Device, MOST_BYTES, Question};
use offloom_jit_cache::remote::{Absences, CLAIM, Health, Wait};
use offloom_jit_cache::settings::Found;
use offloom_jit_cache::store::{Batch, KeyHash, Model};
use offloom_jit_variants::trial::Times;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::stdio::stdin;

use crate::machine;
use crate::session::{Got, Session, claim_name, now};
use crate::stores::{Limits, RemoteStore, StoreFailure};
use crate::verdicts::{self, Verdict};
use bring::{Reading, bring, bring_verdicts, part, tell_of_trouble, tell_of_verdicts};
use publisher::{Job, publish};

/// Objects that wait to be put into the store. What comes when so many wait is not put there.
const MOST_WAITING: usize = 256;
/// How long it is tried, once the program has ended, to put what waits into the store.
const LAST_TRIES: Duration = Duration::from_secs(20);
/// How long what is tried then may take.
const LAST_REQUEST: Duration = Duration::from_secs(12);

/// What the threads share.
struct Shared {
    session: Session,
    /// When nothing more is tried, once the program has ended.
    end: OnceLock<Instant>,
    state: Mutex<State>,
    /// A list was read, or something is no longer on its way.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// How many lists are being read.
    reading: u32,
    /// Objects that were asked for together, and are not there yet.
    coming: HashSet<KeyHash>,
    /// What the store said that it does not have.
    absent: Absences,
    /// What the store has in a form that is not to be trusted, and is to be put there anew.
    refused: HashSet<KeyHash>,
    /// The programs' lists.
    lists: Vec<KeyHash>,
    /// What this run has wanted of the store or made.
    wanted: Vec<KeyHash>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the program has ended long ago.
    fn is_over(&self) -> bool {
        self.end.get().is_some_and(|end| Instant::now() >= *end)
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
        end: OnceLock::new(),
        state: Mutex::default(),
        changed: Condvar::new(),
    });
    let (jobs, waiting) = sync_channel(MOST_WAITING);
    let publisher = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || publish(&shared, &waiting))
    };
    let (batches, to_part) = channel();
    let parting = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || part(&shared, &to_part))
    };
    {
        let shared = Arc::clone(&shared);
        thread::spawn(move || end_by_itself(&shared));
    }
    let ended = answer_all(&shared, &jobs, &batches, &mut buffer);
    // The next run finds the files of what this one was handed. Lists name what is there.
    if batches.send(None).is_ok() {
        let _ = parting.join();
    }
    // Blocks for as long as the publisher takes to make room, which has limits.
    if jobs.send(Job::End).is_ok() {
        let _ = publisher.join();
    }
    ended
}

/// Waits for the end of the program. What is left to do then has limits; a store that sends its answers byte
/// by byte has none, and must not keep this process.
fn end_by_itself(shared: &Shared) {
    // That the other end is gone is told without being asked for.
    while !matches!(
        poll(&mut [PollFd::new(&stdin(), PollFlags::empty())], None),
        Ok(1)
    ) {}
    shared.end.get_or_init(|| Instant::now() + LAST_TRIES);
    thread::sleep(LAST_TRIES + LAST_REQUEST);
    std::process::exit(1);
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

fn answer_all(
    shared: &Arc<Shared>,
    jobs: &SyncSender<Job>,
    batches: &Sender<Option<Batch>>,
    buffer: &mut [u8],
) -> io::Result<()> {
    let mut health = Health::default();
    let limits = Limits::of_look_up(shared.session.deadline);
    let mut remote = match shared.session.connect(limits) {
        Ok(remote) => Connecting::begin(remote),
        Err(failure) => return refuse_all(&failure.to_string(), buffer),
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
                let got = match remote.connected() {
                    Ok(remote) => fetch(shared, remote, KeyHash(hash), wait, || {
                        tell(number, &Answer::Elsewhere);
                    }),
                    Err(failure) => Err(failure),
                };
                note_health(&shared.session, &mut health, &got);
                if got.is_err() {
                    remote.renew();
                }
                match got {
                    Ok(Got::Arrived { .. }) => tell(number, &Answer::Arrived),
                    Ok(Got::Absent) => tell(number, &Answer::Absent),
                    Ok(Got::Refused(refusal)) => tell(number, &Answer::Refused(&refusal.to_string())),
                    Err(StoreFailure::Failing(reason)) => tell(number, &Answer::Failed(&reason)),
                    Err(failure @ StoreFailure::Late) => tell(number, &Answer::Late(&failure.to_string())),
                };
            }
            Question::Publish { hash } => {
                // What finds no room is put there by another machine, or by the next run.
                if jobs.try_send(Job::Put(KeyHash(hash))).is_err() {
                    tell(0, &Answer::NotPut("too much waits to be put there"));
                }
            }
            Question::Expect { list } => {
                let verdicts = verdicts::subject(KeyHash(list), Device::Processor);
                let list = KeyHash::of(&format!("{} on\n{}", KeyHash(list), machine::model()));
                shared.state().lists.push(list);
                let reading = Reading::begin(shared);
                let batches = batches.clone();
                thread::spawn(move || tell_of_trouble(bring(reading, list, verdicts, &batches)));
            }
            Question::ExpectVerdicts { list, device } => {
                if let Some(subject) = verdicts::subject(KeyHash(list), device) {
                    let (shared, model) = (Arc::clone(shared), Model::of(device));
                    thread::spawn(move || tell_of_trouble(bring_verdicts(&shared, subject, model)));
                }
            }
            Question::Judged {
                list,
                device,
                hash,
                variant,
                ahead_of_time,
            } => {
                let times = Times {
                    variant,
                    ahead_of_time,
                };
                if let Some(subject) = verdicts::subject(KeyHash(list), device) {
                    let verdict = Verdict {
                        hash: KeyHash(hash),
                        times,
                        at: now(),
                    };
                    // What finds no room other machines find out.
                    let _ = jobs.try_send(Job::Judged(subject, verdict));
                }
            }
        }
    }
    Ok(())
}

/// What came of making a connection.
type Connected = (Box<dyn RemoteStore>, Result<(), StoreFailure>);

/// A connection for look-ups, which is made while the program does something else.
struct Connecting {
    /// What makes it.
    thread: Option<JoinHandle<Connected>>,
    /// It is there.
    remote: Option<Box<dyn RemoteStore>>,
    /// Why it could not be made the last time.
    failure: Option<StoreFailure>,
}

impl Connecting {
    fn begin(remote: Box<dyn RemoteStore>) -> Self {
        let mut this = Self {
            thread: None,
            remote: Some(remote),
            failure: None,
        };
        this.renew();
        this
    }

    /// Has it made, if it is not there. The program is told once answers are to be expected.
    fn renew(&mut self) {
        let Some(mut remote) = self.remote.take() else {
            return;
        };
        self.thread = Some(thread::spawn(move || {
            let connected = remote.connect();
            tell(0, &Answer::Ready);
            (remote, connected)
        }));
    }

    /// Waits until it is there. Where it could not be made the last time, that is said at once while it is
    /// tried again.
    fn connected(&mut self) -> Result<&mut dyn RemoteStore, StoreFailure> {
        let is_trying = self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
        if let Some(failure) = self.failure.clone().filter(|_| is_trying) {
            return Err(failure);
        }
        if let Some(thread) = self.thread.take() {
            let ended = |_| StoreFailure::Failing("the connection was not made".to_owned());
            let (remote, connected) = thread.join().map_err(ended)?;
            self.remote = Some(remote);
            self.failure = connected.err();
            if let Some(failure) = &self.failure {
                let failure = failure.clone();
                self.renew();
                return Err(failure);
            }
        }
        let none = || StoreFailure::Failing("there is no connection".to_owned());
        self.remote
            .as_deref_mut()
            .map(|remote| remote as _)
            .ok_or_else(none)
    }
}

/// Tells other processes of a store that is out of order. The program may have ended before it is found out.
fn note_health(session: &Session, health: &mut Health, got: &Result<Got, StoreFailure>) {
    let Err(failure) = got else {
        return health.note_answer();
    };
    if health.note_failure(Instant::now(), failure.trouble()) {
        // A cache that cannot be written has others find out again.
        let name = failure.trouble().name(&session.url);
        let _ = session.store.note_out_of_order(&name);
    }
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
    if !is_to_be_asked_for(shared, hash, wait) {
        return Ok(Got::Absent);
    }
    // Where nobody waits the question is whether the store answers; the object was made meanwhile.
    if wait.is_waited() && shared.session.has(hash) {
        return Ok(Got::Arrived { with_verdict: false });
    }
    let got = loop {
        let got = shared.session.get(remote, hash)?;
        match got {
            Got::Arrived { with_verdict } => {
                tell_of_verdicts(Ok(with_verdict.into()));
                return Ok(got);
            }
            Got::Refused(refusal) if !refusal.is_to_be_replaced() => return Ok(got),
            // It is made anew, by one machine.
            Got::Absent | Got::Refused(_) => {}
        }
        // Who cannot sign makes it for itself, and keeps nobody waiting. A store that is full takes no
        // claims, and can still be read.
        if shared.session.private.is_none()
            || wait.is_to_be_claimed(Instant::now()) && remote.claim(&claim_name(hash), CLAIM).unwrap_or(true)
        {
            break got;
        }
        let Some(pause) = wait.before_next(Instant::now()) else {
            break got;
        };
        if let Some(elsewhere) = elsewhere.take() {
            elsewhere();
        }
        thread::sleep(pause);
    };
    let mut state = shared.state();
    match got {
        Got::Refused(_) => {
            state.refused.insert(hash);
        }
        _ => state.absent.note(hash, Instant::now()),
    }
    Ok(got)
}

/// Waits for what is asked for together, if this object is in it. False: the object is not to be had in time,
/// or is not in the store.
fn is_to_be_asked_for(shared: &Shared, hash: KeyHash, wait: Wait) -> bool {
    let begun = Instant::now();
    // Lists are read in a round trip, and say what comes, and verdicts on it. The other half is for asking.
    let end_of_reading = begun + wait.left(begun) / 2;
    let mut state = shared.state();
    state.wanted.push(hash);
    loop {
        let now = Instant::now();
        let is_coming = state.coming.contains(&hash);
        let left = match is_coming {
            true => wait.left(now),
            false if state.reading > 0 => end_of_reading.saturating_duration_since(now),
            false => Duration::ZERO,
        };
        if left.is_zero() {
            return !is_coming && !state.absent.has(hash, now);
        }
        let waited = shared.changed.wait_timeout(state, left);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// The length of the next message. `None`: the other end is gone.
fn receive(buffer: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        match recv(stdin(), &mut *buffer, RecvFlags::empty()) {
            Ok((0, _)) => return Ok(None),
            Ok((length, _)) => return Ok(Some(length)),
            // The other end is gone and has left answers unread. That is told once, before what it said last.
            Err(Errno::CONNRESET | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Says something, if anyone listens: true if it is going to be heard. Nobody waits here for a program that
/// does not read: it asks again.
fn tell(number: u32, answer: &Answer<'_>) -> bool {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    send(stdin(), &answer.encode(number), flags).is_ok()
}
