//! The worker process: where kernels are compiled, so that no compile can take the program with it.
//!
//! Started at the first compile, serves one compile at a time, and is started again after it was lost. What
//! it is lost over is the caller's to remember.

mod exchange;

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use offloom_abi::jit_compile::{Priority, Reply, WORKER_NAME};
use offloom_abi::jit_message::{Header, MessageError};
use rustix::fs::fstat;
use rustix::io::Errno;
use rustix::process::{
    Gid, Pid, Signal, Uid, WaitOptions, getegid, geteuid, getgid, getuid, kill_process, waitpid,
};

use exchange::Exchange;
use offloom_jit_policy::process::fork_gate;
use offloom_jit_policy::process::lock::lock;
use offloom_jit_policy::process::settings::settings;
use offloom_jit_policy::process::spawn::{self, Start};

/// What the worker gets beyond the compile's own deadline, for its start, request and answer, before it is
/// given up; and for the rest of an answer, after each part.
const GRACE: Duration = Duration::from_secs(2);

/// After how long who waits for an answer is told so again: at most, and at least. In between it is a quarter
/// of the time that a claim is good for, since claims are renewed then.
const STEPS: [Duration; 2] = [Duration::from_secs(20), Duration::from_millis(100)];

fn step() -> Duration {
    let [longest, shortest] = STEPS;
    (settings().claim_limit() / 4).clamp(shortest, longest)
}

/// Of what this library was built (`jit/worker/sources.rs`). Objects of another build's worker are not what
/// the cache's keys say.
pub(crate) const SOURCES: &str = env!("OFFLOOM_SOURCES");

/// Why the worker has not answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    /// There is none to start.
    #[error("no compile worker: {0}")]
    Unavailable(String),
    /// Something ended it: of a crash in a compile it tells.
    #[error("the compile worker ended without an answer")]
    Died,
    /// It has not answered in time.
    #[error("the compile worker did not answer in time")]
    Silent,
    /// It says something else.
    #[error(transparent)]
    Message(#[from] MessageError),
}

/// A request as it is sent.
pub(crate) struct Message<'a> {
    /// Header and fields up to the bitcode.
    pub(crate) head: Vec<u8>,
    /// The bitcode.
    pub(crate) bitcode: &'a [u8],
    /// How long the work may take, in milliseconds.
    pub(crate) deadline: u32,
    /// Whether it cannot be done in the program.
    pub(crate) needs_worker: bool,
}

/// A running worker.
struct Worker {
    socket: UnixStream,
    owner: Owner,
    process: Option<Pid>,
    priority: Priority,
    identity: Identity,
}

/// What a socket was when it was opened: a program may close descriptors it does not know, and open others
/// under the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

impl Identity {
    /// What a descriptor is now.
    pub(super) fn of(descriptor: impl AsFd) -> Result<Self, Errno> {
        let stat = fstat(descriptor)?;
        Ok(Self(stat.st_dev, stat.st_ino))
    }

    /// Whether a descriptor is what it was.
    pub(super) fn is_of(self, descriptor: impl AsFd) -> bool {
        Self::of(descriptor) == Ok(self)
    }
}

/// Who starts a worker. After a fork, the parent's is not ours; and one that was started before the program
/// gave up rights has them still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    process: u32,
    /// Real and effective.
    users: [Uid; 2],
    groups: [Gid; 2],
}

impl Owner {
    /// The calling thread's.
    pub(super) fn current() -> Self {
        Self {
            process: std::process::id(),
            users: [getuid(), geteuid()],
            groups: [getgid(), getegid()],
        }
    }
}

/// Whether there may be a worker that stays. Where an orphan would become a child of this process, which a
/// program that waits for its children must not meet, there is none.
pub(crate) fn may_be_had() -> bool {
    !spawn::adopts_orphans()
}

/// Starts the worker, if there is none, for a message that is expected soon. What goes wrong shows when it is
/// asked.
pub(crate) fn start(limits: Limits) {
    let mut slot = lock(worker());
    if slot.is_none() && may_be_had() {
        *slot = Worker::start(limits).ok();
    }
}

/// Has the worker do what the message says, starting it if need be, and calls `waiting` once it has all of
/// the message, and then now and again ([`step`]), with how long it has had it. Where it may not stay, that
/// is only done for work that nothing else can do, and it is gone by the time of return.
///
/// # Errors
/// When there is no answer. The worker is given up then, and the next call starts another one.
pub(crate) fn ask(
    message: &Message<'_>,
    limits: Limits,
    waiting: &mut dyn FnMut(Duration),
) -> Result<Reply, WorkerError> {
    let stays = may_be_had();
    if !stays && !message.needs_worker {
        return Err(WorkerError::Unavailable(
            "the compile worker would be a child of this process, which is the first of its container or a subreaper"
                .to_owned(),
        ));
    }
    let mut slot = lock(worker());
    let running = match slot.take() {
        Some(running) if running.is_ours() && running.priority == limits.priority => running,
        Some(other) => {
            other.abandon();
            Worker::start(limits)?
        }
        None => Worker::start(limits)?,
    };
    let reply = running.ask(message, waiting);
    if !stays {
        running.end();
    } else if reply
        .as_ref()
        .is_ok_and(|reply| !matches!(reply, Reply::Failure { last: true, .. } | Reply::Starved))
    {
        *slot = Some(running);
    }
    reply
}

/// What the worker may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Memory in MiB.
    pub(crate) memory: u32,
    /// Which processor time it takes.
    pub(crate) priority: Priority,
}

/// The worker that waits for the next request.
fn worker() -> &'static Mutex<Option<Worker>> {
    // Leaked, as all of this library's state.
    static WORKER: OnceLock<&'static Mutex<Option<Worker>>> = OnceLock::new();
    WORKER.get_or_init(|| Box::leak(Box::default()))
}

/// The newest worker's socket.
static SOCKET: Parting = Parting::new();

/// In a forked child: lets go of the parent's worker, which ends when nobody holds its socket any more.
pub(crate) fn leave_to_parent() {
    SOCKET.close();
}

/// A socket that a forked child lets go of, without the lock, which a thread that the child does not have may
/// hold for ever.
pub(super) struct Parting {
    descriptor: AtomicI32,
    identity: [AtomicU64; 2],
}

impl Parting {
    /// None yet.
    pub(super) const fn new() -> Self {
        Self {
            descriptor: AtomicI32::new(-1),
            identity: [const { AtomicU64::new(0) }; 2],
        }
    }

    /// Takes note of the newest one.
    pub(super) fn remember(&self, descriptor: RawFd, identity: Identity) {
        self.identity[0].store(identity.0, Ordering::Relaxed);
        self.identity[1].store(identity.1, Ordering::Relaxed);
        self.descriptor.store(descriptor, Ordering::Relaxed);
    }

    /// Closes it, in a forked child. What else holds it there finds out that it is something else
    /// ([`Identity::is_of`]).
    pub(super) fn close(&self) {
        let socket = self.descriptor.swap(-1, Ordering::Relaxed);
        if socket < 0 {
            return;
        }
        let [device, inode] = [0, 1].map(|part| self.identity[part].load(Ordering::Relaxed));
        // SAFETY: only asked what it is, and only if it is still what it was, closed. A parent's `Worker` is
        // let go of as its descriptor is found then (`abandon`).
        unsafe {
            if Identity(device, inode).is_of(BorrowedFd::borrow_raw(socket)) {
                rustix::io::close(socket);
            }
        }
    }
}

impl Worker {
    fn start(limits: Limits) -> Result<Self, WorkerError> {
        let program = program()?;
        let unavailable = |error: io::Error| {
            WorkerError::Unavailable(format!("cannot start {}: {error}", program.display()))
        };
        let _undivided = fork_gate::enter_undivided();
        let (socket, other_end) = spawn::socket_pair().map_err(unavailable)?;
        let numbers = [limits.memory, limits.priority as u32].map(|number| number.to_string());
        let start = Start {
            program,
            arguments: &numbers.each_ref().map(OsStr::new),
            passed_on: &[],
            input: Some(other_end.as_fd()),
            output: None,
            leads_group: false,
        };
        let process = spawn::spawn_detached(&start).map_err(unavailable)?;
        let identity = Identity::of(&socket).map_err(|error| unavailable(error.into()))?;
        SOCKET.remember(socket.as_raw_fd(), identity);
        Ok(Self {
            socket,
            owner: Owner::current(),
            process,
            priority: limits.priority,
            identity,
        })
    }

    fn is_ours(&self) -> bool {
        self.owner == Owner::current() && self.identity.is_of(&self.socket)
    }

    /// Lets go of a worker that another process uses, that has other rights or another priority, or of a
    /// descriptor that is no longer ours to close.
    fn abandon(self) {
        if !self.identity.is_of(&self.socket) {
            std::mem::forget(self.socket);
        }
    }

    /// Ends one that became a child of this process, as if it had never been.
    fn end(self) {
        let Some(process) = self.process else { return };
        // Nothing: it is a child, and has not ended. Others, and those that the program has waited for
        // already, are not to be found.
        if let Ok(None) = waitpid(Some(process), WaitOptions::NOHANG) {
            let _ = kill_process(process, Signal::KILL);
            while let Err(Errno::INTR) = waitpid(Some(process), WaitOptions::empty()) {}
        }
    }

    fn ask(&self, message: &Message<'_>, waiting: &mut dyn FnMut(Duration)) -> Result<Reply, WorkerError> {
        let limit = self.priority.patience() * Duration::from_millis(u64::from(message.deadline)) + GRACE;
        let exchange = Exchange::begin(&self.socket, limit);
        exchange.send([&message.head, message.bitcode])?;
        exchange.await_answer(step(), waiting)?;
        let header = exchange.receive(Header::SIZE as u64)?;
        let header = header.try_into().map_err(|_| WorkerError::Died)?;
        let reply = exchange.receive(Header::parse(header)?.length)?;
        let (sources, reply) = Reply::parse(&reply)?;
        if sources != SOURCES {
            return Err(MessageError::OtherVersion.into());
        }
        Ok(reply)
    }
}

/// Notes where this library was loaded from, which the loader is asked. For constructors, before anything is
/// compiled: later, the loader's lock may be held by one that waits for the worker.
pub(crate) fn locate() {
    library_folder();
}

fn library_folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOLDER.get_or_init(spawn::library_folder).as_deref()
}

/// The file of a program that this library starts: where it is installed, seen from this library, or beside
/// it in a build folder.
pub(super) fn program_of(name: &str) -> Option<PathBuf> {
    let folder = library_folder()?;
    let installed = folder.join("../libexec/offloom").join(name);
    [installed, folder.join(name)]
        .into_iter()
        .find(|candidate| candidate.is_file())
}

/// The worker's file.
fn program() -> Result<&'static Path, WorkerError> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| program_of(WORKER_NAME));
    program
        .as_deref()
        .ok_or_else(|| WorkerError::Unavailable(format!("{WORKER_NAME} is not installed")))
}
