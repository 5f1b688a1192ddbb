//! `libhsa-runtime64.so` for tests: stands in for AMD's runtime, checks all that it is given, and executes
//! nothing. `docs/dev/virtual-hsa.md` says what is checked.
//!
//! | module | job |
//! | --- | --- |
//! | [`abi`] | numbers and records of the interface |
//! | [`api`] | the functions that programs call: checks, and one call of what is below |
//! | [`settings`] | what the environment says of the devices and of the log |
//! | [`isa`] | processors, and which code they take |
//! | [`runtime`] | the one state of the process, from `hsa_init` to `hsa_shut_down` |
//! | [`agent`] | what agents and their memory pools say of themselves |
//! | [`memory`] | allocations, and which memory devices may reach |
//! | [`signal`] | signals, and waits for them |
//! | [`pulse`] | one bell for everything that threads wait for |
//! | [`worker`] | threads that call handlers of signals, and that copy |
//! | [`queue`] | queues, and the threads that process their packets |
//! | [`packet`] | packets as bytes, and what may be wrong with one |
//! | [`code_object`] | what an image for a device holds, and what may be wrong with it |
//! | [`executable`] | images in memory, with their symbols |
//! | [`tools`] | libraries that are handed functions which others do not get |
//! | [`journal`] | the log: launches, faults, the summary |
#![expect(
    unsafe_code,
    reason = "its functions have C's interface and take pointers of the program"
)]

mod abi;
mod agent;
mod api;
mod code_object;
mod executable;
mod isa;
mod journal;
mod memory;
mod packet;
mod pulse;
mod queue;
mod runtime;
mod settings;
mod signal;
mod tools;
mod worker;
