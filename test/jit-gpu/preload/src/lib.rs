//! Launches variants that were made by hand, in a program that knows nothing of it: to be loaded by
//! `LD_PRELOAD`.
//!
//! | variable | means |
//! | --- | --- |
//! | `JIT_CUDA_TEST_VARIANTS` | `PART=CUBIN`, separated by commas: kernels whose name contains PART have a variant in a cubin, under the same name |
//! | `JIT_CUDA_TEST_PARAMETERS` | how many parameters each of them has |
//! | `JIT_CUDA_TEST_LOAD` | `sync`: at the first launch; `async`: in the background |
//! | `JIT_CUDA_TEST_TIMED` | every other launch of a kernel with a variant runs it, and all are timed; `each`: and each waits for the times of those before it, in programs that launch from one thread |
//! | `JIT_CUDA_TEST_UNLOAD_AFTER` | launches of a variant after which it is unloaded, and loaded anew at the next launch |
//!
//! When the process ends it says what was launched.
#![expect(unsafe_code, reason = "it stands in for a function of libomptarget")]

mod policy;

use std::ffi::c_void;

use offloom_jit_cuda::install::install;

use policy::POLICY;

/// Has the launches of a program seen that keeps the driver's functions in a table of its own, as
/// libomptarget does. `inside` is an address in it.
#[unsafe(no_mangle)]
pub extern "C" fn jit_cuda_test_install(inside: *const c_void) {
    match install(inside, &POLICY) {
        // SAFETY: the handler is a function of this library, which is not unloaded.
        Ok(()) => unsafe {
            libc::atexit(policy::say_what_was_launched);
        },
        Err(error) => eprintln!("test: not installed: {error}"),
    }
}

/// Registers the images of a program, which opens the driver if they are for it; from then on launches come
/// here.
///
/// # Safety
/// As libomptarget says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tgt_register_lib(descriptor: *const c_void) {
    // SAFETY: only asks.
    let real = unsafe { libc::dlsym(libc::RTLD_NEXT, c"__tgt_register_lib".as_ptr()) };
    if real.is_null() {
        eprintln!("test: no libomptarget");
        return;
    }
    // SAFETY: libomptarget's function of this name has this type; what the program passes is passed on.
    unsafe {
        std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const c_void)>(real)(descriptor);
    }
    jit_cuda_test_install(real);
}
