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
    /// The name that the program is called by.
    #[arg(default_value = "wrapgen")]
    name: String,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match write(&arguments.folder, &arguments.name) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(format_args!("wrapgen-documentation: error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn write(share: &Path, name: &str) -> Result<()> {
    // Where each shell looks, below `share`.
    let completions = [
        (Shell::Bash, format!("bash-completion/completions/{name}")),
        (Shell::Zsh, format!("zsh/site-functions/_{name}")),
        (Shell::Fish, format!("fish/vendor_completions.d/{name}.fish")),
    ];
    // Clap keeps names for as long as a program runs.
    let command_name: &'static str = name.to_owned().leak();
    let command = || cli::documentation().name(command_name).bin_name(command_name);
    for (shell, file) in completions {
        let mut text = Vec::new();
        generate(shell, &mut command(), name, &mut text);
        write_into(&share.join(file), &text)?;
    }
    let pages = share.join("man/man1");
    fs::create_dir_all(&pages).map_err(Error::write(&pages))?;
    clap_mangen::generate_to(command(), &pages).map_err(Error::write(&pages))
}

fn write_into(file: &Path, text: &[u8]) -> Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(Error::write(folder))?;
    }
    write_file(file, text)
}
