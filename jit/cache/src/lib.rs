//! Which code a launch of a kernel may run, without LLVM and without libomptarget.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`descriptor`] | what a kernel is specialised to, as a value and as text |
//! | [`dump`] | one launch on disk, to be run by itself |
//! | [`inline_cache`] | what a slot's stub knows of launches without asking |
//! | [`output`] | files for the user, written whole or not at all |
//! | [`probation`] | whether a variant is faster, and when its code may be freed |
//! | [`settings`] | what the user asked for, from the environment and a file |
//! | [`signature`] | what of a kernel's launches can be specialised, and how a launch is read |
//! | [`stats`] | what became of a process's launches: the file that `OFFLOOM_JIT_STATS` names |
//! | [`store`] | images on disk, shared by processes and runs (the JIT paper's 4.6, level 2) |
//! | [`tracker`] | what of them still is (the JIT paper's 4.7) |
//! | [`variants`] | the code that launches may run, found by hash (the JIT paper's 4.6, level 1) |
#![forbid(unsafe_code)]

mod atomics;
pub mod descriptor;
pub mod dump;
mod guard;
pub mod inline_cache;
pub mod output;
pub mod probation;
mod process;
mod program;
pub mod settings;
pub mod signature;
pub mod stats;
pub mod store;
#[cfg(test)]
mod testing;
pub mod tracker;
pub mod variants;
