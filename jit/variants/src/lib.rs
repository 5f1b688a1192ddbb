//! Which code a launch of a kernel may run, without LLVM, libomptarget and files.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`inline_cache`] | what a slot's stub knows of launches without asking |
//! | [`trial`] | whether a variant is faster, and when its code may be freed |
//! | [`signature`] | what of a kernel's launches can be specialised, and how a launch is read |
//! | [`tracker`] | what of them still is (the JIT paper's 4.7) |
//! | [`variants`] | the code that launches may run, found by hash (the JIT paper's 4.6, level 1) |
#![forbid(unsafe_code)]

mod atomics;
mod guard;
pub mod inline_cache;
mod program;
pub mod signature;
#[cfg(test)]
mod testing;
pub mod tracker;
pub mod trial;
pub mod variants;
