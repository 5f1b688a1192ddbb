//! `liboffloom_jit.so`: specialises kernels at run time.
//!
//! The hidden registration piece of a program linked with `--jit` loads this library and hands it the bundle
//! ([`offloom_jit_attach`]); each device image, once per device, announces its slots and anchors
//! ([`offloom_jit_announce_image`]). From then on kernels' stubs call [`dispatch`].
//!
//! | module | does |
//! | --- | --- |
//! | [`dispatch`] | what a stub calls where its inline cache does not say it: the code to run, or null for the ahead-of-time body |
//! | [`launch`] | a launch's argument words |
//! | [`slot`] | one kernel on one device: finds or makes the variant for a launch |
//! | [`variant`] | a linked variant, timed against the ahead-of-time body until it is kept or retired |
//! | [`queue`], [`processors`] | does what need not be done at once in the background; the processors for that |
//! | [`one_thread`] | whether launches are likely to get one team of one thread |
//! | [`disk_cache`] | objects on disk, shared with other processes |
//! | [`interposition`] | what programs, and their hidden piece, call to register descriptors |
//! | [`registration`] | replaces bitcode images in the descriptors that programs register |
//! | [`base_image`] | the image that is made of bitcode, and its bundle |
//! | [`libraries`], [`closed_libraries`] | those that device code may call; those that LLVM 19's libomptarget still reads |
//! | [`bundle`], [`kernel`] | a bundle; one of its kernels, and its objects, compiled once for all devices |
//! | [`image`] | one copy of a device image, and the code linked against it |
//! | [`image_file`] | the file of a copy, and where its variables are |
//! | [`dump`], [`replay`], [`perf_map`] | writes a launch to disk if asked for; runs one by itself; tells perf the names of variants |
//! | [`compile`], [`target`] | has a kernel compiled, in the worker process or on a thread that LLVM may lose; for which processor |
//! | [`worker`] | the worker process: started, asked, given up |
//! | [`exit_gate`], [`exit_handlers`], [`fork_gate`] | lets compiles end before the process, or a handler of LLVM's own, tears LLVM down; what a forked child may still do |
//! | [`registry`] | what is attached and announced; the state that lives as long as the process |
//! | [`history`], [`stats`] | what was made for each kernel and became of its launches; written at exit if asked for |
//! | [`settings`], [`report`], [`error_stream`], [`lock`] | the environment; what is said to the user; mutexes that outlive a panic |
//!
//! What belongs to an image is destroyed with it, everything else never: variants may be running on any thread when the process ends.
#![expect(
    unsafe_code,
    reason = "device images share memory with this library, and C code calls it"
)]

mod base_image;
mod bundle;
mod closed_libraries;
mod compile;
mod disk_cache;
mod dispatch;
mod dump;
mod error_stream;
mod exit_gate;
mod exit_handlers;
mod fork_gate;
mod guard;
mod history;
mod image;
mod image_file;
mod interposition;
mod kernel;
mod launch;
mod libraries;
mod lock;
mod one_thread;
mod perf_map;
mod processors;
mod queue;
mod registration;
mod registry;
mod replay;
mod report;
mod settings;
mod slot;
mod stats;
mod target;
mod variant;
mod worker;

use std::ffi::c_void;

use offloom_abi::jit_image::ImageAnnouncement;

use guard::guarded_interlude;

/// Takes the bundle of an executable or shared library, before its images are registered with libomptarget. The bytes are
/// copied. A bundle that cannot be used is refused with one line on the standard error stream.
///
/// # Safety
/// `bundle` points to `size` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn offloom_jit_attach(bundle: *const c_void, size: usize) {
    guarded_interlude((), || {
        if bundle.is_null() {
            return;
        }
        // SAFETY: as the caller promises.
        let bytes = unsafe { std::slice::from_raw_parts(bundle.cast::<u8>(), size) };
        registry::attach(bytes);
    });
}

/// Forgets one copy of a device image, from the image's destructor, and frees what was made for it.
///
/// # Safety
/// `announcement` is what the image announced. Nothing runs its kernels, or will.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn offloom_jit_withdraw_image(announcement: *const ImageAnnouncement) {
    // SAFETY: as the caller promises.
    guarded_interlude((), || unsafe { registry::withdraw(announcement) });
}

/// Takes the announcement of one copy of a device image, from the image's constructor. Images of bundles that are not
/// attached are left alone.
///
/// # Safety
/// `announcement` points to an [`ImageAnnouncement`] whose slots and anchors are as it says, and stays valid as long as the
/// image's kernels may be launched. Its first field is the version, in every version of the record.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn offloom_jit_announce_image(announcement: *const ImageAnnouncement) {
    guarded_interlude((), || {
        if announcement.is_null() {
            return;
        }
        // SAFETY: as the caller promises; the version is read before anything whose layout depends on it.
        unsafe { registry::announce(announcement) };
    });
}
