//! Has something done before any exit handler that LLVM registers from now on.
//!
//! LLVM registers a handler whenever one of its functions first comes by a static object of its own, at any
//! moment of a compile. Such handlers run before all that were registered earlier, so registering one of ours
//! cannot come first for sure. Instead, libLLVM's entry for `__cxa_atexit` in its table of imported functions
//! is led here.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::slice;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use offloom_abi::HostProcessor;
use offloom_ir::inkwell::llvm_sys::core::LLVMGetVersion;
use rustix::param::page_size;

use offloom_jit_policy::process::guard::guarded_on_foreign_thread;

use crate::dynamic_section::{DynamicSection, headers, tag};

/// The function that C++ registers handlers with.
const REGISTRATION: &CStr = c"__cxa_atexit";

type Handler = unsafe extern "C" fn(argument: *mut c_void);
type Register = unsafe extern "C" fn(handler: Handler, argument: *mut c_void, library: *mut c_void) -> c_int;

unsafe extern "C" {
    fn __cxa_atexit(handler: Handler, argument: *mut c_void, library: *mut c_void) -> c_int;
}

/// What goes first, and the C library's own registration.
static FIRST: OnceLock<(fn(), Register)> = OnceLock::new();

/// Runs `first` before each exit handler that libLLVM, or C++ code of this library, registers from now on. To
/// be called once.
pub(crate) fn run_first(first: fn()) {
    // Taken before this library's own table is changed.
    if FIRST.set((first, __cxa_atexit)).is_err() {
        return;
    }
    let mut addresses = [LLVMGetVersion as *const c_void, run_first as *const c_void];
    // SAFETY: the callback is called during the call, with the two addresses.
    unsafe {
        libc::dl_iterate_phdr(Some(lead_here), addresses.as_mut_ptr().cast());
    }
}

/// A handler as it was to be registered.
struct Registered {
    handler: Handler,
    argument: *mut c_void,
}

unsafe extern "C" fn register_behind(handler: Handler, argument: *mut c_void, library: *mut c_void) -> c_int {
    let Some((_, register)) = FIRST.get() else {
        return -1;
    };
    let registered = Box::into_raw(Box::new(Registered { handler, argument }));
    // SAFETY: as the caller of this function promises for its handler; the box is given to ours.
    unsafe { register(run_behind, registered.cast(), library) }
}

unsafe extern "C" fn run_behind(registered: *mut c_void) {
    if let Some((first, _)) = FIRST.get() {
        guarded_on_foreign_thread((), first);
    }
    // SAFETY: the C library hands over, once, what was registered.
    unsafe {
        let Registered { handler, argument } = *Box::from_raw(registered.cast::<Registered>());
        handler(argument);
    }
}

/// Changes the tables of the library that `info` describes, if it is one of those that define the two
/// functions at `addresses`.
///
/// # Safety
/// As the callback of `dl_iterate_phdr`: the library is loaded. `addresses` points to two addresses.
unsafe extern "C" fn lead_here(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    addresses: *mut c_void,
) -> c_int {
    // SAFETY: as the caller promises; what the C library has loaded is as the format says.
    unsafe {
        let addresses = *addresses.cast::<[*const c_void; 2]>();
        let base = (*info).dlpi_addr;
        let headers = headers(&*info);
        let range = |header: &libc::Elf64_Phdr| {
            let start = base + header.p_vaddr;
            start..start + header.p_memsz
        };
        let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        if !loaded.clone().any(|header| {
            addresses
                .iter()
                .any(|address| range(header).contains(&(*address as u64)))
        }) {
            return 0;
        }
        let page = page_size() as u64;
        let relro = headers.iter().find(|header| header.p_type == libc::PT_GNU_RELRO);
        if let Some(section) = DynamicSection::of(headers, base as usize) {
            for place in imports(section, base) {
                // The loader leaves the page writable that is not all of it.
                let is_read_only = relro.is_some_and(|relro| {
                    let Range { start, end } = range(relro);
                    (start..end / page * page).contains(&(place as u64))
                });
                replace(place, is_read_only);
            }
        }
    }
    0
}

/// Where a library keeps the address of [`REGISTRATION`].
///
/// # Safety
/// The section is that of a library that is loaded at `base`.
unsafe fn imports(section: DynamicSection, base: u64) -> Vec<*mut *mut c_void> {
    let strings = section.address::<c_char>(tag::STRINGS);
    let symbols = section.address::<libc::Elf64_Sym>(tag::SYMBOLS);
    let (Some(strings), Some(symbols)) = (strings, symbols) else {
        return Vec::new();
    };
    // SAFETY: as the caller promises.
    unsafe {
        let is_registration = |symbol: usize| {
            let name = strings.add((*symbols.add(symbol)).st_name as usize);
            CStr::from_ptr(name) == REGISTRATION
        };
        let mut places = Vec::new();
        // A library names a function that it imports once: behind the first place, numbers are compared
        // alone.
        let mut known = None;
        // Relocations without a symbol come first, and are nearly all of libLLVM's.
        let nameless = section.value(tag::RELOCATIONS_WITHOUT_SYMBOL).unwrap_or_default();
        for (table, size, skipped) in [
            (tag::IMPORTED_FUNCTIONS, tag::SIZE_OF_IMPORTED_FUNCTIONS, 0),
            (tag::RELOCATIONS, tag::SIZE_OF_RELOCATIONS, nameless),
        ] {
            let (Some(table), Some(size)) = (section.address(table), section.value(size)) else {
                continue;
            };
            let count = size / size_of::<libc::Elf64_Rela>();
            let relocations = slice::from_raw_parts::<libc::Elf64_Rela>(table, count);
            for relocation in relocations.iter().skip(skipped) {
                let symbol = (relocation.r_info >> 32) as usize;
                if known.is_some_and(|known| known != symbol) {
                    continue;
                }
                let kind = relocation.r_info & 0xffff_ffff;
                let is_import = HostProcessor::NATIVE.import_relocations.contains(&kind);
                if is_import && (known.is_some() || is_registration(symbol)) {
                    known = Some(symbol);
                    places.push((base + relocation.r_offset) as *mut *mut c_void);
                }
            }
        }
        places
    }
}

/// Puts [`register_behind`] in place of what a table holds.
///
/// # Safety
/// `place` is an entry of a loaded library's table of imported functions.
unsafe fn replace(place: *mut *mut c_void, read_only: bool) {
    let size = page_size();
    let page = ptr::without_provenance_mut::<c_void>(place.addr() & !(size - 1));
    // SAFETY: an entry is aligned, so it is within its page; other threads read it whole, before or after.
    unsafe {
        if libc::mprotect(page, size, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            return;
        }
        AtomicPtr::from_ptr(place).store(register_behind as *mut c_void, Ordering::Release);
        if read_only {
            libc::mprotect(page, size, libc::PROT_READ);
        }
    }
}
