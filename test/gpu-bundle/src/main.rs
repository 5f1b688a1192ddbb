//! `run` of the archive of `cargo xtask gpu-bundle`: everything in it, within four minutes, on the first GPU.
#![forbid(unsafe_code)]

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use offloom_gpu_bundle::everything;
use offloom_gpu_bundle::results;

/// What it prints when it is called wrongly.
const USAGE: &str = "usage: run [--seconds N] [--output FILE] [--keep FOLDER]\n\
    N: about how long all may take (default: 220)\n\
    FILE: where the results go (default: gpu-results.json)\n\
    FOLDER: a new folder for what programs write, and the JIT's statistics (default: they are not kept)";

/// The ends of the program besides 0: something is bad; nothing could be run, or no results be left.
const BAD: u8 = 1;
const NO_RESULTS: u8 = 2;

fn main() -> ExitCode {
    let ran = arguments().and_then(|arguments| {
        everything::run(arguments.seconds, &arguments.output, arguments.keep.as_deref())
    });
    match ran {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(BAD),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(NO_RESULTS)
        }
    }
}

/// What the command line says.
struct Arguments {
    seconds: u32,
    output: PathBuf,
    keep: Option<PathBuf>,
}

fn arguments() -> Result<Arguments> {
    let mut arguments = Arguments {
        seconds: 220,
        output: PathBuf::from(results::FILE),
        keep: None,
    };
    let mut given = env::args().skip(1);
    while let Some(option) = given.next() {
        match (option.as_str(), given.next()) {
            ("--seconds", Some(number)) => arguments.seconds = number.parse().context(USAGE)?,
            ("--output", Some(file)) => arguments.output = PathBuf::from(file),
            ("--keep", Some(folder)) => arguments.keep = Some(PathBuf::from(folder)),
            _ => bail!("{USAGE}"),
        }
    }
    Ok(arguments)
}
