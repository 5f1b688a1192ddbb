//! Descriptors that programs register with libomptarget, with base images in the place of bitcode.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::slice;
use std::sync::{Mutex, MutexGuard, OnceLock};

use offloom_abi::device_image::{descriptor, image};
use offloom_abi::jit_gpu_code::GpuCode;
use offloom_abi::{HostProcessor, Triple};
use offloom_ir::bitcode_header::{is_bitcode, producer, release, target_triple};
use offloom_jit_cuda::devices;

use crate::attach::join_process;
use crate::base_image::{DeviceCode, base_image};
use crate::compile::worker;
use crate::host::libraries::LoadedObject;
use offloom_jit_policy::process::fork_gate;
use offloom_jit_policy::process::lock::lock;
use offloom_jit_policy::process::report;

/// `__tgt_device_image`, of which [`image`] describes the fields.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct DeviceImage {
    start: *const u8,
    end: *const u8,
    entries_begin: *const c_void,
    entries_end: *const c_void,
}

/// `__tgt_bin_desc`, of which [`descriptor`] describes the fields.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct BinaryDescriptor {
    image_count: i32,
    images: *const DeviceImage,
    /// Where the table of host entries begins, which lies in the program or library that registers.
    pub(crate) entries_begin: *const c_void,
    entries_end: *const c_void,
}

impl DeviceImage {
    /// The same with other bytes in its place.
    fn with_bytes(&self, bytes: &'static [u8]) -> Self {
        let range = bytes.as_ptr_range();
        Self {
            start: range.start,
            end: range.end,
            ..*self
        }
    }
}

const _: () = {
    assert!(size_of::<DeviceImage>() == image::SIZE);
    assert!(size_of::<BinaryDescriptor>() == descriptor::SIZE);
};

/// The descriptor to register in the place of this one: the same where no image is device code that images
/// are made of, and `None` where it is code that this library cannot use, which is said. Of images that
/// cannot be made, which is said too, the new one has none. Code for NVIDIA GPUs makes one image for each
/// architecture that is there.
///
/// # Safety
/// The descriptor and what it points to are as libomptarget wants them.
pub(crate) unsafe fn replacement(given: *const BinaryDescriptor) -> Option<*const BinaryDescriptor> {
    // SAFETY: as the caller promises.
    let (fields, images) = unsafe { (&*given, images_of(given)) };
    if !images.iter().any(|image| is_bitcode(bytes_of(image))) {
        return Some(given);
    }
    // Before LLVM is asked anything.
    join_process();
    worker::locate();
    let Some(_change) = fork_gate::enter() else {
        report::line(
            "device code that is bitcode cannot be compiled: the process was forked while another thread compiled",
        );
        return None;
    };
    let object = LoadedObject::containing(fields.entries_begin);
    let mut table = Vec::new();
    let mut for_gpus = Vec::new();
    let mut replaced = false;
    for image in images {
        let bytes = bytes_of(image);
        let code = match GpuCode::parse(bytes) {
            Ok(code) => code,
            Err(error) => {
                report::failure(format_args!("{}: {error}", object.name()));
                return None;
            }
        };
        let triple = triple_of_bitcode(bytes).filter(|triple| code.is_some() || is_for_this_device(triple));
        let Some(triple) = triple else {
            table.push(*image);
            continue;
        };
        if !is_of_this_llvm(bytes, &object) {
            return None;
        }
        replaced = true;
        if let Some(code) = code {
            for_gpus.push((image, code, triple));
            continue;
        }
        let code = DeviceCode {
            bytes,
            triple: &triple,
            gpu: None,
        };
        table.extend(base_image(&code, &object).map(|made| image.with_bytes(made)));
    }
    if !replaced {
        return Some(given);
    }
    table.extend(gpu_images(&for_gpus, &object));
    // Leaked: libomptarget of LLVM 19 keeps pointers to the images for ever.
    let table = Box::leak(table.into_boxed_slice());
    let made: &'static BinaryDescriptor = Box::leak(Box::new(BinaryDescriptor {
        image_count: i32::try_from(table.len()).unwrap_or_default(),
        images: table.as_ptr(),
        ..*fields
    }));
    replacements().insert(given.addr(), (&raw const *made).addr());
    Some(made)
}

/// An image for each architecture of NVIDIA's that is there, of the code that was compiled for the latest one
/// that it has.
fn gpu_images(codes: &[(&DeviceImage, GpuCode<'_>, String)], object: &LoadedObject) -> Vec<DeviceImage> {
    if codes.is_empty() {
        return Vec::new();
    }
    let mut capabilities = devices::capabilities().unwrap_or_else(|error| {
        report::failure(format_args!(
            "NVIDIA's driver does not say which GPUs there are: {error}: {} has no image for them",
            object.name()
        ));
        Vec::new()
    });
    capabilities.sort_unstable();
    capabilities.dedup();
    let mut made = Vec::new();
    for capability in capabilities {
        let best = GpuCode::best_for(codes.iter().map(|(_, code, _)| *code), capability);
        let Some((number, processor)) = best else {
            let [major, minor] = capability;
            let linked: Vec<_> = codes.iter().map(|(_, code, _)| code.processor).collect();
            report::failure(format_args!(
                "{} was linked for {} and cannot be compiled for sm_{major}{minor}, which is here: link it for the earliest GPU that it is to run on",
                object.name(),
                linked.join(" and ")
            ));
            continue;
        };
        let (image, code, triple) = &codes[number];
        let code = DeviceCode {
            bytes: bytes_of(image),
            triple,
            gpu: Some((*code, &processor)),
        };
        made.extend(base_image(&code, object).map(|bytes| image.with_bytes(bytes)));
    }
    made
}

/// What was registered in the place of this descriptor, which is about to be taken out of use.
pub(crate) fn forget_replacement(given: *const BinaryDescriptor) -> Option<*const BinaryDescriptor> {
    let _change = fork_gate::enter()?;
    let made = replacements().remove(&given.addr())?;
    Some(ptr::with_exposed_provenance(made))
}

/// Replaced descriptors in use: address of the program's own, address of ours.
fn replacements() -> MutexGuard<'static, HashMap<usize, usize>> {
    // Leaked, as all of this library's state.
    static REPLACEMENTS: OnceLock<&'static Mutex<HashMap<usize, usize>>> = OnceLock::new();
    let replacements = REPLACEMENTS.get_or_init(|| Box::leak(Box::default()));
    lock(replacements)
}

/// # Safety
/// As [`replacement`].
unsafe fn images_of(descriptor: *const BinaryDescriptor) -> &'static [DeviceImage] {
    // SAFETY: as the caller promises.
    unsafe {
        let count = usize::try_from((*descriptor).image_count).unwrap_or_default();
        match (*descriptor).images.is_null() {
            true => &[],
            false => slice::from_raw_parts((*descriptor).images, count),
        }
    }
}

fn bytes_of(image: &DeviceImage) -> &[u8] {
    let size = image.end.addr().saturating_sub(image.start.addr());
    if image.start.is_null() {
        return &[];
    }
    // SAFETY: the image of a descriptor lies between its two pointers.
    unsafe { slice::from_raw_parts(image.start, size) }
}

fn triple_of_bitcode(bytes: &[u8]) -> Option<String> {
    if is_bitcode(bytes) {
        target_triple(bytes)
    } else {
        None
    }
}

/// Images for GPUs may be bitcode of others too: libomptarget compiles those.
fn is_for_this_device(triple: &str) -> bool {
    Triple(triple).host_processor() == Some(HostProcessor::NATIVE)
}

/// Whether the bitcode is of this library's LLVM. Says so where it is not.
fn is_of_this_llvm(bitcode: &[u8], object: &LoadedObject) -> bool {
    let own = offloom_ir::LLVM.major();
    let producer = producer(bitcode).unwrap_or_default();
    if release(&producer) == Some(own) {
        return true;
    }
    report::failure(format_args!(
        "this library is for LLVM {own}, the device code of {} is bitcode of {}: it cannot be used",
        object.name(),
        if producer.is_empty() {
            "an unknown LLVM"
        } else {
            &producer
        }
    ));
    false
}
