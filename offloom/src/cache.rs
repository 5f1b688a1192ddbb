//! `offloom cache`: what is kept on disk.

use std::iter;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Subcommand;
use offloom_jit_cache::descriptor::{Argument, Contents, Descriptor};
use offloom_jit_cache::settings::{CacheMode, Found, Settings};
use offloom_jit_cache::store::{Failure, Record, Store, StoreOptions, Stored};
use offloom_text_table::Table;
use serde_json::{Value, json};

use crate::error::{Error, Result, json_path};
use crate::explain::microseconds;
use crate::outcome::Outcome;
use crate::size::size;

/// What to do with the cache that the environment names.
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// List the compiled kernels, the one used last first.
    List,
    /// Say how much there is.
    Stats,
    /// Read and check every file. Fails if one is damaged.
    Verify,
    /// Remove what was not used for longest.
    Prune {
        /// Until at most this is left: bytes, or a number with K, M or G behind it. Default: OFFLOOM_JIT_CACHE_SIZE.
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

/// The cache that the environment names, where it is, and how large it may be. Unless something is put into it, no directory is made.
fn open(puts: bool) -> Result<(Store, PathBuf, Settings)> {
    let settings = Found::read(std::env::vars_os()).settings;
    let directory = settings
        .private_cache_directory(|name| std::env::var_os(name))
        .ok_or(Error::NoDirectory)?;
    let (store, errors) = Store::open(&StoreOptions {
        directory: Some(directory.clone()).filter(|directory| puts || directory.exists()),
        read_only: settings.cache_mode == CacheMode::ReadOnly,
        shared: settings.cache_path.clone(),
        size_limit: settings.cache_size,
        claim_limit: Duration::from_secs(60),
    });
    match errors.into_iter().next() {
        Some(error) => Err(error.into()),
        None => Ok((store, directory, settings)),
    }
}

/// Where the cache is and how much is in it.
pub(crate) fn describe() -> Result<String> {
    let (store, directory, settings) = open(false)?;
    if settings.cache_mode == CacheMode::Off {
        return Ok("switched off".to_owned());
    }
    let stats = store.stats();
    Ok(format!(
        "{}: {} files, {} of {}",
        directory.display(),
        stats.files,
        size(stats.bytes),
        size(settings.cache_size)
    ))
}

/// Runs one of the commands.
pub(crate) fn run(command: &CacheCommand, json: bool) -> Result<Outcome> {
    for warning in &Found::read(std::env::vars_os()).warnings {
        eprintln!("offloom: {warning}");
    }
    let (store, directory, settings) = open(matches!(command, CacheCommand::Unpack { .. }))?;
    if json {
        // What is in them has names of hexadecimal digits.
        for layer in iter::once(&directory).chain(&settings.cache_path) {
            json_path(layer)?;
        }
    }
    let mut failure = None;
    let (text, value) = match command {
        CacheCommand::List => list(&store),
        CacheCommand::Stats => {
            let stats = store.stats();
            let text = format!(
                "{}\nshared: {} files, {}\n",
                describe()?,
                stats.shared_files,
                size(stats.shared_bytes)
            );
            let value = json!({
                "directory": text_of(&directory), "files": stats.files, "bytes": stats.bytes, "limit": settings.cache_size,
                "shared_files": stats.shared_files, "shared_bytes": stats.shared_bytes,
            });
            (text, value)
        }
        CacheCommand::Verify => {
            let verified = store.verify();
            let mut text = format!(
                "{} kernels, {} failures, {} damaged files\n",
                verified.images.len(),
                verified.failures.len(),
                verified.damaged.len()
            );
            if !verified.given_up.is_empty() {
                text += &format!(
                    "what keeps changing is remembered of {} kernels\n",
                    verified.given_up.len()
                );
            }
            for path in &verified.damaged {
                text += &format!("damaged: {}\n", path.display());
            }
            failure = Some(verified.damaged.len())
                .filter(|count| *count != 0)
                .map(Error::Damaged);
            let value = json!({
                "kernels": verified.images.len(), "failures": verified.failures.len(),
                "given_up": verified.given_up.len(), "damaged": verified.damaged.iter().map(|path| text_of(path)).collect::<Vec<_>>(),
            });
            (text, value)
        }
        CacheCommand::Clear | CacheCommand::Prune { .. } if !directory.exists() => {
            let text = format!(
                "there is no cache in `{}`: nothing is removed\n",
                directory.display()
            );
            let counted = if matches!(command, CacheCommand::Clear) {
                "files"
            } else {
                "removed_bytes"
            };
            (text, json!({ counted: 0 }))
        }
        CacheCommand::Prune { size: limit } => {
            let bytes = store.prune(limit.unwrap_or(settings.cache_size))?;
            (
                format!("removed {}\n", size(bytes)),
                json!({ "removed_bytes": bytes }),
            )
        }
        CacheCommand::Clear => counted("removed", store.clear()?),
        CacheCommand::Pack { file } => counted("packed", store.pack(file)?),
        CacheCommand::Unpack { file } => counted("unpacked", store.unpack(file)?),
    };
    let text = if json { format!("{value:#}\n") } else { text };
    Ok(Outcome { text, failure })
}

/// A path in a message.
fn text_of(path: &Path) -> String {
    path.display().to_string()
}

fn counted(what: &str, files: u64) -> (String, Value) {
    (format!("{what} {files} files\n"), json!({ "files": files }))
}

fn list(store: &Store) -> (String, Value) {
    let mut stored = store.list();
    stored.sort_by_key(|stored| std::cmp::Reverse(stored.last_use));
    let mut table = Table::new(&["kernel", "specialised to", "size", "used", "for"]);
    let mut values = Vec::new();
    for stored in &stored {
        // Damaged, or evicted while we looked: `verify` tells.
        let Some((key, record)) = store.read(stored) else {
            continue;
        };
        let field = |name: &str| {
            let lines = key.lines();
            lines
                .filter_map(|line| line.strip_prefix(name)?.strip_prefix('='))
                .next()
                .unwrap_or("")
        };
        let descriptor = field("descriptor");
        let (kernel, specialized) = read_descriptor(descriptor);
        let (mut failure, mut times, mut given_up) = (None, None, None);
        let specialized = match &record {
            Record::Image(_) => specialized,
            Record::Timed(of_launches, _) => {
                times = Some(of_launches);
                let [variant, ahead_of_time] =
                    [of_launches.variant, of_launches.ahead_of_time].map(microseconds);
                format!("{specialized} ({variant} µs, ahead of time {ahead_of_time} µs)")
            }
            Record::Failure(Failure { reason, .. }) => {
                failure = Some(reason);
                format!("{specialized} (failed: {reason})")
            }
            Record::GivenUp(subjects) => {
                let subjects: Vec<_> = subjects.iter().map(ToString::to_string).collect();
                let text = format!("(kept changing: {})", subjects.join(", "));
                given_up = Some(subjects);
                text
            }
        };
        table.row([
            kernel.clone(),
            specialized,
            size(stored.size),
            age(stored),
            format!("LLVM {}", field("llvm")),
        ]);
        values.push(json!({
            "kernel": kernel, "descriptor": descriptor, "bytes": stored.size, "seconds_since_use": seconds_since_use(stored),
            "llvm": field("llvm"), "offloom": field("offloom"), "bundle": field("bundle"), "options": field("options"),
            "failure": failure, "variant_ns": times.map(|times| times.variant),
            "ahead_of_time_ns": times.map(|times| times.ahead_of_time), "given_up": given_up, "path": text_of(&stored.path),
        }));
    }
    (table.lines(0), Value::Array(values))
}

/// The kernel's name, and what is known of its launches: the descriptor's items after kernel and architecture, with the contents
/// of objects as offsets and the bytes that are known there.
pub(crate) fn read_descriptor(text: &str) -> (String, String) {
    let Ok(descriptor) = text.parse::<Descriptor>() else {
        return (text.to_owned(), "?".to_owned());
    };
    let arguments = descriptor.arguments.iter().enumerate();
    let arguments = arguments
        .filter(|(_, argument)| argument.is_specialized())
        .map(|(index, argument)| format!("{index}={}", known_of_argument(argument)));
    let teams = descriptor.teams.map(|teams| format!("teams={teams}"));
    let threads = descriptor.threads.map(|threads| format!("threads={threads}"));
    let known = arguments.chain(teams).chain(threads);
    let known = known.collect::<Vec<_>>().join(";");
    let known = if known.is_empty() {
        "nothing".to_owned()
    } else {
        known
    };
    (descriptor.kernel, known)
}

/// As in the descriptor, but of an object only the bytes that are known.
fn known_of_argument(argument: &Argument) -> String {
    let Argument::Pointer(pointer) = argument else {
        return argument.to_string();
    };
    let alignment = pointer
        .alignment()
        .map(|alignment| format!("align:{}", alignment.bytes()));
    let contents = pointer
        .contents()
        .map(|contents| format!("contents({})", known_bytes(contents)));
    let both = alignment.into_iter().chain(contents);
    both.collect::<Vec<_>>().join("+")
}

/// `0:00ff 8:01` for `00ff????????????01`: the known bytes of an object in hexadecimal, those that follow one another behind their offset.
fn known_bytes(contents: &Contents) -> String {
    let mut known = String::new();
    let mut follows = false;
    for (offset, byte) in contents.bytes().iter().enumerate() {
        if let Some(byte) = byte {
            if !follows {
                let separator = if known.is_empty() { "" } else { " " };
                known += &format!("{separator}{offset}:");
            }
            known += &format!("{byte:02x}");
        }
        follows = byte.is_some();
    }
    known
}

fn seconds_since_use(stored: &Stored) -> u64 {
    let age = SystemTime::now().duration_since(stored.last_use);
    age.unwrap_or_default().as_secs()
}

fn age(stored: &Stored) -> String {
    match seconds_since_use(stored) {
        seconds if seconds < 2 * 3600 => "just now".to_owned(),
        seconds if seconds < 48 * 3600 => format!("{} hours ago", seconds / 3600),
        seconds => format!("{} days ago", seconds / 86400),
    }
}

fn parse_size(text: &str) -> std::result::Result<u64, String> {
    offloom_jit_cache::settings::parse_size(text)
        .ok_or_else(|| "a number of bytes, or with K, M or G behind it".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_is_a_kernel_and_what_is_known_of_it() {
        assert_eq!(
            read_descriptor("kernel=a%20b;arch=x86-64;0=i32:7;1=any;2=align:8"),
            ("a b".to_owned(), "0=i32:0x7;2=align:8".to_owned())
        );
        assert_eq!(
            read_descriptor("kernel=k;arch=x86-64;0=align:16+contents:00ff????????????01").1,
            "0=align:16+contents(0:00ff 8:01)"
        );
        assert_eq!(
            read_descriptor("kernel=k;arch=x86-64"),
            ("k".to_owned(), "nothing".to_owned())
        );
    }
}
