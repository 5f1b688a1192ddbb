//! A program with many variants beside a remote store: one that has them all, against a local folder; and
//! stores that are out of order, against none.

mod servers;

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use self::servers::{BadServer, Redis};
use super::comparison::{Comparison, Goal, HEAD};
use super::programs::{Programs, WITH_JIT};
use crate::command::leave_out_settings;
use crate::corpus::tools;
use crate::measurement::measure_output;
use crate::workspace::remove_folder;

/// A program that launches each of its kernels with as many values as it is told.
const PROGRAM: &str = "test/jit/Inputs/many-variants.cpp";
/// Its kernels.
const KERNELS: usize = 50;
/// Values for which there are 500 variants.
const VALUES: usize = 10;
/// How many times as long it may take until the last variant is linked as with a local folder. Requests to a
/// server on this machine take no time that counts.
const AS_A_FOLDER: Goal = Goal::Times(2.0);
/// Milliseconds that a store which is out of order may cost a program: one look-up that waits as long as it
/// may, 50 ms, and as much for the process that asks beside the program, which two processors share with it.
const OUT_OF_ORDER: Goal = Goal::More(100.0);

/// Measures both; the table.
pub(super) fn measure(programs: &Programs<'_>, repetitions: u32) -> Result<String> {
    let site = Site {
        programs,
        program: programs.build("many-variants", &[PROGRAM], &WITH_JIT)?,
        keys: programs.folder.join("remote-keys"),
        used: Cell::new(0),
    };
    site.make_key()?;
    let mut text = HEAD.to_owned();
    text += &site.warm(repetitions)?;
    let nowhere = format!("redis+unix://{}", programs.folder.join("no-socket").display());
    text += &site.out_of_order("no server", &nowhere, repetitions)?;
    let slow = BadServer::that_is_slow()?;
    text += &site.out_of_order("answers after 2 s", slow.url(), repetitions)?;
    let garbage = BadServer::that_answers_garbage()?;
    text += &site.out_of_order("answers garbage", garbage.url(), repetitions)?;
    Ok(text)
}

/// Programs that use a store, and the key that all of them trust.
struct Site<'a> {
    programs: &'a Programs<'a>,
    program: PathBuf,
    keys: PathBuf,
    /// Folders of caches that were used.
    used: Cell<u32>,
}

/// What a run showed.
struct Run {
    /// Milliseconds until the last variant was linked.
    last: f64,
    /// Milliseconds until the program had ended.
    wall: f64,
    /// What it printed.
    printed: String,
    /// Where its variants are from, with their numbers.
    compiled: usize,
    others: usize,
}

impl Site<'_> {
    fn make_key(&self) -> Result<()> {
        remove_folder(&self.keys)?;
        let mut command = Command::new(self.programs.staged.dist.join("bin/offloom"));
        leave_out_settings(&mut command);
        command.env("OFFLOOM_JIT_REMOTE_KEYS", &self.keys);
        tools::output(command.args(["key", "new", "site"])).map(drop)
    }

    /// A folder for a cache that was never there: where hundreds of files were removed a moment ago, making
    /// others takes ext4 several times as long.
    fn empty_folder(&self) -> PathBuf {
        self.used.set(self.used.get() + 1);
        let name = format!("remote-cache-{}", self.used.get());
        self.programs.folder.join(name)
    }

    /// Runs the program with so many values. `store`: its URL.
    fn run(&self, values: usize, cache: &Path, store: Option<&str>) -> Result<Run> {
        let statistics = self.programs.folder.join("many-variants.json");
        let mut command = self.programs.command(&self.program, "sync", cache);
        command
            .arg(values.to_string())
            .env("OFFLOOM_JIT_RETIRE", "0")
            .env("OFFLOOM_JIT_REMOTE_KEYS", &self.keys)
            .env("OFFLOOM_JIT_STATS", &statistics);
        if let Some(store) = store {
            command.env("OFFLOOM_JIT_REMOTE", store);
        }
        let (measured, printed) = measure_output(&mut command)?;
        let text =
            fs::read(&statistics).with_context(|| format!("cannot read `{}`", statistics.display()))?;
        let run = Run::read(
            &serde_json::from_slice(&text)?,
            measured.wall.as_secs_f64(),
            printed,
        );
        ensure!(
            run.compiled + run.others == KERNELS * values,
            "{} variants were compiled and {} found, not {} together",
            run.compiled,
            run.others,
            KERNELS * values
        );
        Ok(run)
    }

    /// The rows of a store that has all variants.
    fn warm(&self, repetitions: u32) -> Result<String> {
        let redis = Redis::start(&self.programs.folder.join("redis.sock"))?;
        let local = self.empty_folder();
        let made = self.run(VALUES, &local, Some(&redis.url()))?;
        redis.wait_for_objects(KERNELS * VALUES)?;
        let what = format!("{} variants: until the last is linked, ms", KERNELS * VALUES);
        let mut last = Comparison::new(what, Some(AS_A_FOLDER));
        let mut compiled = Comparison::new("of them compiled: number".to_owned(), None);
        for _ in 0..repetitions {
            let without = self.run(VALUES, &local, None)?;
            let with = self.run(VALUES, &self.empty_folder(), Some(&redis.url()))?;
            for run in [&without, &with] {
                ensure!(run.printed == made.printed, "other results with a remote store");
            }
            last.add(without.last, with.last);
            compiled.add(without.compiled as f64, with.compiled as f64);
        }
        Ok(last.row() + &compiled.row())
    }

    /// The row of a store that is out of order, from which nothing comes.
    fn out_of_order(&self, how: &str, url: &str, repetitions: u32) -> Result<String> {
        let what = format!("{KERNELS} variants compiled, {how}: the program, ms");
        let mut wall = Comparison::new(what, Some(OUT_OF_ORDER));
        for _ in 0..repetitions {
            let run = |store| -> Result<Run> {
                let run = self.run(1, &self.empty_folder(), store)?;
                ensure!(run.compiled == KERNELS, "{how}: a variant was not compiled");
                Ok(run)
            };
            let [without, with] = [run(None)?, run(Some(url))?];
            ensure!(without.printed == with.printed, "{how}: other results");
            wall.add(without.wall, with.wall);
        }
        Ok(wall.row())
    }
}

impl Run {
    fn read(statistics: &Value, wall: f64, printed: String) -> Self {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let kernels = list(&statistics["kernels"]);
        let variants: Vec<_> = kernels
            .iter()
            .flat_map(|kernel| list(&kernel["variants"]))
            .collect();
        let compiled = variants.iter().filter(|variant| variant["origin"] == "compiled");
        let copies = variants.iter().flat_map(|variant| list(&variant["copies"]));
        let linked = copies.filter_map(|copy| copy["linked_us"].as_f64());
        let compiled = compiled.count();
        Self {
            last: linked.fold(0.0, f64::max) / 1e3,
            wall: wall * 1e3,
            printed,
            compiled,
            others: variants.len() - compiled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_variant_of_all_kernels_counts() {
        let statistics = serde_json::json!({ "kernels": [
            { "variants": [
                { "origin": "compiled", "copies": [{ "linked_us": 5000 }] },
                { "origin": "remote", "copies": [{ "linked_us": 9000 }, { "linked_us": null }] },
            ] },
            { "variants": [{ "origin": "cache", "copies": [{ "linked_us": 7000 }] }] },
        ] });
        let run = Run::read(&statistics, 0.5, String::new());
        assert_eq!((run.last, run.wall), (9.0, 500.0));
        assert_eq!((run.compiled, run.others), (1, 2));
    }
}
