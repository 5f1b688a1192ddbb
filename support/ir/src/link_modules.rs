//! Links bitcode files into one module, as `llvm-link` does.

use inkwell::context::Context;
use inkwell::llvm_sys::linker::LLVMLinkModules2;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use offloom_abi::Triple;

use crate::bitcode_header::foreign_producer;
use crate::jit_diagnostics::CollectedErrors;
use crate::module::remove_flag;

/// Why modules could not be linked.
#[derive(Debug, thiserror::Error)]
pub enum LinkModulesError {
    /// There is nothing to link.
    #[error("no bitcode to link")]
    Nothing,
    /// A file that is not bitcode this LLVM reads.
    #[error("{name}: not bitcode that LLVM {major} can read: {reason}", major = crate::LLVM.major())]
    Parse {
        /// The input's name.
        name: String,
        /// LLVM's words.
        reason: String,
    },
    /// A file that this LLVM does not read, and that another release wrote.
    #[error("{name}: is bitcode that {producer} wrote, and this is LLVM {major}: use one LLVM for all of a program", major = crate::LLVM.major())]
    OtherLlvm {
        /// The input's name.
        name: String,
        /// What the file names as its producer, as `LLVM19.1.7`.
        producer: String,
    },
    /// A file for another processor than those before it.
    #[error(
        "{name}: is for the target `{triple}`, and the other device code for `{others}`: compile all of it for one target"
    )]
    Target {
        /// The input that is for something else.
        name: String,
        /// What it is for.
        triple: String,
        /// What those before it are for.
        others: String,
    },
    /// Two definitions or declarations that do not go together.
    #[error("{name}: cannot be linked with the other device code: {reason}")]
    Link {
        /// The input that did not fit those before it.
        name: String,
        /// LLVM's words.
        reason: String,
    },
}

/// Module flags that only say which kind of link-time optimisation Clang compiled for.
const LINK_TIME_FLAGS: [&str; 3] = ["EnableSplitLTOUnit", "ThinLTO", "UnifiedLTO"];

/// Links the members, each a name for messages and its bitcode, in the order given. Each module is handed to
/// `before` first: of what it says of itself as a whole, the result has only the first one's.
///
/// # Errors
/// When a member is not bitcode of this LLVM or is for another processor than the first, or when definitions
/// clash.
pub fn link_modules<'ctx>(
    context: &'ctx Context,
    errors: &CollectedErrors<'ctx>,
    members: &[(&str, &[u8])],
    before: impl Fn(&Module<'ctx>),
) -> Result<Module<'ctx>, LinkModulesError> {
    let mut merged: Option<Module<'ctx>> = None;
    for &(name, bitcode) in members {
        let module = parse_bitcode(context, errors, name, bitcode)?;
        before(&module);
        // `-foffload-lto` and `-foffload-lto=thin` give these other values, and here both are optimised in
        // the same way.
        LINK_TIME_FLAGS
            .into_iter()
            .for_each(|flag| remove_flag(&module, flag));
        let Some(merged) = &merged else {
            merged = Some(module);
            continue;
        };
        let (triple, others) = (triple(&module), triple(merged));
        // LLVM would go on with the first one's.
        if Triple(&triple).architecture() != Triple(&others).architecture() {
            return Err(LinkModulesError::Target {
                name: name.to_owned(),
                triple,
                others,
            });
        }
        // SAFETY: both modules are live and of one context. LLVM takes the second one and frees it, so it is
        // forgotten here.
        let failed = unsafe { LLVMLinkModules2(merged.as_mut_ptr(), module.as_mut_ptr()) } != 0;
        std::mem::forget(module);
        let reason = errors.take();
        if failed || reason.is_some() {
            return Err(LinkModulesError::Link {
                name: name.to_owned(),
                reason: reason.unwrap_or_default(),
            });
        }
    }
    merged.ok_or(LinkModulesError::Nothing)
}

fn triple(module: &Module<'_>) -> String {
    module.get_triple().as_str().to_string_lossy().into_owned()
}

/// Reads all of the bitcode at once; the bytes are not needed afterwards. `name` is for messages.
///
/// # Errors
/// When it is not bitcode of this LLVM.
pub fn parse_bitcode<'ctx>(
    context: &'ctx Context,
    errors: &CollectedErrors<'ctx>,
    name: &str,
    bitcode: &[u8],
) -> Result<Module<'ctx>, LinkModulesError> {
    let buffer = MemoryBuffer::create_from_memory_range(bitcode, name);
    let module = Module::parse_bitcode_from_buffer(&buffer, context);
    let reported = errors.take();
    let reason = match (module, reported) {
        (Ok(module), None) => return Ok(module),
        (_, Some(reported)) => reported,
        (Err(reason), None) => reason.to_string(),
    };
    let name = name.to_owned();
    Err(match foreign_producer(bitcode) {
        Some(producer) => LinkModulesError::OtherLlvm { name, producer },
        None => LinkModulesError::Parse { name, reason },
    })
}
