//! The archive of `cargo xtask gpu-bundle`, where it runs.
//!
//! | module | does |
//! | --- | --- |
//! | [`plan`] | what is to be run |
//! | [`archive`] | where it lies, and in which environment it runs |
//! | [`process`] | runs one program, with a limit of time |
//! | [`correctness`], [`timing`], [`pairs`], [`threads`] | the four things that are asked |
//! | [`everything`] | in which order, and how long |
//! | [`results`] | the answers: table, file, page |
#![forbid(unsafe_code)]

pub mod archive;
pub mod correctness;
pub mod everything;
pub mod pairs;
pub mod plan;
pub mod process;
pub mod results;
pub mod threads;
pub mod timing;
