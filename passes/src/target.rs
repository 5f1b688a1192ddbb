//! Which side of the offloading a module is on.

use offloom_abi::names::OPENMP_DEVICE_MODULE_FLAG;
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::values::FunctionValue;

/// Whether the module is for a device. The triple cannot tell: the x86_64 device has the host's.
pub(crate) fn is_device(module: &Module<'_>) -> bool {
    module.get_flag(OPENMP_DEVICE_MODULE_FLAG).is_some()
}

/// Whether the module is for a GPU, whose images have no offload entries.
pub(crate) fn is_gpu(module: &Module<'_>) -> bool {
    let triple = module.get_triple();
    let triple = triple.as_str().to_string_lossy();
    let architecture = triple.split('-').next().unwrap_or_default();
    matches!(
        architecture,
        "nvptx" | "nvptx64" | "amdgcn" | "spirv" | "spirv32" | "spirv64"
    )
}

/// Whether the function is a kernel by its calling convention: `ptx_kernel`, `amdgpu_kernel` or `spir_kernel`.
pub(crate) fn has_kernel_calling_convention(function: FunctionValue<'_>) -> bool {
    // `llvm/IR/CallingConv.h`.
    const SPIR_KERNEL: u32 = 76;
    const PTX_KERNEL: u32 = 71;
    const AMDGPU_KERNEL: u32 = 91;
    matches!(
        function.get_call_conventions(),
        SPIR_KERNEL | PTX_KERNEL | AMDGPU_KERNEL
    )
}
