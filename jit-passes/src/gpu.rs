//! Device code for GPUs: of NVIDIA, and of AMD.
//!
//! | module | does |
//! | --- | --- |
//! | [`obstacles`] | says why a kernel cannot have variants |
//! | [`launch_facts`] | says what a kernel's environment says of its launch |
//! | [`device_runtime`] | cuts the device runtime down to what kernels may call, and links it to a variant |
//! | [`anchor_table`] | exports the base image's addresses, and has a variant read them from its table |
//! | [`generate`](mod@generate) | compiles a kernel to PTX, or to an object of an AMD GPU |
//! | [`base_image`] | makes an image for an NVIDIA GPU of a program that holds none |
//!
//! A base image has no stubs. A variant is a module of its own: what its kernels share with the base image
//! are variables in global memory, by a table of addresses ([`offloom_abi::jit_device_image`]). The state of
//! a team, in shared memory, and functions are its own.

pub mod anchor_table;
pub mod base_image;
pub mod device_runtime;
pub mod generate;
pub mod launch_facts;
pub mod obstacles;

use offloom_abi::Triple;
use offloom_abi::jit_device_image::KERNEL_ENVIRONMENT_SUFFIX;
use offloom_ir::inkwell::AddressSpace;
use offloom_ir::inkwell::module::Module;
use offloom_ir::symbol::{Symbol, SymbolKind};

/// What a link knows of an image for a GPU that is not in its bitcode.
#[derive(Debug, Clone, Copy)]
pub struct GpuLink<'a, 'ctx> {
    /// The processor that the image is linked for, as LLVM names it: `sm_80`; of AMD's, with the features
    /// that the link asks for, `gfx90a:xnack+`.
    pub processor: &'a str,
    /// Arguments for the assembler, which NVIDIA's take.
    pub assembler_arguments: &'a [String],
    /// The device runtime that the link takes, which preparing cuts down to what kernels may call; none: it
    /// has none as bitcode.
    pub device_runtime: Option<&'a Module<'ctx>>,
    /// Whether all of the image is in its bitcode, so that nothing else defines what that defines.
    pub is_all_bitcode: bool,
}

/// What follows a kernel's name in the name of the variable that the device runtime counts in, for its
/// debugging. Each module has its own.
const DYNAMIC_ENVIRONMENT_SUFFIX: &str = "_dynamic_environment";

/// The address space of global memory, and that of the memory that a block's threads share: NVIDIA's and
/// AMD's have the same numbers.
pub(crate) const GLOBAL_MEMORY: u16 = 1;
pub(crate) const SHARED_MEMORY: u16 = 3;
/// The address space of constant memory.
pub(crate) const CONSTANT_MEMORY: u16 = 4;

/// Whether the module is for a GPU.
pub(crate) fn is_for_gpu(module: &Module<'_>) -> bool {
    Triple(&module.get_triple().as_str().to_string_lossy()).is_gpu()
}

/// Whether the module is for an AMD GPU.
pub(crate) fn is_for_amd(module: &Module<'_>) -> bool {
    Triple(&module.get_triple().as_str().to_string_lossy()).is_amd_gpu()
}

/// The address space of a global; of those that no global is in, some number above.
pub(crate) fn address_space(global: Symbol<'_>) -> u16 {
    const HIGHEST: u16 = 7;
    let pointer = global.as_global_value().as_pointer_value();
    let space = pointer.get_type().get_address_space();
    (0..HIGHEST)
        .find(|&number| AddressSpace::from(number) == space)
        .unwrap_or(HIGHEST)
}

/// Whether the variable belongs to one kernel's code: its environment, and what that points to.
pub(crate) fn is_environment(global: Symbol<'_>) -> bool {
    let name = global.name();
    global.kind() == SymbolKind::Variable
        && (name.ends_with(KERNEL_ENVIRONMENT_SUFFIX) || name.ends_with(DYNAMIC_ENVIRONMENT_SUFFIX))
}
