//! Makes the code object of a kernel for an AMD GPU, and reads what it takes of the hardware.

use std::time::Instant;

use object::{Object, ObjectSection, ObjectSymbol};
use offloom_abi::amd_code_object::{DESCRIPTOR_SUFFIX, KernelDescriptor};
use offloom_abi::gpu_processor::processor_of;
use offloom_abi::jit_compile::{GpuResources, Phases, Reply, Request};
use offloom_abi::jit_device_image::variant_entry;
use offloom_jit_passes::compile::Compiled;
use offloom_jit_passes::gpu::generate::Generated;

use crate::link_image::{LinkError, link_code_object};
use crate::replies::failure;

/// The linker made something else.
#[derive(Debug, thiserror::Error)]
#[error("the code object of `{0}` has no descriptor of the kernel")]
struct NoDescriptor(String);

/// Links a kernel's object, which takes one of the phases.
pub(crate) fn code_object(
    generated: &Generated,
    request: &Request<'_>,
) -> Result<(Compiled, GpuResources), Reply> {
    let start = Instant::now();
    let object = link_code_object(&generated.code).map_err(LinkError::reply)?;
    let descriptor = descriptor(&object, request.kernel)
        .ok_or_else(|| failure(NoDescriptor(request.kernel.to_owned())))?;
    let phases = Phases {
        assemble: u32::try_from(start.elapsed().as_micros()).unwrap_or(u32::MAX),
        ..generated.phases
    };
    let resources = GpuResources {
        registers: descriptor.vector_registers(processor_of(request.processor)),
        stack_frame: descriptor.private_segment,
        spill_stores: generated.spills,
        spill_loads: 0,
        shared_memory: descriptor.group_segment,
        constant_memory: descriptor.kernel_arguments,
    };
    Ok((Compiled { object, phases }, resources))
}

fn descriptor(code_object: &[u8], kernel: &str) -> Option<KernelDescriptor> {
    let file = object::File::parse(code_object).ok()?;
    let name = variant_entry(kernel) + DESCRIPTOR_SUFFIX;
    let symbol = file.dynamic_symbols().find(|symbol| symbol.name() == Ok(&name))?;
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    let at = usize::try_from(symbol.address().checked_sub(section.address())?).ok()?;
    KernelDescriptor::parse(section.data().ok()?.get(at..)?)
}
