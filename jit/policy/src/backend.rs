//! The boundary between policy and devices.
//!
//! Policy knows kernels, launches as words, keys, variants and times. A [`Backend`] knows one kind of device:
//! how a launch is seen, what is compiled for it, how code gets there and is taken away, and how a launch is
//! timed. Nothing here waits for a device: loading and unloading answer through a function that is called
//! when it is done, at once where nothing waits, or later on a thread of the backend's own.

use std::sync::Mutex;

use offloom_abi::jit_bundle::Bundle;
use offloom_abi::jit_compile::{GpuRequest, Phases, Priority, Request};
use offloom_abi::jit_remote::Device;
use offloom_descriptor::Descriptor;
use offloom_jit_cache::stats::OnGpu;
use offloom_jit_variants::signature::Launch;
use offloom_jit_variants::tracker::{LaunchKey, Tracker};

use crate::image::ImageCopy;
use crate::kernel::Kernel;
use crate::kernel_on_device::KernelOnDevice;
use crate::process::lock::lock;
use crate::registry::Registry;

/// Is called once, with what became of work for a device.
pub type Done<T> = Box<dyn FnOnce(T) + Send>;

/// One kind of device. There is no value of it: its state belongs to image copies and to the process.
pub trait Backend: Sized + 'static {
    /// The architecture that launch descriptors name.
    const ARCHITECTURE: &'static str;
    /// Whether the numbers of teams and of threads are settled before the launch is seen, so that code may
    /// rely on them.
    const SETTLES_LAUNCH_PARAMETERS: bool;
    /// Whether the host can read, at a launch, the objects that pointer arguments lead to.
    const READS_CONTENTS: bool;
    /// The alignment in bytes above which no access is better, at most 128.
    const USEFUL_ALIGNMENT: u64 = 128;
    /// Launches from so many nanoseconds on are long: what disturbs a launch there is small beside one.
    const LONG_LAUNCH: u64;

    /// A launch as it is seen.
    type Launch<'a>: Launch + Copy;
    /// What is known of a device image on one device: where its anchors are, and what code is loaded into.
    type Image: Send + Sync;
    /// What is known of one kernel on one device, beside what policy knows.
    type OnDevice: Send + Sync;
    /// What a launch runs: the code of a variant, as the launch is told.
    type Entry: Copy + Send + Sync;
    /// What holds loaded code until it is unloaded.
    type Loaded: Send;

    /// What is attached and announced of this kind.
    fn registry() -> &'static Registry<Self>;

    /// What makes objects.
    fn compiler() -> &'static Compiler;

    /// What is compiled for the device of an image copy. `None`: it is not to be had any more, as the process
    /// ends.
    fn target(image: &ImageCopy<Self>) -> Option<&'static Target>;

    /// What launches of an image copy run on: what they take holds for this model alone. `None`: the device
    /// does not say.
    fn model(image: &ImageCopy<Self>) -> Option<Device<'_>>;

    /// Where kernels are compiled if nothing goes wrong.
    fn usual_place() -> Place;

    /// Compiles and waits for it. Once it is under way in another process, `meanwhile` is called.
    ///
    /// # Errors
    /// When there is no object.
    fn compile(
        job: &Job<'_>,
        priority: Priority,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(Compiled, Place), Failure>;

    /// Brings an object onto the device of `kernel`. `number` tells the kernel's variants there apart. `done`
    /// may be called before this returns.
    fn load(
        kernel: &'static KernelOnDevice<Self>,
        number: usize,
        object: &[u8],
        done: Done<Result<Code<Self>, LoadFailure>>,
    );

    /// Gives loaded code back; the device may keep it until it needs the room.
    ///
    /// # Safety
    /// No launch runs it, and none will.
    unsafe fn unload(loaded: Self::Loaded, done: Done<Result<(), LoadFailure>>);

    /// Calls `then` once all loads that were asked for before are done.
    fn after_loads(then: Box<dyn FnOnce() + Send>);

    /// Gives back what is left of an image copy whose variants are unloaded.
    ///
    /// # Safety
    /// Nothing of it is used any more.
    unsafe fn release(image: Self::Image, done: Done<Result<(), LoadFailure>>);

    /// Has launches with this key run the entry, or ahead-of-time code, for good, without asking policy where
    /// the device has a place for that.
    fn settle(of_kernel: &Self::OnDevice, tracker: &Tracker, key: &LaunchKey, entry: Option<Self::Entry>);

    /// The image of this kernel is being unloaded.
    fn close(of_kernel: &Self::OnDevice);

    /// Adds to what a variant is specialised to what does not depend on the launch.
    fn complete(descriptor: &mut Descriptor);

    /// A variant is about to be made for this launch, the first with its key.
    fn note_first_launch(
        kernel: &Kernel<Self>,
        image: &ImageCopy<Self>,
        key: &LaunchKey,
        launch: Self::Launch<'_>,
    );
}

/// Has what a request says compiled. Once that is under way in another process, what is passed last is
/// called.
pub type Compile = fn(&Request<'_>, Priority, &mut dyn FnMut()) -> Result<(Compiled, Place), Failure>;

/// What compiles for backends that know no LLVM.
#[derive(Clone, Copy, Debug)]
pub struct Services {
    /// As [`Backend::compile`], of a whole request.
    pub compile: Compile,
    /// As [`Backend::compiler`].
    pub compiler: fn() -> &'static Compiler,
}

impl Services {
    /// What compiles. Before there are services nothing is attached, and this is nobody.
    pub fn compiler_of(services: Option<&Self>) -> &'static Compiler {
        static NOBODY: Compiler = Compiler {
            offloom: "",
            llvm: String::new(),
        };
        services.map_or(&NOBODY, |services| (services.compiler)())
    }
}

/// What makes objects: part of the keys that they are kept under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// The version of Offloom, and a hash of its sources.
    pub offloom: &'static str,
    /// The version of LLVM, with its patch level.
    pub llvm: String,
}

/// What objects are compiled for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// The processor, as LLVM calls it.
    pub processor: String,
    /// Its features, in LLVM's form.
    pub features: String,
    /// What else decides on the object, such as the version of an assembler; empty: nothing.
    pub tools: String,
}

impl Target {
    /// The one that is equal to this, kept for good: there are few.
    pub fn kept(self) -> &'static Self {
        static TARGETS: Mutex<Vec<&'static Target>> = Mutex::new(Vec::new());
        let mut targets = lock(&TARGETS);
        if let Some(known) = targets.iter().find(|known| ***known == self) {
            return known;
        }
        let target: &'static Self = Box::leak(Box::new(self));
        targets.push(target);
        target
    }
}

/// Loaded code.
pub struct Code<B: Backend> {
    /// What launches run.
    pub entry: B::Entry,
    /// What holds it.
    pub loaded: B::Loaded,
    /// What it needs of a GPU, for people; `None` elsewhere.
    pub on_gpu: Option<OnGpu>,
}

/// Why code is not loaded, or not unloaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadFailure {
    /// What the device, or its loader, says: one line.
    #[error("{0}")]
    Failed(String),
    /// The code is as it should be, and not worth what it would cost there: why, in one line.
    #[error("{0}")]
    Declined(String),
    /// Too much waits to be loaded: later launches ask again.
    #[error("too much waits to be loaded")]
    Busy,
    /// The process is ending.
    #[error("the program is ending")]
    TooLate,
}

/// A kernel to compile.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// Where it is from.
    pub bundle: &'a Bundle<'static>,
    /// Its name.
    pub kernel: &'static str,
    /// The launch descriptor in its text form.
    pub descriptor: &'a str,
    /// What to compile for.
    pub target: &'static Target,
    /// Whether the variant must give the bits that the ahead-of-time code gives.
    pub match_floating_point: bool,
    /// How long it may take, in milliseconds.
    pub deadline: u32,
}

impl<'a> Job<'a> {
    /// As the worker is asked for it; `gpu`: what it needs besides for a GPU.
    pub fn request<'r>(&self, gpu: Option<GpuRequest<'r>>) -> Request<'r>
    where
        'a: 'r,
    {
        Request {
            target_triple: self.bundle.target_triple,
            optimization_level: self.bundle.optimization_level,
            processor: &self.target.processor,
            features: &self.target.features,
            kernel: self.kernel,
            descriptor: self.descriptor,
            match_floating_point: self.match_floating_point,
            deadline: self.deadline,
            gpu,
            bitcode: self.bundle.bitcode_of_variants(self.match_floating_point),
        }
    }
}

/// What a compile gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// The object's bytes.
    pub object: Vec<u8>,
    /// What it took.
    pub phases: Phases,
}

/// Why a kernel was not compiled. The texts are one line for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// LLVM cannot, and another try would end in the same way: what it said, or how it ended.
    OfKernel(String),
    /// The kernel is not to blame: another try may end in another way.
    OfProcess(String),
    /// The program is ending.
    TooLate,
}

impl Failure {
    /// The line for the user.
    pub fn into_reason(self) -> String {
        match self {
            Self::OfKernel(reason) | Self::OfProcess(reason) => reason,
            Self::TooLate => "the program is ending".to_owned(),
        }
    }
}

/// Where a kernel is compiled. In the program LLVM is without the options that the worker process sets, and
/// what spills is not compiled a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the worker process.
    Worker,
    /// In the program.
    Program,
}
