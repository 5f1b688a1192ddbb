//! NVIDIA GPUs as devices of the JIT's policy.
//!
//! | module | does |
//! | --- | --- |
//! | [`assembler`] | which assembler this process compiles with |
//! | [`modes`] | which threads execute a kernel, as its device image says |
//! | [`policy`] | asks the policy what launches run |
//! | [`dump`], [`replay`] | writes a launch to disk if asked for; runs one by itself |

pub mod assembler;
mod dump;
mod modes;
mod policy;
pub mod replay;

use std::ffi::{CString, c_void};
use std::ops;
use std::sync::{Arc, Mutex, OnceLock};

use offloom_abi::jit_bundle::{BundleId, ExecutionMode};
use offloom_abi::jit_compile::{GpuRequest, Priority, join_words};
use offloom_abi::jit_device_image::variant_entry;
use offloom_abi::jit_remote::Device;
use offloom_descriptor::Descriptor;
use offloom_jit_cache::settings::Mode;
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
use offloom_jit_policy::process::report;
use offloom_jit_policy::process::settings::settings;
use offloom_jit_policy::registry::{Attached, Registry};
use offloom_jit_variants::signature;
use offloom_jit_variants::tracker::{LaunchKey, Tracker};

use self::assembler::OnNvJitLink;
use crate::background::{self, NotAdded};
use crate::driver;
use crate::fault;
use crate::handles::StreamHandle;
use crate::image::{ImageCopy, Kernel};
use crate::install::{self, NotInstalled};
use crate::profiler::Range;
use crate::variant::{self, Load, LoadError, Needs, Variant};
use offloom_jit_policy::process::lock::lock;

/// NVIDIA GPUs.
#[derive(Debug)]
pub struct Cuda;

/// An image copy.
#[derive(Debug)]
pub struct CudaImage {
    image: &'static ImageCopy,
    /// Addresses that its variants refer to.
    anchors: Vec<u64>,
    target: &'static Target,
}

/// A kernel of an image copy.
#[derive(Debug, Default)]
pub struct CudaKernel {
    /// Once the program has launched it.
    kernel: OnceLock<&'static Kernel>,
}

/// A launch, with what the policy does not ask about.
#[derive(Clone, Copy, Debug)]
pub struct CudaLaunch<'a> {
    words: Words<'a>,
    dynamic_shared_bytes: u32,
    stream: StreamHandle,
}

impl signature::Launch for CudaLaunch<'_> {
    #[inline]
    fn arguments(&self) -> &[u64] {
        self.words.arguments()
    }

    fn object(&self, index: usize, offset: usize, length: usize) -> u64 {
        self.words.object(index, offset, length)
    }

    fn is_readable(&self, index: usize, bytes: ops::Range<usize>) -> bool {
        self.words.is_readable(index, bytes)
    }

    #[inline]
    fn teams(&self) -> u32 {
        self.words.teams()
    }

    #[inline]
    fn threads(&self) -> u32 {
        self.words.threads()
    }
}

static SERVICES: OnceLock<(Services, OnNvJitLink)> = OnceLock::new();

/// What compiles for this library, and the program that assembles where there is no `ptxas`.
fn services() -> Option<&'static Services> {
    SERVICES.get().map(|(services, _)| services)
}

/// Takes a bundle for NVIDIA GPUs. `None`: it is attached already. A caller has entered the policy's fork
/// gate.
pub fn attach(
    id: BundleId,
    bytes: &[u8],
    services: Services,
    on_nvjitlink: OnNvJitLink,
) -> Option<Attached<Cuda>> {
    SERVICES.get_or_init(|| (services, on_nvjitlink));
    let attached = Cuda::registry().attach(id, bytes)?;
    assembler::look_for(on_nvjitlink);
    Some(attached)
}

/// The kernels of an attached bundle that variants can be made of without a device, and what those are
/// compiled for. `mode_of` says which threads execute a kernel in the device image.
///
/// # Errors
/// One line: the bundle is not attached, or there is no assembler.
pub fn without_device(
    id: BundleId,
    mode_of: impl Fn(&str) -> Option<ExecutionMode>,
) -> Result<(Vec<&'static PolicyKernel<Cuda>>, &'static Target), String> {
    let (attached, gpu) = gpu_image::bundle_without_device::<Cuda>(id)?;
    let (_, on_nvjitlink) = SERVICES.get().ok_or("no bundle for NVIDIA GPUs is attached")?;
    assembler::find_now(*on_nvjitlink, driver::version())?;
    let target = policy::target_of(gpu)?;
    Ok((gpu_image::kernels_without_device(attached, mode_of), target))
}

impl Cuda {
    /// Whether a bundle for NVIDIA GPUs was attached.
    pub fn has_bundles() -> bool {
        SERVICES.get().is_some()
    }
}

/// Takes part in the launches of the libomptarget that `inside` is an address in, once it has registered
/// images. Says why not where that is not possible.
pub fn take_part(inside: *const c_void) {
    match install::install(inside, &policy::POLICY) {
        Ok(()) => {}
        Err(NotInstalled::NoDriver(error)) => {
            report::log(format_args!("{error}: no kernel runs on an NVIDIA GPU"));
        }
        Err(error) => report::failure(format_args!("{error}: kernels on NVIDIA GPUs stay ahead of time")),
    }
}

impl Backend for Cuda {
    const ARCHITECTURE: &'static str = "nvptx64";
    const SETTLES_LAUNCH_PARAMETERS: bool = true;
    const READS_CONTENTS: bool = false;
    /// From sm_100 on, code takes 32 bytes at a time; before, 16.
    const USEFUL_ALIGNMENT: u64 = 32;
    const LONG_LAUNCH: u64 = gpu_launch::LONG;

    type Launch<'a> = CudaLaunch<'a>;
    type Image = CudaImage;
    type OnDevice = CudaKernel;
    type Entry = &'static Variant;
    type Loaded = &'static Variant;

    fn registry() -> &'static Registry<Self> {
        // Leaked, not a static by value: what waits on a static's mutex when `exit` destroys it hangs.
        static REGISTRY: OnceLock<&'static Registry<Cuda>> = OnceLock::new();
        REGISTRY.get_or_init(|| Box::leak(Box::default()))
    }

    fn compiler() -> &'static Compiler {
        Services::compiler_of(services())
    }

    fn model(image: &PolicyImage<Self>) -> Option<Device<'_>> {
        let name = image.device.image.context().device_name();
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
        let (Some(services), Some(gpu)) = (services(), &job.bundle.gpu) else {
            return Err(Failure::OfProcess("the bundle is for no GPU".to_owned()));
        };
        let assembler = assembler::found(None).map_err(Failure::OfProcess)?;
        let mode = execution_mode::of(job.kernel)?;
        let arguments = assembler.arguments(&join_words(gpu.assembler_arguments.iter().copied()));
        let gpu = GpuRequest {
            assembler: &assembler.path,
            assembler_arguments: &arguments,
            mode,
            anchor_count: job.bundle.anchors.len() as u32,
            device_runtime: gpu.device_runtime,
        };
        let _shown = Range::begin("compile", job.kernel);
        (services.compile)(&job.request(Some(gpu)), priority, meanwhile)
    }

    fn load(
        kernel: &'static KernelOnDevice<Self>,
        _number: usize,
        object: &[u8],
        done: Done<Result<Code<Self>, LoadFailure>>,
    ) {
        match settings().mode {
            // The launch that asks for it waits, and its thread has the context.
            Mode::Sync => done(load(kernel, object)),
            Mode::Async | Mode::Off => {
                let object = object.to_vec();
                later(move || load(kernel, &object), done);
            }
        }
    }

    /// It stays loaded as long as there is room: the driver waits with an unload until the kernels that run
    /// have ended, and loads would wait behind it.
    unsafe fn unload(loaded: &'static Variant, done: Done<Result<(), LoadFailure>>) {
        variant::set_aside(loaded);
        done(Ok(()));
    }

    fn after_loads(then: Box<dyn FnOnce() + Send>) {
        later(
            || Ok(()),
            Box::new(move |result: Result<(), LoadFailure>| {
                // When the process ends, what is left is left.
                if result.is_ok() {
                    then();
                }
            }),
        );
    }

    unsafe fn release(_: CudaImage, done: Done<Result<(), LoadFailure>>) {
        done(Ok(()));
    }

    /// Launches keep asking: there is no code of ours on the device's side of a launch.
    fn settle(_: &CudaKernel, _: &Tracker, _: &LaunchKey, _: Option<&'static Variant>) {}

    fn close(_: &CudaKernel) {}

    fn complete(_: &mut Descriptor) {}

    fn note_first_launch(
        kernel: &PolicyKernel<Self>,
        image: &PolicyImage<Self>,
        key: &LaunchKey,
        launch: CudaLaunch<'_>,
    ) {
        dump::dump(kernel, image, key, launch);
    }
}

/// Does something in the background, and tells what came of it; at once where it is not done.
fn later<T: 'static>(
    work: impl FnOnce() -> Result<T, LoadFailure> + Send + 'static,
    done: Done<Result<T, LoadFailure>>,
) {
    let done = Arc::new(Mutex::new(Some(done)));
    let by_work = Arc::clone(&done);
    let added = background::add(move || {
        let done = lock(&by_work).take();
        if let Some(done) = done {
            done(work());
        }
    });
    let Err(reason) = added else { return };
    let done = lock(&done).take();
    if let Some(done) = done {
        done(Err(match reason {
            NotAdded::Busy => LoadFailure::Busy,
            NotAdded::TooLate => LoadFailure::TooLate,
        }));
    }
}

/// Loads a cubin for a kernel.
fn load(kernel: &'static KernelOnDevice<Cuda>, object: &[u8]) -> Result<Code<Cuda>, LoadFailure> {
    let failed = |reason: String| LoadFailure::Failed(reason);
    let of_driver = kernel.device.kernel.get().ok_or(LoadFailure::TooLate)?;
    let name = CString::new(variant_entry(kernel.kernel.name)).map_err(|error| failed(error.to_string()))?;
    let device = &kernel.image.device;
    let _shown = Range::begin("load", kernel.kernel.name);
    let load = Load {
        cubin: object,
        name: &name,
        anchors: &device.anchors,
        most_bytes: settings().device_memory,
    };
    let loaded = device
        .image
        .with_current(|current| variant::load(current, of_driver, &load));
    let variant = loaded.map_err(|_| LoadFailure::TooLate)?.map_err(failure_of)?;
    Ok(Code {
        entry: variant,
        loaded: variant,
        on_gpu: Some(OnGpu {
            device: device.image.context().device_name().to_owned(),
            variant: resources(variant.needs()),
            ahead_of_time: resources(variant.needs_of_base()),
        }),
    })
}

/// What it says of the variant that it is not loaded.
fn failure_of(error: LoadError) -> LoadFailure {
    match error {
        LoadError::LocalMemory { .. } | LoadError::Full(_) => LoadFailure::Declined(error.to_string()),
        _ if error.is_for_want_of_memory() => LoadFailure::Declined(error.to_string()),
        // The context is lost, and the program about to hear of it.
        LoadError::Driver { error, .. } if fault::is_of_kernel(error.0) => LoadFailure::TooLate,
        _ => LoadFailure::Failed(error.to_string()),
    }
}

/// For the statistics.
fn resources(needs: Needs) -> GpuResources {
    GpuResources {
        registers: needs.registers,
        local_bytes: needs.local_bytes,
        shared_bytes: needs.shared_bytes,
    }
}
