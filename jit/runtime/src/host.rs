//! The host as a device: kernels run on the processor that the program runs on, in the program's process.
//!
//! | module | does |
//! | --- | --- |
//! | [`announce`] | takes note of image copies that come and go |
//! | [`dispatch`] | what a stub calls where its inline cache does not say it: the code to run, or null for the AOT code |
//! | [`launch`] | a launch's argument words |
//! | [`image`] | one copy of a device image, and the code linked against it |
//! | [`image_file`] | the file of a copy, and where its variables are |
//! | [`one_thread`] | whether launches are likely to get one team of one thread |
//! | [`target`] | for which processor is compiled |
//! | [`interposition`] | what programs, and their hidden piece, call to register descriptors |
//! | [`libraries`], [`closed_libraries`] | those that device code may call; those that LLVM 19's libomptarget still reads |
//! | [`dump`], [`replay`], [`perf_map`] | writes a launch to disk if asked for; runs one by itself; tells perf the names of variants |

pub(crate) mod announce;
pub(crate) mod closed_libraries;
mod dispatch;
mod dump;
mod image;
mod image_file;
pub(crate) mod interposition;
mod launch;
pub(crate) mod libraries;
mod one_thread;
mod perf_map;
pub(crate) mod replay;
pub(crate) mod target;

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock};

use offloom_abi::HostProcessor;
use offloom_abi::jit_compile::Priority;
use offloom_abi::jit_image::Slot;
use offloom_abi::jit_remote::Device;
use offloom_descriptor::Descriptor;
use offloom_ir::orc::{Dylib, OrcError};
use offloom_jit_policy::backend::{
    Backend, Code, Compiled, Compiler, Done, Failure, Job, LoadFailure, Place, Target,
};
use offloom_jit_policy::image::ImageCopy;
use offloom_jit_policy::kernel::Kernel;
use offloom_jit_policy::kernel_on_device::KernelOnDevice;
use offloom_jit_policy::process::exit_gate;
use offloom_jit_policy::process::fork_gate;
use offloom_jit_policy::process::lock::lock;
use offloom_jit_policy::process::settings::settings;
use offloom_jit_policy::registry::Registry;
use offloom_jit_variants::inline_cache::InlineCaches;
use offloom_jit_variants::tracker::{LaunchKey, Tracker};

use crate::compile::{self, compiler};
use image::HostImage;
use launch::ArgumentWords;

/// The processor that the program runs on.
pub(crate) struct Host;

/// Where code begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Address(NonNull<c_void>);

// SAFETY: the code is only run, and is right for launches on any thread.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

impl Address {
    /// The address.
    pub(crate) const fn pointer(self) -> *const c_void {
        self.0.as_ptr()
    }
}

/// A kernel's slot in one image copy.
pub(crate) struct HostSlot {
    /// What the stub answers by itself.
    inline_caches: InlineCaches,
    /// Held by the launch or thread that links a variant: one at a time for each kernel and device.
    linking: Mutex<()>,
}

impl HostSlot {
    /// A slot that is still empty.
    pub(crate) fn new(slot: &'static Slot) -> Self {
        Self {
            inline_caches: InlineCaches::new(slot),
            linking: Mutex::new(()),
        }
    }
}

impl Backend for Host {
    const ARCHITECTURE: &'static str = HostProcessor::NATIVE.architecture;
    /// They are decided inside libomp, which code for one thread asks itself.
    const SETTLES_LAUNCH_PARAMETERS: bool = false;
    const READS_CONTENTS: bool = true;
    // What else runs on the processors may take some milliseconds of it.
    const LONG_LAUNCH: u64 = 20_000_000;

    type Launch<'a> = ArgumentWords<'a>;
    type Image = HostImage;
    type OnDevice = HostSlot;
    type Entry = Address;
    type Loaded = Dylib<'static>;

    fn registry() -> &'static Registry<Self> {
        // Leaked, not a static by value: what waits on a static's mutex when `exit` destroys it hangs.
        static REGISTRY: OnceLock<&'static Registry<Host>> = OnceLock::new();
        REGISTRY.get_or_init(|| Box::leak(Box::default()))
    }

    fn compiler() -> &'static Compiler {
        compiler()
    }

    fn model(_: &ImageCopy<Self>) -> Option<Device<'_>> {
        Some(Device::Processor)
    }

    fn target(_: &ImageCopy<Self>) -> Option<&'static Target> {
        // Describing a processor is LLVM's work too.
        exit_gate::enter().map(|_work| target::target())
    }

    fn usual_place() -> Place {
        compile::usual_place()
    }

    fn compile(
        job: &Job<'_>,
        priority: Priority,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(Compiled, Place), Failure> {
        compile::compile(&job.request(None), priority, meanwhile)
    }

    fn load(
        kernel: &'static KernelOnDevice<Self>,
        number: usize,
        object: &[u8],
        done: Done<Result<Code<Self>, LoadFailure>>,
    ) {
        let linked = {
            let _linking = lock(&kernel.device.linking);
            let _undivided = fork_gate::enter_undivided();
            match exit_gate::enter() {
                Some(_work) => image::link(kernel.image, kernel.kernel.name, number, object)
                    .map_err(|error| failed(&error)),
                None => Err(LoadFailure::TooLate),
            }
        };
        done(linked);
    }

    unsafe fn unload(dylib: Dylib<'static>, done: Done<Result<(), LoadFailure>>) {
        // SAFETY: as the caller promises.
        done(unsafe { remove(dylib) });
    }

    fn after_loads(then: Box<dyn FnOnce() + Send>) {
        then();
    }

    unsafe fn release(image: HostImage, done: Done<Result<(), LoadFailure>>) {
        // SAFETY: it holds nothing but addresses, and what was linked over it is freed.
        done(
            image
                .into_dylib()
                .map_or(Ok(()), |dylib| unsafe { remove(dylib) }),
        );
    }

    fn settle(slot: &HostSlot, tracker: &Tracker, key: &LaunchKey, entry: Option<Address>) {
        slot.inline_caches
            .publish(tracker, key, entry.map(Address::pointer));
    }

    fn close(slot: &HostSlot) {
        slot.inline_caches.close();
    }

    fn complete(descriptor: &mut Descriptor) {
        if settings().specialize.launch_parameters && one_thread::is_likely() {
            (descriptor.teams, descriptor.threads) = (Some(1), Some(1));
        }
    }

    fn note_first_launch(
        kernel: &Kernel<Self>,
        image: &ImageCopy<Self>,
        key: &LaunchKey,
        launch: ArgumentWords<'_>,
    ) {
        dump::dump(kernel, image, key, launch);
    }
}

/// # Safety
/// Nothing runs code of the library, or uses what it defines.
unsafe fn remove(dylib: Dylib<'static>) -> Result<(), LoadFailure> {
    let _undivided = fork_gate::enter_undivided();
    let _work = exit_gate::enter().ok_or(LoadFailure::TooLate)?;
    // SAFETY: as the caller promises.
    unsafe { dylib.remove() }.map_err(|error| failed(&error))
}

fn failed(error: &OrcError) -> LoadFailure {
    LoadFailure::Failed(error.to_string())
}
