//! Sends a request and reads the answer, both until one moment, whatever signals interrupt it. An answer that
//! has begun to come may take longer.

use std::cell::Cell;
use std::io::IoSlice;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, sendmsg};

use super::{GRACE, WorkerError};

/// Read at a time: memory is not taken for a length that only the other end claims.
const CHUNK: usize = 64 << 10;

/// Where the other end is, and until when it has time.
pub(super) struct Exchange<'s> {
    socket: &'s UnixStream,
    end: Cell<Instant>,
}

impl<'s> Exchange<'s> {
    /// An exchange that begins now.
    pub(super) fn begin(socket: &'s UnixStream, limit: Duration) -> Self {
        Self {
            socket,
            end: Cell::new(Instant::now() + limit),
        }
    }

    /// Sends all parts of a message at once, as far as the socket takes them: were the other end woken by the
    /// first alone, it might run in this thread's place and wait for the next. A worker that is gone is an
    /// error here, not a signal to the program.
    pub(super) fn send<const N: usize>(&self, parts: [&[u8]; N]) -> Result<(), WorkerError> {
        let mut parts = parts.map(IoSlice::new);
        let mut rest = &mut parts[..];
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            match sendmsg(self.socket, rest, &mut SendAncillaryBuffer::default(), flags) {
                Ok(sent) => IoSlice::advance_slices(&mut rest, sent),
                Err(error) => self.wait(error, PollFlags::OUT)?,
            }
        }
        Ok(())
    }

    /// Reads so many bytes.
    pub(super) fn receive(&self, length: u64) -> Result<Vec<u8>, WorkerError> {
        let length = usize::try_from(length).map_err(|_| WorkerError::Died)?;
        let mut bytes = Vec::new();
        let mut chunk = vec![0; CHUNK.min(length)];
        while bytes.len() < length {
            let wanted = CHUNK.min(length - bytes.len());
            match recv(self.socket, &mut chunk[..wanted], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(WorkerError::Died),
                Ok((read, _)) => {
                    bytes.extend_from_slice(&chunk[..read]);
                    // This process may have been stopped until now.
                    self.end.set(self.end.get().max(Instant::now() + GRACE));
                }
                Err(error) => self.wait(error, PollFlags::IN)?,
            }
        }
        Ok(bytes)
    }

    /// Waits for the answer to begin, and calls `waiting` with how long it has been waited for: at once with
    /// none, and each time that another `step` has passed.
    pub(super) fn await_answer(
        &self,
        step: Duration,
        waiting: &mut dyn FnMut(Duration),
    ) -> Result<(), WorkerError> {
        let begun = Instant::now();
        let mut told = Duration::ZERO;
        waiting(told);
        loop {
            let waited = begun.elapsed();
            if waited >= told + step {
                told = waited;
                waiting(told);
            }
            if self.poll(PollFlags::IN, told + step - waited)? {
                return Ok(());
            }
        }
    }

    /// Waits until what failed may be tried again. After a signal it is waited for what is left of the time,
    /// not for all of it.
    fn wait(&self, error: Errno, event: PollFlags) -> Result<(), WorkerError> {
        if error != Errno::AGAIN && error != Errno::INTR {
            return Err(WorkerError::Died);
        }
        self.poll(event, Duration::MAX).map(drop)
    }

    /// Waits for an event, but no longer than this; whether it came, if no signal did. Also when the time is
    /// over it is looked once: this process may have been stopped until now.
    fn poll(&self, event: PollFlags, most: Duration) -> Result<bool, WorkerError> {
        let left = self.end.get().saturating_duration_since(Instant::now());
        let time = Timespec::try_from(left.min(most)).map_err(|_| WorkerError::Died)?;
        match poll(&mut [PollFd::new(self.socket, event)], Some(&time)) {
            Ok(0) | Err(Errno::INTR) if left.is_zero() => Err(WorkerError::Silent),
            Ok(events) => Ok(events > 0),
            Err(Errno::INTR) => Ok(false),
            Err(_) => Err(WorkerError::Died),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::thread;

    use super::*;

    /// More than a socket holds.
    const LARGE: usize = 16 << 20;

    #[test]
    fn a_request_that_nobody_reads_is_given_up() {
        let (socket, _other_end) = UnixStream::pair().unwrap();
        let sent = Exchange::begin(&socket, Duration::from_millis(50)).send([&vec![1; LARGE]]);
        assert!(matches!(sent, Err(WorkerError::Silent)), "{sent:?}");
    }

    #[test]
    fn an_answer_that_does_not_come_is_given_up() {
        let (socket, mut other_end) = UnixStream::pair().unwrap();
        other_end.write_all(b"ans").unwrap();
        let answer = Exchange::begin(&socket, Duration::from_millis(50)).receive(6);
        assert!(matches!(answer, Err(WorkerError::Silent)), "{answer:?}");
    }

    #[test]
    fn who_waits_hears_of_it_until_the_answer_comes() {
        let (socket, mut other_end) = UnixStream::pair().unwrap();
        let exchange = Exchange::begin(&socket, Duration::from_secs(600));
        let mut heard = Vec::new();
        let waited = exchange.await_answer(Duration::from_millis(20), &mut |waited| {
            heard.push(waited);
            if heard.len() == 3 {
                other_end.write_all(b"answer").unwrap();
            }
        });
        assert!(waited.is_ok() && heard.is_sorted(), "{waited:?} {heard:?}");
        assert_eq!(heard.len(), 3);
        assert!(heard[2] >= Duration::from_millis(40), "{heard:?}");
        assert_eq!(exchange.receive(6).unwrap(), b"answer");
    }

    #[test]
    fn an_answer_that_is_there_is_read_however_late() {
        let (socket, mut other_end) = UnixStream::pair().unwrap();
        let exchange = Exchange::begin(&socket, Duration::from_millis(10));
        let waited = exchange.await_answer(Duration::from_secs(600), &mut |_| {
            other_end.write_all(b"answer").unwrap();
            thread::sleep(Duration::from_millis(50));
        });
        assert!(waited.is_ok(), "{waited:?}");
        assert_eq!(exchange.receive(6).unwrap(), b"answer");
    }

    #[test]
    fn what_comes_in_pieces_is_read_whole_and_no_further() {
        let (socket, mut other_end) = UnixStream::pair().unwrap();
        let sent: Vec<u8> = (0..LARGE).map(|number| (number % 251) as u8).collect();
        let expected = sent.clone();
        let writer = thread::spawn(move || {
            other_end.write_all(&sent).unwrap();
            other_end.write_all(b"next").unwrap();
        });
        let exchange = Exchange::begin(&socket, Duration::from_secs(600));
        assert_eq!(exchange.receive(LARGE as u64).unwrap(), expected);
        assert_eq!(exchange.receive(4).unwrap(), b"next");
        writer.join().unwrap();
    }

    #[test]
    fn a_worker_that_is_gone_is_not_waited_for() {
        let (socket, other_end) = UnixStream::pair().unwrap();
        drop(other_end);
        let exchange = Exchange::begin(&socket, Duration::from_secs(600));
        assert!(matches!(exchange.send([b"request"]), Err(WorkerError::Died)));
        assert!(matches!(exchange.receive(6), Err(WorkerError::Died)));
    }
}
