//! Variants: kernels of executables of their own, loaded on the device of a base image.

use std::sync::atomic::{AtomicBool, Ordering};

use offloom_abi::amd_code_object::DESCRIPTOR_SUFFIX;
use offloom_abi::jit_device_image::{
    ANCHOR_TABLE_SYMBOL, DEVICE_ENVIRONMENT_SYMBOL, anchor_table, variant_entry,
};
use offloom_jit_policy::gpu_image::Full;
use offloom_jit_policy::process::lock::lock;

use crate::image::ImageCopy;
use crate::runtime::{Executable, HsaError, KernelNeeds, Runtime};

/// Bytes of memory that a workgroup may have.
pub(crate) const MOST_GROUP_BYTES: u32 = 64 << 10;

/// A variant that is loaded. Lives for ever; its executable lives as long as the base image: a kernel of it
/// may run long after it was launched, and nothing here waits for that.
#[derive(Debug)]
pub(crate) struct Variant {
    needs: KernelNeeds,
    was_launched: AtomicBool,
}

/// What is to be loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load<'a> {
    /// The code object.
    pub(crate) code_object: &'a [u8],
    /// The name of the kernel in the base image.
    pub(crate) kernel: &'a str,
    /// What that needs.
    pub(crate) base: KernelNeeds,
    /// Addresses of the base image for the variant.
    pub(crate) anchors: &'a [u64],
    /// How many bytes of code objects of variants the device may have loaded, with this one.
    pub(crate) most_bytes: u64,
}

/// Why a variant cannot be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum LoadError {
    /// The runtime refuses.
    #[error("{what}: {error}")]
    Runtime {
        /// What was to be done.
        what: &'static str,
        /// What the runtime says.
        error: HsaError,
    },
    /// The code object does not fit the base image.
    #[error("the code object takes {takes} bytes of {what}, the device image has {has}")]
    Size {
        /// Of what.
        what: &'static str,
        /// In the code object.
        takes: usize,
        /// In the base image.
        has: usize,
    },
    /// Launches have not what it needs.
    #[error("it needs {variant} bytes of {what}, launches of the device image's kernel have {base}")]
    Needs {
        /// Of what.
        what: &'static str,
        /// By the variant.
        variant: u32,
        /// By the base kernel.
        base: u32,
    },
    /// The variants on the device would take more memory than they may.
    #[error(transparent)]
    Full(#[from] Full),
}

impl LoadError {
    /// Whether the code is as it should be, and only not worth what it costs.
    pub(crate) const fn is_declined(&self) -> bool {
        matches!(self, Self::Needs { .. } | Self::Full(_))
    }
}

/// What the runtime did not do.
fn failed(what: &'static str) -> impl FnOnce(HsaError) -> LoadError {
    move |error| LoadError::Runtime { what, error }
}

/// Loads a variant of a kernel of an image.
///
/// # Errors
/// When it cannot be used. Nothing of it is loaded then.
pub(crate) fn load(
    runtime: &Runtime,
    image: &ImageCopy,
    load: &Load<'_>,
) -> Result<&'static Variant, LoadError> {
    let bytes = load.code_object.len() as u64;
    image.variant_bytes.take(bytes, load.most_bytes)?;
    let loaded = load_executable(runtime, image, load);
    if loaded.is_err() {
        image.variant_bytes.give_back(bytes);
    }
    loaded
}

fn load_executable(
    runtime: &Runtime,
    image: &ImageCopy,
    load: &Load<'_>,
) -> Result<&'static Variant, LoadError> {
    // Debuggers read it as long as the executable is there.
    let code_object: &'static [u8] = Box::leak(load.code_object.into());
    let executable = runtime
        .load(image.agent, code_object)
        .map_err(failed("loading the code object"))?;
    match prepare(runtime, image, executable, load) {
        Ok(variant) => {
            let bytes = load.code_object.len() as u64;
            lock(&image.variants).push((executable, bytes));
            Ok(variant)
        }
        Err(error) => {
            // What it was refused for is told.
            let _ = runtime.unload(executable);
            Err(error)
        }
    }
}

fn prepare(
    runtime: &Runtime,
    image: &ImageCopy,
    executable: Executable,
    load: &Load<'_>,
) -> Result<&'static Variant, LoadError> {
    let descriptor = variant_entry(load.kernel) + DESCRIPTOR_SUFFIX;
    let needs = runtime
        .kernel(executable, image.agent, &descriptor)
        .map_err(failed("finding the kernel in the code object"))?;
    check_needs(&needs, &load.base)?;
    // Without the variable, it refers to nothing of the base image.
    if let Ok((place, takes)) = runtime.variable(executable, image.agent, ANCHOR_TABLE_SYMBOL) {
        let bytes = anchor_table(load.anchors);
        if takes != bytes.len() {
            return Err(LoadError::Size {
                what: "addresses",
                takes,
                has: bytes.len(),
            });
        }
        runtime
            .write(place, &bytes)
            .map_err(failed("writing addresses of the device image"))?;
    }
    copy_environment(runtime, image, executable)?;
    Ok(Box::leak(Box::new(Variant {
        needs,
        was_launched: AtomicBool::new(false),
    })))
}

fn check_needs(variant: &KernelNeeds, base: &KernelNeeds) -> Result<(), LoadError> {
    let dynamic = |needs: &KernelNeeds| u32::from(needs.has_dynamic_stack);
    let all = [
        ("a stack", variant.private_segment, base.private_segment),
        ("arguments", variant.arguments, base.arguments),
        ("a stack that grows", dynamic(variant), dynamic(base)),
        ("a workgroup's memory", variant.group_segment, MOST_GROUP_BYTES),
    ];
    let short = all.into_iter().find(|(_, variant, base)| variant > base);
    short.map_or(Ok(()), |(what, variant, base)| {
        Err(LoadError::Needs { what, variant, base })
    })
}

/// Gives the variant what libomptarget has written into the base image.
fn copy_environment(runtime: &Runtime, image: &ImageCopy, executable: Executable) -> Result<(), LoadError> {
    let Ok((place, takes)) = runtime.variable(executable, image.agent, DEVICE_ENVIRONMENT_SYMBOL) else {
        return Ok(());
    };
    let (from, has) = runtime
        .variable(image.executable, image.agent, DEVICE_ENVIRONMENT_SYMBOL)
        .unwrap_or((0, 0));
    if takes != has {
        return Err(LoadError::Size {
            what: "a device environment",
            takes,
            has,
        });
    }
    let mut bytes = vec![0; has];
    runtime
        .read(from, &mut bytes)
        .and_then(|()| runtime.write(place, &bytes))
        .map_err(failed("copying the device environment"))
}

impl Variant {
    /// What it needs of a launch.
    pub(crate) fn needs(&self) -> &KernelNeeds {
        &self.needs
    }

    /// Whether this is asked for the first time.
    pub(crate) fn is_first_launch(&self) -> bool {
        !self.was_launched.swap(true, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_makes_do_with_what_launches_of_the_base_kernel_have() {
        let base = KernelNeeds {
            object: 1,
            registers: 32,
            arguments: 296,
            group_segment: 1024,
            private_segment: 16,
            has_dynamic_stack: false,
        };
        let check = |variant| check_needs(&variant, &base).is_ok();
        assert!(check(base));
        // Launches are given as much as the variant says.
        assert!(check(KernelNeeds {
            group_segment: 2048,
            ..base
        }));
        assert!(!check(KernelNeeds {
            group_segment: MOST_GROUP_BYTES + 1,
            ..base
        }));
        assert!(!check(KernelNeeds {
            arguments: 297,
            ..base
        }));
        assert!(!check(KernelNeeds {
            private_segment: 17,
            ..base
        }));
        assert!(!check(KernelNeeds {
            has_dynamic_stack: true,
            ..base
        }));
    }
}
