//! One kernel of an attached bundle, for all devices: what of its launches is specialised, and the objects
//! compiled so far.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use offloom_abi::jit_bundle::{self, ParameterKind, ParameterUses};
use offloom_abi::jit_compile::{Phases, Priority};
use offloom_descriptor::{Argument, Descriptor, ScalarType};
use offloom_jit_cache::settings::{FloatingPoint, Mode};
use offloom_jit_cache::stats::{LeftAheadOfTime, Origin};
use offloom_jit_cache::store::{ImageKey, Model, Record, Timed};
use offloom_jit_variants::signature::{Parameter, Signature, Subject};
use offloom_jit_variants::tracker::{Decision, LaunchKey, Limits, Tracker};
use offloom_jit_variants::trial::Times;
use offloom_jit_variants::trial::{Difference, clear_difference};

use crate::backend::{Backend, Compiled, Failure, Job, Place, Target};
use crate::bundle::AttachedBundle;
use crate::disk_cache::{self, Known};
use crate::execution_mode;
use crate::history::History;
use crate::image::ImageCopy;
use crate::process::lock::lock;
use crate::process::queue;
use crate::process::report;
use crate::process::settings::{counts_launches, settings};
use crate::remote;

/// A launch waits for a variant that is in the cache if it saves at least this: links take one to three
/// milliseconds, and the cache may be on a slow disk.
const WORTH_WAITING: Duration = Duration::from_millis(20);

/// In which way code for a key is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// Specialised to all that the key holds.
    Full,
    /// Without the numbers of teams and threads, on which much of the code for a GPU depends: for where the
    /// full form is clearly slower than the ahead-of-time code.
    AnyLaunch,
}

/// A relocatable object, from the cache or compiled.
pub(crate) struct Object {
    pub(crate) bytes: Vec<u8>,
    /// What its launches took lately, if the cache remembers that and launches are to be timed at all.
    pub(crate) timed: Option<Timed>,
}

/// What an object is compiled for, for which launches, and how.
type ObjectKey = (&'static Target, LaunchKey, Form);

/// It is made by the first who asks while others wait; `None`: it cannot be made.
pub(crate) type Making = OnceLock<Option<Object>>;

/// A kernel, for as long as the process lives.
pub struct Kernel<B: Backend> {
    /// Where it is from.
    pub(crate) bundle: &'static AttachedBundle,
    /// The name of its stub and of its code.
    pub name: &'static str,
    /// As [`jit_bundle::Kernel::source`].
    pub source: &'static str,
    /// Why it is not specialised at all, if it is not: its stub does not come here then.
    pub left_ahead_of_time: Option<LeftAheadOfTime>,
    /// How many parameters it has, the implicit ones included.
    pub parameter_count: u32,
    /// What of its launches is specialised.
    pub tracker: Tracker,
    /// What was made for it, and its launches.
    pub history: History,
    /// What constants are good for, by parameter.
    uses: Vec<ParameterUses>,
    objects: Mutex<HashMap<ObjectKey, Arc<Making>>>,
    backend: PhantomData<fn(B)>,
}

impl<B: Backend> Kernel<B> {
    /// A kernel that was never launched.
    pub fn new(bundle: &'static AttachedBundle, kernel: &jit_bundle::Kernel<'static>) -> Self {
        let limits = Limits {
            threshold: settings().threshold,
            ratio: settings().ratio,
        };
        let parameters = kernel
            .parameters
            .iter()
            .map(|parameter| what_can_be_specialized(parameter, B::READS_CONTENTS, B::USEFUL_ALIGNMENT))
            .collect();
        Self {
            bundle,
            name: kernel.name,
            source: kernel.source,
            left_ahead_of_time: (kernel.has_fast_math && settings().floating_point == FloatingPoint::Match)
                .then_some(LeftAheadOfTime::FastMath),
            parameter_count: kernel.parameters.len() as u32,
            tracker: Tracker::new(
                Signature::new(
                    parameters,
                    B::SETTLES_LAUNCH_PARAMETERS && settings().specialize.launch_parameters,
                ),
                limits,
            ),
            history: History::default(),
            uses: kernel.parameters.iter().map(|parameter| parameter.uses).collect(),
            objects: Mutex::default(),
            backend: PhantomData,
        }
    }

    /// What code for a launch that found none is to be specialised to. `None`: to less than before, so it may
    /// find code now. The next run is told what is megamorphic, unless this one `had_use` of several
    /// specialisations until then, as one with a few long phases has.
    pub(crate) fn decide(
        &'static self,
        launch: &B::Launch<'_>,
        had_use: impl FnOnce() -> bool,
    ) -> Option<LaunchKey> {
        if settings().retire {
            self.tracker.expect_changes(|| self.megamorphic_earlier());
        }
        match self.tracker.decide(launch) {
            Decision::Specialize(key) => Some(key),
            Decision::LookAgain => None,
            Decision::Megamorphic(subjects) => {
                for subject in &subjects {
                    report::log(format_args!(
                        "{}: {subject} keeps changing: it is no longer specialised",
                        self.name
                    ));
                }
                if settings().retire && !had_use() {
                    // Where there is a thread for it. Variants for these that wait before it are not made.
                    queue::add(move || {
                        disk_cache::remember_megamorphic(&self.key_of_megamorphic(), &subjects);
                    });
                }
                None
            }
        }
    }

    /// What was megamorphic in an earlier run, if the cache remembers that.
    fn megamorphic_earlier(&self) -> Vec<Subject> {
        let subjects = disk_cache::megamorphic(&self.key_of_megamorphic());
        for subject in &subjects {
            report::log(format_args!(
                "{}: {subject} kept changing lately: its first change is the last",
                self.name
            ));
        }
        subjects
    }

    /// The object for launches with this key on devices that `target` is for; made if no device has asked for
    /// it yet. Its cell holds `None` when it cannot be compiled, which is said once and not tried again.
    pub(crate) fn object(&self, target: &'static Target, key: &LaunchKey, form: Form) -> Arc<Making> {
        let object = self.making(target, key, form);
        object.get_or_init(|| {
            let image_key = self.image_key(target, key, form);
            self.find_or_compile(target, &image_key, &self.descriptor(key, form))
        });
        object
    }

    /// The form that is tried where this one is slower: other code, that is still specialised.
    pub(crate) fn form_after(&self, form: Form, key: &LaunchKey) -> Option<Form> {
        // Elsewhere the numbers are no part of a launch, though code may be for one thread.
        if form != Form::Full || !B::SETTLES_LAUNCH_PARAMETERS {
            return None;
        }
        let full = self.descriptor(key, Form::Full);
        let is_other = full.teams.is_some() || full.threads.is_some();
        let is_specialized = full.arguments.iter().any(Argument::is_specialized);
        (is_other && is_specialized).then_some(Form::AnyLaunch)
    }

    /// What launches with this key took lately on such devices, if the cache remembers that and launches are
    /// to be timed at all. Whatever object the cache has is then there for [`Self::object`]; none is made.
    pub(crate) fn remembered_times(
        &self,
        target: &'static Target,
        model: Model,
        key: &LaunchKey,
        form: Form,
    ) -> Option<Times> {
        if !settings().retire {
            return None;
        }
        let image_key = self.image_key(target, key, form);
        let Some(Known::Object(bytes, timed)) = disk_cache::find(&image_key) else {
            return None;
        };
        let object = self.making(target, key, form);
        let descriptor = self.descriptor(key, form);
        let object = object.get_or_init(|| Some(self.found(&image_key, &descriptor, bytes, timed)));
        object.as_ref()?.timed?.on(model)
    }

    fn making(&self, target: &'static Target, key: &LaunchKey, form: Form) -> Arc<Making> {
        let place = (target, key.clone(), form);
        Arc::clone(lock(&self.objects).entry(place).or_default())
    }

    /// An object that the cache had.
    fn found(&self, key: &ImageKey, descriptor: &Descriptor, bytes: Vec<u8>, timed: Option<Timed>) -> Object {
        let tier = match counts_launches() {
            true => disk_cache::tier(key),
            false => Origin::Cache,
        };
        let remark = match tier {
            Origin::Remote => ", from the remote store",
            _ => "",
        };
        report::log(format_args!(
            "{}: found in the cache{remark}, for {descriptor}",
            self.name
        ));
        self.history.add(&descriptor.to_string(), tier, bytes.len(), None);
        let timed = timed.filter(|_| settings().retire);
        Object { bytes, timed }
    }

    /// Lets go of the object for this key, which is in the cache if there is one: a variant was no use.
    pub(crate) fn forget_object(&self, target: &'static Target, key: &LaunchKey, form: Form) {
        lock(&self.objects).remove(&(target, key.clone(), form));
    }

    /// Has the cache remember what launches with this key took on the device of an image copy, in the
    /// background where there is one, and the remote store too.
    pub(crate) fn remember_times(
        &'static self,
        image: &'static ImageCopy<B>,
        key: &LaunchKey,
        form: Form,
        times: Times,
    ) {
        let Some(target) = B::target(image) else { return };
        let key = key.clone();
        queue::add(move || {
            let image_key = self.image_key(target, &key, form);
            let model = model(image);
            if disk_cache::remember_times(&image_key, Timed { model, times })
                && let Some(device) = B::model(image)
            {
                let list = self.bundle.key_of_start().hash();
                remote::publish_verdict(list, device, &image_key, times);
            }
            if time_worth_waiting(times).is_some() {
                self.bundle.note_long_launches();
            }
        });
    }

    /// What code for this key in this form is specialised to.
    pub fn descriptor(&self, key: &LaunchKey, form: Form) -> Descriptor {
        let mut descriptor = self.tracker.descriptor(key, self.name, B::ARCHITECTURE);
        B::complete(&mut descriptor);
        match form {
            Form::Full => descriptor,
            Form::AnyLaunch => Descriptor {
                teams: None,
                threads: None,
                ..descriptor
            },
        }
    }

    /// What knowing a subject is good for, by name, as the link step found it.
    pub fn uses(&self, subject: Subject) -> Vec<String> {
        let parameter = subject.argument().and_then(|index| self.uses.get(index));
        let uses = parameter.copied().unwrap_or(ParameterUses::NONE);
        if uses == ParameterUses::UNKNOWN {
            return Vec::new();
        }
        let uses = match subject {
            Subject::Alignment(_) => uses.both(ParameterUses::WIDER_ACCESSES),
            // The other uses of a pointer are those of what lies behind it.
            _ => uses.without(ParameterUses::WIDER_ACCESSES),
        };
        uses.names().map(str::to_owned).collect()
    }

    /// What the object for this key is kept under, and its times: they hold for launches with these numbers
    /// of teams and threads alone, in whatever form.
    fn image_key(&self, target: &Target, key: &LaunchKey, form: Form) -> ImageKey {
        let form = match form {
            Form::Full => "",
            Form::AnyLaunch => " any-launch",
        };
        self.image_key_of_descriptor(target, self.descriptor(key, Form::Full), form)
    }

    /// What the object for this descriptor is kept under, if it is compiled where it usually is.
    fn image_key_of_descriptor(&self, target: &Target, descriptor: Descriptor, form: &str) -> ImageKey {
        let floating_point = match settings().floating_point {
            FloatingPoint::Match => "fp=match",
            FloatingPoint::Source => "fp=source",
        };
        let place = match B::usual_place() {
            Place::Worker => "",
            Place::Program => " in-program",
        };
        // Not in the bundle: the link of the image decides.
        let mode = execution_mode::known(self.name);
        let mode = mode.map_or(String::new(), |mode| format!(" mode={}", mode as u8));
        let space = if target.tools.is_empty() { "" } else { " " };
        let options = format!("{floating_point}{place}{form}{mode}{space}{}", target.tools);
        let processor = format!("{} {}", target.processor, target.features);
        self.bundle.cache_key(processor, options, self.source, descriptor)
    }

    /// What is kept under this is no image, but what launches changed too often by the limits of this
    /// process, on whatever processor.
    fn key_of_megamorphic(&self) -> ImageKey {
        let (threshold, ratio) = (settings().threshold, settings().ratio);
        self.bundle.cache_key(
            String::new(),
            format!("megamorphic threshold={threshold} ratio={ratio}"),
            self.source,
            Descriptor::unspecialized(self.name, B::ARCHITECTURE),
        )
    }

    /// Has the cache hold the object for this descriptor, for a later process: the history says what came of
    /// it.
    pub fn precompile(&self, target: &'static Target, descriptor: &Descriptor) {
        let image_key = self.image_key_of_descriptor(target, descriptor.clone(), "");
        self.find_or_compile(target, &image_key, descriptor);
    }

    fn find_or_compile(
        &self,
        target: &'static Target,
        image_key: &ImageKey,
        descriptor: &Descriptor,
    ) -> Option<Object> {
        let usual_place = B::usual_place();
        match disk_cache::wait_for_others(image_key, settings().time_limit, &mut |_| ()) {
            Known::Object(bytes, timed) => Some(self.found(image_key, descriptor, bytes, timed)),
            Known::Failure(reason) => {
                self.stays_ahead_of_time(descriptor, reason, " (remembered by the cache)");
                None
            }
            // The claim ends when what was claimed is published.
            Known::Nothing(claim) => {
                let start = self.bundle.key_of_start();
                let compiled = self.compile(target, descriptor, &mut || {
                    disk_cache::expect_publication(image_key, Some(&start));
                });
                let is_own = compiled.is_ok();
                let record = match compiled {
                    Ok((object, place)) if place == usual_place => Record::Image(object),
                    // Not what the key says.
                    Ok((bytes, _)) => return Some(Object { bytes, timed: None }),
                    Err(Failure::OfKernel(reason)) => disk_cache::failure(reason),
                    Err(Failure::OfProcess(reason)) => {
                        self.stays_ahead_of_time(descriptor, reason, "");
                        return None;
                    }
                    Err(Failure::TooLate) => return None,
                };
                let record = disk_cache::publish(image_key, record);
                drop(claim);
                match record {
                    Record::Image(bytes) if is_own => Some(Object { bytes, timed: None }),
                    Record::Image(bytes) => Some(self.found(image_key, descriptor, bytes, None)),
                    Record::Timed(timed, bytes) => {
                        Some(self.found(image_key, descriptor, bytes, Some(timed)))
                    }
                    Record::Failure(failure) => {
                        self.stays_ahead_of_time(descriptor, failure.reason, "");
                        None
                    }
                    Record::Megamorphic(_) => None,
                }
            }
        }
    }

    /// Says that there is no variant for the descriptor, and why.
    fn stays_ahead_of_time(&self, descriptor: &Descriptor, reason: String, remark: &str) {
        report::failure(format_args!(
            "{}: stays ahead of time for {descriptor}: {reason}{remark}",
            self.name
        ));
        self.history
            .add(&descriptor.to_string(), Origin::Failed(reason), 0, None);
    }

    fn compile(
        &self,
        target: &'static Target,
        descriptor: &Descriptor,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(Vec<u8>, Place), Failure> {
        let name = self.name;
        let descriptor = descriptor.to_string();
        let job = Job {
            bundle: &self.bundle.contents,
            kernel: name,
            descriptor: &descriptor,
            target,
            match_floating_point: settings().floating_point == FloatingPoint::Match,
            deadline: settings().time_limit,
        };
        let (Compiled { object, phases }, place) = B::compile(&job, usual_priority(), meanwhile)?;
        report::log(format_args!(
            "{name}: compiled in {}, {} bytes, for {descriptor}",
            in_milliseconds(phases),
            object.len()
        ));
        self.history
            .add(&descriptor, Origin::Compiled, object.len(), Some(phases));
        Ok((object, place))
    }
}

fn what_can_be_specialized(
    parameter: &jit_bundle::Parameter,
    reads_contents: bool,
    useful_alignment: u64,
) -> Parameter {
    let wanted = settings().specialize;
    let matters = !parameter.uses.is_empty();
    match parameter.kind {
        ParameterKind::Scalar if wanted.arguments && matters => {
            ScalarType::integer(8 * u32::from(parameter.size)).map_or(Parameter::Unused, Parameter::Scalar)
        }
        ParameterKind::Pointer => {
            let contents = if wanted.contents && reads_contents {
                parameter.contents.clone()
            } else {
                Vec::new()
            };
            // An object whose contents are known is read piece by piece, which no alignment makes faster.
            // Where it lies is up to the heap: its alignment would have one start find nothing of what
            // another one made.
            let is_known = contents.contains(&true);
            Parameter::Pointer {
                declared_alignment: (wanted.alignments && matters && !is_known).then_some(1),
                useful_alignment,
                contents,
                contents_are_there: parameter.contents_are_there,
            }
        }
        ParameterKind::LaunchEnvironment | ParameterKind::Scalar => Parameter::Unused,
    }
}

/// Which processor time compiles of kernels take: the program's own where a launch waits for them.
pub fn usual_priority() -> Priority {
    match settings().mode {
        Mode::Sync => Priority::Program,
        Mode::Async | Mode::Off => Priority::Idle,
    }
}

/// What a compile took, for people.
pub fn in_milliseconds(phases: Phases) -> String {
    let Phases {
        parse,
        specialize,
        optimize,
        generate,
        assemble,
    } = phases;
    let ms = |microseconds: u32| f64::from(microseconds) / 1e3;
    let assembled = match assemble {
        0 => String::new(),
        _ => format!(", assemble {:.1}", ms(assemble)),
    };
    format!(
        "{:.1} ms (parse {:.1}, specialise {:.1}, optimise {:.1}, generate {:.1}{assembled})",
        ms(parse) + ms(specialize) + ms(optimize) + ms(generate) + ms(assemble),
        ms(parse),
        ms(specialize),
        ms(optimize),
        ms(generate)
    )
}

/// What launches of an image copy run on, for what they take.
pub(crate) fn model<B: Backend>(image: &ImageCopy<B>) -> Model {
    B::model(image).map_or(Model::OF_KEY, Model::of)
}

/// What a launch of the variant saves, if that is so much more than a link takes that the first launch may as
/// well wait for it.
pub(crate) fn time_worth_waiting(times: Times) -> Option<Duration> {
    if clear_difference(times) != Some(Difference::Faster) {
        return None;
    }
    let saved = Duration::from_nanos(times.ahead_of_time - times.variant);
    (saved >= WORTH_WAITING).then_some(saved)
}
