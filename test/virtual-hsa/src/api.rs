//! The functions that programs call.
//!
//! Each catches what would unwind into the program, and ends with a status of `hsa_status_t`. A pointer or a
//! handle that is wrong is a fault, which is told.

mod agents;
pub(crate) mod arguments;
mod code_objects;
mod copies;
mod executables;
mod memory;
pub(crate) mod queues;
mod signals;
mod system;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::abi::Status;
use crate::journal;
use crate::runtime::{self, Result, Runtime};

/// Runs the body of a function that needs the runtime.
fn guard(function: &str, body: impl FnOnce(&Arc<Runtime>) -> Result<()>) -> u32 {
    guard_alone(function, || body(&runtime::current()?))
}

/// Runs the body of a function that ends with a status.
fn guard_alone(function: &str, body: impl FnOnce() -> Result<()>) -> u32 {
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return Status::SUCCESS.0,
        Ok(Err(failure)) => failure,
        Err(_) => {
            journal::complain("an internal error, told above; please report it");
            return Status::ERROR.0;
        }
    };
    if let Some(fault) = &failure.fault {
        match runtime::current() {
            Ok(runtime) => runtime.journal.fault(format_args!("{function}: {fault}")),
            Err(_) => journal::complain(&format!("fault: {function}: {fault}")),
        }
    }
    failure.status.0
}

/// Runs the body of a function that cannot tell a fault: it ends the process.
fn value<T>(function: &str, body: impl FnOnce(&Arc<Runtime>) -> Result<T>) -> T {
    let told = match catch_unwind(AssertUnwindSafe(|| body(&runtime::current()?))) {
        Ok(Ok(value)) => return value,
        Ok(Err(failure)) => {
            let text = failure.status.text().unwrap_or_default().to_string_lossy();
            failure.fault.unwrap_or_else(|| text.into_owned())
        }
        Err(_) => "an internal error, told above; please report it".to_owned(),
    };
    match runtime::current() {
        Ok(runtime) => runtime.journal.fatal(format_args!("{function}: {told}")),
        Err(_) => {
            journal::complain(&format!("fault: {function}: {told}"));
            journal::end_process()
        }
    }
}

/// Defines functions that end with a status and whose body has the runtime as its first name.
macro_rules! exports {
    ($($(#[$attribute:meta])* fn $name:ident($runtime:ident; $($argument:ident: $kind:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$attribute])*
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $kind),*) -> u32 {
                $crate::api::guard(stringify!($name), |$runtime| $body)
            }
        )*
    };
}
use exports;

/// Defines functions that end with a value, in the same way.
macro_rules! value_exports {
    ($($(#[$attribute:meta])* fn $name:ident($runtime:ident; $($argument:ident: $kind:ty),* $(,)?) -> $value:ty $body:block)*) => {
        $(
            $(#[$attribute])*
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $kind),*) -> $value {
                $crate::api::value(stringify!($name), |$runtime| $body)
            }
        )*
    };
}
use value_exports;
