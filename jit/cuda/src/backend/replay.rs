//! Replays a dumped launch on a GPU.
//!
//! Memory is wherever the driver puts it: words that pointed into memory of the launch are moved along with
//! it. Each piece is as far from a multiple of 256 bytes as it was, so what a variant relies on of addresses
//! holds.

mod device;
mod places;

use std::ffi::{CString, c_void};
use std::fs;
use std::io;
use std::path::Path;
use std::time::Instant;

use offloom_abi::jit_bundle::BundleId;
use offloom_abi::jit_compile::Priority;
use offloom_abi::jit_device_image::{DEVICE_ENVIRONMENT_SYMBOL, IMAGE_SYMBOL, variant_entry};
use offloom_jit_cache::dump::{
    Comparison, Difference, GPU_IMAGE_FILE, Gpu, Launch, MEMORY_FILE, PAGE, word_of,
};
use offloom_jit_policy::backend::{Backend, Job};
use offloom_jit_policy::gpu_image;
use offloom_jit_policy::process::settings::settings;
use offloom_jit_policy::replay::{self, Code, Replay};

use super::{Cuda, modes, without_device};
use crate::context::Current;
use crate::error::CudaError;
use crate::handles::{FunctionHandle, ModuleHandle};
use crate::image::Setting;
use crate::image_file::anchor_sizes;
use crate::variant::{LoadError, copy_environment, give_addresses};
use device::{DeviceError, Opened};
use places::{Moves, Place, fill};

/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const MOST_SHARED_BYTES: i32 = 8;

/// The driver's allocations begin at multiples of this, and no variant relies on more.
const ALIGNMENT: u64 = 256;

/// Why a dump cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// There is no GPU for it.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The driver refuses.
    #[error("{what}: {error}")]
    Driver {
        /// What was to be done.
        what: &'static str,
        /// What the driver says.
        error: CudaError,
    },
    /// A file of the dump.
    #[error("cannot read `{0}` of the dump: {1}")]
    Read(&'static str, io::Error),
    /// It was changed meanwhile.
    #[error("`{MEMORY_FILE}` of the dump is shorter than it says")]
    TooShort,
    /// The files do not belong together.
    #[error("the image does not belong to the bundle")]
    OtherImage,
    /// The bundle is of another program.
    #[error("the bundle has no kernel `{0}` with as many arguments as the launch has")]
    Kernel(String),
    /// It is not made.
    #[error("there is no variant: {0}")]
    NoVariant(String),
    /// It cannot be loaded.
    #[error("the variant cannot be loaded: {0}")]
    Load(#[from] LoadError),
}

/// What the driver did not do.
fn failed(what: &'static str) -> impl FnOnce(CudaError) -> Failure {
    move |error| Failure::Driver { what, error }
}

/// A dumped launch on a GPU.
#[derive(Debug, Clone, Copy)]
pub struct Dumped<'a> {
    /// Where the dump is.
    pub folder: &'a Path,
    /// The launch.
    pub launch: &'a Launch,
    /// The GPU that it ran on.
    pub gpu: &'a Gpu,
}

impl Dumped<'_> {
    /// Replays the launch, whose bundle is attached, on a GPU like the one that it ran on.
    ///
    /// # Errors
    /// When there is none, the driver refuses, or the files of the dump do not belong together.
    pub fn run(&self, bundle: BundleId, stage: impl Fn(&str)) -> Result<Comparison, Failure> {
        let Self { launch, gpu, .. } = *self;
        stage("preparing the GPU");
        let device = device::open(gpu, &launch.processor[0])?;
        let current = &device.current;
        let image = self.file(GPU_IMAGE_FILE)?;
        let base = current.load(&image).map_err(failed("loading the device image"))?;
        let (variables, anchors) = variables(current, launch, bundle, &image, base)?;
        let name = CString::new(launch.kernel.as_str()).map_err(|_| self.no_kernel())?;
        let ahead_of_time = current.function(base, &name);
        let ahead_of_time = ahead_of_time.map_err(failed("finding the kernel in the device image"))?;

        stage("compiling the variant");
        let start = Instant::now();
        let object = self.compile(current, bundle, base)?;
        let compile_us = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        let module = current.load(&object).map_err(failed("loading the variant"))?;
        let name = CString::new(variant_entry(&launch.kernel)).map_err(|_| self.no_kernel())?;
        let variant = current
            .function(module, &name)
            .map_err(failed("finding the kernel in the variant"))?;
        give_addresses(current, module, &anchors)?;

        stage("putting memory where kernels find it");
        let places = self.places(&device, &variables)?;
        let moves = Moves::to_now(&places);
        let arguments = launch.arguments.iter().map(|word| moves.word(*word)).collect();
        for function in [ahead_of_time, variant] {
            if gpu.dynamic_shared_bytes > 0 {
                let bytes = i32::try_from(gpu.dynamic_shared_bytes).unwrap_or(i32::MAX);
                let set = Setting::Attribute(MOST_SHARED_BYTES, bytes).apply(current.driver, function);
                set.map_err(failed("setting the bytes of shared memory"))?;
            }
        }
        let mut ready = Ready {
            device: &device,
            launch,
            gpu,
            arguments,
            to_then: Moves::to_then(&places),
            places,
            codes: [ahead_of_time, variant],
            base,
            variant: module,
            remembered: Vec::new(),
            unstable: Vec::new(),
        };
        let found = replay::compare(&mut ready, stage)?;
        Ok(Comparison {
            compile_us,
            object_bytes: object.len() as u64,
            ..found
        })
    }

    fn file(&self, name: &'static str) -> Result<Vec<u8>, Failure> {
        fs::read(self.folder.join(name)).map_err(|error| Failure::Read(name, error))
    }

    fn no_kernel(&self) -> Failure {
        Failure::Kernel(self.launch.kernel.clone())
    }

    /// Compiles the variant.
    fn compile(
        &self,
        current: &Current<'_>,
        bundle: BundleId,
        base: ModuleHandle,
    ) -> Result<Vec<u8>, Failure> {
        let launch = self.launch;
        let mode_of = |kernel: &str| modes::mode_of(current, base, kernel);
        let (kernels, target) = without_device(bundle, mode_of).map_err(Failure::NoVariant)?;
        let kernel = kernels.into_iter().find(|kernel| {
            kernel.name == launch.kernel && kernel.parameter_count as usize == launch.arguments.len()
        });
        let kernel = kernel.ok_or_else(|| self.no_kernel())?;
        let attached = Cuda::registry().attached(bundle).ok_or(Failure::OtherImage)?;
        let job = Job {
            bundle: &attached.bundle.contents,
            kernel: kernel.name,
            descriptor: &launch.descriptor,
            target,
            match_floating_point: launch.match_floating_point,
            deadline: settings().time_limit,
        };
        let compiled = Cuda::compile(&job, Priority::Program, &mut || ());
        let (compiled, _) = compiled.map_err(|failure| Failure::NoVariant(failure.into_reason()))?;
        Ok(compiled.object)
    }

    /// Allocates memory, and says what it, and the variables, hold at the launch.
    fn places(&self, device: &Opened, variables: &[u64]) -> Result<Vec<Place>, Failure> {
        let launch = self.launch;
        let mut places = Vec::new();
        for (then, now) in launch.variables.iter().zip(variables) {
            places.push(Place::new(*then, *now));
        }
        for region in &launch.regions {
            // Not all that a launch reaches is the driver's own, and aligned as that is.
            let skew = region.extent.start % ALIGNMENT;
            let now = device.allocate(region.extent.length + skew);
            let now = now.map_err(failed("allocating memory"))? + skew;
            places.push(Place::new(region.extent, now));
        }
        let contents = self.file(MEMORY_FILE)?;
        fill(&mut places, launch, &contents).ok_or(Failure::TooShort)?;
        Ok(places)
    }
}

/// Where the variables of the launch are now, and the anchors of the image.
fn variables(
    current: &Current<'_>,
    launch: &Launch,
    bundle: BundleId,
    image: &[u8],
    base: ModuleHandle,
) -> Result<(Vec<u64>, Vec<u64>), Failure> {
    let (address, size) = current.global(base, IMAGE_SYMBOL).ok_or(Failure::OtherImage)?;
    let record = gpu_image::read_record(size, |bytes| current.read(address, bytes));
    let record = record.map_err(|_| Failure::OtherImage)?;
    let sizes = anchor_sizes(image, record.anchors.len()).ok_or(Failure::OtherImage)?;
    let (environment, size) = current
        .global(base, DEVICE_ENVIRONMENT_SYMBOL)
        .unwrap_or_default();
    let then = launch.variables.iter().map(|run| run.length);
    if record.bundle != bundle || !then.eq(sizes.into_iter().chain([size as u64])) {
        return Err(Failure::OtherImage);
    }
    let now = record.anchors.iter().copied().chain([environment]);
    Ok((now.collect(), record.anchors))
}

/// A launch of which everything is loaded.
struct Ready<'a> {
    device: &'a Opened,
    launch: &'a Launch,
    gpu: &'a Gpu,
    arguments: Vec<u64>,
    places: Vec<Place>,
    /// For people.
    to_then: Moves,
    codes: [FunctionHandle; 2],
    base: ModuleHandle,
    variant: ModuleHandle,
    /// What each place held when it was remembered.
    remembered: Vec<Vec<u8>>,
    /// Numbers of words of each place that are not compared, in order.
    unstable: Vec<Vec<usize>>,
}

impl Ready<'_> {
    /// What each place holds.
    fn contents(&self) -> Result<Vec<Vec<u8>>, Failure> {
        let read = |place: &Place| {
            let mut contents = vec![0; place.initial.len()];
            if !contents.is_empty() {
                self.device.current.read(place.now, &mut contents)?;
            }
            Ok(contents)
        };
        let contents = self.places.iter().map(read).collect::<Result<_, _>>();
        contents.map_err(failed("reading memory"))
    }

    /// Calls `visit` with place, number, and both values of each word that differs from what is remembered.
    fn compare(&self, mut visit: impl FnMut(usize, usize, u64, u64)) -> Result<(), Failure> {
        let now = self.contents()?;
        for (place, (then, now)) in self.remembered.iter().zip(&now).enumerate() {
            if then == now {
                continue;
            }
            for (word, (then, now)) in then.chunks(8).zip(now.chunks(8)).enumerate() {
                if then != now {
                    visit(place, word, word_of(then), word_of(now));
                }
            }
        }
        Ok(())
    }
}

impl Replay for Ready<'_> {
    type Error = Failure;

    fn run(&mut self, code: Code) -> Result<u64, Failure> {
        for place in self.places.iter().filter(|place| !place.initial.is_empty()) {
            let written = self.device.current.write(place.now, &place.initial);
            written.map_err(failed("writing memory"))?;
        }
        let function = match code {
            Code::AheadOfTime => self.codes[0],
            Code::Variant => {
                copy_environment(&self.device.current, self.base, self.variant)?;
                self.codes[1]
            }
        };
        let mut words = self.arguments.clone();
        let mut parameters: Vec<*mut c_void> = words.iter_mut().map(|word| (&raw mut *word).cast()).collect();
        let (driver, gpu) = (self.device.current.driver, self.gpu);
        let launch = |stream| {
            // SAFETY: the kernel has so many parameters, none larger than a word, and its memory is as it was
            // at the launch.
            unsafe {
                (driver.launch_kernel)(
                    function,
                    gpu.blocks,
                    1,
                    1,
                    gpu.threads,
                    1,
                    1,
                    gpu.dynamic_shared_bytes,
                    stream,
                    parameters.as_mut_ptr(),
                    std::ptr::null_mut(),
                )
                .check()
            }
        };
        let time = self.device.time(launch);
        time.map_err(failed(match code {
            Code::AheadOfTime => "launching the ahead-of-time code",
            Code::Variant => "launching the variant",
        }))
    }

    fn remember(&mut self) -> Result<(), Failure> {
        self.remembered = self.contents()?;
        Ok(())
    }

    fn leave_out_what_differs(&mut self) -> Result<(), Failure> {
        let mut unstable = vec![Vec::new(); self.places.len()];
        self.compare(|place, word, _, _| unstable[place].push(word))?;
        self.unstable = unstable;
        Ok(())
    }

    fn differences(&mut self) -> Result<Comparison, Failure> {
        let pages = self
            .remembered
            .iter()
            .flat_map(|place| place.chunks(PAGE as usize));
        let pages = pages.filter(|page| page.iter().any(|byte| *byte != 0));
        let mut found = Comparison {
            compared_bytes: pages.map(|page| page.len() as u64).sum(),
            unstable_words: self.unstable.iter().map(|words| words.len() as u64).sum(),
            ..Comparison::default()
        };
        self.compare(|place, word, ahead_of_time, variant| {
            if self.unstable[place].binary_search(&word).is_err() {
                let address = self.places[place].then.start + 8 * word as u64;
                found.add(Difference {
                    address,
                    argument: self.launch.argument_below(address),
                    ahead_of_time: self.to_then.word(ahead_of_time),
                    variant: self.to_then.word(variant),
                });
            }
        })?;
        Ok(found)
    }
}
