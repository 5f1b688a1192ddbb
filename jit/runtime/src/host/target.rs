//! What variants for the host are compiled for.

use std::sync::OnceLock;

use offloom_jit_passes::retarget::{NATIVE, host_processor, host_processor_anywhere, native_processor};
use offloom_jit_policy::backend::Target;
use offloom_jit_policy::process::error_stream;
use offloom_jit_policy::process::settings::settings;

/// The processor that variants are compiled for, and its features. One that was asked for and cannot be is
/// said the first time.
pub(crate) fn target() -> &'static Target {
    static TARGET: OnceLock<Target> = OnceLock::new();
    TARGET.get_or_init(|| {
        let name = settings().target.as_deref().unwrap_or(NATIVE);
        let named = host_processor(name).unwrap_or_else(|reason| {
            error_stream::line(format_args!("OFFLOOM_JIT_TARGET=`{name}` is ignored: {reason}"));
            native_processor()
        });
        of(named)
    })
}

/// The processor with this name, which may be another machine's.
///
/// # Errors
/// One line on why there is no such one.
pub(crate) fn named(name: &str) -> Result<Target, String> {
    host_processor_anywhere(name)
        .map(of)
        .map_err(|reason| reason.to_string())
}

fn of((processor, features): (String, String)) -> Target {
    Target {
        processor,
        features,
        tools: String::new(),
    }
}
