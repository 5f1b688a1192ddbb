//! The shared libraries that device code may call: those of the program or library that brings it, which the
//! process has loaded.

use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf, absolute};
use std::ptr;

use offloom_abi::HostProcessor;
use rustix::param::page_size;

use crate::dynamic_section::{DynamicSection, headers, tag};

/// Libraries that compilers link to without being asked, where the process has them.
const USUAL: [&CStr; 7] = [
    c"libomp.so.5",
    c"libomp.so",
    c"libstdc++.so.6",
    c"libm.so.6",
    c"libgcc_s.so.1",
    c"libc.so.6",
    HostProcessor::NATIVE.loader,
];

/// The start of the loader's record of a library (`struct link_map` of `<link.h>`).
#[repr(C)]
struct LinkMap {
    address: usize,
    name: *const c_char,
}

/// A program or library of this process.
#[derive(Debug, Default)]
pub(crate) struct LoadedObject {
    /// Its path; empty for the program itself.
    pub(crate) path: CString,
    /// Where it lies, in whole pages.
    pub(crate) range: Range<usize>,
    /// The names of the libraries that it was linked to.
    needed: Vec<CString>,
}

impl LoadedObject {
    /// One that is not in memory.
    pub(crate) fn not_loaded(path: CString) -> Self {
        Self {
            path,
            ..Self::default()
        }
    }

    /// The one that this address is in.
    pub(crate) fn containing(address: *const c_void) -> Self {
        let mut search = Search {
            address: address.addr() as u64,
            found: None,
        };
        // SAFETY: the function gets the search, which lives until the call is back.
        unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
        search.found.unwrap_or_default()
    }

    /// Paths of the libraries that its device code may call, in the order in which they are searched.
    pub(crate) fn libraries(&self) -> Vec<PathBuf> {
        let names = self.needed.iter().map(CString::as_c_str).chain(USUAL);
        let mut paths = Vec::new();
        for path in names.filter_map(loaded_path) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }

    /// What to call it in a message.
    pub(crate) fn name(&self) -> Cow<'_, str> {
        match self.path.is_empty() {
            true => "this program".into(),
            false => self.path.to_string_lossy(),
        }
    }
}

/// What tells a library from another version of it, as text.
pub(crate) fn identity(path: &Path) -> String {
    let name = path.as_os_str().as_bytes().escape_ascii();
    match std::fs::metadata(path) {
        Ok(file) => format!("{name}:{}:{}.{}", file.len(), file.mtime(), file.mtime_nsec()),
        Err(_) => name.to_string(),
    }
}

struct Search {
    address: u64,
    found: Option<LoadedObject>,
}

/// Called by the loader for each object; anything but 0 ends the search.
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: `containing` passes a search, and the loader a record that is valid during the call.
    let (info, search, headers) = unsafe { (&*info, &mut *search.cast::<Search>(), headers(&*info)) };
    let inside = headers.iter().any(|header| {
        let start = info.dlpi_addr + header.p_vaddr;
        header.p_type == libc::PT_LOAD && (start..start + header.p_memsz).contains(&search.address)
    });
    if !inside {
        return 0;
    }
    let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let address = |value: u64| usize::try_from(info.dlpi_addr + value).unwrap_or_default();
    let start = loaded.clone().map(|header| address(header.p_vaddr)).min();
    let end = loaded
        .map(|header| address(header.p_vaddr + header.p_memsz))
        .max();
    let page = page_size();
    // SAFETY: the loader's string; an object that is loaded.
    search.found = Some(unsafe {
        LoadedObject {
            path: string(info.dlpi_name),
            range: start.unwrap_or_default() / page * page..end.unwrap_or_default().next_multiple_of(page),
            needed: DynamicSection::of(headers, address(0)).map_or_else(Vec::new, |section| needed(section)),
        }
    });
    1
}

/// The names of needed libraries in a dynamic section.
///
/// # Safety
/// It is that of an object that is loaded.
unsafe fn needed(section: DynamicSection) -> Vec<CString> {
    let Some(strings) = section.address::<c_char>(tag::STRINGS) else {
        return Vec::new();
    };
    // SAFETY: names are offsets in the strings.
    let name = |offset| unsafe { CStr::from_ptr(strings.add(offset)) };
    section
        .values(tag::NEEDED)
        .map(|offset| name(offset).to_owned())
        .collect()
}

/// Where the loaded library of this name comes from. What is no file, as what the kernel maps into every
/// process, has a name without a slash.
fn loaded_path(name: &CStr) -> Option<PathBuf> {
    let mut map: *const LinkMap = ptr::null();
    // SAFETY: nothing is loaded; the handle is closed after its record, which has room here, was read.
    let path = unsafe {
        let handle = libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return None;
        }
        let failed = libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) != 0;
        let path = (!failed && !map.is_null()).then(|| string((*map).name));
        libc::dlclose(handle);
        path?
    };
    let path = path.to_bytes();
    path.contains(&b'/')
        .then(|| absolute(OsStr::from_bytes(path)).ok())?
}

/// # Safety
/// The string is null or ends with a NUL.
unsafe fn string(string: *const c_char) -> CString {
    if string.is_null() {
        return CString::default();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(string) }.to_owned()
}
