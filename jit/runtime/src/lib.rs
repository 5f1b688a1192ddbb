//! `liboffloom_jit.so`: specialises kernels at run time.
//!
//! The hidden registration piece of a program linked with `--jit` loads this library and hands it the bundle
//! ([`offloom_jit_attach`]); each device image, once per device, announces its slots and anchors
//! ([`offloom_jit_announce_image`]). From then on kernels' stubs call back.
//!
//! | module | does |
//! | --- | --- |
//! | [`attach`] | takes bundles, and takes part in the process's exit |
//! | [`registration`], [`base_image`] | replaces bitcode images in the descriptors that programs register; the images that are made of bitcode |
//! | [`precompile`] | makes variants for later processes |
//! | [`replay`] | runs a dumped launch by itself |
//! | [`host`] | the host as a device |
//! | [`compile`] | has a kernel compiled, in the worker process or on a thread that LLVM may lose |
//! | [`exit_handlers`] | has something done before any exit handler of LLVM's own |
//! | [`stats`] | what became of launches, written at exit if asked for |
//!
//! Which code a launch runs is [`offloom_jit_policy`]'s to decide.
#![expect(
    unsafe_code,
    reason = "device images share memory with this library, and C code calls it"
)]

mod attach;
mod base_image;
mod compile;
mod dynamic_section;
mod exit_handlers;
mod host;
mod precompile;
mod registration;
mod replay;
mod stats;

use std::ffi::{c_char, c_void};

use offloom_abi::jit_image::ImageAnnouncement;

use host::announce;
use offloom_jit_hsa::backend::runtime_starts;
use offloom_jit_hsa::tool::Tables;
use offloom_jit_policy::process::guard::guarded_on_foreign_thread;

/// Takes the bundle of an executable or shared library, before its images are registered with libomptarget.
/// The bytes are copied. A bundle that cannot be used is refused with one line on the standard error stream.
///
/// # Safety
/// `bundle` points to `size` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn offloom_jit_attach(bundle: *const c_void, size: usize) {
    guarded_on_foreign_thread((), || {
        if bundle.is_null() {
            return;
        }
        // SAFETY: as the caller promises.
        let bytes = unsafe { std::slice::from_raw_parts(bundle.cast::<u8>(), size) };
        attach::attach(bytes);
    });
}

/// By this constant AMD's runtime takes the library for a tool ([`offloom_jit_hsa::tool`]): a number that has
/// it called behind profilers.
#[unsafe(no_mangle)]
pub static HSA_AMD_TOOL_PRIORITY: u32 = 10_000;

/// Called by AMD's runtime when it starts: true.
///
/// # Safety
/// `tables` is what the runtime hands to tools.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OnLoad(
    tables: *const Tables,
    _version: u64,
    _failed_count: u64,
    _failed_names: *const *const c_char,
) -> bool {
    guarded_on_foreign_thread(true, || {
        // SAFETY: as the caller promises.
        unsafe { runtime_starts(tables) };
        true
    })
}

/// Takes note that an executable or shared library, in which `inside` lies, has registered its images with
/// libomptarget. libomptarget has opened the drivers that they need, and has not loaded the images.
///
/// # Safety
/// `inside` is an address in the executable or library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn offloom_jit_registered(inside: *const c_void) {
    guarded_on_foreign_thread((), || attach::registered(inside));
}

/// Forgets one copy of a device image, from the image's destructor, and frees what was made for it.
///
/// # Safety
/// `announcement` is what the image announced. Nothing runs its kernels, or will.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn offloom_jit_withdraw_image(announcement: *const ImageAnnouncement) {
    // SAFETY: as the caller promises.
    guarded_on_foreign_thread((), || unsafe { announce::withdraw(announcement) });
}

/// Takes the announcement of one copy of a device image, from the image's constructor. Images of bundles that
/// are not attached are left alone.
///
/// # Safety
/// `announcement` points to an [`ImageAnnouncement`] whose slots and anchors are as it says, and stays valid
/// as long as the image's kernels may be launched. Its first field is the version, in every version of the
/// record.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn offloom_jit_announce_image(announcement: *const ImageAnnouncement) {
    guarded_on_foreign_thread((), || {
        if announcement.is_null() {
            return;
        }
        // SAFETY: as the caller promises; the version is read before anything whose layout depends on it.
        unsafe { announce::announce(announcement) };
    });
}
