//! `offloom cache`: what is kept on disk.

mod list;
mod opened;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use offloom_jit_cache::output::is_standard_output;
use offloom_jit_cache::settings::{CacheMode, Found};
use offloom_jit_cache::store::{Stats, StoreError, Unpacked, Uses};
use offloom_text_table::counted;
use serde_json::{Value, json};

use crate::error::{Error, Result, json_path, warn};
use crate::names::Naming;
use crate::outcome::Outcome;
use crate::progress::shown;
use crate::remote::{ListName, RemoteCommand};
use crate::units::size;
use list::list;
use opened::{Access, Opened};

/// What to do with the cache that the environment names, or with the remote store behind it.
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    #[command(flatten)]
    OnDisk(DiskCommand),
    /// Sign everything and put it into the remote store of OFFLOOM_JIT_REMOTE.
    Push(ListName),
    /// Take over what `push` put into the remote store, if a trusted key has signed it.
    Pull(ListName),
    /// Look at the remote store.
    #[command(subcommand)]
    Remote(RemoteCommand),
}

/// What to do with the cache on disk.
#[derive(Debug, Subcommand)]
pub(crate) enum DiskCommand {
    /// List the compiled kernels, the one used last first.
    List(Naming),
    /// Say how much there is.
    Stats,
    /// Read and check every file. Fails if one is damaged.
    Verify,
    /// Remove what was not used for longest.
    Prune {
        /// Until at most this is left: bytes, or a number with K, M or G behind it. Default:
        /// OFFLOOM_JIT_CACHE_SIZE.
        #[arg(long, value_name = "SIZE", value_parser = parse_size)]
        size: Option<u64>,
    },
    /// Remove everything.
    Clear,
    /// Write everything to one file, for another machine.
    Pack {
        /// The file to write.
        file: PathBuf,
    },
    /// Take over what `pack` wrote.
    Unpack {
        /// The file to read.
        file: PathBuf,
    },
}

impl DiskCommand {
    fn access(&self) -> Access {
        match self {
            Self::List(_) | Self::Stats | Self::Verify | Self::Pack { .. } => Access::Read,
            Self::Prune { .. } | Self::Clear => Access::Remove,
            Self::Unpack { .. } => Access::Put,
        }
    }
}

/// Where the cache is and how much is in it; and what is wrong with shared layers.
pub(crate) fn describe() -> Result<(String, Vec<StoreError>)> {
    let opened = Opened::open(Access::Read)?;
    Ok((summary(&opened, &opened.store.stats()?), opened.refused))
}

/// Fails where programs with this environment could put nothing into the cache.
pub(crate) fn check_that_it_can_be_written() -> Result<()> {
    Opened::open(Access::Put).map(drop)
}

fn summary(opened: &Opened, stats: &Stats) -> String {
    let unused = match opened.settings.cache_mode {
        CacheMode::Off => ", not used: OFFLOOM_JIT_CACHE_MODE=off",
        CacheMode::ReadOnly | CacheMode::ReadWrite => "",
    };
    format!(
        "{}: {}, {} of {}{unused}",
        opened.place(),
        files(stats.files),
        size(stats.bytes),
        size(opened.settings.cache_size)
    )
}

/// Runs one of the commands.
pub(crate) fn run(command: &DiskCommand, json: bool) -> Result<Outcome> {
    for warning in &Found::read(std::env::vars_os()).warnings {
        warn(warning);
    }
    let mut opened = Opened::open(command.access())?;
    let mut refused = std::mem::take(&mut opened.refused).into_iter();
    // What cannot be looked at fails a check of all.
    let unchecked = match command {
        DiskCommand::Verify => refused.next(),
        _ => None,
    };
    for error in refused {
        warn(&error);
    }
    if json {
        // What is in them has names of hexadecimal digits.
        for layer in opened.directory.iter().chain(&opened.settings.cache_path) {
            json_path(layer)?;
        }
    }
    let store = &opened.store;
    let mut failure = None;
    let (text, value) = match (command, opened.absent()) {
        (DiskCommand::List(naming), _) => list(store, *naming)?,
        (DiskCommand::Stats, _) => stats(&opened)?,
        (DiskCommand::Verify | DiskCommand::Pack { .. }, Some(absent))
            if opened.settings.cache_path.is_empty() =>
        {
            return Err(Error::NoCache(absent.to_owned()));
        }
        (DiskCommand::Verify, _) => {
            let (text, value, damaged) = verify(&opened);
            failure = (damaged != 0).then_some(Error::Damaged(damaged));
            match unchecked {
                Some(error) if failure.is_some() => warn(&error),
                other => failure = failure.or(other.map(Error::from)),
            }
            (text, value)
        }
        (DiskCommand::Clear | DiskCommand::Prune { .. }, Some(absent)) => {
            let text = format!(
                "there is no cache in `{}`: nothing is removed\n",
                absent.display()
            );
            let counted = match command {
                DiskCommand::Clear => "files",
                _ => "removed_bytes",
            };
            (text, json!({ counted: 0 }))
        }
        (DiskCommand::Prune { size: limit }, None) => {
            let bytes = store.prune(limit.unwrap_or(opened.settings.cache_size))?;
            (
                format!("removed {}\n", size(bytes)),
                json!({ "removed_bytes": bytes }),
            )
        }
        (DiskCommand::Clear, None) => so_many_files("removed", store.clear()?),
        (DiskCommand::Pack { file }, _) => {
            so_many_files("packed", shown("packing", |done| store.pack(file, done))?)
        }
        (DiskCommand::Unpack { file }, _) => unpacked(store.unpack(file)?),
    };
    let text = if json { format!("{value:#}\n") } else { text };
    let outcome = Outcome {
        failure,
        ..Outcome::from(text)
    };
    Ok(match command {
        DiskCommand::Pack { file } => outcome.on_error_stream(is_standard_output(file)),
        _ => outcome,
    })
}

/// A path in a message.
fn text_of(path: &Path) -> String {
    path.display().to_string()
}

fn so_many_files(what: &str, count: u64) -> (String, Value) {
    (format!("{what} {}\n", files(count)), json!({ "files": count }))
}

fn files(count: u64) -> String {
    counted(count, "file", "files")
}

fn unpacked(found: Unpacked) -> (String, Value) {
    let mut text = format!("unpacked {}", files(found.files));
    if found.known > 0 {
        text += &format!(", {} of which were there already", found.known);
    }
    if found.left < found.files {
        text += &format!(
            "; {} of them are left, since OFFLOOM_JIT_CACHE_SIZE allows no more",
            found.left
        );
    }
    let value = json!({ "files": found.files, "known": found.known, "left": found.left });
    (text + "\n", value)
}

fn stats(opened: &Opened) -> Result<(String, Value)> {
    let stats = opened.store.stats()?;
    let text = format!(
        "{}\nshared: {}, {}\n{}\n",
        summary(opened, &stats),
        files(stats.shared_files),
        size(stats.shared_bytes),
        uses(stats.uses)
    );
    let value = json!({
        "directory": opened.directory.as_deref().map(text_of), "mode": opened.settings.cache_mode.to_string(),
        "files": stats.files, "bytes": stats.bytes, "limit": opened.settings.cache_size,
        "hits": stats.uses.hits, "misses": stats.uses.misses, "shared_files": stats.shared_files, "shared_bytes": stats.shared_bytes,
    });
    Ok((text, value))
}

/// How often programs found what they wanted.
fn uses(uses: Uses) -> String {
    let Uses { hits, misses } = uses;
    let share = match hits.saturating_add(misses) {
        0 => String::new(),
        all => format!(" ({:.0} % found)", 100.0 * hits as f64 / all as f64),
    };
    format!(
        "{}, {}{share}",
        counted(hits, "hit", "hits"),
        counted(misses, "miss", "misses")
    )
}

/// For people, for programs, and how many files are damaged.
fn verify(opened: &Opened) -> (String, Value, usize) {
    let verified = opened.store.verify();
    let mut text = format!(
        "{}, {}, {}\n",
        counted(verified.images.len() as u64, "kernel", "kernels"),
        counted(verified.failures.len() as u64, "failure", "failures"),
        counted(verified.damaged.len() as u64, "damaged file", "damaged files")
    );
    if !verified.megamorphic.is_empty() {
        text += &format!(
            "what keeps changing is remembered of {}\n",
            counted(verified.megamorphic.len() as u64, "kernel", "kernels")
        );
    }
    for path in &verified.damaged {
        text += &format!("damaged: {}\n", path.display());
    }
    let value = json!({
        "kernels": verified.images.len(), "failures": verified.failures.len(),
        "megamorphic": verified.megamorphic.len(), "damaged": verified.damaged.iter().map(|path| text_of(path)).collect::<Vec<_>>(),
    });
    (text, value, verified.damaged.len())
}

fn parse_size(text: &str) -> std::result::Result<u64, String> {
    offloom_jit_cache::settings::parse_size(text)
        .ok_or_else(|| "a number of bytes, or with K, M or G (KiB, MiB, GiB) behind it".to_owned())
}
