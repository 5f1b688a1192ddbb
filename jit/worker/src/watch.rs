//! Ends the process with the program, and where a compile takes too long, whatever the thread that compiles
//! is at.

use std::io::Write as _;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use offloom_abi::jit_compile::{Priority, Reply};
use offloom_ir::sacrificial_thread::Lost;
use offloom_thread::ProcessorClock;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, kill_process, kill_process_group};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use crate::replies::{SOURCES, late, late_assembler};

/// How often is looked how a compile beside the program gets on.
const LOOK: Duration = Duration::from_secs(1);

/// Since the last look, a compile at [`Priority::Idle`] must have had one part in so many of the time: more
/// than others that want all of the processors leave it (0.3 %), less than what it has of a processor that is
/// waited on by yielding (some 15 %).
const LEAST_SHARE: u32 = 33;

/// What two threads know of the one that compiles: itself, and the one that watches.
pub(crate) struct Watch {
    socket: UnixStream,
    priority: Priority,
    /// Goes off when the work may have taken too long, or is to be looked at.
    timer: OwnedFd,
    /// Whoever takes it answers.
    work: Mutex<Option<Work>>,
    /// A group of processes that the thread waits for, and that ends with this process.
    group: Mutex<Option<Pid>>,
}

/// The thread waits for a group of processes as long as this lives.
pub(crate) struct Waiting<'a>(&'a Watch);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        *lock(&self.0.group) = None;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A compile that nobody has answered yet.
struct Work {
    deadline: Duration,
    /// In real time.
    end: Instant,
    /// The last look: when, and what the clock said.
    look: (Instant, Duration),
    clock: ProcessorClock,
    /// What the clock said at the begin.
    begin: Duration,
    /// What can be answered already.
    so_far: Option<Reply>,
}

impl Watch {
    /// Of the process whose program is at the other end of the socket.
    pub(crate) fn new(socket: UnixStream, priority: Priority) -> Result<Self, Errno> {
        Ok(Self {
            socket,
            priority,
            timer: timerfd_create(
                TimerfdClockId::Monotonic,
                TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
            )?,
            work: Mutex::new(None),
            group: Mutex::new(None),
        })
    }

    /// Notes that the calling thread begins with what may take so long.
    pub(crate) fn begin(&self, deadline: Duration) -> Result<(), Errno> {
        let clock = ProcessorClock::of_this_thread();
        let (now, begin) = (Instant::now(), clock.now());
        let again = match self.priority {
            Priority::Program => Duration::ZERO,
            Priority::Idle | Priority::Share => deadline.min(LOOK),
        };
        *self.lock() = Some(Work {
            deadline,
            end: now + self.priority.patience() * deadline,
            look: (now, begin),
            clock,
            begin,
            so_far: None,
        });
        // Zero turns it off.
        let first = if again.is_zero() { deadline } else { again };
        self.set_timer(first.max(Duration::from_nanos(1)), again)
    }

    /// Notes what is to be answered if what is done from now on has no result.
    pub(crate) fn has_so_far(&self, reply: Reply) {
        if let Some(work) = &mut *self.lock() {
            work.so_far = Some(reply);
        }
    }

    /// Notes that the work is done. False: it took too long, which [`Self::keep`] answers, and the process
    /// ends.
    pub(crate) fn end(&self) -> bool {
        let is_ours = self.lock().take_if(|work| Instant::now() < work.end).is_some();
        if is_ours {
            // If it stays on, there is nothing to answer when it goes off.
            let _ = self.set_timer(Duration::ZERO, Duration::ZERO);
        }
        is_ours
    }

    /// Answers that the calling thread cannot go on with the work, unless that was answered before, and ends
    /// the process.
    pub(crate) fn give_up(&self, failure: Reply) {
        let work = self.lock().take();
        if let Some(work) = work {
            self.answer_for_the_last_time(&work.so_far.unwrap_or(failure));
        }
    }

    /// Notes that the calling thread waits for a group of processes: it uses no processor time meanwhile, and
    /// the group ends when this process does. The processes are children.
    pub(crate) fn wait_for_group(&self, leader: u32) -> Waiting<'_> {
        let leader = i32::try_from(leader).ok().and_then(Pid::from_raw);
        *lock(&self.group) = leader;
        Waiting(self)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Work>> {
        lock(&self.work)
    }

    /// Ends the process without running exit handlers, which would take LLVM's state from under the thread
    /// that compiles.
    fn end_now(&self) -> ! {
        if let Some(group) = *lock(&self.group) {
            // It may have ended by itself.
            let _ = kill_process_group(group, Signal::KILL);
        }
        loop {
            let _ = kill_process(getpid(), Signal::KILL);
        }
    }

    /// Which processor time compiles take.
    pub(crate) const fn priority(&self) -> Priority {
        self.priority
    }

    /// After so long, and then again and again.
    fn set_timer(&self, first: Duration, again: Duration) -> Result<(), Errno> {
        let never = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let once = Itimerspec {
            // Of milliseconds in 32 bits.
            it_interval: again.try_into().unwrap_or(never),
            it_value: first.try_into().unwrap_or(never),
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once).map(drop)
    }

    /// Waits for the program to close its end, as it also does by ending in whatever way, and for the timer.
    /// Both end the process.
    pub(crate) fn keep(&self) -> Errno {
        let mut watched = [
            PollFd::new(&self.socket, PollFlags::empty()),
            PollFd::from_borrowed_fd(self.timer.as_fd(), PollFlags::IN),
        ];
        loop {
            match poll(&mut watched, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return error,
            }
            let [hung_up, gone_off] = [0, 1].map(|one: usize| watched[one].revents());
            if hung_up.contains(PollFlags::HUP) {
                self.end_now();
            }
            // It is turned off by work that has ended in time.
            if gone_off.contains(PollFlags::IN) {
                // A timer that goes off again and again is on until what it said is read.
                let _ = rustix::io::read(&self.timer, &mut [0; 8]);
                if let Some(reply) = self.look() {
                    self.answer_for_the_last_time(&reply);
                }
            }
        }
    }

    /// What is to be answered in the place of a thread that has taken too long, or gets no processor time.
    fn look(&self) -> Option<Reply> {
        let now = Instant::now();
        let is_waiting = lock(&self.group).is_some();
        let mut given_up = None;
        let work = self.lock().take_if(|work| {
            given_up = work.look(now, self.priority, is_waiting);
            given_up.is_some()
        })?;
        work.so_far.or(given_up)
    }

    /// Answers in the place of a thread that will not, and ends the process.
    fn answer_for_the_last_time(&self, reply: &Reply) -> ! {
        // A program that does not listen is gone, or has given this process up.
        let _ = (&self.socket).write_all(&reply.encode(SOURCES));
        self.end_now()
    }
}

impl Work {
    /// What is to be answered if it is given up now.
    fn look(&mut self, now: Instant, priority: Priority, is_waiting: bool) -> Option<Reply> {
        let clock = self.clock.now();
        let at_work = clock.saturating_sub(self.begin);
        if now >= self.end || (priority != Priority::Program && at_work >= self.deadline) {
            return Some(match is_waiting {
                true => late_assembler(self.deadline),
                false => late(Lost::late(self.deadline, Some(at_work))),
            });
        }
        // The timer may have gone off for work before this.
        if now.saturating_duration_since(self.look.0) < self.deadline.min(LOOK) / 2 {
            return None;
        }
        let (then, had) = std::mem::replace(&mut self.look, (now, clock));
        let is_starved = clock.saturating_sub(had) * LEAST_SHARE < now - then;
        (priority == Priority::Idle && is_starved && !is_waiting).then_some(Reply::Starved)
    }
}
