//! The atomics of the table: the standard library's, or, with the feature `loom`, those that try every order.

#[cfg(feature = "loom")]
pub(super) use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(not(feature = "loom"))]
pub(super) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
