//! Writes the man pages of `wrapgen` and its completions for shells, as they are installed.
#![forbid(unsafe_code)]
#![warn(clippy::print_stderr, clippy::print_stdout)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use clap_complete::Shell;
use clap_complete::aot::generate;
use wrapgen::messages::say;
use wrapgen::output::write_file;
use wrapgen::{Error, Result, cli};

/// Write the man pages of wrapgen and its completions for shells; the build runs this program itself.
#[derive(Debug, Parser)]
struct Arguments {
    /// The folder that stands for `share` of an installation.
    folder: PathBuf,
}

/// Where each shell looks, below `share`.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/wrapgen"),
    (Shell::Zsh, "zsh/site-functions/_wrapgen"),
    (Shell::Fish, "fish/vendor_completions.d/wrapgen.fish"),
];

fn main() -> ExitCode {
    match write(&Arguments::parse().folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(format_args!("wrapgen-documentation: error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn write(share: &Path) -> Result<()> {
    for (shell, file) in COMPLETIONS {
        let mut text = Vec::new();
        generate(shell, &mut cli::documentation(), "wrapgen", &mut text);
        write_into(&share.join(file), &text)?;
    }
    let pages = share.join("man/man1");
    fs::create_dir_all(&pages).map_err(Error::write(&pages))?;
    clap_mangen::generate_to(cli::documentation(), &pages).map_err(Error::write(&pages))
}

fn write_into(file: &Path, text: &[u8]) -> Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(Error::write(folder))?;
    }
    write_file(file, text)
}
