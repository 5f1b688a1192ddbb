//! The policy over a kind of device that is made up: two devices of different architecture, code that is
//! loaded slowly by a thread of its own, and launches whose times are known long after; before an empty cache
//! and a remote store that has nothing. Neither LLVM nor a driver is linked.
#![expect(unsafe_code, reason = "the policy's boundary to devices has unsafe functions")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by it")]

mod double;
mod forms;
mod launches;
