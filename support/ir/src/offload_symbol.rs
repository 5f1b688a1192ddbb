//! What tells symbols that offloading makes from others.

use inkwell::values::FunctionValue;
use offloom_abi::entry;

use crate::LLVM;
use crate::symbol::Symbol;

/// Calling convention of NVIDIA kernels (`llvm/IR/CallingConv.h`).
pub const PTX_KERNEL: u32 = 71;
/// Calling convention of SPIR-V kernels.
pub const SPIR_KERNEL: u32 = 76;
/// Calling convention of AMD kernels.
pub const AMDGPU_KERNEL: u32 = 91;

/// Whether the function is a kernel by its calling convention: `ptx_kernel`, `amdgpu_kernel` or
/// `spir_kernel`.
pub fn has_kernel_calling_convention(function: FunctionValue<'_>) -> bool {
    matches!(
        function.get_call_conventions(),
        SPIR_KERNEL | PTX_KERNEL | AMDGPU_KERNEL
    )
}

/// Whether the variable is an offload entry of this build's LLVM.
pub fn is_entry(symbol: Symbol<'_>) -> bool {
    symbol.section().as_deref() == Some(entry::section(LLVM))
}
