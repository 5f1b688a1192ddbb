//! The atomics of what launches use without a lock: the standard library's, or, with the feature `loom`,
//! those that try every order.

#[cfg(feature = "loom")]
pub(crate) use loom::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(not(feature = "loom"))]
pub(crate) use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
