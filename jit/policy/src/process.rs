//! How this library lives in a process that is not its own: forks, exits, threads, signals, the error stream.
//!
//! | module | does |
//! | --- | --- |
//! | [`exit_gate`] | lets work end before the process tears down what it works with |
//! | [`fork_gate`] | what a forked child may still do |
//! | [`guard`] | what keeps work of this library from being noticed by the program's threads |
//! | [`queue`] | what is done in the background, by one thread |
//! | [`processors`] | the processors that the process may use |
//! | [`settings`] | what the user asked for, read once |
//! | [`report`], [`error_stream`] | what is said to the user |
//! | [`lock`] | mutexes that outlive a panic |
//! | [`device_gate`] | what a forked child, and a process that ends, may still do with devices |
//! | [`driver_functions`](crate::driver_functions) | a driver's functions, by their names |
//! | [`spawn`] | starts processes that are not children of the program |
//! | [`plugin_table`], [`segments`] | leads the calls of libomptarget's plugins for devices here |
//! | [`handle_table`] | kernels by their handles, read without a lock |

pub mod device_gate;
mod driver_functions;
pub mod error_stream;
pub mod exit_gate;
pub mod fork_gate;
pub mod guard;
pub mod handle_table;
pub mod lock;
pub mod plugin_table;
pub mod processors;
pub mod queue;
pub mod report;
pub mod segments;
pub mod settings;
pub mod spawn;
