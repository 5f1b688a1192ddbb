//! The host's identity of a variable that is marked `link`, and the macro that names it.
#![expect(unsafe_code, reason = "reads a pointer that another language may define")]

use std::ffi::c_void;

/// A variable that kernels reach through a pointer, as the host knows it: by its own pointer of that name.
/// Made by [`link!`](crate::link!).
#[derive(Debug)]
#[repr(transparent)]
pub struct Link {
    reference: *const *mut c_void,
}

// SAFETY: the pointer is only read, and never written.
unsafe impl Sync for Link {}
// SAFETY: as above.
unsafe impl Send for Link {}

impl Link {
    /// The link whose pointer is at `reference`.
    ///
    /// # Safety
    /// There is a pointer as long as the program runs, and nobody writes it.
    pub const unsafe fn new(reference: *const *mut c_void) -> Self {
        Self { reference }
    }

    /// The pointer's own address, which the runtime knows it by.
    pub(crate) fn reference(&self) -> *mut c_void {
        self.reference.cast_mut().cast()
    }

    /// The variable's address.
    pub(crate) fn variable(&self) -> *mut c_void {
        // SAFETY: promised to `new`.
        unsafe { *self.reference }
    }
}

/// The [`Link`] of a variable that is marked `link`, by its *symbol*: one with `#[unsafe(no_mangle)]`. It can
/// be defined in any crate or in C.
///
/// Gives a `&'static Link`. Where nothing is marked under that name, the program does not link: undefined
/// symbol `TABLE_decl_tgt_ref_ptr`.
#[macro_export]
macro_rules! link {
    ($variable:ident) => {{
        // SAFETY: this is how the pass `offload-entries` defines it.
        unsafe extern "C" {
            #[link_name = concat!(stringify!($variable), "_decl_tgt_ref_ptr")]
            static REFERENCE: *mut ::core::ffi::c_void;
        }
        // SAFETY: the pass defines a pointer that nobody writes on the host.
        static LINK: $crate::Link = unsafe { $crate::Link::new(&raw const REFERENCE) };
        &LINK
    }};
}
