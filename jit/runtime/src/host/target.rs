//! What variants for the host are compiled for.

use std::sync::OnceLock;

use offloom_jit_passes::retarget::{NATIVE, native_processor, x86_processor};
use offloom_jit_policy::backend::Target;
use offloom_jit_policy::process::error_stream;
use offloom_jit_policy::process::settings::settings;

/// The processor that variants are compiled for, and its features. One that was asked for and cannot be is
/// said the first time.
pub(crate) fn target() -> &'static Target {
    static TARGET: OnceLock<Target> = OnceLock::new();
    TARGET.get_or_init(|| {
        let name = settings().target.as_deref().unwrap_or(NATIVE);
        let (processor, features) = x86_processor(name).unwrap_or_else(|reason| {
            error_stream::line(format_args!("OFFLOOM_JIT_TARGET=`{name}` is ignored: {reason}"));
            native_processor()
        });
        Target {
            processor,
            features,
            tools: String::new(),
        }
    })
}
