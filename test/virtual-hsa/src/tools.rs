//! Tools: libraries that `HSA_TOOLS_LIB` names, with blanks between them. Each is handed the tables of
//! functions when the runtime starts, and may take from them what the library does not export.
//!
//! Source: `hsa_api_trace.h`. Of the tables there is only what the JIT takes: those in which a tool would
//! replace functions are empty.

use std::env;
use std::ffi::{CString, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use crate::api::queues::{intercept_create, intercept_register};
use crate::journal;

/// What each table begins with.
#[repr(C)]
struct Version {
    major: u32,
    size: u32,
    step: u32,
    reserved: u32,
}

impl Version {
    const fn of<T>() -> Self {
        Self {
            major: 1,
            size: size_of::<T>() as u32,
            step: 0,
            reserved: 0,
        }
    }
}

/// `HsaApiTable`.
#[repr(C)]
struct Tables {
    version: Version,
    core: *const c_void,
    extensions: *const Extensions,
    finalizer: *const c_void,
    images: *const c_void,
}

/// `AmdExtTable`, up to the functions that are there.
#[repr(C)]
struct Extensions {
    version: Version,
    others: [*const c_void; 35],
    intercept_create: *const c_void,
    intercept_register: *const c_void,
}

/// What a tool exports as `OnLoad`: whether it is of use.
type OnLoad = unsafe extern "C" fn(*const Tables, u64, u64, *const *const c_char) -> bool;

/// Loads the tools that the environment names.
pub(crate) fn load() {
    let Some(names) = env::var_os("HSA_TOOLS_LIB") else {
        return;
    };
    let names = names.as_bytes().split(|byte| *byte == b' ');
    names.filter(|name| !name.is_empty()).for_each(load_one);
}

fn load_one(name: &[u8]) {
    let shown = OsStr::from_bytes(name).display();
    let Ok(path) = CString::new(name) else { return };
    // SAFETY: a library that the user has named as a tool, and the function that tools have.
    let on_load = unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY);
        if library.is_null() {
            return journal::complain(&format!("the tool {shown} cannot be loaded"));
        }
        libc::dlsym(library, c"OnLoad".as_ptr())
    };
    if on_load.is_null() {
        return journal::complain(&format!("the tool {shown} has no `OnLoad`"));
    }
    // Tools keep what is in them.
    let extensions: &'static Extensions = Box::leak(Box::new(Extensions {
        version: Version::of::<Extensions>(),
        others: [ptr::null(); 35],
        intercept_create: intercept_create as *const c_void,
        intercept_register: intercept_register as *const c_void,
    }));
    let tables: &'static Tables = Box::leak(Box::new(Tables {
        version: Version::of::<Tables>(),
        core: ptr::null(),
        extensions,
        finalizer: ptr::null(),
        images: ptr::null(),
    }));
    // SAFETY: tools' function of this name has this type, and the tables stay.
    let is_of_use = unsafe { std::mem::transmute::<*mut c_void, OnLoad>(on_load)(tables, 0, 0, ptr::null()) };
    if !is_of_use {
        journal::complain(&format!("the tool {shown} is of no use here"));
    }
}
