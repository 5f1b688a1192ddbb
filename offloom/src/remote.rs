//! `offloom cache push`, `pull` and `remote`, and `offloom key`: done by the program that talks to remote
//! stores, so that this one need not hold what that takes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Output, Stdio};

use clap::Subcommand;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::installation::Installation;

/// The list that is meant where none is named.
const USUAL_LIST: &str = "default";

/// What to do with the remote store besides.
#[derive(Debug, Subcommand)]
pub(crate) enum RemoteCommand {
    /// Try the store of OFFLOOM_JIT_REMOTE: whether it answers, how fast, and which keys are trusted.
    Status,
}

/// What to do with the keys that entries of remote stores are signed with.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key that signs what this machine puts into remote stores, and trust it here.
    New {
        /// What to call it.
        name: String,
    },
    /// Trust a key of another machine: what is signed with it is run here.
    Trust {
        /// The file NAME.pub that `offloom key new` made there.
        file: PathBuf,
        /// What to call it; by default what the file is called.
        #[arg(long)]
        name: Option<String>,
    },
    /// List the keys that are trusted, and the one that signs.
    List,
}

/// A list in the store.
#[derive(Debug, clap::Args)]
pub(crate) struct ListName {
    /// The name of the list of what is pushed.
    #[arg(long, value_name = "NAME", default_value = USUAL_LIST)]
    pub(crate) list: String,
}

/// Runs a command on keys.
pub(crate) fn key(command: &KeyCommand, json: bool) -> Result<ExitCode> {
    match command {
        KeyCommand::New { name } => run(["key-new".into(), name.into()], json),
        KeyCommand::List => run(["key-list".into()], json),
        KeyCommand::Trust { file, name } => {
            let words = ["key-trust".into(), file.into()];
            run(words.into_iter().chain(name.iter().map(OsString::from)), json)
        }
    }
}

/// Puts the cache into the store.
pub(crate) fn push(list: &ListName, json: bool) -> Result<ExitCode> {
    run(["push".into(), OsString::from(&list.list)], json)
}

/// Takes what a list names into the cache.
pub(crate) fn pull(list: &ListName, json: bool) -> Result<ExitCode> {
    run(["pull".into(), OsString::from(&list.list)], json)
}

/// Tries the store.
pub(crate) fn status(json: bool) -> Result<ExitCode> {
    run(["status".into()], json)
}

/// What trying the store says, or what is wrong.
pub(crate) fn try_store() -> Result<std::result::Result<Value, String>> {
    let output = command(["status".into()], true)?
        .stdin(Stdio::null())
        .output()
        .map_err(Error::NoRemoteProgram)?;
    let Output {
        status,
        stdout,
        stderr,
    } = output;
    if status.success()
        && let Ok(value) = serde_json::from_slice(&stdout)
    {
        return Ok(Ok(value));
    }
    let said = String::from_utf8_lossy(&stderr);
    let line = said.lines().last().unwrap_or("it says nothing");
    Ok(Err(line.strip_prefix("offloom: ").unwrap_or(line).to_owned()))
}

fn command(words: impl IntoIterator<Item = OsString>, json: bool) -> Result<Command> {
    let mut command = Command::new(Installation::find()?.remote());
    command.args(json.then_some("--json")).args(words);
    Ok(command)
}

/// Has the other program do it, whose streams are ours.
fn run(words: impl IntoIterator<Item = OsString>, json: bool) -> Result<ExitCode> {
    let status = command(words, json)?
        .stdin(Stdio::null())
        .status()
        .map_err(Error::NoRemoteProgram)?;
    Ok(match status.success() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
