//! Loads from mapped objects that the kernel only reads become the bytes that the objects have at launch.
//!
//! What is only read is proven here again, load by load ([`KernelMemory`]): a descriptor may say more of an
//! object than the code may rely on, and that is left alone.

use offloom_descriptor::{Contents, Descriptor, Pointer};
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::values::FunctionValue;
use offloom_ir::pointer_uses::{loaded_constant, replace_load};

use super::{SpecializeError, pointers};
use crate::object_contents::{KernelMemory, ObjectLoad, PointerSources, expose_loads};

/// Replaces loads from the objects of which the descriptor gives the contents.
///
/// # Errors
/// When the descriptor gives contents of something that is no pointer.
pub fn specialize_contents<'ctx>(
    module: &Module<'ctx>,
    kernel: FunctionValue<'ctx>,
    descriptor: &Descriptor,
) -> Result<(), SpecializeError> {
    let objects = pointers(kernel, descriptor, "the contents of an object", Pointer::contents)?;
    if objects.is_empty() {
        return Ok(());
    }
    expose_loads(module);
    let sources = PointerSources::of(module);
    let memory = KernelMemory::of(&sources, kernel);
    // All are found before the first is replaced, which deletes it.
    let loads: Vec<_> = objects
        .into_iter()
        .flat_map(|(index, contents)| {
            let loads = memory.constant_loads(index);
            loads.into_iter().map(move |load| (load, contents))
        })
        .collect();
    for (load, contents) in loads {
        replace_by(module, &load, contents);
    }
    Ok(())
}

fn replace_by<'ctx>(module: &Module<'ctx>, load: &ObjectLoad<'ctx>, contents: &Contents) {
    let Some(bytes) = contents.known_bytes(load.offset..load.offset + load.size) else {
        return;
    };
    let context = module.get_context();
    let constant = context.const_string(&bytes, false);
    if let Some(value) = loaded_constant(load.instruction, constant.into(), 0) {
        replace_load(load.instruction, value);
    }
}
