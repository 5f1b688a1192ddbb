//! Whether programs can use a cache.

use std::env;
use std::io::Write as _;
use std::path::Path;

use offloom_jit_cache::settings::{CacheMode, Settings};
use offloom_jit_cache::store::{FORMAT_FOLDER, is_absent};

use super::{Check, Problem};
use crate::cache;
use crate::error::Error;
use crate::remote;

/// Looks at the private cache, and at the shared ones that are refused.
pub(super) fn checks(settings: &Settings) -> Vec<Check> {
    if settings.cache_mode == CacheMode::Off {
        return vec![check(Ok("switched off by OFFLOOM_JIT_CACHE_MODE=off".to_owned()))];
    }
    let (summary, refused) = match cache::describe() {
        Ok(found) => found,
        Err(error) => return vec![check(Err(problem(&error)))],
    };
    let directory = settings.private_cache_directory(|name| env::var_os(name));
    let private = match directory {
        Some(directory) if settings.cache_mode == CacheMode::ReadWrite => {
            can_be_written(&directory).map(|()| summary)
        }
        _ => Ok(summary),
    };
    let refused = refused.into_iter().map(|error| {
        check(Err(Problem::new(
            error.to_string(),
            "mend that folder, or take it out of OFFLOOM_JIT_CACHE_PATH; programs go on with the other caches",
        )))
    });
    let remote = settings.remote.as_ref().map(|_| Check {
        what: "remote store".to_owned(),
        found: try_remote(),
    });
    [check(private)]
        .into_iter()
        .chain(refused)
        .chain(remote)
        .collect()
}

/// Whether the remote store can be asked.
fn try_remote() -> Result<String, Problem> {
    let remedy = "mend that, or unset OFFLOOM_JIT_REMOTE; programs go on without the store";
    match remote::try_store() {
        Ok(Ok(value)) => {
            let milliseconds = value["answers_ms"].as_f64().unwrap_or_default();
            let url = value["url"].as_str().unwrap_or_default();
            let signs = match value["signs"].as_bool() {
                Some(true) => "",
                _ => ", only read",
            };
            Ok(format!("{url}: answers in {milliseconds:.1} ms{signs}"))
        }
        Ok(Err(reason)) => Err(Problem::new(reason, remedy)),
        Err(error) => Err(Problem::new(error.to_string(), remedy)),
    }
}

fn check(found: Result<String, Problem>) -> Check {
    Check {
        what: "cache".to_owned(),
        found,
    }
}

fn problem(error: &Error) -> Problem {
    let remedy = match error {
        Error::NoDirectory => "do that, or set OFFLOOM_JIT_CACHE_MODE=off",
        _ => "name another directory with OFFLOOM_JIT_CACHE_DIR, or none with OFFLOOM_JIT_CACHE_MODE=off",
    };
    Problem::new(error.to_string(), remedy)
}

/// Bytes that there is to be room for: more than most kernels take. A full disk takes no more of a program's,
/// without a word.
const ROOM: usize = 64 << 10;

/// Whether a program could put something into a cache, or make it. Nothing is left behind.
fn can_be_written(directory: &Path) -> Result<(), Problem> {
    let files = directory.join(FORMAT_FOLDER);
    let there = files.ancestors().find(|folder| !is_absent(folder));
    let folder = there.unwrap_or(directory);
    let written = tempfile::tempfile_in(folder).and_then(|mut file| file.write_all(&[1; ROOM]));
    match written {
        Ok(()) => Ok(()),
        Err(error) => Err(Problem::new(
            format!(
                "programs cannot write to the cache `{}`: `{}`: {error}",
                directory.display(),
                folder.display()
            ),
            "name another directory with OFFLOOM_JIT_CACHE_DIR, or have it only read with OFFLOOM_JIT_CACHE_MODE=ro",
        )),
    }
}
