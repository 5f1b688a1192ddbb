//! The state behind one slot: one kernel of one image copy, and the variants that its launches may run.

use std::collections::VecDeque;
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use offloom_abi::jit_image::{Choice, Slot};
use offloom_jit_cache::inline_cache::InlineCaches;
use offloom_jit_cache::probation::{Difference, Verdict, clear_difference};
use offloom_jit_cache::settings::Mode;
use offloom_jit_cache::stats;
use offloom_jit_cache::store::Times;
use offloom_jit_cache::tracker::LaunchKey;
use offloom_jit_cache::variants::{Code, Entry, Found, Variants};

use crate::dump::dump;
use crate::exit_gate;
use crate::fork_gate;
use crate::guard::Interlude;
use crate::history::{Copy, Launches};
use crate::image::ImageCopy;
use crate::kernel::Kernel;
use crate::launch::ArgumentWords;
use crate::lock::lock;
use crate::queue;
use crate::report;
use crate::settings::{counts_launches, settings};
use crate::variant::{LinkedCode, Variant};

/// The most variants that a kernel may have on one device at one time.
const MOST_VARIANTS: usize = 256;
/// Once it has them, one of so many launches for which there is none makes room for one: compiles stay rare where nearly every
/// launch has a value of its own.
const LAUNCHES_FOR_ROOM: u64 = 1024;
/// The most that are ever made: their records stay as long as the image.
const MOST_MADE: usize = 4096;

/// A launch waits for a variant that is in the cache if it saves at least this: links take one to three milliseconds, and the cache may be
/// on a slow disk.
const WORTH_WAITING: Duration = Duration::from_millis(20);

/// What the runtime knows about one slot. Lives as long as its image copy. What launches read comes first.
#[repr(C, align(64))]
pub(crate) struct SlotState {
    /// The kernel, which has a slot in each copy.
    pub(crate) kernel: &'static Kernel,
    variants: Variants,
    /// The image copy.
    pub(crate) image: &'static ImageCopy,
    /// What the stub answers by itself.
    inline_caches: InlineCaches,
    /// Variants that were made or could not be, running or retired: names their code.
    made: AtomicUsize,
    /// What launches ran; only counted when someone wants to know.
    pub(crate) launches: Launches,
    /// Launches for which there was neither a variant nor room for one.
    without_room: AtomicU64,
    /// Variants in the order in which they are looked at to make room.
    live: Mutex<VecDeque<&'static Variant>>,
    /// Keys without a variant, since it could not be made or was slower in an earlier run.
    without_variant: Mutex<Vec<LaunchKey>>,
    /// Held by the launch or thread that links a variant: one at a time for each kernel and device.
    linking: Mutex<()>,
}

const AHEAD_OF_TIME: Choice = Choice {
    code: ptr::null(),
    ticket: 0,
};

impl SlotState {
    /// A kernel that was not launched yet.
    pub(crate) fn new(slot: &'static Slot, image: &'static ImageCopy, kernel: &'static Kernel) -> Self {
        Self {
            kernel,
            variants: Variants::new(&kernel.tracker),
            image,
            inline_caches: InlineCaches::new(slot),
            made: AtomicUsize::new(0),
            launches: Launches::default(),
            without_room: AtomicU64::new(0),
            live: Mutex::default(),
            without_variant: Mutex::default(),
            linking: Mutex::new(()),
        }
    }

    /// What a launch runs. Takes no lock and allocates nothing when that is known. With `COUNT`, the variant counts it.
    #[inline]
    pub(crate) fn choose<const COUNT: bool>(&'static self, launch: ArgumentWords<'_>) -> Choice {
        match self.variants.find(&self.kernel.tracker, &launch) {
            Found::Code(code) => choice::<COUNT>(Some(code)),
            Found::AheadOfTime => AHEAD_OF_TIME,
            Found::Pending => {
                queue::resume_after_fork();
                choice::<COUNT>(self.fitting(&launch))
            }
            Found::Unknown => self.choose_the_first_time::<COUNT>(launch),
        }
    }

    /// Code that is right for a launch which has none of its own.
    fn fitting(&self, launch: &ArgumentWords<'_>) -> Option<Code> {
        self.variants.fitting(&self.kernel.tracker, launch)
    }

    /// Counts a launch.
    #[inline]
    pub(crate) fn count(&self, choice: Choice) {
        self.launches.count(choice.code.is_null());
    }

    #[cold]
    fn choose_the_first_time<const COUNT: bool>(&'static self, launch: ArgumentWords<'_>) -> Choice {
        let _interlude = Interlude::begin();
        let fitting = self.fitting(&launch);
        let Some(change) = fork_gate::enter() else {
            return choice::<COUNT>(fitting);
        };
        // The cache is not asked, at launch after launch, for what would not be taken.
        if settings().mode == Mode::Async && !queue::has_room() {
            return choice::<COUNT>(fitting);
        }
        if self.variants.len() >= MOST_VARIANTS && !self.make_room() {
            return choice::<COUNT>(fitting);
        }
        let Some(key) = self.kernel.decide(&launch, || self.has_kept_several()) else {
            // There are few such steps.
            return self.choose::<COUNT>(launch);
        };
        if !self.variants.claim(&key) {
            return choice::<COUNT>(fitting);
        }
        dump(self.kernel, self.image, &key, launch);
        match settings().mode {
            Mode::Sync => choice::<COUNT>(self.make(&key).or(fitting)),
            Mode::Off => AHEAD_OF_TIME,
            Mode::Async => {
                let saved = self.kernel.remembered_times(&key).and_then(time_worth_waiting);
                let (made, wait) = mpsc::channel();
                let claimed = key.clone();
                let make = move || {
                    // Nobody may be waiting.
                    let _ = made.send(self.make_if_asked_for(&claimed));
                };
                // Later launches ask again.
                if !queue::offer(make) {
                    self.variants.remove(&key);
                    return choice::<COUNT>(fitting);
                }
                drop(change);
                let code = saved.and_then(|saved| self.wait_for_link(&wait, saved));
                choice::<COUNT>(code.or(fitting))
            }
        }
    }

    /// Whether variants for different launches were faster.
    fn has_kept_several(&self) -> bool {
        lock(&self.live)
            .iter()
            .filter(|variant| variant.is_kept())
            .nth(1)
            .is_some()
    }

    /// Waits until a variant is linked that saves so much of a launch, and no longer than that.
    fn wait_for_link(&self, made: &mpsc::Receiver<Option<Code>>, saved: Duration) -> Option<Code> {
        report::log(format_args!(
            "{}: image copy {}: a launch waits for a variant that was faster lately, by {} ms",
            self.kernel.name,
            self.image.number,
            saved.as_millis()
        ));
        made.recv_timeout(saved).ok().flatten()
    }

    /// Makes the variant for a key that was claimed a while ago, unless an argument was given up since: launches look for something more
    /// general then.
    fn make_if_asked_for(&'static self, key: &LaunchKey) -> Option<Code> {
        if self.kernel.tracker.is_outdated(key) {
            self.variants.remove(key);
            return None;
        }
        self.make(key)
    }

    /// Makes the variant for a key that was claimed. Whatever comes of it, the key is settled afterwards.
    pub(crate) fn make(&'static self, key: &LaunchKey) -> Option<Code> {
        let _change = fork_gate::enter()?;
        if self.image.is_withdrawn() {
            return None;
        }
        let variant = self.make_code(key).map(|(code, measure, history)| {
            let label = format!("{}: image copy {}", self.kernel.name, self.image.number);
            let variant = Variant::new(label, key.clone(), code, measure, history);
            // While its image is there only its code is ever given back: a launch may have found it and not yet asked for its code.
            let variant: &'static Variant = Box::leak(Box::new(variant));
            self.image.add_variant(variant);
            variant
        });
        let code = variant.and_then(code_of);
        self.variants
            .insert(key, code.map_or(Entry::AheadOfTime, Entry::Code));
        if variant.is_none_or(Variant::is_kept) {
            self.settle_key(key, variant);
        }
        // Not before it is in the table, which it is taken out of to make room.
        match variant {
            Some(variant) => lock(&self.live).push_back(variant),
            None => {
                self.made.fetch_add(1, Ordering::Relaxed);
                lock(&self.without_variant).push(key.clone());
            }
        }
        code
    }

    /// The code for a key, linked, and whether its launches are to be timed.
    fn make_code(&self, key: &LaunchKey) -> Option<(LinkedCode, bool, Option<Arc<Copy>>)> {
        let (linked, link_time, times) = self.kernel.with_object(key, |object| {
            if object.times.and_then(clear_difference) == Some(Difference::Slower) {
                return Some((None, Duration::ZERO, object.times));
            }
            let _linking = lock(&self.linking);
            let _undivided = fork_gate::enter_undivided();
            let _work = exit_gate::enter()?;
            let number = self.made.fetch_add(1, Ordering::Relaxed);
            let start = Instant::now();
            let linked = self.image.link(self.kernel.name, number, &object.bytes);
            Some((Some(linked), start.elapsed(), object.times))
        })??;
        let remember = |verdict| {
            self.kernel.history.add_copy(
                || self.kernel.descriptor(key).to_string(),
                self.image.number,
                link_time,
                verdict,
                times,
            )
        };
        let difference = times.and_then(clear_difference);
        let measure = settings().retire && difference.is_none();
        if let Some(difference) = difference {
            let (was, is) = match difference {
                Difference::Faster => ("faster", "timed again"),
                Difference::Slower => ("slower", "used"),
            };
            report::log(format_args!(
                "{}: image copy {}: a variant was {was} lately: it is not {is}",
                self.kernel.name, self.image.number
            ));
        }
        match linked {
            Some(Ok(code)) if measure => Some((code, true, remember(stats::Verdict::Measuring))),
            Some(Ok(code)) => Some((code, false, remember(stats::Verdict::Kept))),
            None => {
                remember(stats::Verdict::Retired);
                self.kernel.forget_object(key);
                None
            }
            Some(Err(error)) => {
                remember(stats::Verdict::Failed(error.to_string()));
                report::failure(format_args!(
                    "{}: stays ahead of time on image copy {}: {error}",
                    self.kernel.name, self.image.number
                ));
                None
            }
        }
    }

    /// Takes one key out of the table that no launch will miss: without a variant, or with one that is retired, or that was not launched
    /// since it was last looked at. False if it is not yet time, or all are used.
    fn make_room(&self) -> bool {
        let launches = self.without_room.fetch_add(1, Ordering::Relaxed) + 1;
        if !launches.is_multiple_of(LAUNCHES_FOR_ROOM) || self.made.load(Ordering::Relaxed) >= MOST_MADE {
            return false;
        }
        if let Some(key) = lock(&self.without_variant).pop() {
            self.variants.remove(&key);
            return true;
        }
        let mut live = lock(&self.live);
        // The first time round all may have been launched.
        for _ in 0..2 * live.len() {
            let Some(variant) = live.pop_front() else { break };
            if variant.is_retired() || (!variant.was_launched() && variant.evict()) {
                self.variants.remove(&variant.key);
                self.kernel.forget_object(&variant.key);
                self.kernel.history.note_launches();
                return true;
            }
            live.push_back(variant);
        }
        false
    }

    /// Has launches with this key run the variant, or ahead-of-time code, without asking. Where they are counted they have to.
    fn settle_key(&self, key: &LaunchKey, variant: Option<&Variant>) {
        if counts_launches() {
            return;
        }
        // Images may be unloaded without notice when the process ends.
        let Some(_work) = exit_gate::enter() else { return };
        let code = variant.map(Variant::code);
        self.inline_caches.publish(&self.kernel.tracker, key, code);
    }

    /// Notes that the image copy is being unloaded.
    pub(crate) fn withdraw(&self) {
        self.inline_caches.close();
    }

    /// Takes note of how a variant compares with the ahead-of-time body.
    pub(crate) fn settle(&self, variant: &'static Variant, verdict: Verdict) {
        self.kernel.history.note_launches();
        let times = variant.times();
        let (word, kept) = match verdict {
            Verdict::Retire => {
                self.variants.insert(&variant.key, Entry::AheadOfTime);
                self.kernel.forget_object(&variant.key);
                ("retired", None)
            }
            _ => ("kept", Some(variant)),
        };
        self.settle_key(&variant.key, kept);
        if clear_difference(times).is_some() {
            self.kernel.remember_times(&variant.key, times);
        }
        report::log(format_args!(
            "{}: image copy {}: a variant is {word}: {} ns, ahead of time {} ns",
            self.kernel.name, self.image.number, times.variant, times.ahead_of_time
        ));
    }
}

/// What a launch of the variant saves, if that is so much more than a link takes that the first launch may as well wait for it.
fn time_worth_waiting(times: Times) -> Option<Duration> {
    if clear_difference(times) != Some(Difference::Faster) {
        return None;
    }
    let saved = Duration::from_nanos(times.ahead_of_time - times.variant);
    (saved >= WORTH_WAITING).then_some(saved)
}

/// What the table holds of a variant.
fn code_of(variant: &Variant) -> Option<Code> {
    Code::at(ptr::from_ref(variant) as u64)
}

/// The variant that an entry of the table leads to.
#[inline]
fn variant_of(code: Code) -> &'static Variant {
    // SAFETY: what the table holds are addresses of variants, which are never freed.
    unsafe { &*(code.address() as *const Variant) }
}

#[inline]
fn choice<const COUNT: bool>(code: Option<Code>) -> Choice {
    match code {
        Some(code) => variant_of(code).choose::<COUNT>(),
        None => AHEAD_OF_TIME,
    }
}
