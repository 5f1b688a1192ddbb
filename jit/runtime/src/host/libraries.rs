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

/// An entry of the dynamic section (`Elf64_Dyn`).
#[repr(C)]
struct DynamicEntry {
    tag: i64,
    value: u64,
}

/// Tags of [`DynamicEntry`] (`<elf.h>`).
mod tag {
    pub(super) const END: i64 = 0;
    pub(super) const NEEDED: i64 = 1;
    pub(super) const STRING_TABLE: i64 = 5;
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
    // SAFETY: `containing` passes a search, and the loader a record that is valid during the call, with as
    // many headers as it says.
    let (info, search, headers) = unsafe {
        let info = &*info;
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        (info, &mut *search.cast::<Search>(), headers)
    };
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
    let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC);
    let page = page_size();
    // SAFETY: the loader's string; the dynamic section of an object that is loaded.
    search.found = Some(unsafe {
        LoadedObject {
            path: string(info.dlpi_name),
            range: start.unwrap_or_default() / page * page..end.unwrap_or_default().next_multiple_of(page),
            needed: dynamic.map_or_else(Vec::new, |header| {
                // In a section that is only read, the loader leaves offsets (`-z rodynamic`).
                let is_relocated = header.p_flags & libc::PF_W != 0;
                let base = if is_relocated { 0 } else { address(0) };
                needed(ptr::with_exposed_provenance(address(header.p_vaddr)), base)
            }),
        }
    });
    1
}

/// The names of needed libraries in a dynamic section, whose addresses are to be added to `base`.
///
/// # Safety
/// It is the dynamic section of an object that is loaded, and the base 0 if the loader has relocated it, else
/// the object's address.
unsafe fn needed(dynamic: *const DynamicEntry, base: usize) -> Vec<CString> {
    let mut offsets = Vec::new();
    let mut strings: *const c_char = ptr::null();
    let mut entry = dynamic;
    // SAFETY: the section ends with an entry that says so; it holds the address of the string table, and
    // names are offsets in that.
    unsafe {
        while (*entry).tag != tag::END {
            let value = usize::try_from((*entry).value).unwrap_or_default();
            match (*entry).tag {
                tag::NEEDED => offsets.push(value),
                tag::STRING_TABLE => strings = ptr::with_exposed_provenance(base + value),
                _ => {}
            }
            entry = entry.add(1);
        }
        if strings.is_null() {
            return Vec::new();
        }
        let names = offsets.into_iter();
        names
            .map(|offset| CStr::from_ptr(strings.add(offset)).to_owned())
            .collect()
    }
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
