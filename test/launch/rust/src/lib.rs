//! What the pass `offload-entries` and `wrapgen` make of a marked Rust module, made by hand: region ids, offload entries, and the
//! registration of a device image.
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
pub const LLVM: LlvmVersion = if cfg!(feature = "llvm22") {
    LlvmVersion::V22
} else {
    LlvmVersion::V19
};

/// A kernel as an offload entry names it.
#[derive(Debug)]
pub struct Kernel {
    /// Address of the region id.
    pub region_id: *const u8,
    /// Name of the device symbol.
    pub name: &'static CStr,
}

/// Defines the region ids of marked functions and gives their [`Kernel`]s.
#[macro_export]
macro_rules! kernels {
    ($($function:ident)*) => {
        [$({
            #[unsafe(export_name = concat!(".__omp_offloading_0_0_", stringify!($function), "_l0.region_id"))]
            static REGION_ID: u8 = 0;
            $crate::Kernel {
                region_id: &raw const REGION_ID,
                name: match ::core::ffi::CStr::from_bytes_with_nul(
                    concat!("__omp_offloading_0_0_", stringify!($function), "_l0\0").as_bytes(),
                ) {
                    Ok(name) => name,
                    Err(_) => c"",
                },
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

/// Registers `image` with an entry for each of `kernels`, for the rest of the process.
pub fn register(image: Vec<u8>, kernels: &[Kernel]) {
    let entries: Vec<u8> = kernels
        .iter()
        .flat_map(|kernel| {
            let entry = Entry {
                kind: OffloadKind::OpenMp,
                flags: EntryFlags::NONE,
                address: kernel.region_id.expose_provenance() as u64,
                name: kernel.name.as_ptr().expose_provenance() as u64,
                size: 0,
                data: 0,
                aux_address: 0,
            };
            entry.encode(LLVM).unwrap()
        })
        .collect();
    assert_eq!(entries.len(), kernels.len() * entry::size(LLVM));
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
