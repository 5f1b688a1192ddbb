//! The command line.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use offloom_text_table::printable;

use crate::cache::CacheCommand;
use crate::error::{Error, Result, warn};
use crate::installation::VERSION;
use crate::names::Naming;
use crate::precompile::PrecompileArgs;
use crate::remote::{KeyCommand, RemoteCommand};
use crate::run::RunArgs;
use crate::{cache, config, doctor, explain, precompile, remote, replay, report, run};

/// Looks after the JIT: its cache, what it did in a program, and whether it can work here.
#[derive(Debug, Parser)]
#[command(name = "offloom", version = VERSION, arg_required_else_help = true)]
struct Cli {
    /// Print JSON, for programs.
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Look at and look after the compiled kernels on disk.
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Look after the keys that entries of remote stores are signed with.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Say what became of a program's launches.
    Explain {
        /// The file that a run of the program with OFFLOOM_JIT_STATS=FILE wrote. Of several, as those of a
        /// job's processes, each gets a line.
        #[arg(required = true)]
        statistics: Vec<PathBuf>,
        #[command(flatten)]
        naming: Naming,
    },
    /// Run a program and explain, when it has ended, what became of its launches; on the error stream.
    /// Signals go to it, its status comes back.
    Run(RunArgs),
    /// Write an HTML page about a program's launches: when what was launched, compiled, specialised, found in
    /// the cache, retired.
    Report {
        /// The file that a run of the program with OFFLOOM_JIT_STATS=FILE wrote; or several, as those of a
        /// job's processes.
        #[arg(required = true)]
        statistics: Vec<PathBuf>,
        /// The page; by default the name of the first file with `.html` behind it.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        naming: Naming,
    },
    /// Run one launch of a program by itself: its ahead-of-time code and its variant, compared bit by bit and
    /// timed.
    Replay {
        /// A folder that a run of the program with OFFLOOM_JIT_DUMP_DIR=FOLDER made in FOLDER. Code in it is
        /// run.
        dump: PathBuf,
    },
    /// Compile the variants that a run of a program asked for, for other processors, and keep them in the
    /// cache. Nothing of the program is run.
    Precompile(PrecompileArgs),
    /// Print how programs are built with Offloom.
    Config {
        /// Print the table of settings instead.
        #[arg(long)]
        environment: bool,
    },
    /// Find out whether programs can be built and run here, which settings are in force, and what to do about
    /// what is not right.
    Doctor {
        /// Options for Clang, such as where libomp.so is: as a program of yours is built.
        #[arg(last = true)]
        options: Vec<OsString>,
    },
}

/// The command line, for man pages and completions.
pub fn documentation() -> clap::Command {
    Cli::command().disable_help_subcommand(true)
}

/// Runs the command that the program was called with, prints an error if there is one, and returns its exit
/// code.
pub fn run() -> ExitCode {
    offloom_signals::take_notice_of_children();
    let done = match Cli::try_parse() {
        Ok(cli) => execute(&cli),
        Err(wrong) if wrong.use_stderr() => {
            // If anyone listens.
            let _ = wrong.print();
            return u8::try_from(wrong.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
        }
        Err(help_or_version) => written(help_or_version.print()).map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        warn(error);
        ExitCode::FAILURE
    })
}

/// Whether what was printed on the standard output is out. `offloom ... | head` is no error.
fn written(printed: io::Result<()>) -> Result<()> {
    match printed.and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::Output(error)),
        _ => Ok(()),
    }
}

fn execute(cli: &Cli) -> Result<ExitCode> {
    let outcome = match &cli.command {
        Command::Cache(CacheCommand::Push(list)) => return remote::push(list, cli.json),
        Command::Cache(CacheCommand::Pull(list)) => return remote::pull(list, cli.json),
        Command::Cache(CacheCommand::Remote(RemoteCommand::Status)) => return remote::status(cli.json),
        Command::Cache(CacheCommand::OnDisk(command)) => cache::run(command, cli.json)?,
        Command::Key(command) => return remote::key(command, cli.json),
        Command::Explain { statistics, naming } => explain::run(statistics, *naming, cli.json)?.into(),
        Command::Run(arguments) => return run::run(arguments, cli.json),
        Command::Report { .. } if cli.json => return Err(Error::PageAsJson),
        Command::Report {
            statistics,
            output,
            naming,
        } => report::run(statistics, output.as_deref(), *naming)?,
        Command::Replay { dump } => replay::run(dump, cli.json)?,
        Command::Precompile(arguments) => precompile::run(arguments, cli.json)?,
        Command::Config { environment: true } => config::environment(cli.json).into(),
        Command::Config { environment: false } => config::build(cli.json)?.into(),
        Command::Doctor { options } => doctor::run(options, cli.json)?,
    };
    let text = match cli.json {
        true => outcome.text,
        false => printable(&outcome.text),
    };
    if outcome.on_error_stream {
        // If anyone listens.
        let _ = io::stderr().write_all(text.as_bytes());
    } else {
        written(io::stdout().write_all(text.as_bytes()))?;
    }
    outcome.failure.map_or(Ok(ExitCode::SUCCESS), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_page_is_not_printed_as_json() {
        let cli = Cli::parse_from(["offloom", "--json", "report", "absent"]);
        assert!(matches!(execute(&cli), Err(Error::PageAsJson)));
    }
}
