//! The process that talks to a remote store (`jit/remote/`): started at the first question, asked over a
//! socket, and gone when the program is.
//!
//! No thread of the program waits for it longer than the caller says. An answer that comes later is passed
//! over, or noted when something else is asked.

use std::ffi::OsString;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use offloom_abi::jit_remote::{
    Answer, CREDENTIAL_VARIABLES, Device, InBatch, MOST_BYTES, NETWORK_VARIABLES, Question, REMOTE_NAME,
};
use offloom_jit_cache::remote::MOST_FAILURES;
use offloom_jit_cache::store::{KeyHash, Place};
use offloom_jit_policy::process::fork_gate;
use offloom_jit_policy::process::lock::lock;
use offloom_jit_policy::process::settings::{settings, variable_at_start};
use offloom_jit_policy::process::spawn::{self, Start};
use offloom_jit_policy::remote::{self, Reply, Transport};
use offloom_jit_variants::trial::Times;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::worker::{Identity, Owner, Parting, may_be_had, program_of};

/// How long the process may take until it has a connection to the store, or knows that there is none: no
/// answer until then says nothing of the store.
const STARTING: Duration = Duration::from_secs(3);

/// Where the socket is.
static SOCKET: Parting = Parting::new();

/// In a forked child: lets go of the parent's process, as [`super::worker::leave_to_parent`].
pub(crate) fn leave_to_parent() {
    SOCKET.close();
}

/// Has the remote tier ask through this.
pub(crate) fn use_it() {
    static PROCESS: OnceLock<&'static Process> = OnceLock::new();
    // Leaked, as all of this library's state.
    remote::use_transport(*PROCESS.get_or_init(|| Box::leak(Box::default())));
}

/// The process, if it was started, and whose turn it is.
#[derive(Default)]
struct Process {
    state: Mutex<State>,
    /// The turn of the one that has asked is over.
    free: Condvar,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    /// Somebody has asked, and waits.
    is_taken: bool,
    /// Of the last question.
    number: u32,
    /// What every new process is told.
    lists: Vec<KeyHash>,
    /// And what it is told then: the names of GPUs, each with a list.
    gpus: Vec<(KeyHash, String)>,
}

struct Connection {
    /// Only `None` while it is dropped.
    socket: Option<OwnedFd>,
    /// Questions whose answers nobody waits for, and that are not answered.
    unanswered: Mutex<Vec<u32>>,
    begun: Instant,
    /// [`Answer::Ready`] has come.
    is_ready: AtomicBool,
    /// Somebody has waited in vain before it came.
    was_waited_for: AtomicBool,
    owner: Owner,
    identity: Identity,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(socket) = self.socket.take()
            && !self.identity.is_of(&socket)
        {
            // A program may have closed it, and opened something else.
            std::mem::forget(socket);
        }
    }
}

impl Connection {
    /// Starts the process, and tells it what to go by.
    fn start(lists: &[KeyHash], gpus: &[(KeyHash, String)]) -> Result<Self, String> {
        if !may_be_had() {
            return Err(format!(
                "{REMOTE_NAME} would be a child of this process, which is the first of its container or a subreaper"
            ));
        }
        let program = program_of(REMOTE_NAME).ok_or_else(|| format!("{REMOTE_NAME} is not installed"))?;
        let failed = |error: std::io::Error| format!("cannot start {}: {error}", program.display());
        let _undivided = fork_gate::enter_undivided();
        let (socket, other_end) = spawn::packet_pair().map_err(failed)?;
        let start = Start {
            program: &program,
            arguments: &[],
            passed_on: &NETWORK_VARIABLES,
            input: Some(other_end.as_fd()),
            output: None,
            leads_group: false,
        };
        spawn::spawn_detached(&start).map_err(failed)?;
        let identity = Identity::of(&socket).map_err(|error| failed(error.into()))?;
        SOCKET.remember(socket.as_raw_fd(), identity);
        let connection = Self {
            socket: Some(socket),
            unanswered: Mutex::default(),
            begun: Instant::now(),
            is_ready: AtomicBool::new(false),
            was_waited_for: AtomicBool::new(false),
            owner: Owner::current(),
            identity,
        };
        let variables = variables();
        let variables = variables.iter().map(|(name, value)| (*name, value.as_bytes()));
        connection.say(
            0,
            &Question::Begin {
                variables: variables.collect(),
            },
        )?;
        for list in lists {
            connection.say(0, &Question::Expect { list: list.0 })?;
        }
        for (list, name) in gpus {
            let device = Device::Gpu(name);
            connection.say(0, &Question::ExpectVerdicts { list: list.0, device })?;
        }
        Ok(connection)
    }

    /// Whether it may have no connection to the store yet.
    fn is_starting(&self) -> bool {
        !self.is_ready.load(Ordering::Relaxed) && self.begun.elapsed() < STARTING
    }

    fn is_ours(&self) -> bool {
        self.owner == Owner::current()
            && self
                .socket
                .as_ref()
                .is_some_and(|socket| self.identity.is_of(socket))
    }

    /// Sends a message at once, or not at all.
    fn say(&self, number: u32, question: &Question<'_>) -> Result<(), String> {
        let gone = || format!("{REMOTE_NAME} has ended");
        let socket = self.socket.as_ref().ok_or_else(gone)?;
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        match send(socket, &question.encode(number), flags) {
            Ok(_) => Ok(()),
            Err(Errno::AGAIN) => Err(format!("{REMOTE_NAME} has too much to do")),
            Err(_) => Err(gone()),
        }
    }

    /// Reads messages until `stop` has something for one, and hands it that; until `end` at most. `None`: it
    /// has not come by then.
    fn listen(
        &self,
        end: &mut Instant,
        mut stop: impl FnMut(u32, &Answer<'_>, &mut Instant) -> Option<Reply>,
    ) -> Option<Reply> {
        let gone = || Some(Reply::Failed(format!("{REMOTE_NAME} has ended")));
        let Some(socket) = &self.socket else { return gone() };
        let mut buffer = vec![0; MOST_BYTES];
        loop {
            match recv(socket, &mut buffer, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return gone(),
                Ok((length, _)) => match Answer::parse(&buffer[..length]) {
                    Err(error) => return Some(Reply::Unusable(error.to_string())),
                    Ok((0, Answer::Brought { batch, objects })) => {
                        remote::note_brought(places(batch, &objects));
                    }
                    Ok((0, Answer::Verdicts(count))) => remote::note_verdicts(count),
                    Ok((0, Answer::NotPut(reason))) => remote::note_not_put(reason),
                    Ok((0, Answer::Ready)) => self.is_ready.store(true, Ordering::Relaxed),
                    Ok((0, answer)) => {
                        if let Some(reply) = reply_of(&answer) {
                            remote::note(&reply);
                        }
                    }
                    Ok((number, answer)) => {
                        self.note_late(number, &answer);
                        if let Some(reply) = stop(number, &answer, end) {
                            return Some(reply);
                        }
                    }
                },
                Err(Errno::AGAIN | Errno::INTR) => {
                    let left = end.saturating_duration_since(Instant::now());
                    let left = Timespec::try_from(left).ok().filter(|_| !left.is_zero())?;
                    let _ = poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&left));
                }
                Err(_) => return gone(),
            }
        }
    }

    /// Takes note of what came of a question, if nobody waits for that.
    fn note_late(&self, number: u32, answer: &Answer<'_>) {
        let mut unanswered = lock(&self.unanswered);
        let Some(place) = unanswered.iter().position(|asked| *asked == number) else {
            return;
        };
        unanswered.swap_remove(place);
        drop(unanswered);
        // That somebody else makes it says as much of the store.
        remote::note(&reply_of(answer).unwrap_or(Reply::Absent));
    }

    /// Asks for an object without waiting, unless so many such questions are open that one more says no more
    /// of the store.
    fn ask_beside(&self, number: u32, hash: KeyHash) -> Reply {
        self.listen(&mut Instant::now(), |_, _, _| None);
        if lock(&self.unanswered).len() + 1 >= MOST_FAILURES as usize {
            return Reply::Busy;
        }
        let question = Question::Fetch {
            hash: hash.0,
            deadline: 0,
            patience: 0,
        };
        match self.say(number, &question) {
            Ok(()) => {
                lock(&self.unanswered).push(number);
                Reply::Later
            }
            Err(reason) => Reply::Failed(reason),
        }
    }
}

/// What the process needs to know of this one's environment and settings.
fn variables() -> Vec<(&'static str, OsString)> {
    let settings = settings();
    let mut variables = vec![
        ("OFFLOOM_JIT_CACHE_SIZE", settings.cache_size.to_string().into()),
        (
            "OFFLOOM_JIT_REMOTE_DEADLINE",
            settings.remote_deadline.to_string().into(),
        ),
        (
            "OFFLOOM_JIT_REMOTE_LIMIT",
            settings.remote_limit.to_string().into(),
        ),
    ];
    let paths = settings.cache_path.iter().map(|path| path.as_os_str().as_bytes());
    let paths = paths.collect::<Vec<_>>().join(&b':');
    variables.push(("OFFLOOM_JIT_CACHE_PATH", OsString::from_vec(paths)));
    let given = [
        (
            "OFFLOOM_JIT_CACHE_DIR",
            settings
                .private_cache_directory(variable_at_start)
                .map(OsString::from),
        ),
        ("OFFLOOM_JIT_REMOTE", settings.remote.clone().map(OsString::from)),
        (
            "OFFLOOM_JIT_REMOTE_KEYS",
            settings.keys_directory(variable_at_start).map(OsString::from),
        ),
        (
            "OFFLOOM_JIT_REMOTE_CREDENTIALS",
            settings.remote_credentials.clone().map(OsString::from),
        ),
    ];
    let secrets = CREDENTIAL_VARIABLES.map(|name| (name, variable_at_start(name)));
    let given = given.into_iter().chain(secrets);
    variables.extend(given.filter_map(|(name, value)| Some((name, value?))));
    variables
}

/// Where the objects of a batch are.
fn places(batch: &str, objects: &[InBatch]) -> impl Iterator<Item = (KeyHash, Place)> {
    let batch: Arc<str> = Arc::from(batch);
    objects.iter().map(move |object| {
        let place = Place {
            batch: Arc::clone(&batch),
            offset: object.offset,
            size: object.size,
        };
        (KeyHash(object.hash), place)
    })
}

fn reply_of(answer: &Answer<'_>) -> Option<Reply> {
    Some(match answer {
        Answer::Arrived => Reply::Arrived,
        Answer::Absent => Reply::Absent,
        Answer::Refused(reason) => Reply::Refused((*reason).to_owned()),
        Answer::Failed(reason) => Reply::Failed((*reason).to_owned()),
        Answer::Late(reason) => Reply::Late((*reason).to_owned()),
        Answer::Unusable(reason) => Reply::Unusable((*reason).to_owned()),
        Answer::Elsewhere
        | Answer::Brought { .. }
        | Answer::Verdicts(_)
        | Answer::Ready
        | Answer::NotPut(_) => return None,
    })
}

impl Process {
    /// The connection to the process, which is started if need be.
    fn connection(state: &mut State) -> Result<Arc<Connection>, Reply> {
        if let Some(connection) = state
            .connection
            .as_ref()
            .filter(|connection| connection.is_ours())
        {
            return Ok(Arc::clone(connection));
        }
        let connection = Connection::start(&state.lists, &state.gpus).map_err(Reply::Unusable)?;
        Ok(Arc::clone(state.connection.insert(Arc::new(connection))))
    }

    /// Waits until nobody else asks.
    fn take_turn(&self, end: Instant) -> Option<MutexGuard<'_, State>> {
        let mut state = lock(&self.state);
        while state.is_taken {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let waited = self.free.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Some(state)
    }

    /// Sends a message that nobody waits for the answer of. What goes wrong shows when something is asked.
    fn tell(&self, question: &Question<'_>) {
        let mut state = lock(&self.state);
        match Self::connection(&mut state) {
            Ok(connection) => {
                let _ = connection.say(0, question);
            }
            Err(reply) => remote::note(&reply),
        }
    }
}

impl Transport for Process {
    fn fetch(&self, hash: KeyHash, deadline: Duration, patience: Duration) -> Reply {
        let begun = Instant::now();
        let mut end = begun + deadline;
        let Some(mut state) = self.take_turn(end) else {
            return Reply::Busy;
        };
        let connection = match Self::connection(&mut state) {
            Ok(connection) => connection,
            Err(reply) => return reply,
        };
        // 0 is what nobody has asked for.
        state.number = state.number.wrapping_add(1).max(1);
        let asked = state.number;
        state.is_taken = true;
        drop(state);
        // A connection is waited for once. Whether there is one may have been told meanwhile.
        connection.listen(&mut Instant::now(), |_, _, _| None);
        let was_starting = connection.is_starting();
        let is_hopeless = was_starting && connection.was_waited_for.load(Ordering::Relaxed);
        let [deadline, patience] = [deadline, patience].map(|time| match is_hopeless {
            true => Duration::ZERO,
            false => time,
        });
        let milliseconds = |time: Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        let question = Question::Fetch {
            hash: hash.0,
            deadline: milliseconds(end.saturating_duration_since(Instant::now())),
            patience: milliseconds(patience),
        };
        let reply = match deadline.is_zero() {
            true => connection.ask_beside(asked, hash),
            false => connection.say(asked, &question).map_or_else(Reply::Failed, |()| {
                connection
                    .listen(&mut end, |number, answer, end| {
                        if number != asked {
                            return None;
                        }
                        if *answer == Answer::Elsewhere {
                            *end = begun + patience.max(deadline);
                        }
                        reply_of(answer)
                    })
                    .unwrap_or_else(|| match was_starting {
                        true => {
                            connection.was_waited_for.store(true, Ordering::Relaxed);
                            Reply::Busy
                        }
                        false => {
                            let waited = begun.elapsed().as_millis();
                            Reply::Late(format!("it has not answered in {waited} ms"))
                        }
                    })
            }),
        };
        let mut state = lock(&self.state);
        state.is_taken = false;
        if let Reply::Failed(_) | Reply::Late(_) = reply
            && connection
                .say(
                    0,
                    &Question::Begin {
                        variables: Vec::new(),
                    },
                )
                .is_err()
        {
            // It is gone: the next question has another one started.
            state.connection = None;
        }
        drop(state);
        self.free.notify_one();
        reply
    }

    fn publish(&self, hash: KeyHash) {
        self.tell(&Question::Publish { hash: hash.0 });
    }

    fn expect(&self, list: KeyHash, now: bool) {
        let mut state = lock(&self.state);
        if state.lists.contains(&list) {
            return;
        }
        state.lists.push(list);
        if state.connection.is_some() {
            drop(state);
            self.tell(&Question::Expect { list: list.0 });
        } else if now && let Err(reply) = Self::connection(&mut state) {
            // A process that is started is told of all lists.
            drop(state);
            remote::note(&reply);
        }
    }

    fn expect_verdicts(&self, list: KeyHash, device: Device<'_>) {
        // What it says of the processor it finds out by itself.
        let Device::Gpu(name) = device else { return };
        let gpu = (list, name.to_owned());
        let mut state = lock(&self.state);
        if state.gpus.contains(&gpu) {
            return;
        }
        state.gpus.push(gpu);
        if state.connection.is_some() {
            drop(state);
            self.tell(&Question::ExpectVerdicts { list: list.0, device });
        }
    }

    fn publish_verdict(&self, list: KeyHash, device: Device<'_>, hash: KeyHash, times: Times) {
        self.tell(&Question::Judged {
            list: list.0,
            device,
            hash: hash.0,
            variant: times.variant,
            ahead_of_time: times.ahead_of_time,
        });
    }

    fn catch_up(&self) {
        let Some(mut state) = self.take_turn(Instant::now()) else {
            // The one that waits reads what comes.
            return;
        };
        let Some(connection) = state.connection.clone().filter(|connection| connection.is_ours()) else {
            return;
        };
        state.is_taken = true;
        drop(state);
        connection.listen(&mut Instant::now(), |_, _, _| None);
        lock(&self.state).is_taken = false;
        self.free.notify_one();
    }
}
