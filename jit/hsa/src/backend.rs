//! AMD GPUs as devices of the JIT's policy.

use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use offloom_abi::gpu_processor::{features_of, processor_of};
use offloom_abi::jit_bundle::{BundleId, ExecutionMode, Gpu};
use offloom_abi::jit_compile::{GpuRequest, Priority};
use offloom_abi::jit_remote::Device;
use offloom_descriptor::Descriptor;
use offloom_jit_cache::stats::{GpuResources, OnGpu};
use offloom_jit_policy::backend::{
    Backend, Code, Compiled, Compiler, Done, Failure, Job, LoadFailure, Place, Services, Target,
};
use offloom_jit_policy::execution_mode;
use offloom_jit_policy::gpu_image;
use offloom_jit_policy::gpu_launch::{self, Words};
use offloom_jit_policy::image::ImageCopy as PolicyImage;
use offloom_jit_policy::kernel::Kernel as PolicyKernel;
use offloom_jit_policy::kernel_on_device::KernelOnDevice;
use offloom_jit_policy::process::device_gate;
use offloom_jit_policy::process::report;
use offloom_jit_policy::process::settings::settings;
use offloom_jit_policy::registry::{Attached, Registry};
use offloom_jit_variants::tracker::{LaunchKey, Tracker};

use crate::image::ImageCopy;
use crate::install::{self, NotInstalled};
use crate::runtime::{KernelNeeds, NoRuntime, runtime};
use crate::tool;
use crate::variant::{self, Load, Variant};

/// AMD GPUs.
#[derive(Debug)]
pub struct Hsa;

/// An image copy.
#[derive(Debug)]
pub struct HsaImage {
    pub(crate) image: &'static ImageCopy,
    /// Addresses that its variants refer to.
    pub(crate) anchors: Vec<u64>,
    pub(crate) target: &'static Target,
}

/// A kernel of an image copy.
#[derive(Debug)]
pub struct HsaKernel {
    pub(crate) needs: KernelNeeds,
}

/// What a launch runs in the place of the program's kernel.
#[derive(Clone, Copy, Debug)]
pub struct Entry(pub(crate) &'static Variant);

static SERVICES: OnceLock<Services> = OnceLock::new();
/// An address in libomptarget.
static LIBOMPTARGET: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
/// An address in the one whose launches this library takes part in.
static PART_OF: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Takes a bundle for AMD GPUs. `None`: it is attached already. A caller has entered the policy's fork gate.
pub fn attach(id: BundleId, bytes: &[u8], services: Services) -> Option<Attached<Hsa>> {
    SERVICES.get_or_init(|| services);
    Hsa::registry().attach(id, bytes)
}

/// The kernels of an attached bundle that variants can be made of without a device, and what those are
/// compiled for. `mode_of` says which threads execute a kernel in the device image.
///
/// # Errors
/// One line: the bundle is not attached.
pub fn without_device(
    id: BundleId,
    mode_of: impl Fn(&str) -> Option<ExecutionMode>,
) -> Result<(Vec<&'static PolicyKernel<Hsa>>, &'static Target), String> {
    let (attached, gpu) = gpu_image::bundle_without_device::<Hsa>(id)?;
    Ok((
        gpu_image::kernels_without_device(attached, mode_of),
        target_of(gpu),
    ))
}

/// What variants of a bundle are compiled for.
pub(crate) fn target_of(gpu: &Gpu<'_>) -> &'static Target {
    let features: Vec<_> = features_of(gpu.processor).collect();
    let target = Target {
        processor: processor_of(gpu.processor).to_owned(),
        features: features.join(","),
        tools: String::new(),
    };
    target.kept()
}

impl Hsa {
    /// Whether a bundle for AMD GPUs was attached.
    pub fn has_bundles() -> bool {
        SERVICES.get().is_some()
    }
}

/// AMD's runtime is about to be started by the libomptarget that `libomptarget` is an address in.
pub fn expect_runtime(libomptarget: *const c_void) {
    LIBOMPTARGET.store(libomptarget.cast_mut(), Ordering::Release);
}

/// Called by the runtime, which has just been started, for a tool: takes part in the launches of libomptarget
/// before it makes its first queue. Does nothing where no program wants that.
///
/// # Safety
/// As of [`tool::take`].
pub unsafe fn runtime_starts(tables: *const tool::Tables) {
    let libomptarget = LIBOMPTARGET.load(Ordering::Acquire);
    if libomptarget.is_null() {
        return;
    }
    // SAFETY: as the caller promises.
    unsafe { tool::take(tables) };
    // Where it is not done, the next try says why.
    if install::install(libomptarget).is_ok() {
        PART_OF.store(libomptarget, Ordering::Release);
    }
}

/// libomptarget has registered images, and has started the runtime if there is one. Where this library takes
/// no part in its launches, it says why.
pub fn registered(libomptarget: *const c_void) {
    if PART_OF.load(Ordering::Acquire).cast_const() == libomptarget {
        return;
    }
    match install::install(libomptarget) {
        // Its queues are there, and stay as they are; others may come.
        Ok(()) => report::log("AMD's runtime was started before: kernels on its queues stay ahead of time"),
        Err(error @ NotInstalled::NoRuntime(NoRuntime::NotLoaded)) => {
            report::log(format_args!("{error}: no kernel runs on an AMD GPU"));
        }
        // A profiler may be the only tool then.
        Err(error @ NotInstalled::NoRuntime(NoRuntime::NoIntercept)) => {
            report::log(format_args!("{error}: kernels on AMD GPUs stay ahead of time"));
        }
        Err(error) => report::failure(format_args!("{error}: kernels on AMD GPUs stay ahead of time")),
    }
}

impl Backend for Hsa {
    const ARCHITECTURE: &'static str = "amdgcn";
    const SETTLES_LAUNCH_PARAMETERS: bool = true;
    const READS_CONTENTS: bool = false;
    const LONG_LAUNCH: u64 = gpu_launch::LONG;

    type Launch<'a> = Words<'a>;
    type Image = HsaImage;
    type OnDevice = HsaKernel;
    type Entry = Entry;
    type Loaded = ();

    fn registry() -> &'static Registry<Self> {
        // Leaked, not a static by value: what waits on a static's mutex when `exit` destroys it hangs.
        static REGISTRY: OnceLock<&'static Registry<Hsa>> = OnceLock::new();
        REGISTRY.get_or_init(|| Box::leak(Box::default()))
    }

    fn compiler() -> &'static Compiler {
        Services::compiler_of(SERVICES.get())
    }

    fn model(image: &PolicyImage<Self>) -> Option<Device<'_>> {
        let [processor, product] = &image.device.image.names;
        let name = if product.is_empty() { processor } else { product };
        (!name.is_empty()).then_some(Device::Gpu(name))
    }

    fn target(image: &PolicyImage<Self>) -> Option<&'static Target> {
        Some(image.device.target)
    }

    fn usual_place() -> Place {
        Place::Worker
    }

    fn compile(
        job: &Job<'_>,
        priority: Priority,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(Compiled, Place), Failure> {
        let (Some(services), Some(gpu)) = (SERVICES.get(), &job.bundle.gpu) else {
            return Err(Failure::OfProcess("the bundle is for no GPU".to_owned()));
        };
        let mode = execution_mode::of(job.kernel)?;
        let gpu = GpuRequest {
            assembler: "",
            assembler_arguments: "",
            mode,
            anchor_count: job.bundle.anchors.len() as u32,
            device_runtime: gpu.device_runtime,
        };
        (services.compile)(&job.request(Some(gpu)), priority, meanwhile)
    }

    /// The runtime waits for no kernel when it loads, so this waits for nothing.
    fn load(
        kernel: &'static KernelOnDevice<Self>,
        _number: usize,
        object: &[u8],
        done: Done<Result<Code<Self>, LoadFailure>>,
    ) {
        done(load(kernel, object));
    }

    /// Nothing is unloaded before the image: a kernel may run long after it was launched.
    unsafe fn unload((): (), done: Done<Result<(), LoadFailure>>) {
        done(Ok(()));
    }

    fn after_loads(then: Box<dyn FnOnce() + Send>) {
        then();
    }

    unsafe fn release(_: HsaImage, done: Done<Result<(), LoadFailure>>) {
        done(Ok(()));
    }

    /// Launches keep asking: there is no code of ours on the device's side of a launch.
    fn settle(_: &HsaKernel, _: &Tracker, _: &LaunchKey, _: Option<Entry>) {}

    fn close(_: &HsaKernel) {}

    fn complete(_: &mut Descriptor) {}

    fn note_first_launch(_: &PolicyKernel<Self>, _: &PolicyImage<Self>, _: &LaunchKey, _: Words<'_>) {}
}

/// Loads a code object for a kernel.
fn load(kernel: &'static KernelOnDevice<Hsa>, object: &[u8]) -> Result<Code<Hsa>, LoadFailure> {
    let runtime = runtime().ok_or(LoadFailure::TooLate)?;
    let _work = device_gate::enter().ok_or(LoadFailure::TooLate)?;
    let device = &kernel.image.device;
    let base = kernel.device.needs;
    let load = Load {
        code_object: object,
        kernel: kernel.kernel.name,
        base,
        anchors: &device.anchors,
        most_bytes: settings().device_memory,
    };
    let loaded = device.image.with(|| variant::load(runtime, device.image, &load));
    let variant = loaded
        .map_err(|_| LoadFailure::TooLate)?
        .map_err(|error| match error.is_declined() {
            true => LoadFailure::Declined(error.to_string()),
            false => LoadFailure::Failed(error.to_string()),
        })?;
    Ok(Code {
        entry: Entry(variant),
        loaded: (),
        on_gpu: Some(OnGpu {
            device: device.image.names[0].clone(),
            variant: resources(variant.needs()),
            ahead_of_time: resources(&base),
        }),
    })
}

/// For the statistics.
fn resources(needs: &KernelNeeds) -> GpuResources {
    GpuResources {
        registers: needs.registers,
        local_bytes: needs.private_segment,
        shared_bytes: needs.group_segment,
    }
}
