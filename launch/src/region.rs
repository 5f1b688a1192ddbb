//! The host's identity of a kernel: its region id, and the macro that names it.
#![expect(
    unsafe_code,
    reason = "a region is shared between threads although it holds addresses"
)]

use std::ffi::{CStr, c_char};

/// A kernel, as the host knows it: the address that its offload entry holds. Made by
/// [`region!`](crate::region!).
#[derive(Debug)]
#[repr(C)]
pub struct Region {
    pub(crate) location: SourceLocation,
    pub(crate) id: *const u8,
}

/// LLVM's `ident_t`: where in the source a construct stands, for libomptarget's messages.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct SourceLocation {
    reserved_1: i32,
    flags: i32,
    reserved_2: i32,
    length: i32,
    text: *const c_char,
}

/// `KMP_IDENT_KMPC` of libomp's `kmp.h`: made by a compiler.
const MADE_BY_COMPILER: i32 = 2;

// SAFETY: both addresses are only compared or read, and what `text` points to is never written.
unsafe impl Sync for Region {}
// SAFETY: as above.
unsafe impl Send for Region {}

impl Region {
    /// The region whose offload entry holds the address `id`.
    ///
    /// `location` is shown in libomptarget's messages; it has the form `;file;name;line;column;;`.
    /// [`region!`](crate::region!) fills in both.
    pub const fn new(id: *const u8, location: &'static CStr) -> Self {
        let location = SourceLocation {
            reserved_1: 0,
            flags: MADE_BY_COMPILER,
            reserved_2: 0,
            length: location.count_bytes() as i32,
            text: location.as_ptr(),
        };
        Self { location, id }
    }
}

/// The [`Region`] of a marked function, or of a kernel by its name.
///
/// `region!(saxpy)` is the region of the marked function whose *symbol* is `saxpy`: one with
/// `#[unsafe(no_mangle)]`. It can be defined in any crate or in C.
/// `region!("__omp_offloading_fe00_98c2ad_main_l31")` is the region of a kernel that has a name of Clang's
/// scheme.
///
/// Gives a `&'static Region`. Where nothing is marked under that name, the program does not link: undefined
/// symbol `.__omp_offloading_0_0_saxpy_l0.region_id`.
#[macro_export]
macro_rules! region {
    ($function:ident) => {{
        // SAFETY: the symbol is one byte whose address alone is used.
        unsafe extern "C" {
            #[link_name = concat!(".__omp_offloading_0_0_", stringify!($function), "_l0.region_id")]
            static REGION_ID: u8;
        }
        $crate::region!(@static REGION_ID, stringify!($function))
    }};
    ($kernel:literal) => {{
        // SAFETY: the symbol is one byte whose address alone is used.
        unsafe extern "C" {
            #[link_name = concat!(".", $kernel, ".region_id")]
            static REGION_ID: u8;
        }
        $crate::region!(@static REGION_ID, $kernel)
    }};
    (@static $id:ident, $name:expr) => {{
        static REGION: $crate::Region = $crate::Region::new(
            &raw const $id,
            match ::core::ffi::CStr::from_bytes_with_nul(
                concat!(";", file!(), ";", $name, ";", line!(), ";", column!(), ";;\0").as_bytes(),
            ) {
                Ok(location) => location,
                Err(_) => c";unknown;unknown;0;0;;",
            },
        );
        &REGION
    }};
}
