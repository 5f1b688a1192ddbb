//! What programs call to register their descriptors.
//!
//! The hidden piece of a program linked with `--jit=only` asks for what to register, by the names of
//! [`offloom_abi::jit_base_image`]. Of other programs, this library sees the registrations when it was loaded
//! before libomptarget (`LD_PRELOAD`), since it defines libomptarget's functions itself.

use std::ffi::{CStr, c_void};
use std::ptr;

use crate::host::libraries::LoadedObject;
use crate::registration::{BinaryDescriptor, forget_replacement, replacement};
use offloom_jit_policy::process::guard::{ForeignThreadGuard, guarded, guarded_on_foreign_thread};
use offloom_jit_policy::process::report;

/// `__tgt_register_lib` and `__tgt_unregister_lib`.
type Registration = unsafe extern "C" fn(*const BinaryDescriptor);

/// The descriptor to register in the place of one whose images are bitcode. Null: this library cannot use the
/// bitcode, and has said why.
///
/// # Safety
/// `descriptor` and what it points to are as libomptarget wants them.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn offloom_jit_replace_images(
    descriptor: *const BinaryDescriptor,
) -> *const BinaryDescriptor {
    // SAFETY: as the caller promises.
    guarded_on_foreign_thread(ptr::null(), || unsafe {
        replacement(descriptor).unwrap_or(ptr::null())
    })
}

/// What was registered in the place of this descriptor, and is to be taken out of use. Null: nothing of ours.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn offloom_jit_forget_images(
    descriptor: *const BinaryDescriptor,
) -> *const BinaryDescriptor {
    guarded_on_foreign_thread(ptr::null(), || {
        forget_replacement(descriptor).unwrap_or(ptr::null())
    })
}

/// Registers a program's descriptor, or what takes its place, with the program's libomptarget.
///
/// # Safety
/// `descriptor` and what it points to are as libomptarget wants them.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __tgt_register_lib(descriptor: *const BinaryDescriptor) {
    // SAFETY: as the caller promises.
    guarded((), || unsafe {
        if let Some(register) = function_behind(c"__tgt_register_lib", descriptor) {
            let guard = ForeignThreadGuard::begin();
            let replacement = replacement(descriptor).unwrap_or(descriptor);
            drop(guard);
            register(replacement);
        }
    });
}

/// Takes a descriptor, or what was registered in its place, out of use.
///
/// # Safety
/// `descriptor` was registered.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __tgt_unregister_lib(descriptor: *const BinaryDescriptor) {
    // SAFETY: as the caller promises.
    guarded((), || unsafe {
        if let Some(unregister) = function_behind(c"__tgt_unregister_lib", descriptor) {
            let guard = ForeignThreadGuard::begin();
            let replacement = forget_replacement(descriptor).unwrap_or(descriptor);
            drop(guard);
            unregister(replacement);
        }
    });
}

/// The function of this name that `descriptor`'s program would call if this library were not there.
///
/// # Safety
/// The name is that of a [`Registration`]; otherwise as for that.
unsafe fn function_behind(name: &CStr, descriptor: *const BinaryDescriptor) -> Option<Registration> {
    // A library that was opened for itself alone has a libomptarget that only it sees. Its table of entries
    // lies in it; the descriptor may be one of ours. SAFETY: as the caller promises; a function of this name
    // has this type.
    unsafe {
        let function = symbol_seen_from((*descriptor).entries_begin, name);
        if function.is_null() {
            report::failure(format_args!("no libomptarget defines {}", name.to_string_lossy()));
            return None;
        }
        Some(std::mem::transmute::<*mut c_void, Registration>(function))
    }
}

/// An address in the libomptarget that the executable or library uses in which `inside` lies. `None`: it uses
/// none.
///
/// # Safety
/// `inside` is an address in it.
pub(crate) unsafe fn libomptarget_of(inside: *const c_void) -> Option<*const c_void> {
    // SAFETY: as the caller promises.
    let function = unsafe { symbol_seen_from(inside, c"__tgt_register_lib") };
    (!function.is_null()).then_some(function.cast_const())
}

/// The symbol of this name that the executable or library in which `inside` lies would get if this library
/// were not there. Null: none.
///
/// # Safety
/// `inside` is an address in it.
unsafe fn symbol_seen_from(inside: *const c_void, name: &CStr) -> *mut c_void {
    let object = LoadedObject::containing(inside);
    let path = match object.path.is_empty() {
        true => ptr::null(),
        false => object.path.as_ptr(),
    };
    // SAFETY: the loader is only asked.
    unsafe {
        let handle = libc::dlopen(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        let mut symbol = ptr::null_mut();
        if !handle.is_null() {
            symbol = libc::dlsym(handle, name.as_ptr());
            libc::dlclose(handle);
        }
        if symbol.is_null() || is_of_this_library(symbol) {
            symbol = libc::dlsym(libc::RTLD_NEXT, name.as_ptr());
        }
        symbol
    }
}

/// Whether an address is in this library. Its own exported symbols do not tell: where another library comes
/// before it, they are that one's here too.
fn is_of_this_library(address: *const c_void) -> bool {
    static INSIDE: u8 = 1;
    let here = LoadedObject::containing((&raw const INSIDE).cast());
    here.range.contains(&address.addr())
}
