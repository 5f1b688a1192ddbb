//! Records that a base image, its dispatch stubs and `liboffloom_jit.so` share in memory.
//!
//! `wrapgen link --jit` emits them as data of the device image. libomptarget's x86_64 plugin loads the image once per
//! device, so every device has its own copy of all of this, and a copy is what a [`Slot`] and an anchor table belong to.
//! The image's constructor hands its [`ImageAnnouncement`] to [`ANNOUNCE_SYMBOL`] when that weak symbol has a definition.
//!
//! A kernel's stub does this, `slot` being the kernel's own:
//!
//! 1. load `slot.dispatch` with acquire ordering; null: call the ahead-of-time body, return;
//! 2. store the arguments, one 8-byte word each, into an array, and call `dispatch(slot, arguments)`, which gives a [`Choice`];
//! 3. its code is null: call the ahead-of-time body; otherwise call the code with the original arguments. Where its ticket is 0 this is a
//!    jump, which leaves the arguments on the stack where they are;
//! 4. its ticket is not 0: call `slot.finished(slot, ticket)`.
//!
//! Layouts are those of the 64-bit System V ABI; pointers are native.

use std::ffi::c_void;
use std::mem::{offset_of, size_of};
use std::sync::atomic::AtomicPtr;

use crate::jit_bundle::BundleId;

/// Version of the records of this module; the announcement begins with it.
pub const VERSION: u32 = 2;

/// The weak function that an image's constructor calls with a pointer to its [`ImageAnnouncement`]; defined by
/// `liboffloom_jit.so`: `void offloom_jit_announce_image(const struct ImageAnnouncement *)`.
pub const ANNOUNCE_SYMBOL: &str = "offloom_jit_announce_image";

/// The weak function that an image's destructor calls with a pointer to its [`ImageAnnouncement`], after the last launch of its
/// kernels; defined by `liboffloom_jit.so`: `void offloom_jit_withdraw_image(const struct ImageAnnouncement *)`.
pub const WITHDRAW_SYMBOL: &str = "offloom_jit_withdraw_image";

/// The function of `liboffloom_jit.so` that takes a bundle: `void offloom_jit_attach(const void *bundle, size_t size)`.
pub const ATTACH_SYMBOL: &str = "offloom_jit_attach";

/// The hidden function, linked into each executable and shared library, that the registration constructor calls before
/// `__tgt_register_lib`: `void __offloom_jit_attach(const void *bundle_start, const void *bundle_end)`.
pub const HIDDEN_ATTACH_SYMBOL: &str = "__offloom_jit_attach";

/// How the names start by which a variant refers to what the device code defines; the anchor's index follows in decimal. Kernels'
/// ahead-of-time code has a name of its own.
pub const ANCHOR_PREFIX: &str = "__offloom_anchor_";

/// Code that chooses what a launch runs, from a slot and the launch's argument words. It must not unwind.
pub type Dispatch = unsafe extern "C" fn(slot: *const Slot, arguments: *const u64) -> Choice;

/// Code that is told, on the launching thread, that the code chosen with this ticket has returned. It must not unwind.
pub type Finished = unsafe extern "C" fn(slot: *const Slot, ticket: u64);

/// What a launch runs. Comes back in two registers.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Choice {
    /// Code with the kernel's own signature, or null for the ahead-of-time body.
    pub code: *const c_void,
    /// What [`Finished`] is to be told once that code has returned; 0: nothing.
    pub ticket: u64,
}

/// What a kernel's stub asks, one per kernel and per copy of the image.
#[derive(Debug)]
#[repr(C)]
pub struct Slot {
    /// A [`Dispatch`], or null: run the ahead-of-time body. Null in the file; the runtime stores with release ordering
    /// once `state` is valid, and may store null again to leave the kernel to its ahead-of-time body for good.
    pub dispatch: AtomicPtr<c_void>,
    /// The runtime's own record for this slot. Null in the file; written by the runtime before `dispatch`.
    pub state: AtomicPtr<c_void>,
    /// A [`Finished`]. Null in the file; written by the runtime before `dispatch`.
    pub finished: AtomicPtr<c_void>,
    /// Index of the kernel in the bundle's table of kernels. Written by the link.
    pub kernel: u32,
    /// Number of the kernel's parameters, the implicit first one (`dyn_ptr`) included. Written by the link.
    pub argument_count: u32,
}

/// What an image tells the runtime about itself when it is loaded. Constant after the loader's relocation.
#[derive(Debug)]
#[repr(C)]
pub struct ImageAnnouncement {
    /// [`VERSION`].
    pub version: u32,
    /// Number of [`Slot`]s.
    pub slot_count: u32,
    /// The bundle this image was linked with.
    pub bundle: BundleId,
    /// The slots, writable.
    pub slots: *mut Slot,
    /// Addresses in this copy of the image of what variants share with it, in the order of the bundle's anchor names;
    /// null for a weak symbol that nothing defines.
    pub anchors: *const *const c_void,
    /// Number of anchors.
    pub anchor_count: u64,
}

const _: () = {
    assert!(size_of::<Slot>() == 32);
    assert!(offset_of!(Slot, dispatch) == 0);
    assert!(offset_of!(Slot, state) == 8);
    assert!(offset_of!(Slot, finished) == 16);
    assert!(offset_of!(Slot, kernel) == 24);
    assert!(offset_of!(Slot, argument_count) == 28);
    assert!(size_of::<Choice>() == 16);
    assert!(size_of::<ImageAnnouncement>() == 48);
    assert!(offset_of!(ImageAnnouncement, version) == 0);
    assert!(offset_of!(ImageAnnouncement, slot_count) == 4);
    assert!(offset_of!(ImageAnnouncement, bundle) == 8);
    assert!(offset_of!(ImageAnnouncement, slots) == 24);
    assert!(offset_of!(ImageAnnouncement, anchors) == 32);
    assert!(offset_of!(ImageAnnouncement, anchor_count) == 40);
};
