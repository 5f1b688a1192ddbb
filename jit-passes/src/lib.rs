//! The passes behind the JIT: dispatch stubs, variants, specialisation.
//!
//! At link time, [`prepare::prepare`] takes the merged device module apart:
//!
//! | module | does |
//! | --- | --- |
//! | [`survey`] | finds the kernels, what they reach, and what a variant must share with the base image: the *anchors* |
//! | [`variant_module`] | makes the module that variants are compiled from: anchors are external, all else is its own |
//! | [`dispatch_stub`] | gives each kernel of the base image its stub and slot |
//! | [`argument_list`] | gives kernels that take a list of arguments words as parameters, and back |
//! | [`announce`] | gives the base image its anchor table and the constructor that announces both |
//! | [`profitability`](mod@profitability) | says for each argument of a kernel whether a constant can make better code |
//! | [`kernel_sources`] | says where in the source a kernel is, and what its arguments are called there |
//! | [`prepare`] | runs these in order and writes the bundle |
//!
//! At run time, [`compile::compile`] makes one kernel's object of it: [`prune`](mod@prune) cuts the variant
//! module down to one kernel, [`specialize`](mod@specialize) puts in what a launch descriptor says of it, and
//! [`retarget`](mod@retarget) names the processor that is there. [`propagate`] carries values into the bodies
//! of regions; [`captured`] into what they capture by reference; [`object_contents`] says which bytes of
//! mapped objects a kernel only reads; [`one_thread`] calls the bodies of regions directly where there is one
//! thread, and otherwise runs the kernel's `ahead_of_time` code. [`pipeline`] is what LLVM's passes are run
//! with after that.
//!
//! [`gpu`] is what is otherwise for GPUs.
//!
//! [`base_image`] does at run time what the link does otherwise, for programs that hold bitcode and no image.
//!
//! [`internalize`](mod@internalize) is no part of that: every device image made of bitcode goes through it.
//! `assembly` tells both what assembly text may name; `floating_point_environment`
//! what rounding and exceptions are set by.
#![forbid(unsafe_code)]

mod ahead_of_time;
pub mod announce;
pub mod argument_list;
mod assembly;
pub mod base_image;
pub mod captured;
pub mod compile;
pub mod dispatch_stub;
pub mod error;
mod floating_point_environment;
pub mod gpu;
pub mod internalize;
pub mod kernel_sources;
pub mod match_bits;
pub mod object_contents;
pub mod one_thread;
pub mod pipeline;
pub mod prepare;
pub mod profitability;
pub mod propagate;
pub mod prune;
pub mod retarget;
pub mod specialize;
pub mod survey;
mod take_over;
pub mod variant_module;

pub use error::JitPassError;
