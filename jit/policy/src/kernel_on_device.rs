//! One kernel of one image copy, on one device: its variants, and which of them a launch runs.
//!
//! What happens to a key, in order: a launch has it and finds nothing ([`KernelOnDevice::choose`]); it is
//! claimed, and its object looked up or compiled ([`KernelOnDevice::make`]); the backend loads the object;
//! the variant is entered in the table ([`KernelOnDevice::enter`]); launches time it until there is a verdict
//! ([`KernelOnDevice::finished`]), which settles the key. Where the variant was clearly slower and there is
//! another form ([`Form`]), the key is forgotten instead: the next launch that has it asks for that form.

use std::collections::{HashSet, VecDeque};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use offloom_jit_cache::settings::Mode;
use offloom_jit_cache::stats;
use offloom_jit_variants::tracker::LaunchKey;
use offloom_jit_variants::trial::Times;
use offloom_jit_variants::trial::{Difference, Verdict, clear_difference};
use offloom_jit_variants::variants::{Code as Place, Entry, Found, Variants};

use crate::backend::{Backend, Code, LoadFailure, Target};
use crate::first_ask;
use crate::history::{Copy, Launches};
use crate::image::ImageCopy;
use crate::kernel::{Form, Kernel, model, time_worth_waiting};
use crate::process::exit_gate;
use crate::process::fork_gate;
use crate::process::guard::ForeignThreadGuard;
use crate::process::lock::lock;
use crate::process::queue;
use crate::process::report;
use crate::process::settings::{counts_launches, settings};
use crate::variant::{self, Choice, Variant};

/// The most variants that a kernel may have on one device at one time.
const MOST_VARIANTS: usize = 256;
/// Once it has them, one of so many launches for which there is none makes room for one: compiles stay rare
/// where nearly every launch has a value of its own.
const LAUNCHES_FOR_ROOM: u64 = 1024;
/// The most that are ever made: their records stay as long as the image.
const MOST_MADE: usize = 4096;

/// What is done once a key that was claimed is settled: with its variant, if there is one.
type Then<B> = Box<dyn FnOnce(Option<&'static Variant<B>>) + Send>;

/// What policy knows of one kernel on one device. Lives as long as its image copy. What launches read comes
/// first.
#[repr(C, align(64))]
pub struct KernelOnDevice<B: Backend> {
    /// The kernel, which has one of these in each image copy.
    pub kernel: &'static Kernel<B>,
    variants: Variants,
    /// The image copy.
    pub image: &'static ImageCopy<B>,
    /// What the backend knows of it.
    pub device: B::OnDevice,
    /// Variants that were made or could not be, running or retired: names their code.
    made: AtomicUsize,
    /// What launches ran; only counted when someone wants to know.
    pub launches: Launches,
    /// Whether code was asked for before.
    was_asked_for: AtomicBool,
    /// Launches for which there was neither a variant nor room for one.
    without_room: AtomicU64,
    /// Variants in the order in which they are looked at to make room.
    live: Mutex<VecDeque<&'static Variant<B>>>,
    /// Keys without a variant, since it could not be made or was slower in an earlier run.
    without_variant: Mutex<Vec<LaunchKey>>,
    /// Keys whose full form was clearly slower here, and that have another one.
    slower: Mutex<HashSet<LaunchKey>>,
}

impl<B: Backend> KernelOnDevice<B> {
    /// A kernel that was not launched yet.
    pub fn new(device: B::OnDevice, image: &'static ImageCopy<B>, kernel: &'static Kernel<B>) -> Self {
        Self {
            kernel,
            variants: Variants::new(&kernel.tracker),
            image,
            device,
            made: AtomicUsize::new(0),
            launches: Launches::default(),
            was_asked_for: AtomicBool::new(false),
            without_room: AtomicU64::new(0),
            live: Mutex::default(),
            without_variant: Mutex::default(),
            slower: Mutex::default(),
        }
    }

    /// What a launch runs. Takes no lock and allocates nothing when that is known. With `COUNT`, the variant
    /// counts it.
    #[inline]
    pub fn choose<const COUNT: bool>(&'static self, launch: B::Launch<'_>) -> Choice<B::Entry> {
        match self.variants.find(&self.kernel.tracker, &launch) {
            Found::Code(place) => choice::<B, COUNT>(Some(place)),
            Found::AheadOfTime => choice::<B, COUNT>(None),
            Found::Pending => {
                queue::resume_after_fork();
                first_ask::hurry(self);
                choice::<B, COUNT>(self.fitting(&launch))
            }
            Found::Unknown => self.choose_the_first_time::<COUNT>(launch),
        }
    }

    /// As [`choose`](Self::choose). It is counted, where launches are.
    pub fn choose_and_count(&'static self, launch: B::Launch<'_>) -> Choice<B::Entry> {
        if !counts_launches() {
            return self.choose::<false>(launch);
        }
        let choice = self.choose::<true>(launch);
        self.count(choice);
        choice
    }

    /// What a launch runs where that is known for good: a variant that stays, or ahead-of-time code since
    /// there is none. Takes no lock, allocates nothing and counts nothing.
    #[inline]
    pub fn settled(&self, launch: B::Launch<'_>) -> Option<Choice<B::Entry>> {
        let entry = match self.variants.find(&self.kernel.tracker, &launch) {
            Found::Code(place) => {
                let variant = variant_at::<B>(place);
                Some(variant.is_kept().then(|| variant.entry())?)
            }
            Found::AheadOfTime => None,
            Found::Pending | Found::Unknown => return None,
        };
        Some(Choice { entry, ticket: 0 })
    }

    /// Code that is right for a launch which has none of its own.
    fn fitting(&self, launch: &B::Launch<'_>) -> Option<Place> {
        self.variants.fitting(&self.kernel.tracker, launch)
    }

    /// Counts a launch.
    #[inline]
    pub fn count(&self, choice: Choice<B::Entry>) {
        self.launches.count(choice.entry.is_none());
    }

    #[cold]
    fn choose_the_first_time<const COUNT: bool>(&'static self, launch: B::Launch<'_>) -> Choice<B::Entry> {
        let _guard = ForeignThreadGuard::begin();
        let fitting = self.fitting(&launch);
        let fits = || choice::<B, COUNT>(fitting);
        let Some(change) = fork_gate::enter() else {
            return fits();
        };
        // The cache is not asked, at launch after launch, for what would not be taken.
        if settings().mode == Mode::Async && !queue::has_room() {
            return fits();
        }
        if self.variants.len() >= MOST_VARIANTS && !self.make_room() {
            return fits();
        }
        let Some(key) = self.kernel.decide(&launch, || self.has_kept_several()) else {
            // There are few such steps.
            return self.choose::<COUNT>(launch);
        };
        if !self.variants.claim(&key) {
            return fits();
        }
        B::note_first_launch(self.kernel, self.image, &key, launch);
        let (made, wait) = mpsc::channel();
        // Nobody may be waiting.
        let tell = move |variant: Option<&'static Variant<B>>| {
            let _ = made.send(variant);
        };
        let made = match settings().mode {
            Mode::Off => return choice::<B, COUNT>(None),
            Mode::Sync => {
                self.make(key, Box::new(tell));
                wait.recv().ok().flatten()
            }
            Mode::Async => {
                // Only where an earlier run had long launches: a look into the cache takes longer than many
                // launches do.
                let target = B::target(self.image).filter(|_| self.kernel.bundle.has_long_launches());
                let saved = target.and_then(|target| self.time_saved_lately(target, &key));
                let claimed = key.clone();
                let make = move |is_wanted| {
                    if is_wanted {
                        self.make_if_asked_for(claimed, Box::new(tell));
                    } else {
                        self.variants.remove(&claimed);
                    }
                };
                let may_be_launched_once =
                    saved.is_none() && !self.was_asked_for.swap(true, Ordering::Relaxed);
                let is_taken = if may_be_launched_once {
                    first_ask::wait(self, make)
                } else {
                    queue::offer(move || make(true))
                };
                // Later launches ask again.
                if !is_taken {
                    self.variants.remove(&key);
                    return fits();
                }
                drop(change);
                saved.and_then(|saved| self.wait_for_load(&wait, saved))
            }
        };
        match made {
            Some(variant) => variant.choose::<COUNT>(),
            None => fits(),
        }
    }

    /// What a launch with this key is worth waiting for, as the cache remembers it.
    fn time_saved_lately(&self, target: &'static Target, key: &LaunchKey) -> Option<Duration> {
        let form = self.form_for(key);
        let model = model(self.image);
        let mut times = self.kernel.remembered_times(target, model, key, form)?;
        if clear_difference(times) == Some(Difference::Slower)
            && let Some(other) = self.kernel.form_after(form, key)
        {
            times = self.kernel.remembered_times(target, model, key, other)?;
        }
        time_worth_waiting(times)
    }

    /// The form that is made first for this key.
    fn form_for(&self, key: &LaunchKey) -> Form {
        match lock(&self.slower).contains(key) {
            true => Form::AnyLaunch,
            false => Form::Full,
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

    /// Waits until a variant is loaded that saves so much of a launch, and no longer than that.
    fn wait_for_load(
        &self,
        made: &mpsc::Receiver<Option<&'static Variant<B>>>,
        saved: Duration,
    ) -> Option<&'static Variant<B>> {
        report::log(format_args!(
            "{}: image copy {}: a launch waits for a variant that was faster lately, by {} ms",
            self.kernel.name,
            self.image.number,
            saved.as_millis()
        ));
        made.recv_timeout(saved).ok().flatten()
    }

    /// Makes the variant for a key that was claimed a while ago, unless an argument has become megamorphic
    /// since: launches look for something more general then.
    fn make_if_asked_for(&'static self, key: LaunchKey, then: Then<B>) {
        if self.kernel.tracker.is_outdated(&key) {
            self.variants.remove(&key);
            return then(None);
        }
        self.make(key, then);
    }

    /// Makes the variant for a key that was claimed: looks its object up or has it compiled, and has it
    /// loaded. `then` is called with what came of it, on this thread or on the backend's; by then the key is
    /// settled, unless the image is going away.
    fn make(&'static self, key: LaunchKey, then: Then<B>) {
        let form = self.form_for(&key);
        self.make_in_form(key, form, then);
    }

    /// Makes it in this form, or in another one where the cache knows that this one is slower.
    fn make_in_form(&'static self, key: LaunchKey, form: Form, then: Then<B>) {
        let Some(_change) = fork_gate::enter() else {
            return then(None);
        };
        if self.image.is_withdrawn() {
            return then(None);
        }
        let Some(target) = B::target(self.image) else {
            return then(self.enter(&key, None));
        };
        let object = self.kernel.object(target, &key, form);
        let Some(object) = object.get().and_then(Option::as_ref) else {
            return then(self.enter(&key, None));
        };
        let times = object.timed.and_then(|timed| timed.on(model(self.image)));
        if times.and_then(clear_difference) == Some(Difference::Slower) {
            self.log_earlier_times("slower", "used");
            self.remember(&key, form, Duration::ZERO, stats::Verdict::Retired, times, None);
            self.kernel.forget_object(target, &key, form);
            return match self.kernel.form_after(form, &key) {
                Some(other) => self.make_in_form(key, other, then),
                None => then(self.enter(&key, None)),
            };
        }
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let start = Instant::now();
        let loaded = move |loaded| then(self.enter_loaded(&key, form, loaded, start.elapsed(), times));
        B::load(self, number, &object.bytes, Box::new(loaded));
    }

    /// Enters what loading gave.
    fn enter_loaded(
        &'static self,
        key: &LaunchKey,
        form: Form,
        loaded: Result<Code<B>, LoadFailure>,
        took: Duration,
        times: Option<Times>,
    ) -> Option<&'static Variant<B>> {
        let _change = fork_gate::enter()?;
        let mut code = match loaded {
            Ok(code) => code,
            Err(LoadFailure::TooLate) => return self.enter(key, None),
            Err(LoadFailure::Busy) => {
                self.variants.remove(key);
                return None;
            }
            Err(failure) => {
                let line = format!(
                    "{}: stays ahead of time on image copy {}: {failure}",
                    self.kernel.name, self.image.number
                );
                match failure {
                    LoadFailure::Declined(_) => report::log(line),
                    _ => report::failure(line),
                }
                let verdict = stats::Verdict::Failed(failure.to_string());
                self.remember(key, form, took, verdict, times, None);
                return self.enter(key, None);
            }
        };
        // What is clearly slower was not loaded.
        let is_known = times.and_then(clear_difference).is_some();
        if is_known {
            self.log_earlier_times("faster", "timed again");
        }
        let measure = settings().retire && !is_known;
        let verdict = if measure {
            stats::Verdict::Measuring
        } else {
            stats::Verdict::Kept
        };
        let history = self.remember(key, form, took, verdict, times, code.on_gpu.take());
        let label = format!("{}: image copy {}", self.kernel.name, self.image.number);
        let variant = Variant::new(label, (key.clone(), form), code, measure, history);
        // While its image is there only its code is ever given back: a launch may have found it and not yet
        // asked for its code.
        let variant: &'static Variant<B> = Box::leak(Box::new(variant));
        self.image.add_variant(variant);
        self.enter(key, Some(variant))
    }

    /// Says what launches with a key run from now on.
    fn enter(&self, key: &LaunchKey, variant: Option<&'static Variant<B>>) -> Option<&'static Variant<B>> {
        self.variants.insert(
            key,
            variant.and_then(place_of).map_or(Entry::AheadOfTime, Entry::Code),
        );
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
        variant
    }

    fn log_earlier_times(&self, was: &str, is: &str) {
        report::log(format_args!(
            "{}: image copy {}: a variant was {was} lately: it is not {is}",
            self.kernel.name, self.image.number
        ));
    }

    fn remember(
        &self,
        key: &LaunchKey,
        form: Form,
        took: Duration,
        verdict: stats::Verdict,
        times: Option<Times>,
        on_gpu: Option<stats::OnGpu>,
    ) -> Option<Arc<Copy>> {
        self.kernel.history.add_copy(
            || self.kernel.descriptor(key, form).to_string(),
            self.image.number,
            took,
            verdict,
            times,
            on_gpu,
        )
    }

    /// Takes one key out of the table that no launch will miss: without a variant, or with one that is
    /// retired, or that was not launched since it was last looked at. False if it is not yet time, or all are
    /// used.
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
            if !variant.is_retired() && (variant.was_launched() || !variant.evict()) {
                live.push_back(variant);
                continue;
            }
            self.forget_object(variant);
            self.kernel.history.note_launches();
            // Its key may have another variant by now, in another form.
            let own = place_of(variant).map(Entry::Code);
            if [Some(Entry::AheadOfTime), own]
                .into_iter()
                .flatten()
                .any(|entry| self.variants.remove_if(&variant.key, entry))
            {
                return true;
            }
        }
        false
    }

    fn forget_object(&self, variant: &Variant<B>) {
        if let Some(target) = B::target(self.image) {
            self.kernel.forget_object(target, &variant.key, variant.form);
        }
    }

    /// Has launches with this key run the variant, or ahead-of-time code, without asking. Where they are
    /// counted they have to.
    fn settle_key(&self, key: &LaunchKey, variant: Option<&Variant<B>>) {
        if counts_launches() {
            return;
        }
        // Images may be unloaded without notice when the process ends.
        let Some(_work) = exit_gate::enter() else { return };
        let entry = variant.map(Variant::entry);
        B::settle(&self.device, &self.kernel.tracker, key, entry);
    }

    /// Notes that the image copy is being unloaded.
    pub(crate) fn withdraw(&self) {
        first_ask::forget(self);
        B::close(&self.device);
    }

    /// Takes note of the end of a timed launch, and of what it took in nanoseconds, if that says something.
    ///
    /// # Safety
    /// `ticket` is from [`Self::choose`] for this kernel on this device, and this is called once for it.
    pub unsafe fn finished(&'static self, ticket: u64, nanoseconds: Option<u64>) {
        // SAFETY: as the caller promises.
        let variant = unsafe { variant::of_ticket::<B>(ticket) };
        let change = fork_gate::enter();
        if change.is_some()
            && let Some(nanoseconds) = nanoseconds
            && let Some(verdict) = variant::note(variant, ticket, nanoseconds)
        {
            self.settle(variant, verdict);
        }
        variant.leave();
    }

    /// Takes note that other launches were under way on the device beside a timed one, the end of which is
    /// told next.
    ///
    /// # Safety
    /// `ticket` is from [`Self::choose`] for this kernel on this device, and [`Self::finished`] was not
    /// called for it.
    pub unsafe fn disturbed(&self, ticket: u64) {
        // SAFETY: as the caller promises.
        unsafe { variant::of_ticket::<B>(ticket) }.note_disturbance();
    }

    /// Takes note that the device refuses to launch the variant whose entry `is_it` knows: launches with its
    /// key run ahead-of-time code from now on.
    pub fn refused(&self, is_it: impl Fn(B::Entry) -> bool, reason: &str) {
        let live = lock(&self.live)
            .iter()
            .copied()
            .find(|variant| is_it(variant.entry()));
        let Some(variant) = live else { return };
        variant.note_refusal(reason);
        self.variants.insert(&variant.key, Entry::AheadOfTime);
        self.settle_key(&variant.key, None);
        self.kernel.history.note_launches();
    }

    /// Takes note of how a variant compares with the AOT code.
    fn settle(&self, variant: &'static Variant<B>, verdict: Verdict) {
        self.kernel.history.note_launches();
        let Variant { key, form, .. } = variant;
        let times = variant.times();
        let difference = clear_difference(times);
        if difference.is_some() {
            self.kernel.remember_times(self.image, key, *form, times);
        }
        let word = match verdict {
            Verdict::Retire => {
                self.forget_object(variant);
                let is_slower = difference == Some(Difference::Slower);
                if is_slower && self.kernel.form_after(*form, key).is_some() {
                    self.ask_for_other_form(variant);
                    "retired, another form is tried"
                } else {
                    self.variants.insert(key, Entry::AheadOfTime);
                    self.settle_key(key, None);
                    "retired"
                }
            }
            _ => {
                self.settle_key(key, Some(variant));
                "kept"
            }
        };
        report::log(format_args!(
            "{}: image copy {}: a variant is {word}: {} ns, ahead of time {} ns",
            self.kernel.name, self.image.number, times.variant, times.ahead_of_time
        ));
    }

    /// Has the next launch ask for another form than this variant's, which is retired.
    fn ask_for_other_form(&self, variant: &'static Variant<B>) {
        lock(&self.slower).insert(variant.key.clone());
        lock(&self.live).retain(|other| !ptr::eq(*other, variant));
        // Unless somebody made room for another key, and this one was asked for again.
        if let Some(place) = place_of(variant) {
            self.variants.remove_if(&variant.key, Entry::Code(place));
        }
    }
}

/// What the table holds of a variant.
fn place_of<B: Backend>(variant: &Variant<B>) -> Option<Place> {
    Place::at(ptr::from_ref(variant) as u64)
}

/// The variant that an entry of the table leads to.
#[inline]
fn variant_at<B: Backend>(place: Place) -> &'static Variant<B> {
    // SAFETY: what the table holds are addresses of variants of this backend, which are never freed.
    unsafe { &*(place.address() as *const Variant<B>) }
}

#[inline]
fn choice<B: Backend, const COUNT: bool>(place: Option<Place>) -> Choice<B::Entry> {
    match place {
        Some(place) => variant_at::<B>(place).choose::<COUNT>(),
        None => Choice {
            entry: None,
            ticket: 0,
        },
    }
}
