//! What the program is told.

use std::error::Error;
use std::fmt::Display;
use std::time::Duration;

use offloom_abi::jit_compile::Reply;
use offloom_ir::sacrificial_thread::Lost;
use offloom_jit_passes::compile::Compiled;

/// Of what the worker was built (`sources.rs`); the runtime compares it with its own.
pub(crate) const SOURCES: &str = env!("OFFLOOM_SOURCES");

pub(crate) fn made(compiled: Compiled) -> Reply {
    let Compiled { object, phases } = compiled;
    Reply::Object {
        object,
        phases,
        resources: None,
    }
}

/// What is said of a compile that has not ended in time.
pub(crate) fn late(lost: Lost) -> Reply {
    match lost {
        Lost::NotAtWork { .. } => unable(lost),
        Lost::Deadline(_) => too_late(&lost),
        _ => last_failure(lost),
    }
}

/// What is said of an assembler that has not ended in time.
pub(crate) fn late_assembler(deadline: Duration) -> Reply {
    too_late(&format_args!(
        "the assembler has not ended after {} ms",
        deadline.as_millis()
    ))
}

fn too_late(what: &dyn Display) -> Reply {
    Reply::Failure {
        reason: format!("{what}, as OFFLOOM_JIT_TIME_LIMIT allows"),
        last: true,
    }
}

/// What is said of a compile that LLVM crashes over, which includes that it gets no memory.
pub(crate) fn crash(signal: &str) -> Reply {
    Reply::Failure {
        reason: format!("LLVM crashed or found no memory ({signal})"),
        last: true,
    }
}

/// After which nothing can be asked for.
pub(crate) fn last_failure(error: impl Error) -> Reply {
    Reply::Failure {
        reason: error.to_string(),
        last: true,
    }
}

pub(crate) fn failure(error: impl Error) -> Reply {
    Reply::Failure {
        reason: error.to_string(),
        last: false,
    }
}

pub(crate) fn unable(error: impl Error) -> Reply {
    Reply::Unable {
        reason: error.to_string(),
    }
}
