//! What the pass `offload-entries` and `wrapgen` make of a marked Rust module, made by hand: region ids,
//! offload entries, and the registration of a device image.
#![expect(unsafe_code, reason = "defines symbols and hands addresses to libomptarget")]
#![expect(clippy::unwrap_used, reason = "only tests call it")]

use std::ffi::{CStr, c_void};
use std::mem::size_of;
use std::path::Path;
use std::process::Command;
use std::ptr;

use offloom_abi::entry::{self, Entry, EntryFlags};
use offloom_abi::{LlvmVersion, OffloadKind};

/// The LLVM this build is for.
pub const LLVM: LlvmVersion = LlvmVersion::of_build(env!("OFFLOOM_LLVM_MAJOR"));

/// A device symbol as an offload entry names it.
#[derive(Debug)]
pub struct DeviceSymbol {
    /// Address of the region id, or of the pointer to a `link` variable.
    pub address: *const u8,
    /// Name of the device symbol.
    pub name: &'static CStr,
    /// Bytes of the pointer, 0 for a kernel.
    pub size: u64,
    /// What kind of entry it is.
    pub flags: EntryFlags,
}

/// Defines the pointer to the variable that `variable` points to and is marked `link`, and gives its
/// [`DeviceSymbol`].
#[macro_export]
macro_rules! link_variable {
    ($name:literal, $variable:expr) => {{
        /// Shared as a pointer is not.
        #[repr(transparent)]
        struct Reference(*const ::core::ffi::c_void);
        // SAFETY: never written.
        unsafe impl Sync for Reference {}
        #[unsafe(export_name = concat!($name, "_decl_tgt_ref_ptr"))]
        static REFERENCE: Reference = Reference($variable.cast());
        $crate::DeviceSymbol {
            address: (&raw const REFERENCE).cast(),
            name: match ::core::ffi::CStr::from_bytes_with_nul(
                concat!($name, "_decl_tgt_ref_ptr\0").as_bytes(),
            ) {
                Ok(name) => name,
                Err(_) => c"",
            },
            size: size_of::<Reference>() as u64,
            flags: ::offloom_abi::entry::EntryFlags::LINK,
        }
    }};
}

/// Defines the region ids of marked functions and gives their [`DeviceSymbol`]s.
#[macro_export]
macro_rules! kernels {
    ($($function:ident)*) => {
        [$({
            #[unsafe(export_name = concat!(".__omp_offloading_0_0_", stringify!($function), "_l0.region_id"))]
            static REGION_ID: u8 = 0;
            $crate::DeviceSymbol {
                address: &raw const REGION_ID,
                name: match ::core::ffi::CStr::from_bytes_with_nul(
                    concat!("__omp_offloading_0_0_", stringify!($function), "_l0\0").as_bytes(),
                ) {
                    Ok(name) => name,
                    Err(_) => c"",
                },
                size: 0,
                flags: ::offloom_abi::entry::EntryFlags::NONE,
            }
        }),*]
    };
}

/// `__tgt_device_image`.
#[repr(C)]
struct Image {
    begin: *const u8,
    end: *const u8,
    entries_begin: *const u8,
    entries_end: *const u8,
}

/// `__tgt_bin_desc`.
#[repr(C)]
struct Descriptor {
    number_of_images: i32,
    images: *const Image,
    entries_begin: *const u8,
    entries_end: *const u8,
}

const _: () = assert!(size_of::<Image>() == 32 && size_of::<Descriptor>() == 32);

unsafe extern "C" {
    fn __tgt_register_lib(descriptor: *const c_void);
}

/// Compiles the C file `source` with `clang` to a device image for the host's own architecture.
///
/// # Panics
/// When that fails.
pub fn compile_image(clang: &str, source: &Path) -> Vec<u8> {
    let folder = std::env::temp_dir().join(format!("offloom-launch-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let image = folder.join("image.so");
    let status = Command::new(clang)
        .args(["-O2", "-shared", "-fPIC", "-Wall", "-Werror", "-o"])
        .args([&image, source])
        .status()
        .unwrap();
    assert!(status.success(), "{clang}: {status}");
    let bytes = std::fs::read(&image).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    bytes
}

/// Registers `image` with an entry for each of `symbols`, for the rest of the process.
pub fn register(image: Vec<u8>, symbols: &[DeviceSymbol]) {
    let entries: Vec<u8> = symbols
        .iter()
        .flat_map(|symbol| {
            let entry = Entry {
                kind: OffloadKind::OpenMp,
                flags: symbol.flags,
                address: symbol.address.expose_provenance() as u64,
                name: symbol.name.as_ptr().expose_provenance() as u64,
                size: symbol.size,
                data: 0,
                aux_address: 0,
            };
            entry.encode(LLVM).unwrap()
        })
        .collect();
    assert_eq!(entries.len(), symbols.len() * entry::size(LLVM));
    // The runtime keeps all of it.
    let image = image.leak().as_ptr_range();
    let entries = entries.leak().as_ptr_range();
    let images = Box::leak(Box::new(Image {
        begin: image.start,
        end: image.end,
        entries_begin: entries.start,
        entries_end: entries.end,
    }));
    let descriptor = Box::leak(Box::new(Descriptor {
        number_of_images: 1,
        images: ptr::from_ref(images),
        entries_begin: entries.start,
        entries_end: entries.end,
    }));
    // SAFETY: the descriptor and everything it leads to has the runtime's layout and is leaked.
    unsafe { __tgt_register_lib(ptr::from_ref(descriptor).cast()) }
}
