//! A tool of AMD's runtime: it opens the libraries that `HSA_TOOLS_LIB` names when it starts, and hands them
//! its tables of functions, with those that have queues intercepted. Nothing in the tables is replaced.
//!
//! Source: `hsa_api_trace.h`, `core/runtime/runtime.cpp` of ROCr (`LoadTools`).

use std::env;
use std::ffi::{CStr, CString, OsStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::runtime::{CreateQueue, RegisterHandler};

/// The variable.
const VARIABLE: &str = "HSA_TOOLS_LIB";

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
    others: [*const c_void; 35],
    intercept_create: Option<CreateQueue>,
    intercept_register: Option<RegisterHandler>,
}

/// Versions of the tables in which the functions have this place.
const KNOWN_MAJORS: [u32; 2] = [1, 2];

static INTERCEPT: OnceLock<(CreateQueue, RegisterHandler)> = OnceLock::new();
static IS_SET: AtomicBool = AtomicBool::new(false);

/// What makes queues whose packets a handler gets, and sets the handler, once the runtime has handed it over.
pub(crate) fn intercept() -> Option<(CreateQueue, RegisterHandler)> {
    INTERCEPT.get().copied()
}

/// Takes the tables that the runtime hands to a tool.
///
/// # Safety
/// `tables` is null, or points to what the runtime hands over.
pub unsafe fn take(tables: *const Tables) {
    // SAFETY: as the caller promises; what tables hold is read up to the size that they say they have.
    let extensions = unsafe {
        tables
            .as_ref()
            .filter(|tables| tables.version.size as usize >= size_of::<Tables>())
            .and_then(|tables| tables.extensions.as_ref())
            .filter(|table| KNOWN_MAJORS.contains(&table.version.major))
            .filter(|table| table.version.size as usize >= size_of::<Extensions>())
    };
    let both = extensions.and_then(|table| table.intercept_create.zip(table.intercept_register));
    if let Some(both) = both {
        INTERCEPT.get_or_init(|| both);
    }
}

/// Has the runtime, which is about to start, take the library that `inside` is an address in for a tool.
/// False: the user has named others, for which profilers are mostly.
pub fn announce(inside: *const c_void) -> bool {
    if env::var_os(VARIABLE).is_some() {
        return IS_SET.load(Ordering::Relaxed);
    }
    let Some(path) = path_of(inside) else { return false };
    set(Some(&path));
    IS_SET.store(true, Ordering::Relaxed);
    true
}

/// Leaves the environment as it was, which programs that this one starts will have.
pub fn leave() {
    if IS_SET.swap(false, Ordering::Relaxed) {
        set(None);
    }
}

fn set(path: Option<&CStr>) {
    let name = CString::new(VARIABLE).unwrap_or_default();
    // SAFETY: it happens while the program's own constructors run, as the runtime's start does. The C library
    // guards the environment against its own functions.
    let _: c_int = unsafe {
        match path {
            Some(path) => libc::setenv(name.as_ptr(), path.as_ptr(), 0),
            None => libc::unsetenv(name.as_ptr()),
        }
    };
}

/// The file of a library.
fn path_of(inside: *const c_void) -> Option<CString> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the loader fills in the record, if it knows the address; the name lives as long as the library.
    unsafe {
        if libc::dladdr(inside, info.as_mut_ptr()) == 0 {
            return None;
        }
        let name = info.assume_init().dli_fname;
        (!name.is_null())
            .then(|| CStr::from_ptr(name))
            // The runtime takes a blank for the end of a name.
            .filter(|name| !OsStr::from_bytes(name.to_bytes()).as_bytes().contains(&b' '))
            .map(CStr::to_owned)
    }
}
