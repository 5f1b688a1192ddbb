//! The policy over a kind of device that is made up: two devices of different architecture, code that is
//! loaded slowly by a thread of its own, and launches whose times are known long after; before an empty cache
//! and a remote store that has nothing. Neither LLVM nor a driver is linked.
#![expect(unsafe_code, reason = "the policy's boundary to devices has unsafe functions")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by it")]

use std::collections::HashSet;
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
use offloom_jit_policy::process::fork_gate;
use offloom_jit_policy::registry::{Attached, Registry};
use offloom_jit_policy::remote::{self, Reply, Transport};
use offloom_jit_variants::signature::Launch;
use offloom_jit_variants::tracker::{LaunchKey, Tracker};
use offloom_jit_variants::trial::Times;

/// The made-up kind of device.
struct Double;

/// A launch: its words, and the numbers of teams and threads.
#[derive(Clone, Copy)]
struct Words<'a>(&'a [u64], [u32; 2]);

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
static LOADED: Mutex<Vec<(String, bool)>> = Mutex::new(Vec::new());
/// Objects that were compiled, in order.
static COMPILED: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Keys that were settled, by kernel: on these devices launches keep asking.
static SETTLED: AtomicU64 = AtomicU64::new(0);
/// Image copies that were given back.
static RELEASED: AtomicU64 = AtomicU64::new(0);

/// How long a load takes: longer than everything else here.
const LOADING: Duration = Duration::from_millis(20);

type Work = Box<dyn FnOnce() + Send>;

/// Has something done by the thread that loads.
fn on_loader(work: Work) {
    static LOADER: OnceLock<Mutex<mpsc::Sender<Work>>> = OnceLock::new();
    let loader = LOADER.get_or_init(|| {
        let (sender, receiver) = mpsc::channel::<Work>();
        thread::spawn(move || receiver.into_iter().for_each(|work| work()));
        Mutex::new(sender)
    });
    loader.lock().unwrap().send(work).unwrap();
}

static TARGETS: OnceLock<[Target; 2]> = OnceLock::new();

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
            let needs_much = object.contains("needs_much") && object.contains("teams=");
            if object.contains("is_declined") || needs_much {
                return done(Err(LoadFailure::Declined("more local memory".to_owned())));
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
type Verdict = (KeyHash, Times);

/// What a store that has nothing was told: of which list and device; no verdict: that those of others are
/// wanted.
static SAID: Mutex<Vec<(KeyHash, String, Option<Verdict>)>> = Mutex::new(Vec::new());

struct Nowhere;

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
fn kernels_on_devices(name: &'static str) -> [&'static KernelOnDevice<Double>; 2] {
    image_copies(attach(name))
}

fn attach(name: &'static str) -> &'static Attached<Double> {
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
fn image_copies(attached: &'static Attached<Double>) -> [&'static KernelOnDevice<Double>; 2] {
    [0, 1].map(|device| {
        let image: &'static _ = Box::leak(Box::new(ImageCopy::new(attached.bundle, device)));
        let kernel: &'static _ = Box::leak(Box::new(KernelOnDevice::new((), image, &attached.kernels[0])));
        Double::registry().announce(image, vec![kernel]);
        kernel
    })
}

fn bundle(name: &'static str) -> (Vec<u8>, BundleId) {
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
fn launch(
    kernel: &'static KernelOnDevice<Double>,
    scalar: u64,
    late: &mut Vec<(u64, u64)>,
    variant_takes: u64,
) -> Option<String> {
    let words = [u64::MAX, 0x1000, scalar];
    let choice = kernel.choose::<false>(Words(&words, [100, 128]));
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
fn settled(kernel: &'static KernelOnDevice<Double>, scalar: u64) -> Option<bool> {
    let words = [u64::MAX, 0x1000, scalar];
    let choice = kernel.settled(Words(&words, [100, 128]))?;
    assert_eq!(choice.ticket, 0, "what is settled is not timed");
    Some(choice.entry.is_some())
}

/// Tells what timed launches took.
fn report(kernel: &'static KernelOnDevice<Double>, late: &mut Vec<(u64, u64)>) {
    for (ticket, nanoseconds) in late.drain(..) {
        // SAFETY: the tickets are of this kernel, and each is told once.
        unsafe { kernel.finished(ticket, Some(nanoseconds)) };
    }
}

/// Launches until a variant runs.
fn launch_until_variant(kernel: &'static KernelOnDevice<Double>, scalar: u64, takes: u64) -> String {
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

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let patience = Instant::now();
    while !is_so() {
        assert!(patience.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn each_device_gets_code_for_its_architecture_and_launch_and_no_launch_waits_for_it() {
    let kernels = kernels_on_devices("__omp_offloading_1_2_both_l1");
    let mut late = Vec::new();
    for (kernel, processor) in kernels.iter().zip(["first", "second"]) {
        assert_eq!(launch(kernel, 7, &mut late, 10), None, "nothing is there yet");
        assert_eq!(settled(kernel, 7), None, "nothing is decided yet");
        let object = launch_until_variant(kernel, 7, 10);
        assert!(object.starts_with(processor), "{object}");
        assert_eq!(settled(kernel, 7), None, "it is on trial");
        // Base and variant are launched in turns, and times come when both have run for long.
        let mut seen = HashSet::new();
        for _ in 0..100 {
            seen.insert(launch(kernel, 7, &mut late, 10).is_some());
        }
        assert_eq!(seen.len(), 2, "both are timed");
        report(kernel, &mut late);
        assert_eq!(settled(kernel, 7), Some(true), "it is kept");
        for _ in 0..100 {
            let object = launch(kernel, 7, &mut late, 10).unwrap();
            assert!(
                object.contains("teams=100") && object.contains("threads=128"),
                "{object}"
            );
        }
        assert_eq!(late, [], "what is kept is not timed");
    }
    let compiled = COMPILED.lock().unwrap().clone();
    let of_kernel = compiled.iter().filter(|object| object.contains("_both_"));
    assert_eq!(of_kernel.count(), 2, "one object for each architecture");
}

#[test]
fn slower_code_is_unloaded_after_its_last_launch_ended() {
    let [kernel, _] = kernels_on_devices("__omp_offloading_1_2_slower_l1");
    launch_until_variant(kernel, 7, 5000);
    let mut late = Vec::new();
    while launch(kernel, 7, &mut late, 5000).is_none() {}
    // This launch runs the variant, and its end is told after the verdict.
    let last = late.pop().unwrap();
    for _ in 0..100 {
        launch(kernel, 7, &mut late, 5000);
    }
    report(kernel, &mut late);
    let is_there = || {
        let loaded = LOADED.lock().unwrap();
        loaded
            .iter()
            .any(|(object, there)| object.contains("_slower_") && object.contains("teams=") && *there)
    };
    assert_eq!(launch(kernel, 7, &mut late, 5000), None, "it is retired");
    assert_eq!(settled(kernel, 7), Some(false), "it is retired");
    thread::sleep(2 * LOADING);
    assert!(is_there(), "a launch may still be running it");
    report(kernel, &mut vec![last]);
    wait_until("the code stays loaded", || !is_there());
}

/// Launches until a variant of any number of teams is settled, or none is. Variants of one number take 5000
/// ns, the others `takes`; ahead of time it is 1000. Returns the objects that ran, each once, in order.
fn launch_until_settled(kernel: &'static KernelOnDevice<Double>, takes: u64) -> (Vec<String>, bool) {
    let mut objects = Vec::new();
    let mut late = Vec::new();
    let patience = Instant::now();
    loop {
        if let Some(object) = launch(kernel, 7, &mut late, takes) {
            let is_of_any_number = !object.contains("teams=") && !object.contains("threads=");
            if let Some((_, nanoseconds)) = late.last_mut()
                && !is_of_any_number
            {
                *nanoseconds = 5000;
            }
            if objects.last() != Some(&object) {
                objects.push(object);
            }
        }
        report(kernel, &mut late);
        if objects.last().is_some_and(|object| !object.contains("teams="))
            && let Some(variant_runs) = settled(kernel, 7)
        {
            return (objects, variant_runs);
        }
        assert!(patience.elapsed() < Duration::from_secs(60), "{objects:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn where_a_variant_is_no_faster_one_for_any_number_of_teams_is_tried_and_both_verdicts_are_remembered() {
    let name = "__omp_offloading_1_2_forms_l1";
    let attached = attach(name);
    let [kernel, other] = image_copies(attached);
    let (objects, variant_runs) = launch_until_settled(kernel, 10);
    assert!(variant_runs, "the second is faster");
    let [full, any] = &objects[..] else {
        panic!("{objects:?}")
    };
    assert!(
        full.contains("teams=100") && full.contains("threads=128"),
        "{full}"
    );
    assert!(any.contains("i64:0x7"), "{any}");
    let (objects, variant_runs) = launch_until_settled(other, 3000);
    assert!(
        !variant_runs && objects.len() == 2,
        "both are slower: {objects:?}"
    );

    // When the image is loaded again, as in a later run, the first is not tried again.
    let compiled = || {
        let compiled = COMPILED.lock().unwrap();
        compiled.iter().filter(|object| object.contains(name)).count()
    };
    assert_eq!(compiled(), 4);
    let [kernel, other] = image_copies(attached);
    assert_eq!(launch_until_variant(kernel, 7, 10), *any);
    let mut late = Vec::new();
    wait_until("a verdict is forgotten", || {
        settled(other, 7) == Some(false) || {
            // Of a kernel that was launched once nobody knows whether it will be again.
            launch(other, 7, &mut Vec::new(), 10).is_some()
        }
    });
    assert_eq!(launch(other, 7, &mut late, 10), None);
    assert_eq!(compiled(), 4, "all is in the cache");
}

#[test]
fn verdicts_are_published_once_and_with_the_model_of_their_device() {
    let kernels = kernels_on_devices("__omp_offloading_1_2_judged_l1");
    let list = kernels[0].image.bundle.key_of_start().hash();
    let said = |device: &str| {
        let said = SAID.lock().unwrap();
        let of_device = said
            .iter()
            .filter(|(of, model, _)| *of == list && model == device);
        of_device.map(|(_, _, verdict)| *verdict).collect::<Vec<_>>()
    };
    let mut published = Vec::new();
    for (kernel, device) in kernels.iter().zip(["Double One", "Double Two"]) {
        assert_eq!(said(device), [None], "those of others are wanted at once");
        launch_until_variant(kernel, 7, 10);
        let mut late = Vec::new();
        for _ in 0..100 {
            launch(kernel, 7, &mut late, 10);
        }
        report(kernel, &mut late);
        wait_until("no verdict is published", || said(device).len() > 1);
        published.extend(said(device)[1]);
    }
    let times = Times {
        variant: 10,
        ahead_of_time: 1000,
    };
    assert_eq!(published.len(), 2);
    assert!(
        published.iter().all(|(_, measured)| *measured == times),
        "{published:?}"
    );
    assert_ne!(published[0].0, published[1].0, "of each architecture's object");
    assert_eq!((said("Double One").len(), said("Double Two").len()), (2, 2));
}

#[test]
fn what_cannot_be_made_stays_ahead_of_time() {
    for name in [
        "__omp_offloading_1_2_cannot_be_compiled_l1",
        "__omp_offloading_1_2_cannot_be_loaded_l1",
        "__omp_offloading_1_2_is_declined_l1",
    ] {
        let [kernel, _] = kernels_on_devices(name);
        let settled = SETTLED.load(Ordering::SeqCst);
        let mut late = Vec::new();
        for _ in 0..2 {
            assert_eq!(launch(kernel, 7, &mut late, 10), None);
        }
        wait_until("the key is not settled", || {
            SETTLED.load(Ordering::SeqCst) > settled
        });
        assert_eq!(launch(kernel, 7, &mut late, 10), None);
        assert_eq!(late, []);
    }
}

#[test]
fn where_a_variant_is_declined_one_for_any_number_of_teams_is_tried() {
    let [kernel, _] = kernels_on_devices("__omp_offloading_1_2_needs_much_l1");
    let object = launch_until_variant(kernel, 7, 10);
    assert!(!object.contains("teams="), "{object}");
}

#[test]
fn an_image_that_goes_while_its_code_is_loaded_takes_the_code_with_it() {
    let kernels = kernels_on_devices("__omp_offloading_1_2_withdrawn_l1");
    let released = RELEASED.load(Ordering::SeqCst);
    let mut late = Vec::new();
    for kernel in kernels {
        // Of a kernel that was launched once nobody knows whether it will be again.
        for _ in 0..2 {
            assert_eq!(launch(kernel, 7, &mut late, 10), None);
        }
    }
    wait_until("nothing is compiled", || {
        let compiled = COMPILED.lock().unwrap();
        compiled.iter().any(|object| object.contains("_withdrawn_"))
    });
    for device in [0, 1] {
        // SAFETY: nothing launches the kernels any more.
        unsafe {
            Double::registry().withdraw(|image| {
                image.device == device && image.bundle.contents.kernels[0].name.contains("_withdrawn_")
            });
        }
    }
    wait_until("the image copies are kept", || {
        RELEASED.load(Ordering::SeqCst) == released + 2
    });
    let loaded = LOADED.lock().unwrap();
    assert!(
        !loaded
            .iter()
            .any(|(object, there)| object.contains("_withdrawn_") && *there)
    );
}

#[test]
fn several_threads_launch_with_several_values() {
    let [kernel, _] = kernels_on_devices("__omp_offloading_1_2_threads_l1");
    thread::scope(|scope| {
        for thread in 0..4_u64 {
            scope.spawn(move || {
                let mut late = Vec::new();
                for turn in 0..2000 {
                    let scalar = (thread + turn) % 3;
                    if let Some(object) = launch(kernel, scalar, &mut late, 10) {
                        let is_right =
                            object.contains(&format!("i64:{scalar:#x}")) || !object.contains("i64:");
                        assert!(is_right, "{object} for {scalar}");
                    }
                    if turn % 64 == 0 {
                        report(kernel, &mut late);
                        thread::sleep(Duration::from_millis(1));
                    }
                }
                report(kernel, &mut late);
            });
        }
    });
    assert!(fork_gate::enter().is_some());
}
