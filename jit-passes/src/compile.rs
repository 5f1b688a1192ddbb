//! From a bundle's bitcode to one kernel's object, without addresses, good for every device of its
//! architecture.

use std::time::{Duration, Instant};

use offloom_abi::jit_compile::{Phases, Request};
use offloom_descriptor::{Descriptor, DescriptorError};
use offloom_ir::codegen::{CodegenError, MachineOptions, emit_object_and_count_spills, target_machine};
use offloom_ir::divisions::divide_less;
use offloom_ir::floating_point::fuse_operations;
use offloom_ir::inkwell::context::Context;
use offloom_ir::inkwell::module::Module;
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_ir::library::LibraryError;
use offloom_ir::link_modules::{LinkModulesError, parse_bitcode};
use offloom_ir::processor::brief_features;
use offloom_ir::region_starts::leave_region_starts;
use offloom_ir::straight_line_vectors::run_with_versioned_loops;
use offloom_ir::symbol::{Symbol, find};

use crate::error::JitPassError;
use crate::match_bits::{MatchBitsError, match_bits};
use crate::pipeline::{leave_out_openmp_opt, link_time_pipeline};
use crate::prune::prune;
use crate::retarget::aarch64::inline_atomics;
use crate::retarget::{Device, RetargetError, retarget};
use crate::specialize::{SpecializeError, Transforms, specialize};

/// A kernel's relocatable object.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The object file.
    pub object: Vec<u8>,
    /// How long each phase took.
    pub phases: Phases,
}

/// Why a kernel cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The bitcode cannot be read.
    #[error(transparent)]
    Bitcode(#[from] LinkModulesError),
    /// A transform failed.
    #[error(transparent)]
    Transform(#[from] JitPassError),
    /// The descriptor cannot be read.
    #[error("bad launch descriptor: {0}")]
    Descriptor(#[from] DescriptorError),
    /// The descriptor does not fit the kernel.
    #[error(transparent)]
    Specialize(#[from] SpecializeError),
    /// The device runtime cannot be linked.
    #[error("the bundle's device runtime {0}")]
    DeviceRuntime(#[from] LibraryError),
    /// The ahead-of-time code's bits cannot be kept.
    #[error(transparent)]
    MatchBits(#[from] MatchBitsError),
    /// The processor cannot be compiled for.
    #[error(transparent)]
    Retarget(#[from] RetargetError),
    /// LLVM's passes or code generator failed.
    #[error(transparent)]
    Codegen(#[from] CodegenError),
}

/// Compiles a kernel, in a context of its own. May be called from several threads at once.
///
/// # Errors
/// When a step fails. What LLVM's code generator cannot do at all is a fatal error of LLVM, which does not
/// come back here ([`offloom_ir::sacrificial_thread`]).
pub fn compile(request: &Request<'_>) -> Result<Compiled, CompileError> {
    compile_and_count_spills(request).map(|(compiled, _)| compiled)
}

/// The same, and in how many places the code puts a value on the stack for want of a register.
///
/// # Errors
/// As [`compile`].
pub fn compile_and_count_spills(request: &Request<'_>) -> Result<(Compiled, u32), CompileError> {
    let start = Instant::now();
    let context = Context::create();
    let errors = CollectedErrors::install(&context);
    let machine = target_machine(&MachineOptions {
        triple: request.target_triple,
        // Functions carry the processor the ahead-of-time code was made for, or the one they are retargeted
        // to.
        cpu: "",
        features: "",
        optimization_level: request.optimization_level,
    })?;
    let module = parse_bitcode(&context, &errors, "JIT bundle", request.bitcode)?;
    inline_atomics(&module);
    // The pipeline of the ahead-of-time code, which link-time optimisation compiled from the same IR.
    let pipeline = link_time_pipeline(request.optimization_level);
    let parsed = Instant::now();
    if request.match_floating_point && changes_code(request) {
        // Before the module is cut down: a function that another kernel calls too is not optimised for this
        // one's constants.
        let kernel = find(&module, request.kernel).and_then(Symbol::as_function);
        match_bits(&module, kernel, &pipeline)?;
    }
    leave_out_openmp_opt(&module);
    prune(&module, request.kernel)?;
    if !request.processor.is_empty() {
        retarget_variant(&module, request)?;
    }
    // Now, since the alignment of a launch's pointers is certain, unlike what the code is promised.
    if !request.descriptor.is_empty() {
        let descriptor: Descriptor = request.descriptor.parse()?;
        specialize(&module, &descriptor, Transforms::ALL)?;
        // Regions that only the ahead-of-time code begins now.
        prune(&module, request.kernel)?;
        // Now that the extents of its loops are constants.
        divide_less(&module);
    }
    // Of what a small kernel is compiled for, they are a sixth of the time.
    leave_region_starts(&module);
    // Before the vectoriser chooses, which need not keep together what code generation fuses.
    fuse_operations(&module);
    let specialized = Instant::now();
    run_with_versioned_loops(&module, &machine, &errors, &pipeline)?;
    let optimized = Instant::now();
    let (object, spills) = emit_object_and_count_spills(&module, &machine, &errors)?;
    let compiled = Compiled {
        object: object.as_slice().to_vec(),
        phases: phases([start, parsed, specialized, optimized]),
    };
    Ok((compiled, spills))
}

/// Whether the request is for other code than the ahead-of-time code.
fn changes_code(request: &Request<'_>) -> bool {
    !(request.descriptor.is_empty() && request.processor.is_empty() && request.features.is_empty())
}

/// Compiles for the request's processor, where that is possible. After [`match_bits`], which looks at the
/// processor of the ahead-of-time code.
fn retarget_variant(module: &Module<'_>, request: &Request<'_>) -> Result<(), RetargetError> {
    let device = Device {
        cpu: request.processor,
        features: request.features,
        brief_features: &brief_features(request.processor, request.features),
        vector_width: None,
    };
    match retarget(module, &device) {
        // Code for the processor of the image is right as well. A feature is missing where it was switched
        // off because it rounds.
        Err(RetargetError::VectorAtBoundary { .. } | RetargetError::MissingFeature { .. }) => Ok(()),
        other => other,
    }
}

/// The phases of a compile that ends now: it started, had read its bitcode, had specialised it, and had
/// optimised it at these moments.
pub(crate) fn phases([start, parsed, specialized, optimized]: [Instant; 4]) -> Phases {
    let microseconds = |duration: Duration| u32::try_from(duration.as_micros()).unwrap_or(u32::MAX);
    Phases {
        parse: microseconds(parsed - start),
        specialize: microseconds(specialized - parsed),
        optimize: microseconds(optimized - specialized),
        generate: microseconds(optimized.elapsed()),
        assemble: 0,
    }
}
