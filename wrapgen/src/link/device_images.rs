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

use super::command_line::CommandLine;
use super::compile;
use super::device_link;
use super::group::Group;
use super::scan::ScannedInput;
use super::work_folder::WorkFolder;
use super::wrap_images::LinkedImage;
use crate::error::{Error, Result};
use crate::messages::HeldMessages;
use crate::process::Runner;
use crate::steps::Phase;

/// What becomes of one group.
#[derive(Debug)]
pub struct DeviceImage {
    /// The image.
    pub image: LinkedImage,
    /// Objects and libraries to add to the host link.
    pub host_inputs: Vec<PathBuf>,
    /// The bundle that the registration object announces to the JIT library.
    pub jit_bundle: Option<PathBuf>,
    /// Whether the JIT library makes the image when the program starts.
    pub image_at_start: bool,
}

/// Makes the image of each group, in the order of the groups.
///
/// # Errors
/// Those of [`compile::compile`] and [`device_link::link_device`], for the first group that has one.
pub fn make_images(
    groups: &[Group<'_>],
    inputs: &[ScannedInput],
    line: &CommandLine,
    folder: &WorkFolder,
    runner: Runner<'_>,
) -> Result<Vec<DeviceImage>> {
    let make = |group: &Group<'_>, runner: Runner<'_>| make_image(group, inputs, line, folder, runner);
    let jobs = line.options.jobs.start(groups.len());
    if jobs.count == 1 {
        let mut made = Vec::new();
        for group in groups {
            let (messages, image) = match runner.shows_commands() || runner.print_phases {
                // The commands tell what the files are that messages name, and each is to be seen before it
                // is run.
                true => (None, make(group, runner)),
                false => holding_messages(runner, |runner| make(group, runner)),
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
                    let Some(group) = groups.get(number) else { break };
                    let result = holding_messages(runner, |runner| make(group, runner));
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
    group: &Group<'_>,
    inputs: &[ScannedInput],
    line: &CommandLine,
    folder: &WorkFolder,
    runner: Runner<'_>,
) -> Result<DeviceImage> {
    let options = &line.options;
    let compiled = compile::compile(group, inputs, line, folder, runner)?;
    let is_bitcode = options.embed_bitcode || compiled.image_at_start;
    let path = match compiled.bitcode_image {
        Some(image) => image,
        None => {
            let image = folder.image(&group.target, options.embed_bitcode);
            let step = group
                .step(Phase::DeviceLink)
                .reads(&compiled.device_inputs)
                .makes([&image]);
            let linked = runner.step(&step, || {
                device_link::link_device(group, &compiled.device_inputs, line, folder, runner)
            });
            if let (Err(Error::Program { .. }), Some(note)) = (&linked, group.note_of_features()) {
                runner.say(&note);
            }
            linked?
        }
    };
    Ok(DeviceImage {
        image: LinkedImage {
            triple: group.target.triple.clone(),
            arch: Some(group.target.image_arch().to_owned()),
            path,
            kind: match is_bitcode {
                true => ImageKind::BITCODE,
                false => ImageKind::OBJECT,
            },
            kinds: group.kinds().collect(),
        },
        host_inputs: compiled.host_inputs,
        jit_bundle: compiled.jit_bundle,
        image_at_start: compiled.image_at_start,
    })
}
