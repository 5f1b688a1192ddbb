//! Has a kernel compiled: in the worker process, or, where there is none, on a thread that LLVM may lose.

use std::time::Duration;

use offloom_abi::jit_compile::{Header, Reply, Request};
use offloom_ir::expendable_thread::run_on_expendable_thread;
use offloom_jit_passes::compile::{Compiled, compile as compile_here};

use crate::report;
use crate::settings::{WORKER_MEMORY, WORKER_NICENESS, settings};
use crate::worker::{self, Limits, WorkerError};

/// Compiles what the request says and waits for it.
///
/// # Errors
/// One line for the user: what LLVM said, whether as an error or as a fatal one, or how the worker was lost.
pub(crate) fn compile(request: &Request<'_>) -> Result<Compiled, String> {
    if !settings().worker {
        return compile_in_process(request);
    }
    let limits = Limits {
        memory: WORKER_MEMORY,
        niceness: WORKER_NICENESS,
    };
    match worker::compile(request, limits) {
        Ok(Reply::Object { object, phases }) => Ok(Compiled { object, phases }),
        Ok(Reply::Failure(reason)) => Err(reason),
        Err(WorkerError::Unavailable(reason)) => {
            report::log(format_args!("{reason}; compiling in the program"));
            compile_in_process(request)
        }
        Err(error) => Err(error.to_string()),
    }
}

fn compile_in_process(request: &Request<'_>) -> Result<Compiled, String> {
    let deadline = Duration::from_millis(u64::from(request.deadline));
    // The thread may outlive this call, so it owns what it works on, as the worker does.
    let message = [&request.encode_head()[Header::SIZE..], request.bitcode].concat();
    let work = move || {
        let request = Request::parse(&message).map_err(|error| error.to_string())?;
        compile_here(&request).map_err(|error| error.to_string())
    };
    run_on_expendable_thread(deadline, work).map_err(|lost| lost.to_string())?
}
