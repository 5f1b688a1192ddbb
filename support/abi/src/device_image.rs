//! What a linked host program hands to libomptarget: `__tgt_device_image`, `__tgt_bin_desc`, and the symbols
//! of the module that registers them. The same in every known release, on 64-bit hosts.
//!
//! Source: `llvm/lib/Frontend/Offloading/OffloadWrapper.cpp`, `offload/include/Shared/APITypes.h`.

/// `__tgt_device_image`: one device image and the host's entries for it. Four pointers.
pub mod image {
    /// Name of the type in IR, without the `%`.
    pub const IR_STRUCT_NAME: &str = "__tgt_device_image";
    /// The types of its fields in IR, in order.
    pub const IR_FIELDS: &str = "ptr, ptr, ptr, ptr";
    /// Size of the record in bytes.
    pub const SIZE: usize = 32;
    /// Alignment of the record in bytes.
    pub const ALIGNMENT: u64 = 8;
    /// Offset of the pointer to the first byte of the image.
    pub const IMAGE_START: usize = 0;
    /// Offset of the pointer behind the last byte of the image.
    pub const IMAGE_END: usize = 8;
    /// Offset of the pointer to the first host entry.
    pub const ENTRIES_BEGIN: usize = 16;
    /// Offset of the pointer behind the last host entry.
    pub const ENTRIES_END: usize = 24;
}

/// `__tgt_bin_desc`: every image of one linked program or shared library. A 32-bit count and three pointers.
pub mod descriptor {
    /// Name of the type in IR, without the `%`.
    pub const IR_STRUCT_NAME: &str = "__tgt_bin_desc";
    /// The types of its fields in IR, in order.
    pub const IR_FIELDS: &str = "i32, ptr, ptr, ptr";
    /// Size of the record in bytes.
    pub const SIZE: usize = 32;
    /// Alignment of the record in bytes.
    pub const ALIGNMENT: u64 = 8;
    /// Offset of the 32-bit number of images.
    pub const NUM_DEVICE_IMAGES: usize = 0;
    /// Offset of the pointer to the array of `__tgt_device_image`.
    pub const DEVICE_IMAGES: usize = 8;
    /// Offset of the pointer to the first host entry.
    pub const HOST_ENTRIES_BEGIN: usize = 16;
    /// Offset of the pointer behind the last host entry.
    pub const HOST_ENTRIES_END: usize = 24;
}

/// Symbols of the module that registers a program's images, all with internal linkage.
pub mod wrapper_symbol {
    /// A whole OffloadBinary member; further ones get a number (`.omp_offloading.device_image.1`).
    pub const DEVICE_IMAGE: &str = ".omp_offloading.device_image";
    /// The array of `__tgt_device_image`.
    pub const DEVICE_IMAGES: &str = ".omp_offloading.device_images";
    /// The `__tgt_bin_desc`.
    pub const DESCRIPTOR: &str = ".omp_offloading.descriptor";
    /// The constructor: registers the descriptor, and its unregistration with `atexit`.
    pub const REGISTER: &str = ".omp_offloading.descriptor_reg";
    /// What runs at exit.
    pub const UNREGISTER: &str = ".omp_offloading.descriptor_unreg";
}

/// Name of the module that the stock wrapper emits.
pub const WRAPPER_MODULE_NAME: &str = "offload.wrapper.module";

/// Section of the constructor and of what runs at exit.
pub const REGISTER_FUNCTION_SECTION: &str = ".text.startup";

/// Priority of the constructor: before those of user code, which start at 65535 by default and at 101 by
/// attribute.
pub const REGISTER_PRIORITY: u32 = 101;

/// Function of libomptarget that takes a descriptor into use: `void (struct __tgt_bin_desc *)`.
pub const REGISTER_LIB: &str = "__tgt_register_lib";

/// Function of libomptarget that takes a descriptor out of use: `void (struct __tgt_bin_desc *)`.
pub const UNREGISTER_LIB: &str = "__tgt_unregister_lib";

const _: () = {
    use std::mem::{offset_of, size_of};

    /// The record as C declares it, with 64-bit pointers.
    #[repr(C)]
    struct Image {
        start: u64,
        end: u64,
        entries_begin: u64,
        entries_end: u64,
    }
    assert!(size_of::<Image>() == image::SIZE);
    assert!(offset_of!(Image, start) == image::IMAGE_START);
    assert!(offset_of!(Image, end) == image::IMAGE_END);
    assert!(offset_of!(Image, entries_begin) == image::ENTRIES_BEGIN);
    assert!(offset_of!(Image, entries_end) == image::ENTRIES_END);

    /// The record as C declares it, with 64-bit pointers.
    #[repr(C)]
    struct Descriptor {
        num_device_images: i32,
        device_images: u64,
        host_entries_begin: u64,
        host_entries_end: u64,
    }
    assert!(size_of::<Descriptor>() == descriptor::SIZE);
    assert!(offset_of!(Descriptor, num_device_images) == descriptor::NUM_DEVICE_IMAGES);
    assert!(offset_of!(Descriptor, device_images) == descriptor::DEVICE_IMAGES);
    assert!(offset_of!(Descriptor, host_entries_begin) == descriptor::HOST_ENTRIES_BEGIN);
    assert!(offset_of!(Descriptor, host_entries_end) == descriptor::HOST_ENTRIES_END);
};
