//! Makes an image for a GPU: PTX by LLVM, a cubin of it by the assembler.

use offloom_abi::jit_base_image::{BaseImage, GpuImageRequest};
use offloom_abi::jit_compile::Reply;
use offloom_ir::LLVM;
use offloom_jit_passes::compile::Compiled;
use offloom_jit_passes::gpu::base_image::{GpuImage, compile_gpu_image};

use crate::assemble::{Assembly, assemble};
use crate::replies::failure;
use crate::serve::keep_generic_kernels;
use crate::watch::Watch;

/// libomptarget would take the image for one that fits no device.
#[derive(Debug, thiserror::Error)]
#[error(
    "cubins of the assembler '{program}' have the ABI version {version}, and libomptarget of LLVM {} knows versions up to {}: \
     OFFLOOM_JIT_PTXAS names another one, of CUDA 12",
    LLVM.major(),
    LLVM.newest_cubin
)]
struct TooNew {
    program: String,
    version: u8,
}

/// The image, with its bundle, as a [`BaseImage`].
pub(crate) fn gpu_image(bitcode: &[u8], gpu: &GpuImageRequest<'_>, watch: &Watch) -> Result<Compiled, Reply> {
    // As the link's passes decide.
    keep_generic_kernels(false)?;
    let GpuImage {
        ptx,
        optimization_level,
        bundle,
    } = compile_gpu_image(bitcode, gpu).map_err(failure)?;
    let assembly = Assembly {
        program: gpu.assembler,
        arguments: gpu.assembler_arguments,
        processor: gpu.processor,
        optimization_level,
    };
    let (Compiled { object, phases }, _) = assemble(&ptx, &assembly, watch)?;
    if let Some(version) = LLVM.too_new_for_libomptarget(&object) {
        return Err(failure(TooNew {
            program: gpu.assembler.to_owned(),
            version,
        }));
    }
    let both = BaseImage {
        bundle: &bundle,
        image: &object,
    };
    Ok(Compiled {
        object: both.encode(),
        phases,
    })
}
