//! LLVM calls beyond safe inkwell, and the unsafe code for them.
//!
//! This crate links no LLVM: the artefact that is built last does (a plugin takes LLVM's symbols from the
//! program that loads it, a program or the JIT library links the distribution's shared libLLVM).
#![expect(
    unsafe_code,
    reason = "this crate is the home of the LLVM C API and of our C++ shim"
)]

pub use inkwell;
pub use inkwell::llvm_sys;

pub mod address;
pub mod alignment;
pub mod annotations;
mod basic_value;
pub mod bitcode_header;
pub mod call_rewriting;
pub mod call_sites;
pub mod codegen;
pub mod command_line;
pub mod crash_report;
pub mod disjoint;
pub mod distribution;
pub mod divisions;
pub mod floating_point;
pub mod function_arguments;
pub mod gpu;
pub mod heap;
pub mod jit_diagnostics;
pub mod kernel_source;
pub mod library;
pub mod link_modules;
pub mod link_variable;
pub mod loops;
pub mod memory_effects;
pub mod metadata;
pub mod module;
pub mod nested_regions;
pub mod offload_symbol;
pub mod orc;
pub mod pointer_uses;
pub mod priority;
pub mod processor;
pub mod reachable;
pub mod read_module;
pub mod region_starts;
pub mod runtime_calls;
pub mod sacrificial_thread;
pub mod source_location;
pub mod straight_line_vectors;
pub mod symbol;
pub mod target_kernel;
pub mod target_queries;
pub mod unused_code;
pub mod used;
pub mod value_uses;
pub mod vector_abi;
pub mod wider_accesses;

/// The LLVM release this build is for.
pub const LLVM: offloom_abi::LlvmVersion = offloom_abi::LlvmVersion::of_build(env!("OFFLOOM_LLVM_MAJOR"));
