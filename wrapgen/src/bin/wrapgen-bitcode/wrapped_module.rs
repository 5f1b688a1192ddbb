//! The job `wrapped-module`: the registration module as LLVM IR, equal to what LLVM's linker wrapper makes.
//!
//! The module is put together as text, in the order in which LLVM's wrapper creates it, and read by LLVM, which checks it.

use std::fmt::Write;

use offloom_abi::device_image::{
    REGISTER_FUNCTION_SECTION, REGISTER_LIB, REGISTER_PRIORITY, UNREGISTER_LIB, WRAPPER_MODULE_NAME,
    descriptor, image, wrapper_symbol,
};
use offloom_abi::{LlvmVersion, entry, names};
use offloom_ir::inkwell::context::Context;
use offloom_ir::inkwell::memory_buffer::MemoryBuffer;
use wrapgen::output::write_file;
use wrapgen::wrap::{EmbeddedImage, OutputForm, WrapArgs, WrapInputs};

/// Why there is no module.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WrappedModuleError {
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] wrapgen::Error),
    /// LLVM does not take the module.
    #[error("the registration module for the host '{host_triple}' is not valid: {reason}")]
    Invalid {
        /// Target triple of the host.
        host_triple: String,
        /// LLVM's words.
        reason: String,
    },
}

/// Writes the module that `args` describe.
pub(crate) fn run(args: &WrapArgs) -> Result<(), WrappedModuleError> {
    let inputs = WrapInputs::open(args)?;
    let text = module_text(&inputs.images()?, args);
    let invalid = |reason: String| WrappedModuleError::Invalid {
        host_triple: args.host_triple.clone(),
        reason,
    };
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), WRAPPER_MODULE_NAME);
    let module = context
        .create_module_from_ir(buffer)
        .map_err(|reason| invalid(reason.to_string()))?;
    module.verify().map_err(|reason| invalid(reason.to_string()))?;
    match args.output_form() {
        OutputForm::Bitcode => write_file(&args.output, module.write_bitcode_to_memory().as_slice())?,
        _ => write_file(&args.output, module.print_to_string().to_bytes())?,
    }
    Ok(())
}

/// The module as LLVM assembly.
fn module_text(images: &[EmbeddedImage<'_>], args: &WrapArgs) -> String {
    let llvm = offloom_ir::LLVM;
    let (section, start, stop) = (
        entry::section(llvm),
        entry::start_symbol(llvm),
        entry::stop_symbol(llvm),
    );
    let (dummy, entry_type) = (entry::dummy_symbol(llvm), entry::IR_STRUCT_NAME);
    let (image_type, descriptor_type) = (image::IR_STRUCT_NAME, descriptor::IR_STRUCT_NAME);
    let (entry_fields, dummy_alignment) = match llvm {
        LlvmVersion::V19 => ("ptr, ptr, i64, i32, i32", ""),
        LlvmVersion::V22 => ("i64, i16, i16, i32, ptr, ptr, i64, i64, ptr", ", align 8"),
    };
    let image_section = match args.relocatable {
        true => names::OFFLOADING_RELOCATABLE_SECTION,
        false => names::OFFLOADING_SECTION,
    };
    let (table, descriptor) = (wrapper_symbol::DEVICE_IMAGES, wrapper_symbol::DESCRIPTOR);
    let (register, unregister) = (wrapper_symbol::REGISTER, wrapper_symbol::UNREGISTER);
    let count = images.len();

    let mut globals = String::new();
    let mut rows = Vec::new();
    for (number, image) in images.iter().enumerate() {
        let name = match number {
            0 => wrapper_symbol::DEVICE_IMAGE.to_owned(),
            _ => format!("{}.{number}", wrapper_symbol::DEVICE_IMAGE),
        };
        let array = format!("[{} x i8]", image.size());
        let address = |offset: u64| format!("getelementptr ({array}, ptr @{name}, i64 0, i64 {offset})");
        let range = image.image_range();
        globals += &format!("@{name} = internal unnamed_addr constant {array} c\"");
        for byte in image.pieces().iter().copied().flatten() {
            // Writing to a string cannot fail.
            let _ = write!(globals, "\\{byte:02X}");
        }
        let alignment = names::OFFLOADING_ALIGNMENT;
        globals += &format!("\", section \"{image_section}\", align {alignment}\n");
        rows.push(format!(
            "%{image_type} {{ ptr {}, ptr {}, ptr @{start}, ptr @{stop} }}",
            address(range.start),
            address(range.end)
        ));
    }
    let rows = rows.join(", ");
    format!(
        r#"source_filename = "{WRAPPER_MODULE_NAME}"
target triple = "{host_triple}"
%{entry_type} = type {{ {entry_fields} }}
%{image_type} = type {{ ptr, ptr, ptr, ptr }}
%{descriptor_type} = type {{ i32, ptr, ptr, ptr }}
@{start} = external hidden constant [0 x %{entry_type}]
@{stop} = external hidden constant [0 x %{entry_type}]
@{dummy} = internal constant [0 x %{entry_type}] zeroinitializer, section "{section}"{dummy_alignment}
@llvm.compiler.used = appending global [1 x ptr] [ptr @{dummy}], section "llvm.metadata"
{globals}@{table} = internal unnamed_addr constant [{count} x %{image_type}] [{rows}]
@{descriptor} = internal constant %{descriptor_type} {{ i32 {count}, ptr @{table}, ptr @{start}, ptr @{stop} }}
@llvm.global_ctors = appending global [1 x {{ i32, ptr, ptr }}] [{{ i32, ptr, ptr }} {{ i32 {REGISTER_PRIORITY}, ptr @{register}, ptr null }}]
define internal void @{register}() section "{REGISTER_FUNCTION_SECTION}" {{
entry:
  call void @{REGISTER_LIB}(ptr @{descriptor})
  %0 = call i32 @atexit(ptr @{unregister})
  ret void
}}
declare void @{REGISTER_LIB}(ptr)
declare i32 @atexit(ptr)
define internal void @{unregister}() section "{REGISTER_FUNCTION_SECTION}" {{
entry:
  call void @{UNREGISTER_LIB}(ptr @{descriptor})
  ret void
}}
declare void @{UNREGISTER_LIB}(ptr)
"#,
        host_triple = args.host_triple.escape_default(),
    )
}
