//! Which code a launch of a kernel may run, without LLVM and without libomptarget.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`descriptor`] | what a kernel is specialised to, as a value and as text |
#![forbid(unsafe_code)]

pub mod descriptor;
