//! Phases 3 and 4 for every group: device code to images, for several targets at once.
//!
//! What a target's tools print appears behind what those of the targets before it printed, whichever is done
//! first.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use offloom_abi::offload_binary::ImageKind;

use super::compile;
use super::compile::for_jit::{self, JitParts};
use super::device_link;
use super::plan::target_plan::{DeviceLink, ImageMaking};
use super::plan::{LinkPlan, TargetPlan};
use super::scan::ScannedInput;
use super::work_folder::WorkFolder;
use super::wrap_images::LinkedImage;
use crate::error::{Error, Result};
use crate::messages::HeldMessages;
use crate::process::Runner;
use crate::steps::Phase;

/// What becomes of one target.
#[derive(Debug)]
pub struct DeviceImage {
    /// The image.
    pub image: LinkedImage,
    /// What the JIT adds to the program.
    pub jit: JitParts,
}

/// Makes the image of each target, in the order of the plan.
///
/// # Errors
/// Those of [`compile::compile`] and [`device_link::link_device`], for the first target that has one.
pub fn make_images(
    plan: &LinkPlan<'_>,
    inputs: &[ScannedInput],
    folder: &WorkFolder,
    runner: Runner<'_>,
) -> Result<Vec<DeviceImage>> {
    let make = |target: &TargetPlan<'_>, runner: Runner<'_>| make_image(target, inputs, folder, runner);
    let jobs = plan.jobs.start(plan.targets.len());
    if jobs.count == 1 {
        let mut made = Vec::new();
        for target in &plan.targets {
            let (messages, image) = match runner.shows_commands() || runner.print_phases {
                // The commands tell what the files are that messages name, and each is to be seen before it
                // is run.
                true => (None, make(target, runner)),
                false => holding_messages(runner, |runner| make(target, runner)),
            };
            release(messages);
            made.push(image?);
        }
        return Ok(made);
    }
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let mut made = Vec::new();
    thread::scope(|scope| {
        for _ in 0..jobs.count {
            let (sender, next, make) = (sender.clone(), &next, &make);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(target) = plan.targets.get(number) else {
                        break;
                    };
                    let result = holding_messages(runner, |runner| make(target, runner));
                    // The receiver lives as long as this scope.
                    let _ = sender.send((number, result));
                }
            });
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        for (number, result) in receiver {
            waiting.insert(number, result);
            while let Some((messages, image)) = waiting.remove(&made.len()) {
                release(messages);
                made.push(image);
            }
        }
    });
    made.into_iter().collect()
}

/// Does work with its messages held back. Without a place to keep them they come as they come.
fn holding_messages<T>(runner: Runner<'_>, work: impl FnOnce(Runner<'_>) -> T) -> (Option<HeldMessages>, T) {
    let messages = HeldMessages::new().ok();
    let made = work(Runner {
        held: messages.as_ref(),
        ..runner
    });
    (messages, made)
}

fn release(messages: Option<HeldMessages>) {
    if let Some(messages) = messages {
        // There is nowhere to report to that the error output cannot be written.
        let _ = messages.release();
    }
}

fn make_image(
    plan: &TargetPlan<'_>,
    inputs: &[ScannedInput],
    folder: &WorkFolder,
    runner: Runner<'_>,
) -> Result<DeviceImage> {
    let target = &plan.group.target;
    let path = folder.image(target, plan.image_is_bitcode);
    let jit = match &plan.image {
        ImageMaking::AtStart => for_jit::merge(plan, inputs, &path, folder, runner)?,
        ImageMaking::MergedBitcode => {
            compile::merge(plan, inputs, &path, folder, runner)?;
            JitParts::default()
        }
        ImageMaking::Linked(link) => {
            let compiled = compile::compile(plan, inputs, folder, runner)?;
            link_objects(plan, link, &compiled.device_inputs, &path, folder, runner)?;
            compiled.jit
        }
    };
    Ok(DeviceImage {
        image: LinkedImage {
            triple: target.triple.clone(),
            arch: Some(target.image_arch().to_owned()),
            path,
            kind: match plan.image_is_bitcode {
                true => ImageKind::BITCODE,
                false => ImageKind::OBJECT,
            },
            kinds: plan.group.kinds().collect(),
        },
        jit,
    })
}

/// The step that links objects to an image.
fn link_objects(
    plan: &TargetPlan<'_>,
    link: &DeviceLink,
    objects: &[PathBuf],
    image: &PathBuf,
    folder: &WorkFolder,
    runner: Runner<'_>,
) -> Result<()> {
    let step = plan.group.step(Phase::DeviceLink).reads(objects).makes([image]);
    let linked = runner.step(&step, || {
        device_link::link_device(plan, link, objects, image, folder, runner)
    });
    if let (Err(Error::Program { .. }), Some(note)) = (&linked, plan.group.note_of_features()) {
        runner.say(&note);
    }
    linked
}
