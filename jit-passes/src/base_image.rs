//! From merged device bitcode to the base image's object and its bundle, as a link with `--jit` makes them.

use std::time::Instant;

use offloom_abi::jit_base_image::OPTIMIZATION_LEVEL_METADATA;
use offloom_abi::jit_compile::Phases;
use offloom_ir::codegen::{CodegenError, MachineOptions, emit_object, run_pipeline, target_machine};
use offloom_ir::inkwell::AddressSpace;
use offloom_ir::inkwell::context::Context;
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_ir::library::LibraryError;
use offloom_ir::link_modules::{LinkModulesError, parse_bitcode};
use offloom_ir::metadata::{Operand, append_node, nodes};
use offloom_ir::module::append_destructor;
use offloom_ir::symbol::find;

use crate::compile::phases;
use crate::error::JitPassError;
use crate::internalize::internalize_unlisted;
use crate::pipeline::link_time_pipeline;
use crate::prepare::prepare;
use crate::retarget::RetargetError;
use crate::retarget::aarch64::inline_atomics;

/// The level of bitcode that names none: the one at which libomptarget compiles images of bitcode.
pub(crate) const DEFAULT_LEVEL: u32 = 3;
/// What C++ code of a shared object identifies itself by; its linker defines it.
const OWN_HANDLE: &str = "__dso_handle";
/// Name of the internal destructor.
const FINALIZER: &str = "offloom.finalize";
/// After every other destructor of the image.
const FINALIZER_PRIORITY: u16 = 101;

/// A base image that is yet to be linked.
#[derive(Debug)]
pub struct BaseObject {
    /// The relocatable object.
    pub object: Vec<u8>,
    /// The bundle; empty where no kernel can have variants.
    pub bundle: Vec<u8>,
    /// How long each phase took.
    pub phases: Phases,
}

/// Why there is no base image.
#[derive(Debug, thiserror::Error)]
pub enum BaseImageError {
    /// The bitcode cannot be read.
    #[error(transparent)]
    Bitcode(#[from] LinkModulesError),
    /// It cannot be prepared.
    #[error(transparent)]
    Prepare(#[from] JitPassError),
    /// A GPU's device runtime cannot be linked.
    #[error("the program's device runtime {0}")]
    DeviceRuntime(#[from] LibraryError),
    /// The GPU cannot be compiled for.
    #[error(transparent)]
    Retarget(#[from] RetargetError),
    /// No device code of the link defines a variable that a GPU's code uses.
    #[error("no device code defines the variable `{0}`: `declare target` is missing where it is defined")]
    UndefinedVariable(String),
    /// LLVM's passes or code generator failed.
    #[error(transparent)]
    Codegen(#[from] CodegenError),
}

/// Notes in the merged device module at which level it is to be compiled at run time.
pub fn note_optimization_level(module: &Module<'_>, level: u32) {
    append_node(module, OPTIMIZATION_LEVEL_METADATA, &[Operand::Integer(level)]);
}

/// The level noted in a module, if one is.
pub(crate) fn noted_optimization_level(module: &Module<'_>) -> Option<u32> {
    match nodes(module, OPTIMIZATION_LEVEL_METADATA).first()?.first()? {
        Operand::Integer(level) => Some((*level).min(3)),
        _ => None,
    }
}

/// Compiles device bitcode, in a context of its own.
///
/// # Errors
/// When a step fails. What LLVM's code generator cannot do at all is a fatal error of LLVM, which does not
/// come back here ([`offloom_ir::sacrificial_thread`]).
pub fn compile_base_image(bitcode: &[u8]) -> Result<BaseObject, BaseImageError> {
    let start = Instant::now();
    let context = Context::create();
    let errors = CollectedErrors::install(&context);
    let module = parse_bitcode(&context, &errors, "device bitcode", bitcode)?;
    inline_atomics(&module);
    let optimization_level = noted_optimization_level(&module).unwrap_or(DEFAULT_LEVEL);
    let machine = target_machine(&MachineOptions {
        triple: &module.get_triple().as_str().to_string_lossy(),
        cpu: "",
        features: "",
        optimization_level,
    })?;
    finalize_own_objects(&module)?;
    let parsed = Instant::now();
    internalize_unlisted(&module, []);
    let prepared = prepare(&module, &machine, &errors, optimization_level, None)?;
    let prepared_at = Instant::now();
    run_pipeline(
        &module,
        &machine,
        &errors,
        &link_time_pipeline(optimization_level),
    )?;
    let optimized = Instant::now();
    let object = emit_object(&module, &machine, &errors)?;
    Ok(BaseObject {
        object: object.as_slice().to_vec(),
        bundle: prepared.bundle.unwrap_or_default(),
        phases: phases([start, parsed, prepared_at, optimized]),
    })
}

/// Has the image's exit handlers run when it is unloaded. The compiler's start files do it in shared objects
/// that a linker makes where there is a compiler; a base image is linked where there may be none.
fn finalize_own_objects(module: &Module<'_>) -> Result<(), JitPassError> {
    let Some(handle) = find(module, OWN_HANDLE) else {
        return Ok(());
    };
    let context = module.get_context();
    let pointer = context.ptr_type(AddressSpace::default());
    let finalize_type = context.void_type().fn_type(&[pointer.into()], false);
    let finalize = module
        .get_function("__cxa_finalize")
        .unwrap_or_else(|| module.add_function("__cxa_finalize", finalize_type, Some(Linkage::External)));
    let function_type = context.void_type().fn_type(&[], false);
    let function = module.add_function(FINALIZER, function_type, Some(Linkage::Internal));
    let builder = context.create_builder();
    builder.position_at_end(context.append_basic_block(function, "entry"));
    builder.build_call(
        finalize,
        &[handle.as_global_value().as_pointer_value().into()],
        "",
    )?;
    builder.build_return(None)?;
    append_destructor(module, function, FINALIZER_PRIORITY);
    Ok(())
}
