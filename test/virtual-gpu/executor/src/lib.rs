//! A virtual NVIDIA GPU: executes PTX on the processor, so that GPU programs can be tested where no GPU is.
//!
//! It is an interpreter of a decoded form of PTX. What tests depend on is as on a device: threads of a warp
//! that take their own ways and wait for each other, barriers, shuffles, atomics, address spaces, faults.
//! What it has not: time (nothing here says how fast a device would be) and a weak memory model (stores are
//! seen in order).
//!
//! | module | job |
//! | --- | --- |
//! | [`memory`] | global memory of devices, and host memory that they reach |
//! | [`device`] | properties of a device |
//! | [`program`] | decoded PTX with its globals |
//! | [`launch`](mod@launch) | runs a kernel |
//! | [`fault`] | what ends a kernel before its time, and what is wrong although it ended well |

mod atomic;
mod barrier;
mod block;
mod code;
mod decode;
pub mod device;
pub mod fault;
mod form;
mod interpret;
mod lanes;
pub mod launch;
mod local;
pub mod memory;
mod print;
pub mod program;
mod shared;
mod space;
mod views;
mod warp;

pub use device::DeviceProperties;
pub use fault::{Fault, FaultKind, Place, Report, ReportKind};
pub use launch::{Launch, LaunchOptions, Output, Poison, Schedule, Statistics, launch};
pub use memory::{Memory, MemoryError, Owner};
pub use program::{Global, Kernel, ParameterLayout, Program, ProgramError, supports};
