//! The cache on disk from outside: what is kept, what is refused, and faults of the file system.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod batches;
mod folders;
mod helpers;
mod layers;
mod records;
