//! Records that a base image, its dispatch stubs and `liboffloom_jit.so` share in memory.
//!
//! `wrapgen link --jit` emits them as data of the device image. libomptarget's plugin for the host loads the
//! image once per device, so every device has its own copy of all of this, and a copy is what a [`Slot`] and
//! an anchor table belong to. The image's constructor hands its [`ImageAnnouncement`] to [`ANNOUNCE_SYMBOL`]
//! when that weak symbol has a definition.
//!
//! A kernel's stub does this, `slot` being the kernel's own:
//!
//! 1. load `slot.inline_cache` with acquire ordering; null, or the thread does not compute as a process
//!    starts with ([`MXCSR_DEFAULT`], [`X87_DEFAULT`]; [`FPCR_DEFAULT`]): go on with 3. The launch meets the
//!    cache's conditions: jump to its code;
//! 2. load the cache's `others` with acquire ordering; not null: look at the two [`InlineTable::places`]
//!    where the launch's key may be; jump to the code of the key, if it is there;
//! 3. load `slot.dispatch` with acquire ordering; null: jump to the ahead-of-time body;
//! 4. store the arguments, one 8-byte word each, into an array, and call `dispatch(slot, arguments)`, which
//!    gives a [`Choice`];
//! 5. its code is null: call the ahead-of-time body; otherwise call the code with the original arguments.
//!    Where its ticket is 0 this is a jump;
//! 6. its ticket is not 0: call `slot.finished(slot, ticket)`.
//!
//! Jumps leave the arguments where they are, in registers or on the stack.
//!
//! Layouts are those of the 64-bit System V ABI, and the same on AArch64; pointers are native.

use std::ffi::c_void;
use std::mem::{offset_of, size_of};
use std::sync::atomic::{AtomicPtr, AtomicU16, AtomicU64};

use crate::jit_bundle::BundleId;

/// Version of the records of this module; the announcement begins with it.
pub const VERSION: u32 = 4;

/// The weak function that an image's constructor calls with a pointer to its [`ImageAnnouncement`]; defined
/// by `liboffloom_jit.so`: `void offloom_jit_announce_image(const struct ImageAnnouncement *)`.
pub const ANNOUNCE_SYMBOL: &str = "offloom_jit_announce_image";

/// The weak function that an image's destructor calls with a pointer to its [`ImageAnnouncement`], after the
/// last launch of its kernels; defined by `liboffloom_jit.so`: `void offloom_jit_withdraw_image(const struct
/// ImageAnnouncement *)`.
pub const WITHDRAW_SYMBOL: &str = "offloom_jit_withdraw_image";

/// The function of `liboffloom_jit.so` that takes a bundle: `void offloom_jit_attach(const void *bundle,
/// size_t size)`.
pub const ATTACH_SYMBOL: &str = "offloom_jit_attach";

/// The hidden function, linked into each executable and shared library, that the registration constructor
/// calls before `__tgt_register_lib`: `void __offloom_jit_attach(const void *bundle_start, const void
/// *bundle_end)`.
pub const HIDDEN_ATTACH_SYMBOL: &str = "__offloom_jit_attach";

/// How the names start by which a variant refers to what the device code defines; the anchor's index follows
/// in decimal. Kernels' ahead-of-time code has a name of its own.
pub const ANCHOR_PREFIX: &str = "__offloom_anchor_";

/// Code that chooses what a launch runs, from a slot and the launch's argument words. It must not unwind.
pub type Dispatch = unsafe extern "C" fn(slot: *const Slot, arguments: *const u64) -> Choice;

/// Code that is told, on the launching thread, that the code chosen with this ticket has returned. It must
/// not unwind.
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

/// Kernels with more parameters than this, the implicit first one (`dyn_ptr`) included, have no inline cache:
/// their stubs do not look at it.
pub const INLINE_CACHE_PARAMETERS: usize = 32;

/// What a stub knows of launches by itself, without asking the runtime: some keys, and the code of each. A
/// key is what some bits of the argument words are; which bits is the same for all keys of one cache.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct InlineCache {
    /// The code of the first key, with the kernel's own signature. May become other code for it.
    pub code: AtomicPtr<c_void>,
    /// The other keys, or null.
    pub others: AtomicPtr<InlineTable>,
    /// The first key: what each argument word has to be. Does not change. Nothing is asked of the implicit
    /// first parameter, whose place serves for nothing.
    pub conditions: [Condition; INLINE_CACHE_PARAMETERS],
}

/// What an argument word has to be: the bits of `mask` in it are those of `value`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Condition {
    /// The bits that count, of every key; 0: any word will do.
    pub mask: u64,
    /// What they are. Has no others.
    pub value: u64,
}

/// Keys after the first, found by hash. A key is in one of the two places that [`InlineTable::places_of`]
/// says, and once it is there it stays. Others may be added.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct InlineTable {
    /// What the hash is multiplied by.
    pub factor: u64,
    /// The keys: code with the kernel's own signature, then the value of each argument word that follows the
    /// implicit first, in [`InlineTable::words_of_key`] words of 8 bytes. The code may become other code for
    /// the key. Room for number 0 comes first.
    pub keys: AtomicPtr<AtomicU64>,
    /// For each place the number of its key from 1, or 0. Stored with release ordering once the key is there.
    pub places: [AtomicU16; Self::PLACES],
}

impl InlineTable {
    /// The number of places, a power of two.
    pub const PLACES: usize = 2048;

    /// The fraction of the golden ratio: its odd multiples differ in all their bits.
    pub const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;

    /// How far the bits of a parameter's argument word are turned to the left: further for each parameter, so
    /// that those of numbers that differ little lie apart.
    pub const fn turn(parameter: usize) -> u32 {
        (27 * parameter % u64::BITS as usize) as u32
    }

    /// What a parameter's argument word is multiplied by before, odd and of 31 bits. Turned words alone
    /// cancel each other out where one argument is a multiple of another by a power of two, as sizes are.
    pub const fn multiplier(parameter: usize) -> u64 {
        Self::GOLDEN_RATIO.wrapping_mul(2 * parameter as u64 + 1) >> 33 | 1
    }

    /// The words that one key takes in a table for a kernel with so many parameters, the implicit first one
    /// included.
    pub const fn words_of_key(parameters: usize) -> usize {
        parameters.next_power_of_two()
    }

    /// The hash of a key: the values of its argument words, the implicit first one left out.
    pub fn hash(values: impl IntoIterator<Item = u64>) -> u64 {
        (1..).zip(values).fold(0, |hash, (parameter, value)| {
            hash ^ value
                .wrapping_mul(Self::multiplier(parameter))
                .rotate_left(Self::turn(parameter))
        })
    }

    /// Numbers of the places where a key with this hash may be, in the order in which they are looked at: the
    /// highest bits of the lower half of the product with the factor, and the lowest of both halves.
    pub const fn places_of(hash: u64, factor: u64) -> [usize; 2] {
        let product = hash as u128 * factor as u128;
        let (high, low) = ((product >> u64::BITS) as u64, product as u64);
        let first = low >> (u64::BITS - Self::PLACES.ilog2());
        let second = (high ^ low) % Self::PLACES as u64;
        [first as usize, second as usize]
    }
}

/// The bits of x86's MXCSR that say how a thread computes, not what happened so far.
pub const MXCSR_MASK: u32 = !0x3f;
/// What they are when a process starts: to nearest, subnormal numbers kept, no exception ends the program.
pub const MXCSR_DEFAULT: u32 = 0x1f80;

/// The bits of the x87 control word that mean something: which exceptions do not end the program, how many
/// digits, how it rounds.
pub const X87_MASK: u16 = 0x0f3f;
/// What they are when a process starts: none does, all 64, to nearest.
pub const X87_DEFAULT: u16 = 0x033f;

/// What AArch64's FPCR is when a process starts: to nearest, subnormal numbers kept, no exception ends the
/// program. Every bit of it says how the thread computes.
pub const FPCR_DEFAULT: u64 = 0;

/// What a kernel's stub asks, one per kernel and per copy of the image. In one line of the processor's cache.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Slot {
    /// An [`InlineCache`] or null. Null in the file; the runtime stores with release ordering, and again when
    /// another serves more launches. What was here is kept, since launches may still look at it.
    pub inline_cache: AtomicPtr<InlineCache>,
    /// A [`Dispatch`], or null: run the ahead-of-time body. Null in the file; the runtime stores with release
    /// ordering once `state` is valid, and may store null again to leave the kernel to its ahead-of-time body
    /// for good.
    pub dispatch: AtomicPtr<c_void>,
    /// The runtime's own record for this slot. Null in the file; written by the runtime before `dispatch`.
    pub state: AtomicPtr<c_void>,
    /// A [`Finished`]. Null in the file; written by the runtime before `dispatch`.
    pub finished: AtomicPtr<c_void>,
    /// The kernel's ahead-of-time body. Written by the link.
    pub ahead_of_time: AtomicPtr<c_void>,
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
    /// Addresses in this copy of the image of what variants share with it, in the order of the bundle's
    /// anchor names; null for a weak symbol that nothing defines.
    pub anchors: *const *const c_void,
    /// Number of anchors.
    pub anchor_count: u64,
}

const _: () = {
    assert!(size_of::<Slot>() == 64);
    assert!(offset_of!(Slot, inline_cache) == 0);
    assert!(offset_of!(Slot, dispatch) == 8);
    assert!(offset_of!(Slot, state) == 16);
    assert!(offset_of!(Slot, finished) == 24);
    assert!(offset_of!(Slot, ahead_of_time) == 32);
    assert!(offset_of!(Slot, kernel) == 40);
    assert!(offset_of!(Slot, argument_count) == 44);
    assert!(offset_of!(InlineCache, code) == 0);
    assert!(offset_of!(InlineCache, others) == 8);
    assert!(offset_of!(InlineCache, conditions) == 16);
    assert!(size_of::<Condition>() == 16);
    assert!(offset_of!(Condition, value) == 8);
    assert!(offset_of!(InlineTable, factor) == 0);
    assert!(offset_of!(InlineTable, keys) == 8);
    assert!(offset_of!(InlineTable, places) == 16);
    assert!(size_of::<Choice>() == 16);
    assert!(size_of::<ImageAnnouncement>() == 48);
    assert!(offset_of!(ImageAnnouncement, version) == 0);
    assert!(offset_of!(ImageAnnouncement, slot_count) == 4);
    assert!(offset_of!(ImageAnnouncement, bundle) == 8);
    assert!(offset_of!(ImageAnnouncement, slots) == 24);
    assert!(offset_of!(ImageAnnouncement, anchors) == 32);
    assert!(offset_of!(ImageAnnouncement, anchor_count) == 40);
};
