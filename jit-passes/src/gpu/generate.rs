//! From a bundle's bitcode to one kernel's code, as LLVM generates it: PTX, or a relocatable object for an
//! AMD GPU.

use std::time::Instant;

use offloom_abi::jit_bundle::ExecutionMode;
use offloom_abi::jit_compile::{GpuRequest, Phases, Request};
use offloom_abi::jit_device_image::{DEVICE_ENVIRONMENT_SYMBOL, kernel_environment, variant_entry};
use offloom_abi::jit_image::ANCHOR_PREFIX;
use offloom_descriptor::Descriptor;
use offloom_ir::LLVM;
use offloom_ir::codegen::{
    MachineOptions, emit_assembly, emit_object_and_count_spills, gpu_machine, run_pipeline,
};
use offloom_ir::disjoint::version_straight_line_code;
use offloom_ir::distribution::share_iterations;
use offloom_ir::divisions::narrow_divisions;
use offloom_ir::gpu::{
    has_approximated_constant, release_counted_loops, show_approximated, use_generic_addresses, widen_sums,
};
use offloom_ir::inkwell::context::Context;
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::inkwell::values::{FunctionValue, GlobalValue};
use offloom_ir::inkwell::{AddressSpace, GlobalVisibility};
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_ir::link_modules::parse_bitcode;
use offloom_ir::nested_regions::keep_nesting_regions_apart;
use offloom_ir::symbol::{Symbol, SymbolKind, find, symbols};
use offloom_ir::target_queries::{self, execution_mode, has_nvvm_annotation, set_nvvm_annotation};
use offloom_ir::used::{UsedList, set_used};

use super::anchor_table::{bind_anchors, drop_bound_values};
use super::device_runtime::Calls;
use super::launch_facts::launch_facts;
use super::{CONSTANT_MEMORY, GLOBAL_MEMORY, address_space, device_runtime, is_environment, is_for_amd};
use crate::compile::{CompileError, phases};
use crate::error::JitPassError;
use crate::match_bits::match_bits;
use crate::pipeline::link_time_pipeline;
use crate::prune::prune;
use crate::retarget::{Device, retarget};
use crate::specialize::launch::specialize_hardware_launch;
use crate::specialize::{Transforms, specialize};

/// The variable, in constant memory, that holds eight zero bytes. Nobody changes it, which neither `ptxas`
/// nor LLVM knows.
const ZERO: &str = "__offloom_jit_zero";

/// The most rounds of a loop that is unrolled after LLVM's passes: LLVM unrolls by four by default, so a loop
/// over the rest has three.
const MOST_ROUNDS: u32 = 8;

/// The most instructions that may come of such a loop that is straight-line code.
const MOST_INSTRUCTIONS: u32 = 1024;

/// Unrolls loops, and simplifies what comes of it. Where the text names `instcombine` alone, LLVM ends the
/// process over code that one round does not finish.
const UNROLL: &str = "function(loop-simplify,lcssa,loop-unroll<O3>,sroa,instcombine<no-verify-fixpoint>,early-cse<memssa>,gvn,simplifycfg)";

/// Computes with the narrow numbers what does not need more.
const AFTER_NARROWING: &str = "function(instcombine<no-verify-fixpoint>,early-cse<memssa>,simplifycfg)";

/// Finds out how addresses are aligned once that can be seen, and loads nothing twice.
const AFTER_GENERIC_ADDRESSES: &str = "function(infer-alignment,early-cse<memssa>)";

/// Computes addresses once that comparing them has doubled.
const AFTER_VERSIONING: &str = "function(early-cse<memssa>)";

/// Code that a program of its own has yet to make a module of that a GPU loads.
#[derive(Debug, Clone)]
pub struct Generated {
    /// The text of PTX, for `ptxas`; for an AMD GPU a relocatable object, for the linker.
    pub code: Vec<u8>,
    /// In how many places code generation put a value on the stack for want of a register. For PTX it has as
    /// many registers as it likes.
    pub spills: u32,
    /// How long each phase took; that of the other program is yet to come.
    pub phases: Phases,
}

/// Generates a kernel's code, in a context of its own.
///
/// # Errors
/// When a step fails. What LLVM's code generator cannot do at all is a fatal error of LLVM, which does not
/// come back here ([`offloom_ir::sacrificial_thread`]).
pub fn generate(request: &Request<'_>, gpu: &GpuRequest<'_>) -> Result<Generated, CompileError> {
    let start = Instant::now();
    let context = Context::create();
    let errors = CollectedErrors::install(&context);
    let machine = gpu_machine(&MachineOptions {
        triple: request.target_triple,
        cpu: request.processor,
        features: request.features,
        optimization_level: request.optimization_level,
    })?;
    let module = parse_bitcode(&context, &errors, "JIT bundle", request.bitcode)?;
    let pipeline = link_time_pipeline(request.optimization_level);
    let parsed = Instant::now();
    if request.match_floating_point {
        let kernel = find(&module, request.kernel).and_then(Symbol::as_function);
        match_bits(&module, kernel, &pipeline)?;
    }
    prune(&module, request.kernel)?;
    retarget(
        &module,
        &Device {
            cpu: request.processor,
            features: request.features,
            brief_features: "",
            vector_width: None,
        },
    )?;
    let descriptor: Option<Descriptor> = match request.descriptor {
        "" => None,
        text => Some(text.parse()?),
    };
    if let Some(descriptor) = &descriptor {
        let facts = launch_facts(&module, &descriptor.kernel);
        let transforms = Transforms {
            contents: false,
            ..Transforms::ALL
        };
        specialize(&module, descriptor, transforms)?;
        prune(&module, request.kernel)?;
        if let (Some(facts), Some(threads), Some(true)) =
            (facts, descriptor.threads, is_spmd(&module, request.kernel))
            && let Some(kernel) = find(&module, request.kernel).and_then(Symbol::as_function)
        {
            share_iterations(kernel, facts.thread_limit, threads, descriptor.teams);
        }
    }
    let calls = match is_spmd(&module, request.kernel) {
        Some(true) => Calls::OfModule,
        _ => Calls::OfOptimizer,
    };
    keep_nesting_regions_apart(&module);
    device_runtime::link(&module, gpu.device_runtime, calls)?;
    let kernel = kernel_of(&module, request.kernel)?;
    if let Some(descriptor) = &descriptor {
        specialize_hardware_launch(&module, kernel, descriptor);
    }
    keep_kernel_alone(&module, request.kernel);
    drop_bound_values(&module);
    // An index is computed with 32 bits, and the loop's counter with 64.
    widen_sums(&module);
    let specialized = Instant::now();
    run_pipeline(&module, &machine, &errors, &pipeline)?;
    if request.optimization_level > 1 && narrow_divisions(&module) > 0 {
        run_pipeline(&module, &machine, &errors, AFTER_NARROWING)?;
    }
    if !is_for_amd(&module) && use_generic_addresses(kernel_of(&module, request.kernel)?) > 0 {
        run_pipeline(&module, &machine, &errors, AFTER_GENERIC_ADDRESSES)?;
    }
    if request.optimization_level > 1 && release_counted_loops(&module, MOST_ROUNDS, MOST_INSTRUCTIONS) > 0 {
        run_pipeline(&module, &machine, &errors, UNROLL)?;
    }
    if request.optimization_level > 1 && version_straight_line_code(&module) > 0 {
        run_pipeline(&module, &machine, &errors, AFTER_VERSIONING)?;
    }
    finish(&module, request, gpu)?;
    if is_spmd(&module, request.kernel) != Some(gpu.mode != ExecutionMode::Generic) {
        return Err(JitPassError::OtherExecutionMode(request.kernel.to_owned()).into());
    }
    let optimized = Instant::now();
    let (code, spills) = match is_for_amd(&module) {
        true => emit_object_and_count_spills(&module, &machine, &errors)?,
        false => (emit_assembly(&module, &machine, &errors)?, 0),
    };
    Ok(Generated {
        code: code.as_slice().to_vec(),
        spills,
        phases: phases([start, parsed, specialized, optimized]),
    })
}

fn kernel_of<'ctx>(module: &Module<'ctx>, name: &str) -> Result<FunctionValue<'ctx>, JitPassError> {
    find(module, name)
        .and_then(Symbol::as_function)
        .ok_or_else(|| JitPassError::NoSuchKernel(name.to_owned()))
}

/// Whether all threads of a team execute the kernel; `None` where that is not known.
fn is_spmd(module: &Module<'_>, kernel: &str) -> Option<bool> {
    let environment = module.get_global(&kernel_environment(kernel))?;
    Some(execution_mode(environment)? == target_queries::ExecutionMode::Spmd)
}

/// Makes everything the module's own but for the kernel, its environment, the device's environment, and what
/// it shares with the base image.
fn keep_kernel_alone(module: &Module<'_>, kernel: &str) {
    let environment = kernel_environment(kernel);
    for list in UsedList::BOTH {
        set_used(module, list, &[]);
    }
    for global in symbols(module) {
        let name = global.name();
        if name == kernel || name == environment {
            global.become_external();
        } else if !global.is_declaration()
            && name != DEVICE_ENVIRONMENT_SYMBOL
            && !name.starts_with(ANCHOR_PREFIX)
        {
            global.become_internal();
        }
    }
}

/// After LLVM's passes: what they were not to see.
fn finish(module: &Module<'_>, request: &Request<'_>, gpu: &GpuRequest<'_>) -> Result<(), CompileError> {
    let zero = has_approximated_constant(module).then(|| add_zero(module));
    show_approximated(module, zero);
    bind_anchors(module, gpu.anchor_count)?;
    if let Some(environment) = module.get_global(DEVICE_ENVIRONMENT_SYMBOL) {
        Symbol::from(environment).erase_if_unused();
    }
    check_state(module)?;
    let kernel = kernel_of(module, request.kernel)?;
    if !is_for_amd(module) {
        have_all_registers(module, kernel);
    }
    Symbol::from(kernel).set_name(&variant_entry(request.kernel));
    Ok(())
}

/// A variant has no variables in global memory of its own: what they hold would be another copy's.
fn check_state(module: &Module<'_>) -> Result<(), JitPassError> {
    let own = symbols(module).into_iter().find(|&global| {
        global.kind() == SymbolKind::Variable
            && !global.is_declaration()
            && !global.is_constant()
            && matches!(address_space(global), 0 | GLOBAL_MEMORY)
            && !is_environment(global)
            && !global.name().starts_with("llvm.")
    });
    own.map_or(Ok(()), |own| Err(JitPassError::OwnState(own.name())))
}

fn add_zero<'ctx>(module: &Module<'ctx>) -> GlobalValue<'ctx> {
    let long = module.get_context().i64_type();
    let zero = module.add_global(long, Some(AddressSpace::from(CONSTANT_MEMORY)), ZERO);
    zero.set_initializer(&long.const_zero());
    zero.set_externally_initialized(true);
    zero.set_linkage(Linkage::External);
    zero.set_visibility(GlobalVisibility::Protected);
    zero
}

/// Has `ptxas` take as many registers as one block for a multiprocessor may have: with the number of threads
/// alone, and no word on blocks, it aims at several. Where it is not told how many threads there may be, it
/// would not listen.
pub(super) fn have_all_registers<'ctx>(module: &Module<'ctx>, kernel: FunctionValue<'ctx>) {
    if LLVM.nvvm_attributes {
        let kernel = Symbol::from(kernel);
        let says_threads = ["nvvm.maxntid", "nvvm.reqntid"]
            .into_iter()
            .any(|key| kernel.string_attribute(key).is_some());
        if says_threads {
            kernel.set_string_attribute("nvvm.minctasm", "1");
        }
        return;
    }
    let says_threads = ["maxntidx", "reqntidx"]
        .into_iter()
        .any(|key| has_nvvm_annotation(module, kernel, key));
    if says_threads {
        set_nvvm_annotation(module, kernel, "minctasm", 1);
    }
}
