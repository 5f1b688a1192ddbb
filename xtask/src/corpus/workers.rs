//! Work spread over the machine's cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Result, bail};

use crate::progress::Progress;

/// Does `work` on every item, several at a time, and hands each result to `done`, one at a time, in the order
/// of completion. `what` is shown meanwhile, with how many are done.
pub(crate) fn for_each<T: Sync, R>(
    what: &str,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    done: impl FnMut(&T, R) + Send,
) -> Result<()> {
    let progress = Progress::parts(what, items.len());
    let next = AtomicUsize::new(0);
    let done = Mutex::new(done);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = work(item);
                    if let Ok(mut done) = done.lock() {
                        progress.around(|| done(item, result));
                        progress.advance();
                    }
                }
            });
        }
    });
    if done.is_poisoned() {
        bail!("a worker panicked");
    }
    Ok(())
}
