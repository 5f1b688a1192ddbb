//! Base images that are made when a program starts: of a program linked with `--jit=only`, or of one whose
//! image is bitcode.
//!
//! `wrapgen link --jit=only` registers the merged device bitcode as the image. In the place of libomptarget's
//! registration, the constructor calls [`HIDDEN_REGISTER_SYMBOL`], a piece of C that is linked into the
//! program. It asks `liboffloom_jit.so` for a descriptor with native images in the place of bitcode
//! ([`REPLACE_IMAGES_SYMBOL`]) and registers that. The library has its worker process make a [`BaseImage`]
//! from the bitcode, or finds it in its cache. For NVIDIA GPUs the bitcode comes with what it is made with
//! ([`jit_gpu_code`](crate::jit_gpu_code)), and one image is made for each architecture that is there.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::jit_message::{BASE_IMAGE_REQUEST, Header, MessageError, put_header};
use crate::wire::{Damage, Fields, put_run, put_string};

/// The hidden function that registers a descriptor: `void __offloom_jit_register(struct __tgt_bin_desc *)`.
pub const HIDDEN_REGISTER_SYMBOL: &str = "__offloom_jit_register";

/// The hidden function that takes it out of use: `void __offloom_jit_unregister(struct __tgt_bin_desc *)`.
pub const HIDDEN_UNREGISTER_SYMBOL: &str = "__offloom_jit_unregister";

/// The function of `liboffloom_jit.so` that says what to register in the place of a descriptor: `struct
/// __tgt_bin_desc *offloom_jit_replace_images(struct __tgt_bin_desc *)`. Null: the images cannot be used by
/// this library.
pub const REPLACE_IMAGES_SYMBOL: &str = "offloom_jit_replace_images";

/// The function of `liboffloom_jit.so` that says, once, what was registered in the place of a descriptor:
/// `struct __tgt_bin_desc *offloom_jit_forget_images(struct __tgt_bin_desc *)`. Null: nothing of the
/// library's.
pub const FORGET_IMAGES_SYMBOL: &str = "offloom_jit_forget_images";

/// Named metadata of device bitcode that becomes the base image at run time: one node with the optimisation
/// level of the link, 0 to 3.
pub const OPTIMIZATION_LEVEL_METADATA: &str = "offloom.optimization_level";

/// Names in the merged device module that entries of host objects ask for: a string for each, in a node of
/// its own.
pub const ASKED_FOR_METADATA: &str = "offloom.asked_for";

/// Named metadata of device bitcode for the JIT, not empty where the program has an unwinder of its own
/// (`-static-libgcc`).
pub const OWN_UNWINDER_METADATA: &str = "offloom.own_unwinder";

/// What to make a base image of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseImageRequest<'a> {
    /// How long it may take, in milliseconds.
    pub deadline: u32,
    /// Paths of the shared libraries that the device code may call.
    pub libraries: Vec<&'a Path>,
    /// What an image for a GPU takes more; `None`: it is one for the host's kind of processor.
    pub gpu: Option<GpuImageRequest<'a>>,
    /// The device code.
    pub bitcode: &'a [u8],
}

/// What making an image for an NVIDIA GPU takes beyond the rest. The image is a cubin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuImageRequest<'a> {
    /// The processor to compile for.
    pub processor: &'a str,
    /// Path of the program that assembles PTX, `ptxas`.
    pub assembler: &'a str,
    /// More arguments for it: words, each with a NUL behind it ([`words`](crate::jit_compile::words)).
    pub assembler_arguments: &'a str,
    /// The device runtime's bitcode; empty: the program has none, or has it in its own.
    pub device_runtime: &'a [u8],
}

impl<'a> BaseImageRequest<'a> {
    /// Header and bytes up to the bitcode; the bitcode itself follows.
    pub fn encode_head(&self) -> Vec<u8> {
        let mut bytes = vec![0; Header::SIZE];
        bytes.extend_from_slice(&BASE_IMAGE_REQUEST.to_le_bytes());
        bytes.extend_from_slice(&self.deadline.to_le_bytes());
        bytes.extend_from_slice(&(self.libraries.len() as u32).to_le_bytes());
        for library in &self.libraries {
            put_run(&mut bytes, library.as_os_str().as_bytes());
        }
        bytes.extend_from_slice(&u32::from(self.gpu.is_some()).to_le_bytes());
        if let Some(gpu) = &self.gpu {
            for string in [gpu.processor, gpu.assembler, gpu.assembler_arguments] {
                put_string(&mut bytes, string);
            }
            put_run(&mut bytes, gpu.device_runtime);
        }
        put_header(&mut bytes, self.bitcode.len());
        bytes
    }

    /// Reads a request from the bytes behind its kind.
    ///
    /// # Errors
    /// When a field does not fit.
    pub(crate) fn read(fields: &mut Fields<'a>) -> Result<Self, MessageError> {
        Ok(Self {
            deadline: fields.u32("the deadline")?,
            libraries: fields.table("the libraries", |fields| {
                let path = fields.run("a library")?;
                Ok(Path::new(OsStr::from_bytes(path)))
            })?,
            gpu: match fields.u32("whether it is for a GPU")? {
                0 => None,
                _ => Some(GpuImageRequest {
                    processor: fields.string("the processor")?,
                    assembler: fields.string("the assembler")?,
                    assembler_arguments: fields.string("the assembler's arguments")?,
                    device_runtime: fields.run("the device runtime")?,
                }),
            },
            bitcode: fields.rest(),
        })
    }
}

/// What comes of it, and what the cache keeps: a 64-bit length and the bundle, then the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BaseImage<'a> {
    /// The bundle that the image was made with; empty where no kernel can have variants.
    pub bundle: &'a [u8],
    /// A shared object for libomptarget, or for a GPU a cubin.
    pub image: &'a [u8],
}

impl<'a> BaseImage<'a> {
    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        let size = (self.bundle.len() as u64).to_le_bytes();
        [&size, self.bundle, self.image].concat()
    }

    /// Reads the bytes in place.
    ///
    /// # Errors
    /// When the bundle's length does not fit.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, MessageError> {
        let mut fields = Fields::new(bytes);
        let size = fields.u64("the bundle's size")?;
        let size = usize::try_from(size).map_err(|_| Damage::at("the bundle's size", 0))?;
        Ok(Self {
            bundle: fields.take(size, "the bundle")?,
            image: fields.rest(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jit_compile::Work;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn requests_are_read_as_written(
            deadline in any::<u32>(),
            libraries in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..4),
            bitcode in prop::collection::vec(any::<u8>(), 0..100),
            is_for_gpu in any::<bool>(),
            word in ".{0,8}",
        ) {
            let gpu = GpuImageRequest {
                processor: &word,
                assembler: "/usr/bin/ptxas",
                assembler_arguments: &word,
                device_runtime: &bitcode,
            };
            let request = BaseImageRequest {
                deadline,
                libraries: libraries.iter().map(|path| Path::new(OsStr::from_bytes(path))).collect(),
                gpu: is_for_gpu.then_some(gpu),
                bitcode: &bitcode,
            };
            let message = [request.encode_head(), bitcode.clone()].concat();
            prop_assert_eq!(Work::parse(&message[Header::SIZE..]), Ok(Work::BaseImage(request)));
        }

        #[test]
        fn images_are_read_as_written(
            bundle in prop::collection::vec(any::<u8>(), 0..100),
            image in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let both = BaseImage { bundle: &bundle, image: &image };
            let bytes = both.encode();
            prop_assert_eq!(BaseImage::parse(&bytes), Ok(both));
        }

        #[test]
        fn hostile_bytes_give_errors(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            // They must come back, whatever they answer.
            let _ = BaseImage::parse(&bytes);
            let _ = Work::parse(&bytes);
        }
    }
}
