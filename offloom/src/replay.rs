//! `offloom replay`: runs a launch that `OFFLOOM_JIT_DUMP_DIR` made a program write, in a process of its own.

use std::env;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use offloom_jit_cache::dump::{
    Comparison, Device, Difference, LAUNCH_FILE, Launch, Progress, is_openmp_variable,
};
use offloom_text_table::{counted, printable_line};
use serde_json::json;

use crate::error::{Error, Result};
use crate::installation::Installation;
use crate::names::{Naming, SourceKernel};
use crate::outcome::Outcome;
use crate::units::{launch_milliseconds, milliseconds};

/// How often another process is tried, when something of its own lies where the launch's memory was.
const TRIES: usize = 8;
/// What the process ends with then.
const ADDRESSES_TAKEN: i32 = 1;

/// Replays one dump.
pub(crate) fn run(dump: &Path, json: bool) -> Result<Outcome> {
    let launch = Launch::read(dump).map_err(|error| match dump_in(dump) {
        Some(inner) => Error::ManyDumps {
            folder: dump.to_owned(),
            dump: inner,
        },
        None => error.into(),
    })?;
    let cannot = |reason: String| Error::Replay {
        path: dump.to_owned(),
        reason,
    };
    let (status, progress) = replay(dump, &launch).map_err(|error| cannot(error.to_string()))?;
    let comparison = match progress {
        Some(Progress::Done(comparison)) => comparison,
        Some(Progress::Failed(reason)) => return Err(cannot(reason)),
        Some(Progress::Doing(stage)) => {
            return Err(cannot(format!("while {stage}, the process {}", end(status))));
        }
        None => return Err(cannot(format!("the process {}", end(status)))),
    };
    let text = if json {
        let value = json!({
            "kernel": launch.kernel,
            "descriptor": launch.descriptor,
            "comparison": comparison,
        });
        format!("{value:#}\n")
    } else {
        describe(&launch, &comparison)
    };
    let different = comparison.different_words;
    Ok(Outcome {
        failure: (different > 0).then_some(Error::OtherBits(different)),
        ..Outcome::from(text)
    })
}

/// A dump in a folder that is none, as in that of `OFFLOOM_JIT_DUMP_DIR`.
fn dump_in(folder: &Path) -> Option<PathBuf> {
    if folder.join(LAUNCH_FILE).exists() {
        return None;
    }
    let entries = fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()));
    entries.filter(|entry| entry.join(LAUNCH_FILE).exists()).min()
}

/// Runs the launch; how the process ended, and how far it came.
fn replay(dump: &Path, launch: &Launch) -> io::Result<(ExitStatus, Option<Progress>)> {
    let installation = Installation::find().map_err(io::Error::other)?;
    let program = installation.caller();
    let mut command = installation.call("offloom_jit_replay", dump);
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_openmp_variable) {
            command.env_remove(name);
        }
    }
    let variables = launch
        .environment
        .iter()
        .filter(|(name, _)| is_openmp_variable(name));
    command
        .envs(variables)
        .env("OFFLOOM_JIT", "sync")
        .env_remove("OFFLOOM_JIT_STATS")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    let mut tries = 0;
    loop {
        tries += 1;
        let output = command.output().map_err(named(&program))?;
        if output.status.code() != Some(ADDRESSES_TAKEN) || tries == TRIES {
            let lines = output.stdout.split(|byte| *byte == b'\n');
            let mut progress = lines.filter_map(|line| serde_json::from_slice(line).ok());
            return Ok((output.status, progress.next_back()));
        }
    }
}

fn named(program: &Path) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("`{}`: {error}", program.display()))
}

/// How a process ended that has not told.
fn end(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("ended by signal {signal}"),
        (None, Some(code)) => format!("ended with status {code}"),
        (None, None) => "ended".to_owned(),
    }
}

fn describe(launch: &Launch, comparison: &Comparison) -> String {
    let mut text = format!(
        "{}\n  specialised to {}\n",
        printable_line(&launch.kernel),
        SourceKernel::new(&launch.kernel, "", Naming::default()).known(&launch.descriptor),
    );
    if let Device::Gpu(gpu) = &launch.device {
        let [major, minor] = gpu.capability;
        let device = printable_line(&gpu.name);
        text += &format!("  recorded on {device}, sm_{major}{minor}\n");
    }
    text += &format!("  compared {} bytes: ", comparison.compared_bytes);
    text += &match comparison.different_words {
        0 => "the same bits\n".to_owned(),
        1 => "1 word of 8 bytes differs\n".to_owned(),
        words => format!("{words} words of 8 bytes differ\n"),
    };
    for difference in &comparison.differences {
        text += &describe_difference(launch, difference);
    }
    if comparison.unstable_words > 0 {
        text += &format!(
            "  not compared: {}, in which two runs of the ahead-of-time code differ\n",
            counted(comparison.unstable_words, "word", "words")
        );
    }
    text += &format!(
        "  fastest of {} runs: ahead of time {} ms, variant {} ms\n  compiled in {} ms, {} bytes\n",
        comparison.runs,
        launch_milliseconds(comparison.ahead_of_time_ns),
        launch_milliseconds(comparison.variant_ns),
        milliseconds(1e3 * comparison.compile_us as f64),
        comparison.object_bytes
    );
    text
}

fn describe_difference(launch: &Launch, difference: &Difference) -> String {
    let argument = difference
        .argument
        .and_then(|index| Some((index, launch.arguments.get(index)?)));
    let place = match argument {
        Some((index, start)) => format!(
            "argument {index} + {:#x}",
            difference.address.wrapping_sub(*start)
        ),
        None => format!("{:#x}", difference.address),
    };
    format!(
        "    {place}: {:#018x} ahead of time, {:#018x} by the variant\n",
        difference.ahead_of_time, difference.variant
    )
}
