//! What the JIT keeps between runs and tells its users, and what users ask of it: files, without LLVM and
//! libomptarget.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`dump`] | one launch on disk, to be run by itself |
//! | [`output`] | files for the user, written whole or not at all |
//! | [`precompile`] | what is to be made for later runs |
//! | [`remote`] | what goes for every remote store: when it is asked, and for how long |
//! | [`settings`] | what the user asked for, from the environment and a file |
//! | [`stats`] | what became of a process's launches: the file that `OFFLOOM_JIT_STATS` names |
//! | [`store`] | images on disk, shared by processes and runs (the JIT paper's 4.6, level 2) |
#![forbid(unsafe_code)]

pub mod dump;
pub mod output;
pub mod precompile;
mod process;
pub mod remote;
pub mod settings;
pub mod stats;
pub mod store;
