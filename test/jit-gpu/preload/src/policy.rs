//! Which launches run a variant.

use std::env;
use std::ffi::{CStr, CString};
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use offloom_jit_cuda::background;
use offloom_jit_cuda::client::{Choice, Client, KernelData, Launch, Outcome};
use offloom_jit_cuda::context::Current;
use offloom_jit_cuda::error::CudaError;
use offloom_jit_cuda::image::{ImageCopy, Kernel};
use offloom_jit_cuda::variant::{self, Load, Variant};

/// The ticket of a launch of the program's own kernel; others are addresses.
const OF_BASE: u64 = 1;

/// How long a launch waits for the times of those before it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The policy of this library.
#[derive(Debug)]
pub(crate) struct Policy;

pub(crate) static POLICY: Policy = Policy;

/// What the environment asks for.
#[derive(Debug)]
struct Settings {
    /// Parts of names, and cubins.
    variants: Vec<(String, Vec<u8>)>,
    is_async: bool,
    is_timed: bool,
    waits_for_times: bool,
    unload_after: Option<u64>,
}

/// A variant that is loaded. Each launch that is told when it is done holds one of these; after the last the
/// variant is unloaded.
#[derive(Debug)]
struct Loaded {
    state: &'static State,
    variant: &'static Variant,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let (state, variant) = (self.state, self.variant);
        // What is not unloaded now stays until the image goes.
        let _ = background::add(move || state.unload(variant));
    }
}

/// A kernel of an image copy that has a variant.
#[derive(Debug)]
struct State {
    name: CString,
    image: &'static ImageCopy,
    cubin: &'static [u8],
    loaded: Mutex<Option<Arc<Loaded>>>,
    is_asked_for: AtomicBool,
    launches: AtomicU64,
    of_variant: AtomicU64,
    loads: AtomicU64,
    unloads: AtomicU64,
    refused: AtomicU64,
    timed: [AtomicU64; 2],
    not_timed: AtomicU64,
}

fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        let text = |name| env::var(name).unwrap_or_default();
        let variants = text("JIT_CUDA_TEST_VARIANTS");
        let variants = variants.split(',').filter_map(|variant| variant.split_once('='));
        Settings {
            variants: variants
                .map(|(part, cubin)| {
                    let bytes = fs::read(cubin).unwrap_or_else(|error| {
                        eprintln!("test: {cubin}: {error}");
                        Vec::new()
                    });
                    (part.to_owned(), bytes)
                })
                .collect(),
            is_async: text("JIT_CUDA_TEST_LOAD") == "async",
            is_timed: !text("JIT_CUDA_TEST_TIMED").is_empty(),
            waits_for_times: text("JIT_CUDA_TEST_TIMED") == "each",
            unload_after: text("JIT_CUDA_TEST_UNLOAD_AFTER").parse().ok(),
        }
    })
}

/// The kernels so far; their index is what is kept for them.
static STATES: Mutex<Vec<&'static State>> = Mutex::new(Vec::new());

fn states() -> Vec<&'static State> {
    STATES.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn state_of(kernel: &Kernel) -> &'static State {
    states()[kernel.data()]
}

impl Client for Policy {
    fn adopt(&self, image: &'static ImageCopy, _file: Option<&[u8]>, _current: &Current<'_>) -> bool {
        let context = image.context();
        let [major, minor] = context.capability();
        eprintln!(
            "test: image {} on device {}, sm_{major}{minor}",
            image.number(),
            context.device()
        );
        true
    }

    fn kernel(&self, image: &'static ImageCopy, name: &CStr) -> Option<KernelData> {
        let text = name.to_string_lossy();
        let mut variants = settings().variants.iter();
        let (_, cubin) = variants.find(|(part, cubin)| text.contains(part) && !cubin.is_empty())?;
        let mut states = STATES.lock().unwrap_or_else(PoisonError::into_inner);
        states.push(Box::leak(Box::new(State {
            name: name.to_owned(),
            image,
            cubin,
            loaded: Mutex::default(),
            is_asked_for: AtomicBool::new(false),
            launches: AtomicU64::new(0),
            of_variant: AtomicU64::new(0),
            loads: AtomicU64::new(0),
            unloads: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            timed: Default::default(),
            not_timed: AtomicU64::new(0),
        })));
        Some(KernelData {
            data: states.len() - 1,
            parameters: env::var("JIT_CUDA_TEST_PARAMETERS").ok()?.parse().ok()?,
        })
    }

    fn settled(&self, _: &Launch<'_>) -> Option<Choice> {
        None
    }

    fn choose(&self, launch: &Launch<'_>) -> Choice {
        let state = state_of(launch.kernel);
        let number = state.launches.fetch_add(1, Ordering::Relaxed);
        if number == 0 {
            let words: Vec<_> = launch
                .words
                .iter()
                .skip(1)
                .map(|word| format!("{word:#x}"))
                .collect();
            let Launch { grid, block, .. } = launch;
            eprintln!(
                "test: first launch: grid {grid:?}, block {block:?}, words {}",
                words.join(" ")
            );
        }
        if state.loaded().is_none() && !state.is_asked_for.swap(true, Ordering::AcqRel) {
            let kernel = launch.kernel;
            if settings().is_async {
                // Without, launches run the base kernel.
                let _ = background::add(move || state.load(kernel));
            } else {
                state.load(kernel);
            }
        }
        let Some(loaded) = state.loaded() else {
            // Another thread is loading it: no time is to be waited for.
            state.not_timed.fetch_add(1, Ordering::Relaxed);
            return Choice::BASE;
        };
        if settings().waits_for_times {
            state.wait_for_times(number);
        }
        if settings().is_timed && number % 2 == 1 {
            return Choice {
                variant: None,
                ticket: OF_BASE,
            };
        }
        let launched = state.of_variant.fetch_add(1, Ordering::Relaxed) + 1;
        if settings()
            .unload_after
            .is_some_and(|after| launched.is_multiple_of(after))
        {
            state.give_up();
        }
        let is_counted = settings().is_timed || settings().unload_after.is_some();
        Choice {
            variant: Some(loaded.variant),
            ticket: if is_counted {
                Arc::into_raw(loaded) as u64
            } else {
                0
            },
        }
    }

    fn finished(&self, kernel: &'static Kernel, ticket: u64, outcome: Outcome) {
        let state = state_of(kernel);
        if ticket != OF_BASE {
            // SAFETY: the ticket was made of such a pointer, and each is handed back once.
            drop(unsafe { Arc::from_raw(ticket as *const Loaded) });
        }
        match outcome {
            Outcome::Took(nanoseconds) if nanoseconds > 0 => &state.timed[usize::from(ticket != OF_BASE)],
            _ => &state.not_timed,
        }
        .fetch_add(1, Ordering::Relaxed);
    }

    fn refused(&self, kernel: &'static Kernel, _variant: &'static Variant, error: CudaError) {
        let state = state_of(kernel);
        if state.refused.fetch_add(1, Ordering::Relaxed) == 0 {
            eprintln!("test: refused: {error}");
        }
        // Another one will not be asked for.
        state.is_asked_for.store(true, Ordering::Release);
        drop(state.lock_loaded().take());
    }

    fn withdraw(&self, image: &'static ImageCopy) {
        for state in states() {
            if std::ptr::eq(state.image, image) {
                // All its variants are unloaded after this.
                std::mem::forget(state.lock_loaded().take());
            }
        }
    }
}

impl State {
    fn load(&'static self, kernel: &'static Kernel) {
        let load = Load {
            cubin: self.cubin,
            name: &self.name,
            anchors: &[],
            most_bytes: u64::MAX,
        };
        let loaded = self
            .image
            .with_current(|current| variant::load(current, kernel, &load));
        match loaded {
            Ok(Ok(variant)) => {
                self.loads.fetch_add(1, Ordering::Relaxed);
                let state = self;
                *self.lock_loaded() = Some(Arc::new(Loaded { state, variant }));
            }
            Ok(Err(error)) => eprintln!("test: not loaded: {error}"),
            Err(error) => eprintln!("test: not loaded: {error}"),
        }
    }

    fn lock_loaded(&self) -> MutexGuard<'_, Option<Arc<Loaded>>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn loaded(&self) -> Option<Arc<Loaded>> {
        self.lock_loaded().clone()
    }

    /// Waits until it is known what became of the launches so far: how soon times are read depends on what
    /// else the machine does.
    fn wait_for_times(&self, launches: u64) {
        let known = || {
            let counters = [&self.timed[0], &self.timed[1], &self.not_timed];
            counters
                .map(|counter| counter.load(Ordering::Relaxed))
                .iter()
                .sum::<u64>()
        };
        let end = Instant::now() + PATIENCE;
        while known() < launches && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Has the variant unloaded after the last launch that runs it, and another loaded at the next launch.
    fn give_up(&self) {
        drop(self.lock_loaded().take());
        self.is_asked_for.store(false, Ordering::Release);
    }

    fn unload(&self, variant: &'static Variant) {
        let unloaded = self
            .image
            .with_current(|current| variant::unload(current, variant));
        if let Ok(Err(error)) = unloaded {
            eprintln!("test: not unloaded: {error}");
        }
        self.unloads.fetch_add(1, Ordering::Relaxed);
    }
}

pub(crate) extern "C" fn say_what_was_launched() {
    static SAID: AtomicBool = AtomicBool::new(false);
    if SAID.swap(true, Ordering::Relaxed) {
        return;
    }
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    for state in states() {
        eprintln!(
            "test: image {}: {} launches, {} of the variant, {} loads, {} unloads, {} refused, times {} of base, {} of variant, {} none",
            state.image.number(),
            count(&state.launches),
            count(&state.of_variant),
            count(&state.loads),
            count(&state.unloads),
            count(&state.refused),
            count(&state.timed[0]),
            count(&state.timed[1]),
            count(&state.not_timed),
        );
    }
}
