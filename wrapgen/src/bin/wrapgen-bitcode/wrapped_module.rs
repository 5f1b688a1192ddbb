//! The job `wrapped-module`: the registration module, equal to what LLVM's linker wrapper makes, as LLVM IR
//! or compiled.
//!
//! The module is put together as text, in the order in which LLVM's wrapper creates it, and read by LLVM,
//! which checks it. The text only declares the images: their bytes are given to LLVM for IR, and added behind
//! the code generator for an object.

mod fat_binary;
mod openmp;
mod sycl;

use offloom_abi::device_image::WRAPPER_MODULE_NAME;
use offloom_abi::entry::{self, EntryField, FieldType};
use offloom_ir::codegen::{CodegenError, MachineOptions, emit_object, target_machine};
use offloom_ir::inkwell::context::Context;
use offloom_ir::inkwell::memory_buffer::MemoryBuffer;
use offloom_ir::inkwell::module::{Linkage, Module};
use offloom_ir::jit_diagnostics::CollectedErrors;
use wrapgen::inputs::Piece;
use wrapgen::output::{OutputFile, write_file};
use wrapgen::wrap::{ImageSection, OutputForm, WrapArgs, WrapContent, WrapInputs};

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
    /// The module could not be compiled.
    #[error("cannot compile the registration code: {0}")]
    Codegen(#[from] CodegenError),
}

/// What LLVM's code generator starts globals of more than 16 bytes at a multiple of, where IR names no
/// alignment.
const LARGE_GLOBAL_ALIGNMENT: u64 = 16;

/// A registration module whose images are only declared.
struct ModuleText<'a> {
    text: String,
    images: ImageSection<'a>,
}

/// Writes the module that `args` describe.
pub(crate) fn run(args: &WrapArgs) -> Result<(), WrappedModuleError> {
    let inputs = WrapInputs::open(args)?;
    let content = inputs.content()?;
    let body = match &content {
        WrapContent::OpenMp(images) => openmp::text(images, args.relocatable),
        WrapContent::FatBinary(runtime, image) => fat_binary::text(runtime, *image),
        WrapContent::Sycl(images) => sycl::text(images),
    };
    let text = format!(
        "source_filename = \"{WRAPPER_MODULE_NAME}\"\ntarget triple = \"{}\"\n{}",
        args.host_triple.escape_default(),
        body.text
    );
    let invalid = |reason: String| WrappedModuleError::Invalid {
        host_triple: args.host_triple.clone(),
        reason,
    };
    let context = Context::create();
    let errors = CollectedErrors::install(&context);
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), WRAPPER_MODULE_NAME);
    let module = context
        .create_module_from_ir(buffer)
        .map_err(|reason| invalid(reason.to_string()))?;
    let form = args.output_form();
    if form != OutputForm::Object {
        define_images(&context, &module, &body.images);
    }
    module.verify().map_err(|reason| invalid(reason.to_string()))?;
    match form {
        OutputForm::Bitcode => write_file(&args.output, module.write_bitcode_to_memory().as_slice())?,
        OutputForm::Assembly => write_file(&args.output, module.print_to_string().to_bytes())?,
        OutputForm::Object => {
            let machine = target_machine(&MachineOptions {
                triple: &args.host_triple,
                cpu: "",
                features: "",
                optimization_level: 2,
            })?;
            module.set_data_layout(&machine.get_target_data().get_data_layout());
            let object = emit_object(&module, &machine, &errors)?;
            let mut output = OutputFile::create(&args.output)?;
            body.images.write_into(object.as_slice(), &mut output)?;
            output.commit()?;
        }
    }
    Ok(())
}

/// Gives the declared images their bytes.
fn define_images(context: &Context, module: &Module<'_>, images: &ImageSection<'_>) {
    for (name, pieces) in &images.images {
        if let Some(global) = module.get_global(name) {
            let bytes: Vec<_> = pieces.iter().map(Piece::bytes).collect();
            global.set_initializer(&context.const_string(&bytes.concat(), false));
            global.set_linkage(Linkage::Internal);
        }
    }
}

/// The declaration of an image of `size` bytes.
fn declared_image(name: &str, attribute: &str, size: u64, section: &str, alignment: &str) -> String {
    format!("@{name} = external hidden {attribute}constant [{size} x i8], section \"{section}\"{alignment}\n")
}

/// The entry type and the symbols around the entries of `section`: first and last declared, and an empty
/// entry, so that the section exists in every program.
fn entry_range(section: &str) -> String {
    let (entry_type, definition) = (entry::IR_STRUCT_NAME, entry_type());
    let alignment = match entry::alignment(offloom_ir::LLVM) {
        1 => String::new(),
        alignment => format!(", align {alignment}"),
    };
    format!(
        r#"{definition}@__start_{section} = external hidden constant [0 x %{entry_type}]
@__stop_{section} = external hidden constant [0 x %{entry_type}]
@__dummy.{section} = internal constant [0 x %{entry_type}] zeroinitializer, section "{section}"{alignment}
@llvm.compiler.used = appending global [1 x ptr] [ptr @__dummy.{section}], section "llvm.metadata"
"#
    )
}

/// An entry as a constant: `value` gives what of its fields is neither zero nor null.
fn entry_record(value: impl Fn(EntryField) -> Option<String>) -> String {
    let fields = entry::fields(offloom_ir::LLVM).iter();
    let values = fields.map(|&(field, field_type)| {
        let nothing = match field_type {
            FieldType::Pointer => "null",
            _ => "0",
        };
        let value = value(field).unwrap_or_else(|| nothing.to_owned());
        format!("{} {value}", field_type.name())
    });
    let values: Vec<_> = values.collect();
    format!("%{} {{ {} }}", entry::IR_STRUCT_NAME, values.join(", "))
}

/// The definition of the entry type.
fn entry_type() -> String {
    let fields = entry::fields(offloom_ir::LLVM).iter();
    let types: Vec<&str> = fields.map(|(_, field_type)| field_type.name()).collect();
    format!("%{} = type {{ {} }}\n", entry::IR_STRUCT_NAME, types.join(", "))
}
