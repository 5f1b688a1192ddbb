//! What a GPU's base image and its variants have for each other: tables of addresses in device memory.
//!
//! A base image for a GPU has no stubs: it is what the link makes without the JIT, and one exported variable
//! more, [`IMAGE_SYMBOL`], in global memory. The driver's loader fills in its addresses. Whoever has the
//! loaded module looks the variable up, copies its bytes to the host in one read (its size is that of the
//! symbol), and gives them to [`DeviceImage::parse`]:
//!
//! | field | size | written by |
//! | --- | --- | --- |
//! | magic | 8 | the link: [`MAGIC`] |
//! | format version | 4 | the link: [`VERSION`] |
//! | reserved | 4 | the link: 0 |
//! | bundle id | 16 | the link: the id of the bundle whose bitcode this image was made of |
//! | anchor count | 8 | the link |
//! | addresses | 8 each | the loader: device addresses, in the order of the bundle's anchors |
//!
//! All numbers are little-endian, as GPUs have them.
//!
//! A variant is a module of its own, loaded into the same context, with one kernel, whose name is
//! [`variant_entry`] of the base image's. It reaches the base image's variables through
//! [`ANCHOR_TABLE_SYMBOL`], a variable in constant memory of as many device addresses, 8 bytes each in the
//! same order, zero in the file. The runtime copies the addresses there, after loading and before the first
//! launch. A variant that reaches none has no such table. Where the base image has
//! [`DEVICE_ENVIRONMENT_SYMBOL`], the runtime copies its bytes to the variant's variable of that name, if it
//! has one.
//!
//! A launch of a variant has the base kernel's parameters, grid, block, shared memory and stream. Which
//! threads execute what is for the execution mode in the kernel's environment ([`kernel_environment`]) to
//! say: that of the base image decides how libomptarget launches, and a variant has the same.

use std::mem::size_of;

use crate::jit_bundle::{BundleId, ExecutionMode};
use crate::wire::{Damage, Fields};

/// The exported variable of a base image, in global memory.
pub const IMAGE_SYMBOL: &str = "__offloom_jit_image";

/// The exported variable of a variant, in constant memory.
pub const ANCHOR_TABLE_SYMBOL: &str = "__offloom_jit_anchor_table";

/// The variable that libomptarget's plugin writes into an image after loading it: what the device runtime
/// knows of the device.
pub const DEVICE_ENVIRONMENT_SYMBOL: &str = "__omp_rtl_device_environment";

/// The first eight bytes of [`IMAGE_SYMBOL`].
pub const MAGIC: [u8; 8] = *b"OFFLOOMG";

/// The format version written and read by this crate.
pub const VERSION: u32 = 1;

/// The most bytes of constant memory that an NVIDIA kernel has for variables of this kind, all together: the
/// anchor table must fit.
pub const CONSTANT_MEMORY: usize = 64 << 10;

/// The most anchors that a base image may have; a variant's anchor table leaves room in constant memory for
/// others.
pub const MAX_ANCHORS: usize = CONSTANT_MEMORY / size_of::<u64>() / 2;

/// What follows a kernel's name in the name of its variants' entries. Names in PTX may have the character,
/// and those of C and C++ kernels end otherwise.
pub const VARIANT_SUFFIX: &str = "$jit";

/// What follows a kernel's name in the name of its environment, a constant of the image that libomptarget and
/// the device runtime read.
pub const KERNEL_ENVIRONMENT_SUFFIX: &str = "_kernel_environment";

/// The name of a variant's kernel, which tells it from the base image's in profilers.
pub fn variant_entry(kernel: &str) -> String {
    format!("{kernel}{VARIANT_SUFFIX}")
}

/// The name of the variable that holds a kernel's environment, in the base image and in its variants alike.
pub fn kernel_environment(kernel: &str) -> String {
    format!("{kernel}{KERNEL_ENVIRONMENT_SUFFIX}")
}

/// The execution mode in the bytes of a kernel's environment ([`kernel_environment`]) as the device has it:
/// the third byte of its configuration. `None` where it is none that is known.
pub fn execution_mode_in(environment: &[u8]) -> Option<ExecutionMode> {
    ExecutionMode::from_number(*environment.get(2)?)
}

/// Bytes before the first address.
pub const HEADER_SIZE: usize = 40;

/// What a loaded base image says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceImage {
    /// The bundle that the image was linked with.
    pub bundle: BundleId,
    /// Device addresses of what variants share with it, in the order of the bundle's anchors.
    pub anchors: Vec<u64>,
}

/// Why bytes are not what a base image says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DeviceImageError {
    /// The variable is somebody else's.
    #[error("`{IMAGE_SYMBOL}` of the image is not Offloom's: its magic bytes are missing")]
    BadMagic,
    /// Written by another release of Offloom.
    #[error("`{IMAGE_SYMBOL}` of the image has format {found}, and only {VERSION} is supported")]
    UnsupportedVersion {
        /// The version found.
        found: u32,
    },
    /// The bytes end inside a field, or go on behind the last.
    #[error("`{IMAGE_SYMBOL}` of the image is damaged: {what} at offset {offset:#x} does not fit")]
    Damaged {
        /// The field.
        what: &'static str,
        /// Its offset in bytes.
        offset: usize,
    },
}

impl DeviceImage {
    /// Reads what was copied from [`IMAGE_SYMBOL`] of a loaded image.
    ///
    /// # Errors
    /// When the bytes are not the whole variable of this format version.
    pub fn parse(bytes: &[u8]) -> Result<Self, DeviceImageError> {
        let mut fields = Fields::new(bytes);
        if fields.array::<8>("the magic").ok() != Some(MAGIC) {
            return Err(DeviceImageError::BadMagic);
        }
        let found = fields.u32("the format version")?;
        if found != VERSION {
            return Err(DeviceImageError::UnsupportedVersion { found });
        }
        let _reserved = fields.u32("the reserved field")?;
        let bundle = BundleId(fields.array("the bundle's id")?);
        let count = fields.u64("the anchor count")?;
        let addresses = fields.rest().as_chunks::<{ size_of::<u64>() }>();
        if !addresses.1.is_empty() || addresses.0.len() as u64 != count {
            return Err(Damage::at("the table of addresses", HEADER_SIZE).into());
        }
        Ok(Self {
            bundle,
            anchors: addresses.0.iter().copied().map(u64::from_le_bytes).collect(),
        })
    }

    /// The bytes of [`IMAGE_SYMBOL`] as a loaded image has them.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_SIZE + self.anchors.len() * size_of::<u64>());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.bundle.0);
        bytes.extend_from_slice(&(self.anchors.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&anchor_table(&self.anchors));
        bytes
    }
}

/// The bytes of a variant's [`ANCHOR_TABLE_SYMBOL`] for these anchors.
pub fn anchor_table(anchors: &[u64]) -> Vec<u8> {
    anchors.iter().flat_map(|address| address.to_le_bytes()).collect()
}

impl From<Damage> for DeviceImageError {
    fn from(damage: Damage) -> Self {
        Self::Damaged {
            what: damage.what,
            offset: damage.offset,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_execution_mode_is_the_third_byte() {
        assert_eq!(execution_mode_in(&[0, 0, 2, 0]), Some(ExecutionMode::Spmd));
        assert_eq!(execution_mode_in(&[0, 0, 9]), None);
        assert_eq!(execution_mode_in(&[1, 1]), None);
    }

    #[test]
    fn what_is_not_whole_is_refused() {
        let image = DeviceImage {
            bundle: BundleId([7; 16]),
            anchors: vec![0x7f00_0000_1000, 0],
        };
        let bytes = image.encode();
        assert_eq!(bytes.len(), HEADER_SIZE + 16);
        assert_eq!(DeviceImage::parse(&bytes), Ok(image));
        for length in 0..bytes.len() {
            assert!(
                DeviceImage::parse(&bytes[..length]).is_err(),
                "{length} bytes were accepted"
            );
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(matches!(
            DeviceImage::parse(&longer),
            Err(DeviceImageError::Damaged { .. })
        ));
        let mut newer = bytes;
        newer[8] += 1;
        assert_eq!(
            DeviceImage::parse(&newer),
            Err(DeviceImageError::UnsupportedVersion { found: VERSION + 1 })
        );
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(bundle in any::<[u8; 16]>(), anchors in prop::collection::vec(any::<u64>(), 0..20)) {
            let image = DeviceImage { bundle: BundleId(bundle), anchors };
            prop_assert_eq!(DeviceImage::parse(&image.encode()), Ok(image));
        }

        #[test]
        fn hostile_bytes_give_errors(bytes in prop::collection::vec(any::<u8>(), 0..100), head in any::<bool>()) {
            let mut bytes = bytes;
            let start = [&MAGIC[..], &VERSION.to_le_bytes()].concat();
            if head && bytes.len() >= start.len() {
                bytes[..start.len()].copy_from_slice(&start);
            }
            // It must come back, whatever it answers.
            let _ = DeviceImage::parse(&bytes);
        }
    }
}
