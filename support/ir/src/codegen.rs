//! From a module to an object file: target machines, pass pipelines, code generation.

use std::ffi::{c_char, c_uint};
use std::ptr;
use std::sync::Once;

use inkwell::OptimizationLevel;
use inkwell::llvm_sys::prelude::{LLVMMemoryBufferRef, LLVMModuleRef};
use inkwell::llvm_sys::target_machine::LLVMTargetMachineRef;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple};

use offloom_abi::Triple;

use crate::jit_diagnostics::CollectedErrors;

unsafe extern "C" {
    fn offloom_ir_use_init_array(machine: LLVMTargetMachineRef);
    fn offloom_ir_run_pipeline(
        module: LLVMModuleRef,
        machine: LLVMTargetMachineRef,
        pipeline: *const c_char,
        length: usize,
    ) -> bool;
    fn offloom_ir_forget_tail_calls(module: LLVMModuleRef);
    fn offloom_ir_emit_object(
        module: LLVMModuleRef,
        machine: LLVMTargetMachineRef,
        spills: *mut c_uint,
    ) -> LLVMMemoryBufferRef;
    fn offloom_ir_emit_assembly(module: LLVMModuleRef, machine: LLVMTargetMachineRef) -> LLVMMemoryBufferRef;
}

/// Why there is no object.
#[derive(Debug, thiserror::Error)]
pub enum CodegenError {
    /// This LLVM cannot generate code for the triple.
    #[error("LLVM {major} has no code generator for `{triple}`: {reason}", major = crate::LLVM.major())]
    NoTarget {
        /// The triple.
        triple: String,
        /// LLVM's words.
        reason: String,
    },
    /// A pass pipeline that could not be run.
    #[error("pipeline `{pipeline}` failed: {reason}")]
    Pipeline {
        /// The pipeline's text.
        pipeline: String,
        /// What a pass reported, or that the text is none.
        reason: String,
    },
    /// The code generator gave up.
    #[error("code generation failed: {0}")]
    Emit(String),
}

/// Where code is generated for and how hard the code generator tries.
#[derive(Debug, Clone, Copy)]
pub struct MachineOptions<'a> {
    /// Target triple.
    pub triple: &'a str,
    /// Processor for functions that name none; empty: the triple's baseline.
    pub cpu: &'a str,
    /// Features for functions that name none.
    pub features: &'a str,
    /// Optimisation level, 0 to 3.
    pub optimization_level: u32,
}

/// Registers the target of the processor that this code was compiled for. Does nothing the second time.
pub(crate) fn initialize_native() {
    #[cfg(target_arch = "x86_64")]
    initialize_x86();
    #[cfg(target_arch = "aarch64")]
    initialize_aarch64();
}

fn initialize_x86() {
    static X86: Once = Once::new();
    X86.call_once(|| Target::initialize_x86(&InitializationConfig::default()));
}

fn initialize_aarch64() {
    static AARCH64: Once = Once::new();
    AARCH64.call_once(|| Target::initialize_aarch64(&InitializationConfig::default()));
}

/// Registers the targets of all processors that hosts have, for programs whose LLVM nobody else sets up and
/// that generate code for other hosts too. What compiles kernels is a sixth smaller with one of them alone.
pub fn initialize_hosts() {
    initialize_x86();
    initialize_aarch64();
}

/// Registers the NVPTX target. Does nothing the second time.
fn initialize_nvptx() {
    static NVPTX: Once = Once::new();
    NVPTX.call_once(|| Target::initialize_nvptx(&InitializationConfig::default()));
}

/// Registers the AMDGPU target. Does nothing the second time.
fn initialize_amdgpu() {
    static AMDGPU: Once = Once::new();
    AMDGPU.call_once(|| Target::initialize_amd_gpu(&InitializationConfig::default()));
}

/// The machine of a GPU. Its target is registered here, so that what never compiles for such a GPU does
/// without. Of NVIDIA's, the processor and the version of PTX are those that the options name: what functions
/// say of them counts for nothing.
///
/// # Errors
/// When this LLVM has no such target.
pub fn gpu_machine(options: &MachineOptions<'_>) -> Result<TargetMachine, CodegenError> {
    match Triple(options.triple).is_amd_gpu() {
        true => initialize_amdgpu(),
        false => initialize_nvptx(),
    }
    target_machine(options)
}

/// A target machine for position-independent code. The target of this machine's processor is registered;
/// others are the caller's to register, or of the tool that loads the plugin: Clang, opt and lld register
/// all.
///
/// # Errors
/// When there is no such target.
pub fn target_machine(options: &MachineOptions<'_>) -> Result<TargetMachine, CodegenError> {
    initialize_native();
    let no_target = |reason: String| CodegenError::NoTarget {
        triple: options.triple.to_owned(),
        reason,
    };
    let triple = TargetTriple::create(options.triple);
    let target = Target::from_triple(&triple).map_err(|reason| no_target(reason.to_string()))?;
    let level = match options.optimization_level {
        0 => OptimizationLevel::None,
        1 => OptimizationLevel::Less,
        2 => OptimizationLevel::Default,
        _ => OptimizationLevel::Aggressive,
    };
    let machine = target
        .create_target_machine(
            &triple,
            options.cpu,
            options.features,
            level,
            RelocMode::PIC,
            CodeModel::Default,
        )
        .ok_or_else(|| no_target("no target machine".to_owned()))?;
    // SAFETY: the machine is live; nothing has been generated with it yet.
    unsafe { offloom_ir_use_init_array(machine.as_mut_ptr()) };
    Ok(machine)
}

/// Runs a pipeline in the syntax of `opt -passes`. What LLVM 19 and 22 would make wrong code of is kept from
/// their passes: some loops, masked loads, and marks of tail calls (`pipeline_shim.cpp`).
///
/// # Errors
/// When the text is not a pipeline, or when a pass reports an error.
pub fn run_pipeline(
    module: &Module<'_>,
    machine: &TargetMachine,
    errors: &CollectedErrors<'_>,
    pipeline: &str,
) -> Result<(), CodegenError> {
    // SAFETY: the shim is of this kind.
    unsafe { run_by(offloom_ir_run_pipeline, module, machine, Some(errors), pipeline) }
}

/// Calls are no longer marked as tail calls, for other programs that run OpenMPOpt. [`run_pipeline`] does so
/// itself.
pub fn forget_tail_calls(module: &Module<'_>) {
    // SAFETY: the module is live.
    unsafe { offloom_ir_forget_tail_calls(module.as_mut_ptr()) };
}

/// A shim that runs a pipeline on a module; false if the text, of which the length follows, is none.
pub(crate) type RunPipeline =
    unsafe extern "C" fn(LLVMModuleRef, LLVMTargetMachineRef, *const c_char, usize) -> bool;

/// Runs a pipeline by a shim; errors of its passes count if they are collected.
///
/// # Safety
/// The shim is as [`RunPipeline`] says, and needs only that module and machine are live.
pub(crate) unsafe fn run_by(
    run: RunPipeline,
    module: &Module<'_>,
    machine: &TargetMachine,
    errors: Option<&CollectedErrors<'_>>,
    pipeline: &str,
) -> Result<(), CodegenError> {
    // SAFETY: module and machine are live; the text is passed with its length.
    let known = unsafe {
        run(
            module.as_mut_ptr(),
            machine.as_mut_ptr(),
            pipeline.as_ptr().cast(),
            pipeline.len(),
        )
    };
    let reason = match (known, errors.and_then(CollectedErrors::take)) {
        (true, None) => return Ok(()),
        (_, Some(reported)) => reported,
        (false, None) => "not a pipeline".to_owned(),
    };
    Err(CodegenError::Pipeline {
        pipeline: pipeline.to_owned(),
        reason,
    })
}

/// Generates the module's object file in memory.
///
/// # Errors
/// When the code generator reports an error. What it cannot do at all is a fatal error of LLVM, not one of
/// these.
pub fn emit_object(
    module: &Module<'_>,
    machine: &TargetMachine,
    errors: &CollectedErrors<'_>,
) -> Result<MemoryBuffer<'static>, CodegenError> {
    emit(module, machine, errors, None)
}

/// The same, and in how many places register allocation put a value on the stack for want of a register, in
/// all functions.
///
/// # Errors
/// As [`emit_object`].
pub fn emit_object_and_count_spills(
    module: &Module<'_>,
    machine: &TargetMachine,
    errors: &CollectedErrors<'_>,
) -> Result<(MemoryBuffer<'static>, u32), CodegenError> {
    let mut spills = 0;
    let object = emit(module, machine, errors, Some(&mut spills))?;
    Ok((object, spills))
}

fn emit(
    module: &Module<'_>,
    machine: &TargetMachine,
    errors: &CollectedErrors<'_>,
    spills: Option<&mut c_uint>,
) -> Result<MemoryBuffer<'static>, CodegenError> {
    let spills = spills.map_or(ptr::null_mut(), ptr::from_mut);
    // SAFETY: module and machine are live; the count, if any, is only written until the call returns; the
    // buffer, if any, is a new one that nobody else owns.
    let object = unsafe {
        let buffer = offloom_ir_emit_object(module.as_mut_ptr(), machine.as_mut_ptr(), spills);
        (!buffer.is_null()).then(|| MemoryBuffer::new(buffer))
    };
    emitted(object, errors, "the target writes no objects")
}

/// Generates the module's assembly in memory: PTX, for NVIDIA GPUs.
///
/// # Errors
/// As [`emit_object`].
pub fn emit_assembly(
    module: &Module<'_>,
    machine: &TargetMachine,
    errors: &CollectedErrors<'_>,
) -> Result<MemoryBuffer<'static>, CodegenError> {
    // SAFETY: module and machine are live; the buffer, if any, is a new one that nobody else owns.
    let assembly = unsafe {
        let buffer = offloom_ir_emit_assembly(module.as_mut_ptr(), machine.as_mut_ptr());
        (!buffer.is_null()).then(|| MemoryBuffer::new(buffer))
    };
    emitted(assembly, errors, "the target writes no assembly")
}

fn emitted(
    file: Option<MemoryBuffer<'static>>,
    errors: &CollectedErrors<'_>,
    none: &str,
) -> Result<MemoryBuffer<'static>, CodegenError> {
    match (file, errors.take()) {
        (Some(file), None) => Ok(file),
        (_, Some(reason)) => Err(CodegenError::Emit(reason)),
        (None, None) => Err(CodegenError::Emit(none.to_owned())),
    }
}
