//! What a linked host program hands to the CUDA and HIP runtimes: a record that points to a fat binary, and
//! the symbols of the module that registers it together with the program's kernels and variables.
//!
//! Source: `llvm/lib/Frontend/Offloading/OffloadWrapper.cpp`; the records are those of CUDA's
//! `fatbinary_section.h` and of HIP's `hip_fatbin` loader.

pub mod images;

use crate::version::EntryFormat;
use crate::{LlvmVersion, OffloadKind};

/// Name in IR, without the `%`, of the record that points to a fat binary.
pub const IR_STRUCT_NAME: &str = "fatbin_wrapper";

/// The types of the record's fields in IR: magic number, version, image, and one that is not used.
pub const IR_FIELDS: &str = "i32, i32, ptr, ptr";

/// Version field of the record.
pub const RECORD_VERSION: u32 = 1;

/// Symbol of the fat binary.
pub const IMAGE: &str = ".fatbin_image";

/// Symbol of the record.
pub const WRAPPER: &str = ".fatbin_wrapper";

/// Entry flags of a variable: the lowest bits say which kind of variable it is.
pub mod variable {
    /// The bits that hold the kind.
    pub const KIND_MASK: u32 = 7;
    /// An ordinary variable.
    pub const GLOBAL: u32 = 0;
    /// A managed variable.
    pub const MANAGED: u32 = 1;
    /// A surface.
    pub const SURFACE: u32 = 2;
    /// A texture.
    pub const TEXTURE: u32 = 3;
    /// Bit of a variable that is defined elsewhere.
    pub const EXTERN_BIT: u32 = 3;
    /// Bit of a constant.
    pub const CONSTANT_BIT: u32 = 4;
    /// Bit of a normalised texture.
    pub const NORMALIZED_BIT: u32 = 5;
}

/// One of the two runtimes that take fat binaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FatBinaryRuntime {
    /// The programming model.
    pub kind: OffloadKind,
    /// How the runtime's functions start after two underscores, and what stands in the registration symbols.
    pub name: &'static str,
    /// Section of its offload entries, in the release that has one for each programming model.
    own_entry_section: &'static str,
    /// First field of the record.
    pub magic: u32,
    /// Section of the fat binary.
    pub image_section: &'static str,
    /// Section of the record.
    pub wrapper_section: &'static str,
    /// Whether the runtime is told when everything is registered.
    pub has_end: bool,
    /// Whether the stock linker wrapper has surfaces and textures registered.
    pub has_surfaces: bool,
}

/// CUDA's runtime.
pub const CUDA: FatBinaryRuntime = FatBinaryRuntime {
    kind: OffloadKind::Cuda,
    name: "cuda",
    own_entry_section: "cuda_offloading_entries",
    magic: 0x4662_43b1,
    image_section: ".nv_fatbin",
    wrapper_section: ".nvFatBinSegment",
    has_end: true,
    has_surfaces: false,
};

/// HIP's runtime.
pub const HIP: FatBinaryRuntime = FatBinaryRuntime {
    kind: OffloadKind::Hip,
    name: "hip",
    own_entry_section: "hip_offloading_entries",
    magic: 0x4849_5046,
    image_section: ".hip_fatbin",
    wrapper_section: ".hipFatBinSegment",
    has_end: false,
    has_surfaces: true,
};

impl FatBinaryRuntime {
    /// Section that the offload entries of this programming model stand in.
    pub const fn entry_section(&self, version: LlvmVersion) -> &'static str {
        match version.entries {
            EntryFormat::Legacy => self.own_entry_section,
            EntryFormat::Version1 => crate::entry::section(version),
        }
    }
}
