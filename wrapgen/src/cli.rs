//! The command line: which command is meant, by the name the program was called under or by its first argument.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Command, FromArgMatches, Parser, Subcommand};

use crate::error::Result;
use crate::extract::ExtractArgs;
use crate::inspect::InspectArgs;
use crate::link;
use crate::pack::PackArgs;
use crate::packager;
use crate::toolchain;
use crate::wrap::WrapArgs;

/// Offload packager, wrapper and device linker.
#[derive(Debug, Parser)]
#[command(name = "wrapgen", version, arg_required_else_help = true)]
struct Cli {
    /// Print the folder that holds wrapgen under the names of the LLVM tools, for `clang -B`.
    #[arg(long)]
    print_dropin_dir: bool,

    #[command(subcommand)]
    command: Option<WrapgenCommand>,
}

#[derive(Debug, Subcommand)]
enum WrapgenCommand {
    Wrap(WrapArgs),
    Pack(PackArgs),
    Extract(ExtractArgs),
    Inspect(InspectArgs),
    /// Link device code, wrap it, and run the host linker: clang-linker-wrapper's options and command line.
    #[command(disable_help_flag = true)]
    Link {
        /// As of clang-linker-wrapper; `wrapgen link --help` lists them.
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        arguments: Vec<OsString>,
    },
}

/// Runs the program with its whole command line, prints an error if there is one, and returns its exit code.
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let name = arguments
        .first()
        .and_then(|program| Path::new(program).file_name())
        .and_then(OsStr::to_str)
        .unwrap_or("wrapgen")
        .to_owned();
    match dispatch(&name, arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{name}: error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The packager's names: the first in LLVM 19, both in LLVM 22.
const PACKAGER_NAMES: [&str; 2] = ["clang-offload-packager", "llvm-offload-binary"];

fn dispatch(name: &str, mut arguments: Vec<OsString>) -> Result<ExitCode> {
    // Clang finds a tool also behind a prefix, as in `x86_64-linux-gnu-clang-linker-wrapper`.
    if name.ends_with("clang-linker-wrapper") {
        return link::run(arguments.split_off(1));
    }
    if name.ends_with("llvm-offload-wrapper") {
        return parse_wrapper_dropin(&arguments).run().map(|()| ExitCode::SUCCESS);
    }
    if PACKAGER_NAMES.iter().any(|known| name.ends_with(known)) {
        return packager::run(name, &arguments);
    }
    // The host linker's arguments are not ours to interpret, so clap does not get to see them.
    if arguments.get(1).is_some_and(|argument| argument == "link") {
        return link::run(arguments.split_off(2));
    }
    let cli = Cli::parse_from(&arguments);
    if cli.print_dropin_dir {
        println!("{}", toolchain::dropin_dir()?.display());
    }
    match cli.command {
        Some(WrapgenCommand::Wrap(args)) => args.run()?,
        Some(WrapgenCommand::Pack(args)) => args.run()?,
        Some(WrapgenCommand::Extract(args)) => args.run()?,
        Some(WrapgenCommand::Inspect(args)) => args.run()?,
        Some(WrapgenCommand::Link { arguments }) => return link::run(arguments),
        None => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Parses the command line of `llvm-offload-wrapper`; clap ends the program on `--help` and on errors.
fn parse_wrapper_dropin(arguments: &[OsString]) -> WrapArgs {
    let command =
        WrapArgs::augment_args(Command::new("llvm-offload-wrapper").version(env!("CARGO_PKG_VERSION")));
    let matches = command.get_matches_from(arguments);
    WrapArgs::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}
