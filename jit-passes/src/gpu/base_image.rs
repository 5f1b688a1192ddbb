//! From merged device bitcode to the PTX of an image for one processor, and its bundle.

use std::time::Instant;

use offloom_abi::jit_base_image::GpuImageRequest;
use offloom_abi::jit_compile::words;
use offloom_abi::jit_device_image::IMAGE_SYMBOL;
use offloom_ir::codegen::{MachineOptions, emit_assembly, gpu_machine, run_pipeline};
use offloom_ir::inkwell::context::Context;
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_ir::link_modules::parse_bitcode;
use offloom_ir::symbol::{Symbol, SymbolKind, functions, symbols};
use offloom_ir::unused_code::{drop_surplus_arguments, remove_unused};

use super::device_runtime::Calls;
use super::generate::{Generated, have_all_registers};
use super::{GpuLink, SHARED_MEMORY, address_space, device_runtime};
use crate::base_image::{BaseImageError, DEFAULT_LEVEL, noted_optimization_level};
use crate::compile::phases;
use crate::internalize::internalize_unlisted;
use crate::pipeline::link_time_pipeline;
use crate::prepare::prepare;
use crate::retarget::{Device, retarget};

/// An image that is yet to be assembled.
#[derive(Debug)]
pub struct GpuImage {
    /// Its PTX: a whole program.
    pub ptx: Generated,
    /// The level at which it is to be assembled, that of the link.
    pub optimization_level: u32,
    /// The bundle; empty where no kernel can have variants.
    pub bundle: Vec<u8>,
}

/// Compiles device bitcode for the request's processor, in a context of its own. Until the device runtime is
/// linked in, its steps are those of a link with `--jit`.
///
/// # Errors
/// When a step fails. What LLVM's code generator cannot do at all is a fatal error of LLVM, which does not
/// come back here ([`offloom_ir::sacrificial_thread`]).
pub fn compile_gpu_image(bitcode: &[u8], gpu: &GpuImageRequest<'_>) -> Result<GpuImage, BaseImageError> {
    let start = Instant::now();
    let context = Context::create();
    let errors = CollectedErrors::install(&context);
    let module = parse_bitcode(&context, &errors, "device bitcode", bitcode)?;
    let runtime = match gpu.device_runtime {
        [] => None,
        bytes => Some(parse_bitcode(&context, &errors, "device runtime", bytes)?),
    };
    let optimization_level = noted_optimization_level(&module).unwrap_or(DEFAULT_LEVEL);
    let triple = module.get_triple();
    let machine = gpu_machine(&MachineOptions {
        triple: &triple.as_str().to_string_lossy(),
        cpu: gpu.processor,
        features: "",
        optimization_level,
    })?;
    let device = Device {
        cpu: gpu.processor,
        features: "",
        brief_features: "",
        vector_width: None,
    };
    retarget(&module, &device)?;
    if let Some(runtime) = &runtime {
        retarget(runtime, &device)?;
    }
    let parsed = Instant::now();
    let arguments: Vec<_> = words(gpu.assembler_arguments).map(str::to_owned).collect();
    let link = GpuLink {
        processor: gpu.processor,
        assembler_arguments: &arguments,
        device_runtime: runtime.as_ref(),
        is_all_bitcode: true,
    };
    let prepared = prepare(&module, &machine, &errors, optimization_level, Some(&link))?;
    if let Some(runtime) = runtime {
        // Cut down to what the kernels call that may have variants.
        drop(runtime);
        device_runtime::link(&module, gpu.device_runtime, Calls::OfOptimizer)?;
        retarget(&module, &device)?;
    }
    internalize_unlisted(&module, [IMAGE_SYMBOL.to_owned()]);
    let prepared_at = Instant::now();
    run_pipeline(
        &module,
        &machine,
        &errors,
        &link_time_pipeline(optimization_level),
    )?;
    // Below -O2 LLVM's own pipeline leaves what code generation cannot take.
    drop_surplus_arguments(&module);
    remove_unused(&module);
    check_variables(&module)?;
    for function in functions(&module).into_iter().filter_map(Symbol::as_function) {
        have_all_registers(&module, function);
    }
    let optimized = Instant::now();
    let text = emit_assembly(&module, &machine, &errors)?;
    Ok(GpuImage {
        ptx: Generated {
            code: text.as_slice().to_vec(),
            spills: 0,
            phases: phases([start, parsed, prepared_at, optimized]),
        },
        optimization_level,
        bundle: prepared.bundle.unwrap_or_default(),
    })
}

/// What is used must be there: `ptxas` asks that of functions only, and the driver refuses the image. A
/// launch brings shared memory along, and weak variables are there.
fn check_variables(module: &Module<'_>) -> Result<(), BaseImageError> {
    let missing = symbols(module).into_iter().find(|&global| {
        global.kind() == SymbolKind::Variable
            && global.is_declaration()
            && global.linkage() != Linkage::ExternalWeak
            && address_space(global) != SHARED_MEMORY
    });
    missing.map_or(Ok(()), |missing| {
        Err(BaseImageError::UndefinedVariable(missing.name()))
    })
}
