//! Every opcode form of the PTX that there is to run is executed, and gives what it must.
//!
//! Each form gets a kernel of its own, in which 32 threads apply it to words of their own. What an H100
//! answered to arithmetic instructions goes through kernels too, row by row.
//!
//! | module | job |
//! | --- | --- |
//! | [`accesses`] | kernels for loads, stores and atomics |
//! | [`arithmetic`] | kernels for arithmetic |
//! | [`case`] | a kernel and what it must give |
//! | [`each`] | the test of all forms |
//! | [`golden`] | the test of what an H100 answered |
//! | [`others`] | kernels for moves, predicates, carries, control flow and what threads do together |
#![expect(clippy::unwrap_used, clippy::panic, reason = "a fault ends the test")]

mod accesses;
mod arithmetic;
mod case;
mod each;
mod golden;
mod others;

#[path = "../common/mod.rs"]
mod common;
