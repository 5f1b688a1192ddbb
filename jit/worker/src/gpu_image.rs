//! Makes an image for a GPU: PTX by LLVM, a cubin of it by the assembler.

use std::time::Instant;

use offloom_abi::jit_base_image::{BaseImage, GpuImageRequest};
use offloom_abi::jit_compile::Reply;
use offloom_ir::LLVM;
use offloom_jit_passes::compile::Compiled;
use offloom_jit_passes::gpu::assembly::Ptx;
use offloom_jit_passes::gpu::base_image::{GpuImage, compile_gpu_image};

use crate::assemble::{Assembly, assemble};
use crate::replies::{failure, unable};
use crate::serve::keep_generic_kernels;
use crate::watch::Watch;

/// Where an ELF file says which version of its processor's format it has.
const EI_ABIVERSION: usize = 8;

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
        ptx: Ptx { text, mut phases },
        optimization_level,
        bundle,
    } = compile_gpu_image(bitcode, gpu).map_err(failure)?;
    let start = Instant::now();
    let assembly = Assembly {
        program: gpu.assembler,
        arguments: gpu.assembler_arguments,
        processor: gpu.processor,
        optimization_level,
        // There may be no linker of cubins where the program runs.
        is_relocatable: false,
    };
    let (image, _) = assemble(&text, &assembly, watch).map_err(|error| match error.is_of_process() {
        true => unable(error),
        false => failure(error),
    })?;
    phases.assemble = u32::try_from(start.elapsed().as_micros()).unwrap_or(u32::MAX);
    let version = image.get(EI_ABIVERSION).copied().unwrap_or_default();
    if version > LLVM.newest_cubin {
        return Err(failure(TooNew {
            program: gpu.assembler.to_owned(),
            version,
        }));
    }
    let both = BaseImage {
        bundle: &bundle,
        image: &image,
    };
    Ok(Compiled {
        object: both.encode(),
        phases,
    })
}
