//! Link-time preparation: the merged device module becomes the base image's module and a bundle for the
//! runtime.

use offloom_abi::jit_bundle::{Bundle, BundleId, Gpu, Kernel, Parameter, ParameterKind, ParameterUses};
use offloom_ir::codegen::{forget_tail_calls, run_pipeline};
use offloom_ir::floating_point::function_with_fast_math;
use offloom_ir::inkwell::memory_buffer::MemoryBuffer;
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::inkwell::targets::TargetMachine;
use offloom_ir::inkwell::values::{BasicValueEnum, FunctionValue};
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_ir::module::{copy, resolve_aliases};
use offloom_ir::symbol::{Symbol, SymbolKind, find, functions, symbols};

use crate::announce::add_announcement;
use crate::argument_list::{launch_environment, pack, unpack};
use crate::dispatch_stub::add_dispatch_stubs;
use crate::error::JitPassError;
use crate::gpu::GpuLink;
use crate::gpu::anchor_table::export_anchors;
use crate::gpu::device_runtime::cut_down;
use crate::gpu::launch_facts::{launch_facts, ptx_version};
use crate::gpu::obstacles::Surroundings;
use crate::kernel_sources::kernel_source;
use crate::match_bits::{settle_bits, settle_gpu_bits};
use crate::object_contents::noted::ConstantBytes;
use crate::pipeline::link_time_pipeline;
use crate::profitability::{KernelProfitability, profitability};
use crate::survey::{Obstacle, Survey, survey};
use crate::variant_module::{defines_all, delete_other_code, make_variant_module};

/// What preparation leaves besides the changed module.
#[derive(Debug)]
pub struct Prepared {
    /// The bundle's bytes; `None` when no kernel can have variants, and then the module does what it did.
    pub bundle: Option<Vec<u8>>,
    /// Kernels that may have variants; on the host, they have a stub.
    pub kernels: Vec<PreparedKernel>,
    /// Kernels that stay ahead of time, each with the reason.
    pub left_ahead_of_time: Vec<(String, Obstacle)>,
}

/// A kernel that the JIT may specialise.
#[derive(Debug)]
pub struct PreparedKernel {
    /// Its name.
    pub name: String,
    /// As [`Kernel::has_fast_math`].
    pub has_fast_math: bool,
}

/// Prepares the merged device module, before the link-time pipeline has run over it: the module becomes the
/// base image's, and what variants are compiled from goes into the bundle. On the host it gets stubs, slots
/// and announcement, for a GPU (`gpu`) an exported table of addresses.
///
/// Both start from the same IR, so that both go through the same pipeline from there on. What is hidden in
/// the base image ([`internalize`](crate::internalize)) must be hidden before: what the optimiser learns of a
/// function depends on who may call it.
///
/// # Errors
/// When the module, or what is made of it, is not valid.
pub fn prepare<'ctx>(
    module: &Module<'ctx>,
    machine: &TargetMachine,
    errors: &CollectedErrors<'_>,
    optimization_level: u32,
    gpu: Option<&GpuLink<'_, 'ctx>>,
) -> Result<Prepared, JitPassError> {
    verify(module, "device code")?;
    // Clang may be what does the link-time optimisation of the base image.
    forget_tail_calls(module);
    resolve_aliases(module, gpu.is_some_and(|gpu| gpu.is_all_bitcode));
    make_unwritten_variables_constant(module);
    let surroundings = gpu.map(|gpu| Surroundings::of(gpu.device_runtime, gpu.is_all_bitcode));
    let unpacked = match gpu {
        None => unpack(module, |module| {
            Ok(run_pipeline(module, machine, errors, "function(sroa)")?)
        })?,
        Some(_) => Vec::new(),
    };
    let survey = survey(module, surroundings.as_ref());
    if survey.kernels.is_empty() {
        pack(module, &unpacked)?;
        verify(module, "device code")?;
        return Ok(Prepared {
            bundle: None,
            kernels: Vec::new(),
            left_ahead_of_time: survey.left_ahead_of_time,
        });
    }
    let code = match gpu {
        None => host_code(module, &survey, machine, errors, optimization_level)?,
        Some(gpu) => gpu_code(module, &survey, machine, errors, gpu)?,
    };
    let (kernels, bundle, id) = bundle(module, &survey, &code, optimization_level, gpu)?;
    match gpu {
        None => {
            let slots = add_dispatch_stubs(module, &survey.kernels)?;
            add_announcement(module, &survey, slots, id)?;
            pack(module, &unpacked)?;
        }
        Some(_) => export_anchors(module, &survey, id)?,
    }
    verify(module, "base image's module")?;
    Ok(Prepared {
        bundle: Some(bundle),
        kernels,
        left_ahead_of_time: survey.left_ahead_of_time,
    })
}

/// What variants are compiled from.
struct VariantCode<'ctx> {
    bitcode: MemoryBuffer<'ctx>,
    /// As a module, with what decides bits settled.
    settled: Module<'ctx>,
    matched_bitcode: MemoryBuffer<'ctx>,
    /// Of a GPU.
    device_runtime: Option<MemoryBuffer<'ctx>>,
}

fn host_code<'ctx>(
    module: &Module<'ctx>,
    survey: &Survey,
    machine: &TargetMachine,
    errors: &CollectedErrors<'_>,
    optimization_level: u32,
) -> Result<VariantCode<'ctx>, JitPassError> {
    let settled = copy(module);
    make_variant_module(&settled, survey, machine, errors)?;
    verify(&settled, "variant module")?;
    let variants = copy(&settled);
    leave_variants(&variants, survey, machine, errors)?;
    let bitcode = variants.write_bitcode_to_memory();
    // Here rather than at each compile: it takes as long as all the rest of one, and always gives the same.
    // What other code does with an object that a kernel is given is nothing to the kernel.
    let constant = ConstantBytes::find(&variants);
    settle_bits(&settled, &constant, &link_time_pipeline(optimization_level))?;
    leave_variants(&settled, survey, machine, errors)?;
    let matched_bitcode = settled.write_bitcode_to_memory();
    Ok(VariantCode {
        bitcode,
        settled,
        matched_bitcode,
        device_runtime: None,
    })
}

/// As [`host_code`], for a GPU: each file's code has been through the early half of the pipeline already,
/// when it was compiled, and vectors do not change the order of operations.
fn gpu_code<'ctx>(
    module: &Module<'ctx>,
    survey: &Survey,
    machine: &TargetMachine,
    errors: &CollectedErrors<'_>,
    gpu: &GpuLink<'_, 'ctx>,
) -> Result<VariantCode<'ctx>, JitPassError> {
    let settled = copy(module);
    if gpu.is_all_bitcode {
        keep_weak_functions(&settled);
    }
    let runtime = gpu.device_runtime;
    make_variant_module(&settled, survey, machine, errors)?;
    leave_variants(&settled, survey, machine, errors)?;
    if let Some(runtime) = runtime {
        cut_down(runtime, &settled, module);
        verify(runtime, "device runtime")?;
    }
    let bitcode = settled.write_bitcode_to_memory();
    settle_gpu_bits(&settled);
    verify(&settled, "variant module")?;
    Ok(VariantCode {
        bitcode,
        matched_bitcode: settled.write_bitcode_to_memory(),
        settled,
        device_runtime: runtime.map(Module::write_bitcode_to_memory),
    })
}

/// The kernels that may have variants, and the bundle.
fn bundle(
    module: &Module<'_>,
    survey: &Survey,
    code: &VariantCode<'_>,
    optimization_level: u32,
    gpu: Option<&GpuLink<'_, '_>>,
) -> Result<(Vec<PreparedKernel>, Vec<u8>, BundleId), JitPassError> {
    let profitability = profitability(module)?;
    let sources = survey
        .kernels
        .iter()
        .map(|name| source(module, name, &profitability));
    let sources: Vec<_> = sources.collect();
    let triple = module.get_triple();
    let left = survey.left_ahead_of_time.iter();
    let left: Vec<_> = left
        .map(|(kernel, obstacle)| (kernel, obstacle.to_string()))
        .collect();
    let features = survey
        .kernels
        .first()
        .map_or_else(String::new, |kernel| ptx_version(module, kernel));
    let bundle = Bundle {
        llvm_major: offloom_ir::LLVM.major(),
        optimization_level,
        target_triple: &triple.as_str().to_string_lossy(),
        kernels: survey
            .kernels
            .iter()
            .zip(&sources)
            .map(|(name, source)| Kernel {
                name,
                source,
                has_fast_math: has_fast_math(&code.settled, name),
                parameters: parameters(module, name, &profitability, gpu.is_some()),
                launch: gpu.and_then(|_| launch_facts(module, name)),
            })
            .collect(),
        anchors: survey
            .anchors
            .iter()
            .map(|anchor| anchor.symbol.as_str())
            .collect(),
        left_ahead_of_time: left
            .iter()
            .map(|(kernel, reason)| (kernel.as_str(), reason.as_str()))
            .collect(),
        gpu: gpu.map(|gpu| Gpu {
            processor: gpu.processor,
            features: &features,
            assembler_arguments: gpu.assembler_arguments.iter().map(String::as_str).collect(),
            device_runtime: code.device_runtime.as_ref().map_or(&[], MemoryBuffer::as_slice),
        }),
        bitcode: code.bitcode.as_slice(),
        matched_bitcode: code.matched_bitcode.as_slice(),
    };
    let kernels = bundle.kernels.iter().map(|kernel| PreparedKernel {
        name: kernel.name.to_owned(),
        has_fast_math: kernel.has_fast_math,
    });
    let kernels = kernels.collect();
    let (bundle, id) = bundle.encode();
    Ok((kernels, bundle, id))
}

/// Variables of the module's own that no device code writes are constants, in the base image as in its
/// variants. The host cannot write them either: what it can is in the offload entries, by a name that other
/// objects see.
fn make_unwritten_variables_constant(module: &Module<'_>) {
    for global in symbols(module) {
        if global.kind() == SymbolKind::Variable {
            global.become_constant_if_only_loaded();
        }
    }
}

/// No other definition replaces a weak one once all of an image's code is together.
fn keep_weak_functions(module: &Module<'_>) {
    for function in functions(module)
        .into_iter()
        .filter(|function| function.is_definition())
    {
        match function.linkage() {
            Linkage::WeakAny => function.set_linkage(Linkage::WeakODR),
            Linkage::LinkOnceAny => function.set_linkage(Linkage::LinkOnceODR),
            _ => {}
        }
    }
}

/// What is known of a kernel's parameters. Of a GPU's (`is_gpu`) nothing is said of what objects contain: the
/// host does not see what is in the device's memory when a kernel starts.
fn parameters(
    module: &Module<'_>,
    kernel: &str,
    profitability: &[KernelProfitability],
    is_gpu: bool,
) -> Vec<Parameter> {
    let function = find(module, kernel).and_then(Symbol::as_function);
    let parameters = function.into_iter().flat_map(FunctionValue::get_params);
    let launch_environment = function.map_or(0, |function| launch_environment(module, function) as usize);
    let analysed = profitability.iter().find(|known| known.kernel == kernel);
    let describe = |(position, parameter): (usize, BasicValueEnum<'_>)| {
        let known = analysed.and_then(|kernel| kernel.parameters.get(position));
        let contents = known.filter(|_| !is_gpu);
        let kind = match parameter {
            _ if position == launch_environment => ParameterKind::LaunchEnvironment,
            BasicValueEnum::PointerValue(_) => ParameterKind::Pointer,
            _ => ParameterKind::Scalar,
        };
        let uses = known.map_or(ParameterUses::UNKNOWN, |known| known.uses);
        Parameter {
            kind,
            size: known.map_or(8, |known| known.size),
            uses: match kind {
                ParameterKind::Pointer if is_gpu => uses.both(ParameterUses::WIDER_ACCESSES),
                _ => uses,
            },
            contents: contents.map_or_else(Vec::new, |known| known.contents.clone()),
            contents_are_there: contents.is_some_and(|known| known.contents_are_there),
        }
    };
    parameters.enumerate().map(describe).collect()
}

/// What is known of a kernel's source, as the bundle has it.
fn source(module: &Module<'_>, kernel: &str, profitability: &[KernelProfitability]) -> String {
    let analysed = profitability.iter().find(|known| known.kernel == kernel);
    let floating = analysed
        .into_iter()
        .flat_map(|known| &known.parameters)
        .map(|parameter| parameter.is_floating.then_some(parameter.size));
    let function = find(module, kernel).and_then(Symbol::as_function);
    function.map_or_else(String::new, |function| {
        let implicit = launch_environment(module, function);
        kernel_source(function, implicit, &floating.collect::<Vec<_>>()).to_string()
    })
}

/// Whether the kernel's code in the variant module can get to instructions with fast-math flags.
fn has_fast_math(variants: &Module<'_>, kernel: &str) -> bool {
    let function = find(variants, kernel).and_then(Symbol::as_function);
    function.is_some_and(|function| function_with_fast_math(variants, Some(function)).is_some())
}

/// Leaves what variants are compiled from in the module.
fn leave_variants(
    variants: &Module<'_>,
    survey: &Survey,
    machine: &TargetMachine,
    errors: &CollectedErrors<'_>,
) -> Result<(), JitPassError> {
    delete_other_code(variants, machine, errors)?;
    verify(variants, "variant module")?;
    if !defines_all(variants, survey) {
        return Err(JitPassError::Invalid {
            what: "variant module",
            reason: "a kernel is missing".to_owned(),
        });
    }
    Ok(())
}

fn verify(module: &Module<'_>, what: &'static str) -> Result<(), JitPassError> {
    module.verify().map_err(|reason| JitPassError::Invalid {
        what,
        reason: reason.to_string(),
    })
}
