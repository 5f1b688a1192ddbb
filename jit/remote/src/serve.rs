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
use offloom_jit_cache::store::{Batch, KeyHash};
use offloom_jit_variants::trial::Times;
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
/// How long it is tried, once the program has ended, to put what waits into the store. What is tried then may
/// take as long as a request does.
const LAST_TRIES: Duration = Duration::from_secs(20);

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

    /// Whether it is known what launches of this object took elsewhere.
    fn has_verdict(&self, hash: KeyHash) -> bool {
        self.session.verdicts.of(hash).is_some()
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
    let ended = answer_all(&shared, &jobs, &batches, &mut buffer);
    end_by_itself(&shared);
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

/// The program has ended. What is left to do has limits; a store that sends its answers byte by byte has not,
/// and must not keep this process.
fn end_by_itself(shared: &Shared) {
    shared.end.get_or_init(|| Instant::now() + LAST_TRIES);
    thread::spawn(|| {
        thread::sleep(LAST_TRIES + Limits::BESIDE.connect + Limits::BESIDE.request);
        std::process::exit(1);
    });
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
                match got {
                    Ok(Got::Arrived) => tell(number, &Answer::Arrived),
                    Ok(Got::Absent) => tell(number, &Answer::Absent),
                    Ok(Got::Refused(refusal)) => tell(number, &Answer::Refused(&refusal.to_string())),
                    Err(StoreFailure::Failing(reason)) => tell(number, &Answer::Failed(&reason)),
                    Err(failure @ StoreFailure::Late) => tell(number, &Answer::Late(&failure.to_string())),
                };
            }
            Question::Publish { hash } => {
                // What finds no room is put there by another machine, or by the next run.
                let _ = jobs.try_send(Job::Put(KeyHash(hash)));
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
                    let shared = Arc::clone(shared);
                    thread::spawn(move || tell_of_trouble(bring_verdicts(&shared, subject)));
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

/// A connection for look-ups, which is made while the program does something else.
enum Connecting {
    /// By this thread.
    Begun(Option<JoinHandle<Box<dyn RemoteStore>>>),
    /// It is there, or is made by whoever asks.
    Done(Box<dyn RemoteStore>),
}

impl Connecting {
    /// The program is told once answers are to be expected.
    fn begin(mut remote: Box<dyn RemoteStore>) -> Self {
        Self::Begun(Some(thread::spawn(move || {
            // What is wrong shows when something is asked.
            let _ = remote.connect();
            tell(0, &Answer::Ready);
            remote
        })))
    }

    fn connected(&mut self) -> Result<&mut dyn RemoteStore, StoreFailure> {
        if let Self::Begun(thread) = self {
            let remote = thread.take().and_then(|thread| thread.join().ok());
            let failed = || StoreFailure::Failing("the connection was not made".to_owned());
            *self = Self::Done(remote.ok_or_else(failed)?);
        }
        match self {
            Self::Done(remote) => Ok(remote.as_mut()),
            Self::Begun(_) => unreachable!("it was made just now"),
        }
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
        return Ok(Got::Arrived);
    }
    let got = loop {
        let got = shared.session.get(remote, hash)?;
        match got {
            Got::Arrived => {
                if shared.has_verdict(hash) {
                    tell_of_verdicts(Ok(1));
                }
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
            Ok((0, _)) | Err(Errno::CONNRESET) => return Ok(None),
            Ok((length, _)) => return Ok(Some(length)),
            Err(Errno::INTR) => {}
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
