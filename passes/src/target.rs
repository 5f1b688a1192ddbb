//! Which side of the offloading a module is on.

use offloom_abi::Triple;
use offloom_abi::names::OPENMP_DEVICE_MODULE_FLAG;
use offloom_ir::LLVM;
use offloom_ir::inkwell::module::Module;
use offloom_ir::offload_symbol::{AMDGPU_KERNEL, PTX_KERNEL, SPIR_KERNEL};

/// Whether the module is for a device. The triple cannot tell: the x86_64 device has the host's.
pub(crate) fn is_device(module: &Module<'_>) -> bool {
    module.get_flag(OPENMP_DEVICE_MODULE_FLAG).is_some()
}

/// Whether the module is for a GPU, whose images have no offload entries.
pub(crate) fn is_gpu(module: &Module<'_>) -> bool {
    is_nvptx(module) || is_amdgcn(module) || is_spirv(module)
}

/// Whether the module is for an AMD GPU.
pub(crate) fn is_amdgcn(module: &Module<'_>) -> bool {
    architecture(module) == "amdgcn"
}

/// Whether the module is for an NVIDIA GPU.
pub(crate) fn is_nvptx(module: &Module<'_>) -> bool {
    matches!(&architecture(module)[..], "nvptx" | "nvptx64")
}

/// Whether the module is for a GPU that takes SPIR-V.
pub(crate) fn is_spirv(module: &Module<'_>) -> bool {
    matches!(&architecture(module)[..], "spirv" | "spirv32" | "spirv64")
}

fn architecture(module: &Module<'_>) -> String {
    let triple = module.get_triple();
    let triple = triple.as_str().to_string_lossy();
    Triple(&triple).architecture().to_owned()
}

/// The calling convention that this LLVM's Clang gives kernels of the module's target; `None`: that of any
/// function.
pub(crate) fn kernel_calling_convention(module: &Module<'_>) -> Option<u32> {
    if is_amdgcn(module) {
        Some(AMDGPU_KERNEL)
    } else if is_spirv(module) {
        Some(SPIR_KERNEL)
    } else if is_nvptx(module) && LLVM.ptx_kernel_convention {
        // Before, metadata says so.
        Some(PTX_KERNEL)
    } else {
        None
    }
}
