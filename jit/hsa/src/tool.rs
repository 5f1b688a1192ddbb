//! A tool of AMD's runtime: when the runtime starts, it hands its tables of functions to libraries that are
//! loaded and export a constant `HSA_AMD_TOOL_PRIORITY`, as profilers do. Among the functions are those that
//! have queues intercepted, which it does not export. Nothing in the tables is replaced.
//!
//! Source: `hsa_api_trace.h`, `core/runtime/runtime.cpp` (`Runtime::LoadTools`) and
//! `core/runtime/hsa_api_trace.cpp` of ROCr 6.

use std::ffi::c_void;
use std::sync::OnceLock;

use crate::runtime::{CreateQueue, RegisterHandler};

/// What each table begins with.
#[derive(Debug)]
#[repr(C)]
struct Version {
    major: u32,
    /// Bytes of the table.
    size: u32,
    step: u32,
    reserved: u32,
}

/// `HsaApiTable`, as far as it matters here.
#[derive(Debug)]
#[repr(C)]
pub struct Tables {
    version: Version,
    core: *const c_void,
    extensions: *const Extensions,
}

/// `AmdExtTable`, up to the functions that matter here.
#[derive(Debug)]
#[repr(C)]
struct Extensions {
    version: Version,
    others: [*const c_void; 37],
    intercept_create: Option<CreateQueue>,
    intercept_register: Option<RegisterHandler>,
}

/// The version of the extensions' table in which the functions have this place: that of ROCr 6 and 7. Earlier
/// ones have them elsewhere, and pass packets of an intercepted queue on out of order when the device's queue
/// is full.
const KNOWN_MAJOR: u32 = 2;

static INTERCEPT: OnceLock<(CreateQueue, RegisterHandler)> = OnceLock::new();

/// What makes queues whose packets a handler gets, and sets the handler, once the runtime has handed it over.
pub(crate) fn intercept() -> Option<(CreateQueue, RegisterHandler)> {
    INTERCEPT.get().copied()
}

/// Takes the tables that the runtime hands to a tool.
///
/// # Safety
/// `tables` is null, or points to what the runtime hands over.
pub(crate) unsafe fn take(tables: *const Tables) {
    // SAFETY: as the caller promises; what tables hold is read up to the size that they say they have.
    let extensions = unsafe {
        tables
            .as_ref()
            .filter(|tables| tables.version.size as usize >= size_of::<Tables>())
            .and_then(|tables| tables.extensions.as_ref())
            .filter(|table| table.version.major == KNOWN_MAJOR)
            .filter(|table| table.version.size as usize >= size_of::<Extensions>())
    };
    let both = extensions.and_then(|table| table.intercept_create.zip(table.intercept_register));
    if let Some(both) = both {
        INTERCEPT.get_or_init(|| both);
    }
}
