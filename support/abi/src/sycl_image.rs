//! What a linked host program hands to the SYCL runtime (LLVM 22 only): its images, each with its entries,
//! and the symbols of the module that registers them.
//!
//! Source: `llvm/lib/Frontend/Offloading/OffloadWrapper.cpp` of LLVM 22.

/// Name in IR, without the `%`, of an image's record.
pub const IMAGE_IR_STRUCT_NAME: &str = "__sycl.tgt_device_image";

/// The types of its fields in IR: version, kind, format; target, options for compiling and for linking; start
/// and end of the image, of the entries, and of the properties.
pub const IMAGE_IR_FIELDS: &str = "i16, i8, i8, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr";

/// Version field of an image's record.
pub const IMAGE_RECORD_VERSION: u16 = 3;

/// Format field of an image's record: not said.
pub const IMAGE_FORMAT_NONE: u8 = 0;

/// Name in IR, without the `%`, of the descriptor.
pub const DESCRIPTOR_IR_STRUCT_NAME: &str = "__sycl.tgt_bin_desc";

/// The types of its fields in IR: version, number of images, images, start and end of the host's entries.
pub const DESCRIPTOR_IR_FIELDS: &str = "i16, i16, ptr, ptr, ptr";

/// Version field of the descriptor.
pub const DESCRIPTOR_RECORD_VERSION: u16 = 1;

/// How the symbols of the module start, but for the two functions.
pub const SYMBOL_PREFIX: &str = ".sycl_offloading";

/// The constructor.
pub const REGISTER: &str = "sycl.descriptor_reg";

/// The destructor.
pub const UNREGISTER: &str = "sycl.descriptor_unreg";

/// Priority of both: before and after those of user code.
pub const REGISTER_PRIORITY: u32 = 1;

/// Function of the runtime that takes the descriptor into use.
pub const REGISTER_LIB: &str = "__sycl_register_lib";

/// Function of the runtime that takes the descriptor out of use.
pub const UNREGISTER_LIB: &str = "__sycl_unregister_lib";

/// Key of an OffloadBinary's string that lists the names of the image's kernels, one a line.
pub const SYMBOLS: &str = "symbols";
