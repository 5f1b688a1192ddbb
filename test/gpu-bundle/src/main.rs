//! `run` of the archive of `cargo xtask gpu-bundle`: everything in it, within four minutes, on the first GPU.
#![forbid(unsafe_code)]

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use offloom_gpu_bundle::everything;
use offloom_gpu_bundle::results;

/// What it prints when it is called wrongly.
const USAGE: &str = "usage: run [--seconds N] [--output FILE]\n\
    N: about how long all may take (default: 220)\n\
    FILE: where the results go (default: gpu-results.json)";

/// The ends of the program besides 0: something is bad; nothing could be run, or no results be left.
const BAD: u8 = 1;
const NO_RESULTS: u8 = 2;

fn main() -> ExitCode {
    let ran = arguments().and_then(|(seconds, output)| everything::run(seconds, &output));
    match ran {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(BAD),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(NO_RESULTS)
        }
    }
}

/// The seconds and the file that the command line names.
fn arguments() -> Result<(u32, PathBuf)> {
    let (mut seconds, mut output) = (220, PathBuf::from(results::FILE));
    let mut given = env::args().skip(1);
    while let Some(option) = given.next() {
        match (option.as_str(), given.next()) {
            ("--seconds", Some(number)) => seconds = number.parse().context(USAGE)?,
            ("--output", Some(file)) => output = PathBuf::from(file),
            _ => bail!("{USAGE}"),
        }
    }
    Ok((seconds, output))
}
