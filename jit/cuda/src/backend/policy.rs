//! Asks the policy what launches run.

use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use offloom_abi::jit_bundle::Gpu;
use offloom_abi::jit_device_image::IMAGE_SYMBOL;
use offloom_jit_policy::backend::{Backend as _, Target};
use offloom_jit_policy::gpu_image;
use offloom_jit_policy::gpu_launch::Words;
use offloom_jit_policy::image::ImageCopy as PolicyImage;
use offloom_jit_policy::kernel_on_device::KernelOnDevice;
use offloom_jit_policy::process::fork_gate;
use offloom_jit_policy::process::guard::{guarded, guarded_on_foreign_thread};
use offloom_jit_policy::process::report;
use offloom_jit_policy::process::settings::counts_launches;
use offloom_jit_policy::registry::Attached;

use super::{Cuda, CudaImage, CudaKernel, CudaLaunch, assembler, modes};
use crate::client::{Choice, Client, KernelData, Launch, Outcome};
use crate::context::Current;
use crate::driver;
use crate::error::CudaError;
use crate::image::{ImageCopy, Kernel};
use crate::image_file::ImageFile;
use crate::variant::Variant;
use offloom_jit_policy::process::lock::lock;

/// The JIT's policy as what decides about launches.
#[derive(Debug)]
pub(super) struct Policy;

pub(super) static POLICY: Policy = Policy;

type OnDevice = KernelOnDevice<Cuda>;

/// The kernels that may have variants, by the number of their image copy.
fn kernels() -> &'static Mutex<HashMap<u32, Vec<&'static OnDevice>>> {
    // Leaked: what waits on a static's mutex when `exit` destroys it hangs.
    static KERNELS: OnceLock<&'static Mutex<HashMap<u32, Vec<&'static OnDevice>>>> = OnceLock::new();
    KERNELS.get_or_init(|| Box::leak(Box::default()))
}

/// What the policy knows of a kernel.
#[inline]
fn state_of(kernel: &Kernel) -> &'static OnDevice {
    // SAFETY: it was made of such a reference, which lives as long as the kernel's image copy.
    unsafe { &*(kernel.data() as *const OnDevice) }
}

impl Client for Policy {
    fn adopt(&self, image: &'static ImageCopy, file: Option<&[u8]>, current: &Current<'_>) -> bool {
        guarded_on_foreign_thread(false, || match adopt(image, file, current) {
            Ok(is_ours) => is_ours,
            Err(reason) => {
                report::failure(format_args!(
                    "{reason}: kernels on NVIDIA GPUs stay ahead of time"
                ));
                false
            }
        })
    }

    fn kernel(&self, image: &'static ImageCopy, name: &CStr) -> Option<KernelData> {
        let kernels = lock(kernels());
        let mut kernels = kernels.get(&image.number())?.iter();
        let kernel = kernels.find(|kernel| kernel.kernel.name.as_bytes() == name.to_bytes())?;
        Some(KernelData {
            data: (&raw const **kernel).addr(),
            parameters: kernel.kernel.parameter_count as usize,
        })
    }

    fn settled(&self, launch: &Launch<'_>) -> Option<Choice> {
        let state = state_of(launch.kernel);
        // Where they are counted they are chosen.
        if counts_launches() {
            return None;
        }
        let Some(words) = words(launch) else {
            return Some(Choice::BASE);
        };
        let choice = state.settled(words)?;
        let variant = choice.entry.filter(|variant| !variant.is_refused());
        Some(Choice { variant, ticket: 0 })
    }

    fn choose(&self, launch: &Launch<'_>) -> Choice {
        guarded(Choice::BASE, || choose(launch))
    }

    fn finished(&self, kernel: &'static Kernel, ticket: u64, outcome: Outcome) {
        let nanoseconds = match outcome {
            Outcome::Took(nanoseconds) | Outcome::TookBesideOthers(nanoseconds) => Some(nanoseconds),
            Outcome::NotTimed => None,
        };
        guarded_on_foreign_thread((), || {
            let state = state_of(kernel);
            // SAFETY: the ticket is from a choice for this kernel, and comes back once.
            unsafe {
                if let Outcome::TookBesideOthers(_) = outcome {
                    state.disturbed(ticket);
                }
                state.finished(ticket, nanoseconds);
            }
        });
    }

    fn refused(&self, kernel: &'static Kernel, variant: &'static Variant, error: CudaError) {
        guarded_on_foreign_thread((), || {
            if !variant.refuse() {
                return;
            }
            let state = state_of(kernel);
            report::failure(format_args!(
                "{}: image copy {}: the driver refuses to launch a variant: {error}: the kernel stays ahead of time for its launches",
                state.kernel.name, state.image.number
            ));
            state.refused(|other| std::ptr::eq(other, variant), &error.to_string());
        });
    }

    fn withdraw(&self, image: &'static ImageCopy) {
        guarded_on_foreign_thread((), || {
            lock(kernels()).remove(&image.number());
            // SAFETY: the program unloads the image, so it launches none of its kernels.
            unsafe { Cuda::registry().withdraw(|other| std::ptr::eq(other.device.image, image)) };
        });
    }
}

/// What the policy sees of a launch. `None`: its blocks or threads have more than one direction, for which
/// no variants are made.
#[inline]
fn words<'a>(launch: &Launch<'a>) -> Option<CudaLaunch<'a>> {
    let ([blocks, 1, 1], [threads, 1, 1]) = (launch.grid, launch.block) else {
        return None;
    };
    Some(CudaLaunch {
        words: Words {
            words: launch.words,
            blocks,
            threads,
        },
        dynamic_shared_bytes: launch.dynamic_shared_bytes,
        stream: launch.stream,
    })
}

fn choose(launch: &Launch<'_>) -> Choice {
    let state = state_of(launch.kernel);
    state.device.kernel.get_or_init(|| launch.kernel);
    let Some(words) = words(launch) else {
        return Choice::BASE;
    };
    let choice = state.choose_and_count(words);
    match choice.entry {
        Some(variant) if variant.is_refused() => untimed(state, choice.ticket),
        variant => Choice {
            variant,
            ticket: choice.ticket,
        },
    }
}

/// The program's own kernel in the place of a variant that is no longer launched.
#[cold]
fn untimed(state: &'static OnDevice, ticket: u64) -> Choice {
    if ticket != 0 {
        // SAFETY: the ticket is from the choice that was just made, and does not come back otherwise.
        unsafe { state.finished(ticket, None) };
    }
    Choice::BASE
}

/// Takes note of an image whose bundle is attached.
fn adopt(image: &'static ImageCopy, file: Option<&[u8]>, current: &Current<'_>) -> Result<bool, String> {
    let Some((address, size)) = current.global(image.module(), IMAGE_SYMBOL) else {
        return Ok(false);
    };
    let record = gpu_image::read_record(size, |bytes| current.read(address, bytes))?;
    let Some(_change) = fork_gate::enter() else {
        return Ok(false);
    };
    let Some((attached, gpu)) = gpu_image::bundle_of::<Cuda>(&record)? else {
        return Ok(false);
    };
    let Attached {
        bundle,
        kernels: of_bundle,
    } = attached;
    if of_bundle.iter().all(|kernel| kernel.left_ahead_of_time.is_some()) {
        return Ok(false);
    }
    let target = match target_of(gpu) {
        Ok(target) => target,
        Err(reason) => {
            static SAID: AtomicBool = AtomicBool::new(false);
            return if SAID.swap(true, Ordering::Relaxed) {
                Ok(false)
            } else {
                Err(reason)
            };
        }
    };
    let device = CudaImage {
        image,
        anchors: record.anchors,
        target,
    };
    let policy: &'static PolicyImage<Cuda> = Box::leak(Box::new(PolicyImage::new(bundle, device)));
    let file = file.and_then(|bytes| ImageFile::parse(bytes).ok());
    let can_have_variants = of_bundle.iter().filter(|kernel| {
        kernel.left_ahead_of_time.is_none() && modes::read(image, file.as_ref(), current, kernel.name)
    });
    let on_device: Vec<&'static OnDevice> = can_have_variants
        .map(|kernel| {
            &*Box::leak(Box::new(KernelOnDevice::new(
                CudaKernel::default(),
                policy,
                kernel,
            )))
        })
        .collect();
    report::log(format_args!(
        "image copy {} is on device {}, sm_{}{}: {} of its {} kernels may have variants",
        policy.number,
        image.context().device(),
        image.context().capability()[0],
        image.context().capability()[1],
        on_device.len(),
        of_bundle.len() + bundle.contents.left_ahead_of_time.len(),
    ));
    lock(kernels()).insert(image.number(), on_device.clone());
    Cuda::registry().announce(policy, on_device);
    Ok(true)
}

/// What variants of a bundle are compiled for.
///
/// # Errors
/// One line on why there is no assembler.
pub(super) fn target_of(gpu: &Gpu<'_>) -> Result<&'static Target, String> {
    let assembler = assembler::found(driver::version())?;
    let target = Target {
        processor: gpu.processor.to_owned(),
        features: gpu.features.to_owned(),
        tools: assembler.identity.clone(),
    };
    Ok(target.kept())
}
