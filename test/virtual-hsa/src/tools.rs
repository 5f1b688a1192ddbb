//! Tools: libraries that are loaded and export a constant `HSA_AMD_TOOL_PRIORITY`, and those that
//! `HSA_TOOLS_LIB` names, with blanks between them. Each is handed the tables of functions when the runtime
//! starts, and may take from them what the library does not export.
//!
//! Source: `hsa_api_trace.h` and `Runtime::LoadTools` of ROCr 6. Of the tables there is only what the JIT
//! takes: those in which a tool would replace functions are empty.

use std::env;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use crate::api::queues::{intercept_create, intercept_register};
use crate::journal;

/// Versions of the table of tables, and of that of extensions, in ROCr 6 and 7.
const TABLES_MAJOR: u32 = 3;
const EXTENSIONS_MAJOR: u32 = 2;

/// What each table begins with.
#[repr(C)]
struct Version {
    major: u32,
    size: u32,
    step: u32,
    reserved: u32,
}

impl Version {
    const fn of<T>(major: u32) -> Self {
        Self {
            major,
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
    others: [extern "C" fn() -> u32; 37],
    intercept_create: *const c_void,
    intercept_register: *const c_void,
}

/// What stands in the table for functions that are not there.
extern "C" fn another() -> u32 {
    journal::complain(
        "fault: a tool calls a function of the table of extensions that the stand-in does not have",
    );
    journal::end_process()
}

/// What a tool exports as `OnLoad`: whether it is of use.
type OnLoad = unsafe extern "C" fn(*const Tables, u64, u64, *const *const c_char) -> bool;

/// A tool, as the loader has it.
struct Tool {
    name: String,
    library: *mut c_void,
    /// Tools are handed the tables in this order.
    order: usize,
}

/// Hands the tables to all tools.
pub(crate) fn load() {
    let mut tools = named_tools();
    let named = tools.len();
    tools.extend(loaded_tools(named));
    tools.sort_by_key(|tool| tool.order);
    tools.iter().for_each(hand_over);
}

/// The tools that the environment names.
fn named_tools() -> Vec<Tool> {
    let names = env::var_os("HSA_TOOLS_LIB").unwrap_or_default();
    let names = names.as_bytes().split(|byte| *byte == b' ');
    let names = names.filter(|name| !name.is_empty()).enumerate();
    names
        .filter_map(|(order, name)| named_tool(order, name))
        .collect()
}

fn named_tool(order: usize, name: &[u8]) -> Option<Tool> {
    let shown = OsStr::from_bytes(name).display().to_string();
    let path = CString::new(name).ok()?;
    // SAFETY: a library that the user has named as a tool.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY) };
    if library.is_null() {
        journal::complain(&format!("the tool {shown} cannot be loaded"));
        return None;
    }
    Some(Tool {
        name: shown,
        library,
        order,
    })
}

/// The tools among the libraries that are loaded, behind so many that are named.
fn loaded_tools(named: usize) -> Vec<Tool> {
    /// Called by the loader for each object; 0 goes on.
    unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, names: *mut c_void) -> c_int {
        // SAFETY: the list is passed below, and the loader's record is valid during the call.
        unsafe {
            let name = (*info).dlpi_name;
            if !name.is_null() && *name != 0 {
                (*names.cast::<Vec<CString>>()).push(CStr::from_ptr(name).to_owned());
            }
        }
        0
    }
    let mut names = Vec::<CString>::new();
    // SAFETY: the function gets the list, which lives until the call is back.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut names).cast()) };
    let tool = |name: CString| {
        // SAFETY: only asked of what is loaded; a tool's constant of this name is such a number.
        unsafe {
            let library = libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if library.is_null() {
                return None;
            }
            let priority = libc::dlsym(library, c"HSA_AMD_TOOL_PRIORITY".as_ptr()).cast::<u32>();
            Some(Tool {
                name: name.to_string_lossy().into_owned(),
                library,
                order: named + priority.as_ref().copied()? as usize,
            })
        }
    };
    names.into_iter().filter_map(tool).collect()
}

fn hand_over(tool: &Tool) {
    // SAFETY: the library is loaded.
    let on_load = unsafe { libc::dlsym(tool.library, c"OnLoad".as_ptr()) };
    if on_load.is_null() {
        return journal::complain(&format!("the tool {} has no `OnLoad`", tool.name));
    }
    let is_early = env::var_os("OFFLOOM_VIRTUAL_HSA_TABLES").is_some_and(|version| version == "1");
    let major = if is_early { 1 } else { EXTENSIONS_MAJOR };
    // Tools keep what is in them.
    let extensions: &'static Extensions = Box::leak(Box::new(Extensions {
        version: Version::of::<Extensions>(major),
        others: [another; 37],
        intercept_create: intercept_create as *const c_void,
        intercept_register: intercept_register as *const c_void,
    }));
    let tables: &'static Tables = Box::leak(Box::new(Tables {
        version: Version::of::<Tables>(TABLES_MAJOR),
        core: ptr::null(),
        extensions,
        finalizer: ptr::null(),
        images: ptr::null(),
    }));
    // SAFETY: tools' function of this name has this type, and the tables stay.
    let is_of_use = unsafe { std::mem::transmute::<*mut c_void, OnLoad>(on_load)(tables, 0, 0, ptr::null()) };
    if !is_of_use {
        journal::complain(&format!("the tool {} is of no use here", tool.name));
    }
}
