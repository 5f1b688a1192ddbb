//! A kind of device that is made up, and launches on two of them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use offloom_abi::jit_bundle::{
    Bundle, BundleId, Kernel as BundledKernel, Parameter, ParameterKind, ParameterUses,
};
use offloom_abi::jit_compile::{Phases, Priority};
use offloom_abi::jit_remote::Device;
use offloom_descriptor::Descriptor;
use offloom_jit_cache::store::KeyHash;
use offloom_jit_policy::backend::{
    Backend, Code, Compiled, Compiler, Done, Failure, Job, LoadFailure, Place, Target,
};
use offloom_jit_policy::image::ImageCopy;
use offloom_jit_policy::kernel::Kernel;
use offloom_jit_policy::kernel_on_device::KernelOnDevice;
use offloom_jit_policy::registry::{Attached, Registry};
use offloom_jit_policy::remote::{self, Reply, Transport};
use offloom_jit_variants::signature::Launch;
use offloom_jit_variants::tracker::{LaunchKey, Tracker};
use offloom_jit_variants::trial::Times;

/// The made-up kind of device.
pub(crate) struct Double;

/// A launch: its words, and the numbers of teams and threads.
#[derive(Clone, Copy)]
pub(crate) struct Words<'a>(pub(crate) &'a [u64], pub(crate) [u32; 2]);

impl Launch for Words<'_> {
    fn arguments(&self) -> &[u64] {
        self.0
    }

    fn object(&self, _: usize, _: usize, _: usize) -> u64 {
        panic!("the host cannot read what device pointers lead to")
    }

    fn is_readable(&self, _: usize, _: Range<usize>) -> bool {
        panic!("the host cannot read what device pointers lead to")
    }

    fn teams(&self) -> u32 {
        self.1[0]
    }

    fn threads(&self) -> u32 {
        self.1[1]
    }
}

/// What the devices hold: by entry, the object that was loaded, and whether it is still there.
pub(crate) static LOADED: Mutex<Vec<(String, bool)>> = Mutex::new(Vec::new());
/// Objects that were compiled, in order.
pub(crate) static COMPILED: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Keys that were settled, by kernel: on these devices launches keep asking.
pub(crate) static SETTLED: AtomicU64 = AtomicU64::new(0);
/// Objects of kernels that have to wait whose first load was turned away.
pub(crate) static TURNED_AWAY: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
/// Image copies that were given back.
pub(crate) static RELEASED: AtomicU64 = AtomicU64::new(0);

/// How long a load takes: longer than everything else here.
pub(crate) const LOADING: Duration = Duration::from_millis(20);

pub(crate) type Work = Box<dyn FnOnce() + Send>;

/// Has something done by the thread that loads.
pub(crate) fn on_loader(work: Work) {
    static LOADER: OnceLock<Mutex<mpsc::Sender<Work>>> = OnceLock::new();
    let loader = LOADER.get_or_init(|| {
        let (sender, receiver) = mpsc::channel::<Work>();
        thread::spawn(move || receiver.into_iter().for_each(|work| work()));
        Mutex::new(sender)
    });
    loader.lock().unwrap().send(work).unwrap();
}

pub(crate) static TARGETS: OnceLock<[Target; 2]> = OnceLock::new();

impl Backend for Double {
    const ARCHITECTURE: &'static str = "double";
    const SETTLES_LAUNCH_PARAMETERS: bool = true;
    const READS_CONTENTS: bool = false;
    const LONG_LAUNCH: u64 = u64::MAX;

    type Launch<'a> = Words<'a>;
    type Image = usize;
    type OnDevice = ();
    type Entry = usize;
    type Loaded = usize;

    fn registry() -> &'static Registry<Self> {
        static REGISTRY: OnceLock<Registry<Double>> = OnceLock::new();
        REGISTRY.get_or_init(Registry::default)
    }

    fn compiler() -> &'static Compiler {
        static COMPILER: OnceLock<Compiler> = OnceLock::new();
        COMPILER.get_or_init(|| Compiler {
            offloom: "test",
            llvm: "0".to_owned(),
        })
    }

    fn target(image: &ImageCopy<Self>) -> Option<&'static Target> {
        let targets = TARGETS.get_or_init(|| {
            ["first", "second"].map(|processor| Target {
                processor: processor.to_owned(),
                features: String::new(),
                tools: "assembler 1".to_owned(),
            })
        });
        targets.get(image.device)
    }

    fn model(image: &ImageCopy<Self>) -> Option<Device<'_>> {
        ["Double One", "Double Two"]
            .get(image.device)
            .map(|name| Device::Gpu(name))
    }

    fn usual_place() -> Place {
        Place::Worker
    }

    fn compile(
        job: &Job<'_>,
        _: Priority,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(Compiled, Place), Failure> {
        meanwhile();
        if job.descriptor.contains("cannot_be_compiled") {
            return Err(Failure::OfKernel("the assembler refuses it".to_owned()));
        }
        let object = format!("{}: {}", job.target.processor, job.descriptor);
        COMPILED.lock().unwrap().push(object.clone());
        let compiled = Compiled {
            object: object.into_bytes(),
            phases: Phases::default(),
        };
        Ok((compiled, Place::Worker))
    }

    fn load(
        _: &'static KernelOnDevice<Self>,
        _: usize,
        object: &[u8],
        done: Done<Result<Code<Self>, LoadFailure>>,
    ) {
        let object = String::from_utf8(object.to_vec()).unwrap();
        on_loader(Box::new(move || {
            thread::sleep(LOADING);
            if object.contains("cannot_be_loaded") {
                return done(Err(LoadFailure::Failed("out of device memory".to_owned())));
            }
            if object.contains("is_declined") {
                return done(Err(LoadFailure::Declined("more local memory".to_owned())));
            }
            if object.contains("has_to_wait") && TURNED_AWAY.lock().unwrap().insert(object.clone()) {
                return done(Err(LoadFailure::Busy));
            }
            let mut loaded = LOADED.lock().unwrap();
            let entry = loaded.len();
            loaded.push((object, true));
            drop(loaded);
            done(Ok(Code {
                entry,
                loaded: entry,
                on_gpu: None,
            }));
        }));
    }

    unsafe fn unload(loaded: usize, done: Done<Result<(), LoadFailure>>) {
        on_loader(Box::new(move || {
            let there = &mut LOADED.lock().unwrap()[loaded].1;
            assert!(*there, "code is unloaded once");
            *there = false;
            done(Ok(()));
        }));
    }

    fn after_loads(then: Box<dyn FnOnce() + Send>) {
        on_loader(then);
    }

    unsafe fn release(_: usize, done: Done<Result<(), LoadFailure>>) {
        on_loader(Box::new(move || {
            RELEASED.fetch_add(1, Ordering::SeqCst);
            done(Ok(()));
        }));
    }

    fn settle((): &(), _: &Tracker, _: &LaunchKey, _: Option<usize>) {
        SETTLED.fetch_add(1, Ordering::SeqCst);
    }

    fn close((): &()) {}

    fn complete(_: &mut Descriptor) {}

    fn note_first_launch(_: &Kernel<Self>, _: &ImageCopy<Self>, _: &LaunchKey, _: Words<'_>) {}
}

/// A verdict on an object that was told to a store.
pub(crate) type Verdict = (KeyHash, Times);

/// What a store that has nothing was told: of which list and device; no verdict: that those of others are
/// wanted.
pub(crate) static SAID: Mutex<Vec<(KeyHash, String, Option<Verdict>)>> = Mutex::new(Vec::new());

pub(crate) struct Nowhere;

impl Nowhere {
    fn note(list: KeyHash, device: Device<'_>, verdict: Option<Verdict>) {
        let Device::Gpu(name) = device else {
            panic!("no device is the processor")
        };
        SAID.lock().unwrap().push((list, name.to_owned(), verdict));
    }
}

impl Transport for Nowhere {
    fn fetch(&self, _: KeyHash, _: Duration, _: Duration) -> Reply {
        Reply::Absent
    }

    fn publish(&self, _: KeyHash) {}

    fn expect(&self, _: KeyHash, _: bool) {}

    fn expect_verdicts(&self, list: KeyHash, device: Device<'_>) {
        Self::note(list, device, None);
    }

    fn publish_verdict(&self, list: KeyHash, device: Device<'_>, hash: KeyHash, times: Times) {
        Self::note(list, device, Some((hash, times)));
    }

    fn catch_up(&self) {}
}

/// A kernel on the two devices, of a bundle with this kernel alone.
pub(crate) fn kernels_on_devices(name: &'static str) -> [&'static KernelOnDevice<Double>; 2] {
    image_copies(attach(name))
}

pub(crate) fn attach(name: &'static str) -> &'static Attached<Double> {
    static ENVIRONMENT: Once = Once::new();
    ENVIRONMENT.call_once(|| {
        // Tests may run at once, each in a process of its own.
        let cache = format!(
            "{}/devices-cache-{}",
            env!("CARGO_TARGET_TMPDIR"),
            std::process::id()
        );
        let _ = std::fs::remove_dir_all(&cache);
        // SAFETY: tests begin with this, and none reads the environment beside it.
        unsafe {
            std::env::set_var("OFFLOOM_JIT", "async");
            std::env::set_var("OFFLOOM_JIT_CACHE_MODE", "rw");
            std::env::set_var("OFFLOOM_JIT_CACHE_DIR", cache);
            std::env::set_var("OFFLOOM_JIT_REMOTE", "file:///nowhere");
        }
        remote::use_transport(&Nowhere);
    });
    let (bytes, id) = bundle(name);
    Box::leak(Box::new(Double::registry().attach(id, &bytes).unwrap()))
}

/// As the device images are loaded, which may happen again.
pub(crate) fn image_copies(attached: &'static Attached<Double>) -> [&'static KernelOnDevice<Double>; 2] {
    [0, 1].map(|device| {
        let image: &'static _ = Box::leak(Box::new(ImageCopy::new(attached.bundle, device)));
        let kernel: &'static _ = Box::leak(Box::new(KernelOnDevice::new((), image, &attached.kernels[0])));
        Double::registry().announce(image, vec![kernel]);
        kernel
    })
}

pub(crate) fn bundle(name: &'static str) -> (Vec<u8>, BundleId) {
    let parameter = |kind| Parameter {
        kind,
        size: 8,
        uses: ParameterUses::LOOP_BOUND,
        contents: Vec::new(),
        contents_are_there: false,
    };
    let kernel = BundledKernel {
        name,
        source: "",
        has_fast_math: false,
        launch: None,
        parameters: [
            ParameterKind::LaunchEnvironment,
            ParameterKind::Pointer,
            ParameterKind::Scalar,
        ]
        .map(parameter)
        .to_vec(),
    };
    let bundle = Bundle {
        llvm_major: 0,
        optimization_level: 2,
        target_triple: "double",
        kernels: vec![kernel],
        anchors: Vec::new(),
        left_ahead_of_time: Vec::new(),
        gpu: None,
        bitcode: b"",
        matched_bitcode: b"",
    };
    bundle.encode()
}

/// Launches once; what it takes is told later, if it is timed. Returns the object whose code ran, if it was a
/// variant.
pub(crate) fn launch(
    kernel: &'static KernelOnDevice<Double>,
    scalar: u64,
    late: &mut Vec<(u64, u64)>,
    variant_takes: u64,
) -> Option<String> {
    launch_teams(kernel, scalar, 100, late, variant_takes)
}

/// The same with this number of teams.
pub(crate) fn launch_teams(
    kernel: &'static KernelOnDevice<Double>,
    scalar: u64,
    teams: u32,
    late: &mut Vec<(u64, u64)>,
    variant_takes: u64,
) -> Option<String> {
    let words = [u64::MAX, 0x1000, scalar];
    let choice = kernel.choose::<false>(Words(&words, [teams, 128]));
    let ran = choice.entry.map(|entry| {
        let (object, there) = LOADED.lock().unwrap()[entry].clone();
        assert!(there, "unloaded code is launched");
        object
    });
    if choice.ticket != 0 {
        late.push((choice.ticket, if ran.is_some() { variant_takes } else { 1000 }));
    }
    ran
}

/// Whether a variant runs, where that is decided for good.
pub(crate) fn settled(kernel: &'static KernelOnDevice<Double>, scalar: u64) -> Option<bool> {
    let words = [u64::MAX, 0x1000, scalar];
    let choice = kernel.settled(Words(&words, [100, 128]))?;
    assert_eq!(choice.ticket, 0, "what is settled is not timed");
    Some(choice.entry.is_some())
}

/// Tells what timed launches took.
pub(crate) fn report(kernel: &'static KernelOnDevice<Double>, late: &mut Vec<(u64, u64)>) {
    for (ticket, nanoseconds) in late.drain(..) {
        // SAFETY: the tickets are of this kernel, and each is told once.
        unsafe { kernel.finished(ticket, Some(nanoseconds)) };
    }
}

/// Launches until a variant runs.
pub(crate) fn launch_until_variant(
    kernel: &'static KernelOnDevice<Double>,
    scalar: u64,
    takes: u64,
) -> String {
    let patience = Instant::now();
    let mut late = Vec::new();
    loop {
        if let Some(object) = launch(kernel, scalar, &mut late, takes) {
            report(kernel, &mut late);
            return object;
        }
        assert!(patience.elapsed() < Duration::from_secs(60), "no variant comes");
        thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let patience = Instant::now();
    while !is_so() {
        assert!(patience.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}
