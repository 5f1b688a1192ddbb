//! Ends the process with the program, and where a compile takes too long, whatever the thread that compiles is at.

use std::io::Write as _;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use offloom_abi::jit_compile::Reply;
use offloom_ir::expendable_thread::{Lost, ProcessorClock};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use crate::replies::{SOURCES, late};

/// What two threads know of the one that compiles: itself, and the one that watches.
pub(crate) struct Watch {
    socket: UnixStream,
    /// Goes off when the work has taken too long.
    timer: OwnedFd,
    /// Whoever takes it answers.
    work: Mutex<Option<Work>>,
}

/// A compile that nobody has answered yet.
struct Work {
    deadline: Duration,
    end: Instant,
    clock: ProcessorClock,
    /// What the clock said at the begin.
    begin: Duration,
    /// What can be answered already.
    so_far: Option<Reply>,
}

impl Watch {
    /// Of the process whose program is at the other end of the socket.
    pub(crate) fn new(socket: UnixStream) -> Result<Self, Errno> {
        Ok(Self {
            socket,
            timer: timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?,
            work: Mutex::new(None),
        })
    }

    /// Notes that the calling thread begins with what may take so long.
    pub(crate) fn begin(&self, deadline: Duration) -> Result<(), Errno> {
        let clock = ProcessorClock::of_this_thread();
        *self.lock() = Some(Work {
            deadline,
            end: Instant::now() + deadline,
            clock,
            begin: clock.now(),
            so_far: None,
        });
        // Zero turns it off.
        self.set_timer(deadline.max(Duration::from_nanos(1)))
    }

    /// Notes what is to be answered if what is done from now on has no result.
    pub(crate) fn has_so_far(&self, reply: Reply) {
        if let Some(work) = &mut *self.lock() {
            work.so_far = Some(reply);
        }
    }

    /// Notes that the work is done. False: it took too long, which [`Self::keep`] answers, and the process ends.
    pub(crate) fn end(&self) -> bool {
        let is_ours = self.lock().take_if(|work| Instant::now() < work.end).is_some();
        if is_ours {
            // If it stays on, there is nothing to answer when it goes off.
            let _ = self.set_timer(Duration::ZERO);
        }
        is_ours
    }

    /// Answers that the calling thread cannot go on with the work, unless that was answered before, and ends the process.
    pub(crate) fn give_up(&self, failure: Reply) {
        let work = self.lock().take();
        if let Some(work) = work {
            self.answer_for_the_last_time(&work.so_far.unwrap_or(failure));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Work>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_timer(&self, duration: Duration) -> Result<(), Errno> {
        let never = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let once = Itimerspec {
            it_interval: never,
            // Of milliseconds in 32 bits.
            it_value: duration.try_into().unwrap_or(never),
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once).map(drop)
    }

    /// Waits for the program to close its end, as it also does by ending in whatever way, and for the timer. Both end the process.
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
                end_now();
            }
            // It is turned off by work that has ended in time.
            if gone_off.contains(PollFlags::IN) {
                let late_work = self.lock().take_if(|work| work.end <= Instant::now());
                if let Some(work) = late_work {
                    let at_work = work.clock.now().saturating_sub(work.begin);
                    let failure = || late(Lost::late(work.deadline, Some(at_work)));
                    self.answer_for_the_last_time(&work.so_far.unwrap_or_else(failure));
                }
            }
        }
    }

    /// Answers in the place of a thread that will not, and ends the process.
    fn answer_for_the_last_time(&self, reply: &Reply) -> ! {
        // A program that does not listen is gone, or has given this process up.
        let _ = (&self.socket).write_all(&reply.encode(SOURCES));
        end_now()
    }
}

/// Ends the process without running exit handlers, which would take LLVM's state from under the thread that compiles.
fn end_now() -> ! {
    loop {
        let _ = kill_process(getpid(), Signal::KILL);
    }
}
