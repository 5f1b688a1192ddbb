//! Events: points in streams, with their times.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use crate::context::Context;
use crate::driver::lock;
use crate::error::{CudaError, Result};
use crate::stream::{Mark, Stream};

/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: u32 = 2;

/// One event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) context: Arc<Context>,
    flags: u32,
    recorded: Mutex<Option<Record>>,
}

/// Where an event was recorded last.
#[derive(Clone, Debug)]
struct Record {
    mark: Mark,
    /// Nanoseconds, when the stream came to it.
    time: Arc<OnceLock<u64>>,
}

impl Event {
    pub(crate) fn new(context: Arc<Context>, flags: u32) -> Self {
        Self {
            context,
            flags,
            recorded: Mutex::default(),
        }
    }

    /// Records it behind all that was submitted to the stream.
    pub(crate) fn record(&self, stream: &Arc<Stream>) -> Result<()> {
        let time = Arc::new(OnceLock::new());
        let reached = Arc::clone(&time);
        let mark = stream.submit(Box::new(move |_| {
            // Each record is reached once.
            let _ = reached.set(next_time());
            Ok(())
        }))?;
        *lock(&self.recorded) = Some(Record { mark, time });
        Ok(())
    }

    /// The point where it was recorded last. None: it never was.
    pub(crate) fn mark(&self) -> Option<Mark> {
        lock(&self.recorded).as_ref().map(|record| record.mark.clone())
    }

    /// Milliseconds from this event to another.
    pub(crate) fn milliseconds_to(&self, end: &Self) -> Result<f32> {
        let time = |event: &Self| {
            if event.flags & DISABLE_TIMING != 0 {
                return Err(CudaError::INVALID_HANDLE);
            }
            let record = lock(&event.recorded).clone().ok_or(CudaError::INVALID_HANDLE)?;
            record.time.get().copied().ok_or(CudaError::NOT_READY)
        };
        let (start, end) = (time(self)?, time(end)?);
        Ok((end as f64 - start as f64) as f32 / 1e6)
    }
}

/// Nanoseconds of a clock that no two calls read alike.
fn next_time() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    static LAST: AtomicU64 = AtomicU64::new(0);
    let elapsed = START.get_or_init(Instant::now).elapsed();
    let now = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
    let mut last = LAST.load(Ordering::Relaxed);
    loop {
        let next = now.max(last + 1);
        match LAST.compare_exchange_weak(last, next, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return next,
            Err(seen) => last = seen,
        }
    }
}
