//! Base images as the program has them loaded, and the kernels in them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use offloom_abi::amd_code_object::DESCRIPTOR_SUFFIX;
use offloom_abi::jit_device_image::{IMAGE_SYMBOL, execution_mode_in, kernel_environment};
use offloom_jit_policy::backend::Backend as _;
use offloom_jit_policy::execution_mode;
use offloom_jit_policy::gpu_image::{self, Presence, VariantBytes, Withdrawn};
use offloom_jit_policy::image::ImageCopy as PolicyImage;
use offloom_jit_policy::kernel::Kernel;
use offloom_jit_policy::kernel_on_device::KernelOnDevice;
use offloom_jit_policy::process::fork_gate;
use offloom_jit_policy::process::handle_table::{Found, HandleTable};
use offloom_jit_policy::process::lock::lock;
use offloom_jit_policy::process::report;
use offloom_jit_policy::registry::Attached;

use crate::backend::{Hsa, HsaImage, HsaKernel, target_of};
use crate::runtime::{Agent, Executable, Runtime};

/// Bytes of an environment up to the execution mode.
const ENVIRONMENT_BYTES: usize = 3;
/// How long an image that is unloaded waits for the times of its kernels, which have ended.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it looks.
const PAUSE: Duration = Duration::from_micros(200);

/// An executable whose kernels' launches are asked about. Lives for ever; the executable may not.
#[derive(Debug)]
pub(crate) struct ImageCopy {
    pub(crate) executable: Executable,
    pub(crate) agent: Agent,
    /// What the device is called: the processor, and the product.
    pub(crate) names: [String; 2],
    presence: Presence,
    /// Objects that packets name its kernels by.
    kernels: Mutex<Vec<u64>>,
    /// The executables of its variants, and the bytes of their code objects.
    pub(crate) variants: Mutex<Vec<(Executable, u64)>>,
    /// Of the code objects of all images' variants on the device.
    pub(crate) variant_bytes: &'static VariantBytes,
    /// Launches whose times are not yet read.
    pub(crate) timed: AtomicUsize,
}

/// The kernels whose launches are asked about, by what packets name them by.
pub(crate) static KERNELS: HandleTable<KernelOnDevice<Hsa>> = HandleTable::new();

type Images = HashMap<Executable, &'static ImageCopy>;

/// The images that are loaded.
fn images() -> &'static Mutex<Images> {
    // Leaked: what waits on a static's mutex when `exit` destroys it hangs.
    static IMAGES: OnceLock<&'static Mutex<Images>> = OnceLock::new();
    IMAGES.get_or_init(|| Box::leak(Box::default()))
}

/// The devices of executables that are not frozen.
fn loads() -> &'static Mutex<HashMap<Executable, Agent>> {
    static LOADS: OnceLock<&'static Mutex<HashMap<Executable, Agent>>> = OnceLock::new();
    LOADS.get_or_init(|| Box::leak(Box::default()))
}

/// What variants take on a device.
fn variant_bytes(agent: Agent) -> &'static VariantBytes {
    type Devices = Mutex<HashMap<Agent, &'static VariantBytes>>;
    static DEVICES: OnceLock<&'static Devices> = OnceLock::new();
    let devices = DEVICES.get_or_init(|| Box::leak(Box::default()));
    lock(devices)
        .entry(agent)
        .or_insert_with(|| Box::leak(Box::default()))
}

/// Takes note of a device that an executable has code for. One with code for several devices is left alone.
pub(crate) fn note_load(executable: Executable, agent: Agent) {
    let mut loads = lock(loads());
    let other = loads.insert(executable, agent);
    if other.is_some_and(|other| other != agent) {
        loads.remove(&executable);
    }
}

/// Takes note of an executable that can be used from now on.
pub(crate) fn met(runtime: &'static Runtime, executable: Executable) {
    let Some(agent) = lock(loads()).remove(&executable) else {
        return;
    };
    if let Err(reason) = adopt(runtime, executable, agent) {
        report::failure(format_args!("{reason}: kernels on AMD GPUs stay ahead of time"));
    }
}

fn adopt(runtime: &'static Runtime, executable: Executable, agent: Agent) -> Result<(), String> {
    let Ok((address, size)) = runtime.variable(executable, agent, IMAGE_SYMBOL) else {
        return Ok(());
    };
    let record = gpu_image::read_record(size, |bytes| runtime.read(address, bytes))?;
    let Some(_change) = fork_gate::enter() else {
        return Ok(());
    };
    let Some((attached, gpu)) = gpu_image::bundle_of::<Hsa>(&record)? else {
        return Ok(());
    };
    let Attached {
        bundle,
        kernels: of_bundle,
    } = attached;
    let image: &'static ImageCopy = Box::leak(Box::new(ImageCopy {
        executable,
        agent,
        names: runtime.names(agent),
        presence: Presence::default(),
        kernels: Mutex::default(),
        variants: Mutex::default(),
        variant_bytes: variant_bytes(agent),
        timed: AtomicUsize::new(0),
    }));
    let device = HsaImage {
        image,
        anchors: record.anchors,
        target: target_of(gpu),
    };
    let policy: &'static PolicyImage<Hsa> = Box::leak(Box::new(PolicyImage::new(bundle, device)));
    let on_device = of_bundle
        .iter()
        .filter(|kernel| kernel.left_ahead_of_time.is_none())
        .filter_map(|kernel| Some((kernel, on_device(runtime, image, kernel)?)))
        .map(|(kernel, device)| &*Box::leak(Box::new(KernelOnDevice::new(device, policy, kernel))))
        .collect::<Vec<_>>();
    report::log(format_args!(
        "image copy {} is on an AMD GPU, {}, on which the JIT has never been tried: {} of its {} kernels may have variants",
        policy.number,
        image.names[0],
        on_device.len(),
        of_bundle.len() + bundle.contents.left_ahead_of_time.len(),
    ));
    lock(images()).insert(executable, image);
    Hsa::registry().announce(policy, on_device.clone());
    for kernel in on_device {
        let object = kernel.device.needs.object;
        lock(&image.kernels).push(object);
        KERNELS.insert(object as usize, Found::Ours(kernel));
    }
    Ok(())
}

/// What is known of a kernel of an image; `None`: the image does not say how it is launched, or says
/// something else than a variant would.
fn on_device(runtime: &Runtime, image: &ImageCopy, kernel: &Kernel<Hsa>) -> Option<HsaKernel> {
    let environment = kernel_environment(kernel.name);
    let (address, _) = runtime
        .variable(image.executable, image.agent, &environment)
        .ok()
        .filter(|(_, size)| *size >= ENVIRONMENT_BYTES)?;
    let mut bytes = [0; ENVIRONMENT_BYTES];
    runtime.read(address, &mut bytes).ok()?;
    if !execution_mode::note(kernel.name, execution_mode_in(&bytes)?) {
        return None;
    }
    let descriptor = kernel.name.to_owned() + DESCRIPTOR_SUFFIX;
    let needs = runtime.kernel(image.executable, image.agent, &descriptor).ok()?;
    Some(HsaKernel { needs })
}

/// Takes note that the program is about to unload an executable.
pub(crate) fn withdraw(runtime: &'static Runtime, executable: Executable) {
    lock(loads()).remove(&executable);
    let Some(image) = lock(images()).remove(&executable) else {
        return;
    };
    for object in lock(&image.kernels).drain(..) {
        KERNELS.insert(object as usize, Found::Unknown);
    }
    // Work that needs the image ends first.
    image.presence.withdraw();
    let start = Instant::now();
    while image.timed.load(Ordering::Acquire) > 0 {
        if start.elapsed() > PATIENCE {
            // A handler may still come to what is known of its kernels.
            return;
        }
        thread::sleep(PAUSE);
    }
    // SAFETY: the program unloads the image, so it launches none of its kernels.
    unsafe { Hsa::registry().withdraw(|other| std::ptr::eq(other.device.image, image)) };
    for (variant, bytes) in lock(&image.variants).drain(..) {
        // It would have failed for the base image too.
        let _ = runtime.unload(variant);
        image.variant_bytes.give_back(bytes);
    }
}

impl ImageCopy {
    /// Does work that needs the image, which stays until it is done.
    pub(crate) fn with<T>(&self, work: impl FnOnce() -> T) -> Result<T, Withdrawn> {
        let _held = self.presence.hold()?;
        Ok(work())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_of_all_images_of_a_device_count_together() {
        let [one, other] = [1, 2].map(Agent);
        variant_bytes(one).take(60, 100).unwrap();
        assert!(variant_bytes(one).take(50, 100).is_err());
        variant_bytes(other).take(50, 100).unwrap();
    }
}
