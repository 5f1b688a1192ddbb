//! Which arguments of a kernel are still specialised: the JIT paper's section 4.7.
//!
//! The JIT paper counts, for a kernel, all specialisations N and those of each argument n_i, and stops
//! specialising argument i for good once N > T and n_i / N > R. An argument that has the same value in every
//! launch takes part in every specialisation; it is not what makes them many. So n_i counts the
//! specialisations in which the argument's value *differs from the one before* (the first counts for every
//! argument). A specialisation is counted once, however many devices ask for it, and however often while it
//! is not made.
//!
//! Alignments narrow in the same way: a kernel's pointer is specialised to the weakest alignment class that a
//! launch has shown so far. So 0x1230 and 0x4560 share a variant in whichever order they come, and a pointer
//! whose class changes from launch to launch costs at most five variants.
//!
//! What keeps changing is megamorphic: it is no longer specialised. Later runs are told
//! ([`Tracker::expect_changes`]), and for them it is so at its first change: not before, since their launches
//! may have one value.
//!
//! What is specialised at one time is a [`Shape`]. Shapes follow one another, each more general than the
//! last, and there are at most as many as there is to specialise, so they are kept for good: a launch reads
//! the current one without a lock.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::guard::Guard;
use crate::program::Program;
use crate::signature::{Launch, MAX_KEY_WORDS, Parameter, Signature, Source, Subject};
use offloom_descriptor::{Alignment, Argument, Contents, Descriptor, Scalar};

/// When an argument is no longer specialised: both conditions must hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// T: specialisations of the kernel that are always allowed.
    pub threshold: u64,
    /// R: share of the specialisations, from 0 to 1, that an argument may cause.
    pub ratio: f64,
}

/// What identifies a launch under one shape: equal keys may run the same code.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LaunchKey {
    /// The shape's number.
    pub(crate) shape: usize,
    /// One word for each field of the signature, with only the bits that the shape specialises.
    pub(crate) words: Box<[u64]>,
}

/// What is specialised at one time.
#[derive(Debug)]
pub(crate) struct Shape {
    /// For each field, the bits of its word that count.
    pub(crate) masks: Box<[u64]>,
    /// How a key is read.
    pub(crate) program: Program,
}

impl Shape {
    fn new(signature: &Signature, masks: Box<[u64]>) -> Self {
        let program = Program::new(&signature.fields, &masks);
        Self { masks, program }
    }
}

/// What becomes of a launch for which no code is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Less is specialised from now on: the look-up has to be done again, and may find code.
    LookAgain,
    /// As above, because these changed too often: worth telling later runs, which do not have to find out
    /// then.
    Megamorphic(Vec<Subject>),
    /// Code for this key is to be made; it is counted.
    Specialize(LaunchKey),
}

/// The tracker of one kernel, for all devices of one architecture.
#[derive(Debug)]
pub struct Tracker {
    signature: Signature,
    limits: Limits,
    /// The shapes so far; the number of places is the number of shapes there can be.
    shapes: Box<[OnceLock<Shape>]>,
    /// The number of the current shape. Stored with release ordering once the shape is there.
    current: AtomicUsize,
    counts: Mutex<Counts>,
    /// What was megamorphic in an earlier run, by index in [`Signature::subjects`].
    expected_to_change: OnceLock<Box<[bool]>>,
}

/// The JIT paper's N and n_i.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// N: specialisations of the kernel.
    pub total: u64,
    /// n_i, by index in [`Signature::subjects`].
    pub of_subject: Vec<u64>,
    /// The words of the last specialisation; empty before the first.
    last: Vec<u64>,
    /// The words of all that were counted under the current shape.
    counted: HashSet<Box<[u64]>>,
}

impl Tracker {
    /// A kernel that was never launched: everything that its signature allows is specialised.
    pub fn new(signature: Signature, limits: Limits) -> Self {
        // Each step is one alignment class or one subject less.
        let steps: u32 = signature
            .fields
            .iter()
            .map(|field| match field.source {
                Source::Alignment(_) => field.mask.count_ones(),
                _ => 1,
            })
            .sum();
        let shapes: Box<[OnceLock<Shape>]> = (0..=steps).map(|_| OnceLock::new()).collect();
        let masks = signature.fields.iter().map(|field| field.mask).collect();
        // The place is empty, so this cannot fail.
        let _ = shapes[0].set(Shape::new(&signature, masks));
        let counts = Counts {
            of_subject: vec![0; signature.subjects.len()],
            ..Counts::default()
        };
        Self {
            signature,
            limits,
            shapes,
            current: AtomicUsize::new(0),
            counts: Mutex::new(counts),
            expected_to_change: OnceLock::new(),
        }
    }

    /// Has what was megamorphic in an earlier run be so at its first change. `megamorphic` says what that is;
    /// it is asked once, when a second specialisation is in sight: one alone needs no answer.
    pub fn expect_changes(&self, megamorphic: impl FnOnce() -> Vec<Subject>) {
        if self.lock().total == 0 {
            return;
        }
        self.expected_to_change.get_or_init(|| {
            let megamorphic = megamorphic();
            let subjects = self.signature.subjects.iter();
            subjects.map(|subject| megamorphic.contains(subject)).collect()
        });
    }

    /// Whether an earlier run gave this up, as far as was asked.
    pub fn expects_change(&self, subject: Subject) -> bool {
        let index = self.signature.subjects.iter().position(|other| *other == subject);
        index.is_some_and(|index| self.expects_change_of(index))
    }

    fn expects_change_of(&self, subject: usize) -> bool {
        self.expected_to_change
            .get()
            .is_some_and(|expected| expected[subject])
    }

    /// What may be specialised.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The counts as they are now.
    pub fn counts(&self) -> Counts {
        self.lock().clone()
    }

    /// Whether something of this subject is still specialised.
    pub fn specializes(&self, subject: Subject) -> bool {
        let masks = &self.shape(self.current()).masks;
        let fields = self.signature.fields.iter().zip(masks);
        fields
            .into_iter()
            .any(|(field, mask)| self.signature.subjects[field.subject] == subject && *mask != 0)
    }

    /// How many words identify a launch.
    #[inline]
    pub(crate) fn field_count(&self) -> usize {
        self.signature.fields.len()
    }

    /// How many shapes there can be.
    pub(crate) fn shape_limit(&self) -> usize {
        self.shapes.len()
    }

    /// The number of the current shape.
    #[inline]
    pub(crate) fn current(&self) -> usize {
        self.current.load(Ordering::Acquire)
    }

    /// The shape of this number, which must have been current.
    #[inline]
    pub(crate) fn shape(&self, number: usize) -> &Shape {
        static NOTHING: OnceLock<Shape> = OnceLock::new();
        // A number that was never current specialises nothing.
        self.shapes[number].get().unwrap_or_else(|| {
            NOTHING.get_or_init(|| Shape {
                masks: Box::new([]),
                program: Program::default(),
            })
        })
    }

    /// Decides what becomes of a launch for which no code is known and for which none is being made. Locks;
    /// not for the path of a launch that finds its code.
    pub fn decide(&self, launch: &impl Launch) -> Decision {
        let mut counts = self.lock();
        let number = self.current();
        let Shape { masks, program } = self.shape(number);
        let mut words = [0; MAX_KEY_WORDS];
        program.read(launch, &mut words);
        let words = &words[..masks.len()];
        let key: Box<[u64]> = words.iter().zip(masks).map(|(word, mask)| word & mask).collect();
        // Another launch may have asked for it a moment ago. It is no change, and gives nothing up.
        if counts.counted.contains(&key) {
            return Decision::Specialize(LaunchKey {
                shape: number,
                words: key,
            });
        }
        let differs = counts.differing(&self.signature, masks, words);
        let changed_as_expected =
            |subject: usize| counts.total > 0 && differs[subject] && self.expects_change_of(subject);
        let narrowed = self.narrow(masks, words, |subject| {
            counts.exceed(self.limits, subject) || changed_as_expected(subject)
        });
        if narrowed != *masks {
            // There is a place for each step that can be taken.
            let _ = self.shapes[number + 1].set(Shape::new(&self.signature, narrowed));
            self.current.store(number + 1, Ordering::Release);
            counts.counted.clear();
            let exceeded = self.megamorphic_by(masks, |subject| counts.exceed(self.limits, subject));
            return if exceeded.is_empty() {
                Decision::LookAgain
            } else {
                Decision::Megamorphic(exceeded)
            };
        }
        counts.counted.insert(key.clone());
        counts.add(&differs, &key);
        Decision::Specialize(LaunchKey {
            shape: number,
            words: key,
        })
    }

    /// The masks that remain: without alignments that the launch does not have, and without subjects that are
    /// megamorphic.
    fn narrow(&self, masks: &[u64], words: &[u64], is_megamorphic: impl Fn(usize) -> bool) -> Box<[u64]> {
        let fields = self.signature.fields.iter().zip(masks.iter().zip(words));
        let narrowed = fields.map(|(field, (&mask, &word))| match field.source {
            _ if is_megamorphic(field.subject) => 0,
            Source::Alignment(_) => mask & word,
            _ => mask,
        });
        narrowed.collect()
    }

    /// The subjects of which `masks` still specialise something and for which `is_megamorphic` says so.
    fn megamorphic_by(&self, masks: &[u64], is_megamorphic: impl Fn(usize) -> bool) -> Vec<Subject> {
        let fields = self.signature.fields.iter().zip(masks);
        let mut subjects: Vec<_> = fields
            .filter(|(field, mask)| **mask != 0 && is_megamorphic(field.subject))
            .map(|(field, _)| self.signature.subjects[field.subject])
            .collect();
        // The fields of one subject follow one another.
        subjects.dedup();
        subjects
    }

    /// Whether less is specialised by now than in this key: launches no longer ask for it.
    pub fn is_outdated(&self, key: &LaunchKey) -> bool {
        key.shape != self.current()
    }

    /// What admits the launches with this key: nothing, if more than their argument words says it, or if less
    /// is specialised by now.
    pub(crate) fn guard(&self, key: &LaunchKey) -> Option<Guard> {
        if self.is_outdated(key) {
            return None;
        }
        let masks = &self.shape(key.shape).masks;
        Guard::new(&self.signature.fields, masks, &key.words)
    }

    /// What code for this key is specialised to.
    pub fn descriptor(&self, key: &LaunchKey, kernel: &str, architecture: &str) -> Descriptor {
        let masks = &self.shape(key.shape).masks;
        let mut descriptor = Descriptor::unspecialized(kernel, architecture);
        let parameters = &self.signature.parameters;
        let mut alignments = vec![None; parameters.len()];
        let mut objects = vec![Vec::new(); parameters.len()];
        descriptor.arguments = vec![Argument::Any; parameters.len()];
        for ((field, &mask), &word) in self.signature.fields.iter().zip(masks).zip(&key.words) {
            if mask == 0 {
                continue;
            }
            match field.source {
                Source::Argument(index) => descriptor.arguments[index] = value(&parameters[index], word),
                Source::Alignment(index) => {
                    let strictest = 64 - word.leading_zeros();
                    alignments[index] = Alignment::from_bytes(4 << strictest);
                }
                Source::Object {
                    argument,
                    offset,
                    length,
                    ..
                } => {
                    let bytes = &mut objects[argument];
                    bytes.resize(offset, None);
                    let known = (0..length).map(|byte| {
                        let known = mask >> (8 * byte) & 0xff != 0;
                        known.then_some((word >> (8 * byte)) as u8)
                    });
                    bytes.extend(known);
                }
                // Zero: not decided before the launch.
                Source::Teams => descriptor.teams = Some(word as u32).filter(|teams| *teams != 0),
                Source::Threads => descriptor.threads = Some(word as u32).filter(|threads| *threads != 0),
            }
        }
        for (index, (alignment, object)) in alignments.into_iter().zip(objects).enumerate() {
            if alignment.is_some() || !object.is_empty() {
                descriptor.arguments[index] = Argument::pointer(alignment, Some(Contents::new(object)));
            }
        }
        descriptor
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn value(parameter: &Parameter, word: u64) -> Argument {
    match parameter {
        Parameter::Scalar(scalar_type) => Argument::Value(Scalar::from_word(*scalar_type, word)),
        Parameter::Unused | Parameter::Pointer { .. } => Argument::Any,
    }
}

impl Counts {
    /// For each subject whether it is specialised and differs from the last specialisation; before the first,
    /// all do.
    fn differing(&self, signature: &Signature, masks: &[u64], words: &[u64]) -> Vec<bool> {
        let mut differs = vec![false; signature.subjects.len()];
        for (index, field) in signature.fields.iter().enumerate() {
            let mask = masks[index];
            let last = self.last.get(index);
            differs[field.subject] |= mask != 0 && last.is_none_or(|last| (last ^ words[index]) & mask != 0);
        }
        differs
    }

    /// Counts one specialisation, in which these subjects differ from the one before.
    fn add(&mut self, differs: &[bool], words: &[u64]) {
        self.total += 1;
        for (specializations, differs) in self.of_subject.iter_mut().zip(differs) {
            *specializations += u64::from(*differs);
        }
        self.last = words.to_vec();
    }

    /// The JIT paper's two conditions for giving a subject up.
    fn exceed(&self, limits: Limits, subject: usize) -> bool {
        self.total > limits.threshold && self.of_subject[subject] as f64 / self.total as f64 > limits.ratio
    }
}

#[cfg(test)]
mod tests;
