//! The command line: which command is meant, by the name the program was called under or by its first
//! argument.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use offloom_abi::OffloadKind;

use crate::error::Result;
use crate::extract::ExtractArgs;
use crate::inspect::InspectArgs;
use crate::interrupt;
use crate::link::{self, link_step::LinkStep};
use crate::messages::say;
use crate::output;
use crate::pack::PackArgs;
use crate::packager;
use crate::response_file;
use crate::toolchain;
use crate::wrap::{DEFAULT_HOST_TRIPLE, OutputForm, WrapArgs};

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
    #[command(subcommand, hide = true)]
    LinkStep(LinkStep),
}

/// Generate registration code for a device image, as LLVM bitcode.
#[derive(Debug, Parser)]
#[command(name = "llvm-offload-wrapper", version)]
struct OffloadWrapper {
    /// Kind of the images: openmp, cuda or hip; the latter two take one fat binary.
    #[arg(long, default_value = "openmp", value_parser = ["openmp", "cuda", "hip"])]
    kind: String,

    /// Target triple of the host.
    #[arg(long, default_value = DEFAULT_HOST_TRIPLE)]
    triple: String,

    /// The object is linked again with `-r`; OpenMP only. LLVM's own knows this since LLVM 23.
    #[arg(long)]
    relocatable: bool,

    /// The bitcode file to write.
    #[arg(short, value_name = "FILE")]
    output: PathBuf,

    /// Device images.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl OffloadWrapper {
    /// An argument as clap takes it: LLVM's parser wants one dash or two, and has options of its own.
    fn clap_spelling(argument: OsString) -> Option<OsString> {
        let Some(text) = argument.to_str() else {
            return Some(argument);
        };
        let name = text.strip_prefix("--").or_else(|| text.strip_prefix('-'));
        match name {
            Some("help" | "help-list" | "help-hidden" | "help-list-hidden") => Some("--help".into()),
            Some("version") => Some("--version".into()),
            // What LLVM's parser shows of itself.
            Some("print-options" | "print-all-options") => None,
            Some(name)
                if name == "relocatable" || name.starts_with("kind=") || name.starts_with("triple=") =>
            {
                Some(format!("--{name}").into())
            }
            _ => Some(argument),
        }
    }

    fn into_wrap_args(self) -> WrapArgs {
        let kind = OffloadKind::from_name(&self.kind).unwrap_or(OffloadKind::OpenMp);
        WrapArgs {
            emit: Some(OutputForm::Bitcode),
            files: self.files,
            host_triple: self.triple,
            relocatable: self.relocatable && kind == OffloadKind::OpenMp,
            ..WrapArgs::new(kind, &self.output)
        }
    }
}

/// The command `wrapgen` with all options, as man pages and completions show it.
pub fn documentation() -> clap::Command {
    Cli::command()
        .disable_help_subcommand(true)
        .mut_subcommand("link", |_| link::documentation())
}

/// Runs the program with its whole command line, prints an error if there is one, and returns its exit code.
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let name = arguments
        .first()
        .and_then(|program| Path::new(program).file_name())
        .and_then(OsStr::to_str)
        .unwrap_or("wrapgen")
        .to_owned();
    offloom_signals::take_notice_of_children();
    match dispatch(&name, arguments) {
        Ok(code) => code,
        Err(error) => {
            interrupt::end();
            say(format_args!("{name}: error: {error}"));
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
        let arguments = response_file::expand(arguments)?.into_iter();
        let arguments = arguments.filter_map(OffloadWrapper::clap_spelling);
        let dropin = OffloadWrapper::parse_from(arguments);
        return dropin.into_wrap_args().run().map(|()| ExitCode::SUCCESS);
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
        output::print(&format!("{}\n", toolchain::dropin_dir()?.display()))?;
    }
    match cli.command {
        Some(WrapgenCommand::Wrap(args)) => args.run()?,
        Some(WrapgenCommand::Pack(args)) => args.run()?,
        Some(WrapgenCommand::Extract(args)) => args.run()?,
        Some(WrapgenCommand::Inspect(args)) => args.run()?,
        Some(WrapgenCommand::LinkStep(step)) => step.run()?,
        Some(WrapgenCommand::Link { arguments }) => return link::run(arguments),
        None => {}
    }
    Ok(ExitCode::SUCCESS)
}
