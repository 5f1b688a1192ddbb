//! What variants are compiled for, and by.

use std::sync::OnceLock;

use offloom_ir::inkwell::support::get_llvm_version;
use offloom_jit_passes::retarget::{NATIVE, native_processor, x86_processor};

use crate::error_stream;
use crate::settings::settings;
/// The architecture that descriptors name.
pub(crate) const ARCHITECTURE: &str = "x86-64";

/// The processor that variants are compiled for, and its features. One that was asked for and cannot be is said the first time.
pub(crate) fn processor() -> &'static [String; 2] {
    static PROCESSOR: OnceLock<[String; 2]> = OnceLock::new();
    PROCESSOR.get_or_init(|| {
        let name = settings().target.as_deref().unwrap_or(NATIVE);
        let (cpu, features) = x86_processor(name).unwrap_or_else(|reason| {
            error_stream::line(format_args!("OFFLOOM_JIT_TARGET=`{name}` is ignored: {reason}"));
            native_processor()
        });
        [cpu, features]
    })
}

/// The version of LLVM that compiles, with its patch level.
pub(crate) fn llvm_version() -> String {
    let (major, minor, patch) = get_llvm_version();
    format!("{major}.{minor}.{patch}")
}
