//! Writes the man pages of `offloom` and its completions for shells, as they are installed.
#![forbid(unsafe_code)]

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use clap_complete::Shell;
use clap_complete::aot::generate;

/// Write the man pages of offloom and its completions for shells; the build runs this program itself.
#[derive(Debug, Parser)]
struct Arguments {
    /// The folder that stands for `share` of an installation.
    folder: PathBuf,
    /// The name that the program is called by.
    #[arg(default_value = "offloom")]
    name: String,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match write(&arguments.folder, &arguments.name) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!(
                "offloom-documentation: cannot write into `{}`: {error}",
                arguments.folder.display()
            );
            ExitCode::FAILURE
        }
    }
}

fn write(share: &Path, name: &str) -> io::Result<()> {
    // Where each shell looks, below `share`.
    let completions = [
        (Shell::Bash, format!("bash-completion/completions/{name}")),
        (Shell::Zsh, format!("zsh/site-functions/_{name}")),
        (Shell::Fish, format!("fish/vendor_completions.d/{name}.fish")),
    ];
    // Clap keeps names for as long as a program runs.
    let command_name: &'static str = name.to_owned().leak();
    let command = || {
        offloom::cli::documentation()
            .name(command_name)
            .bin_name(command_name)
    };
    for (shell, file) in completions {
        let file = share.join(file);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        generate(shell, &mut command(), name, &mut File::create(file)?);
    }
    let pages = share.join("man/man1");
    fs::create_dir_all(&pages)?;
    clap_mangen::generate_to(command(), &pages)
}
