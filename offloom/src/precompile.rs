//! `offloom precompile`: makes the variants that a recorded run of a program has asked for, for other
//! processors or another machine's, and puts them into the cache. Nothing of the program is run, and no GPU
//! is needed.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use offloom_jit_cache::precompile::Order;
use offloom_jit_cache::settings::{CacheMode, Found};
use offloom_jit_cache::stats::{Origin, Statistics};
use offloom_text_table::{Table, counted, printable_line};
use serde_json::{Value, json};

use crate::cache;
use crate::error::{Error, Result};
use crate::explain;
use crate::installation::Installation;
use crate::names::{Naming, SourceKernel};
use crate::outcome::Outcome;
use crate::progress;
use crate::scratch_folder::ScratchFolder;
use crate::units::milliseconds;

/// What to make.
#[derive(Debug, clap::Args)]
pub(crate) struct PrecompileArgs {
    /// The processors, with commas between them: those of NVIDIA's GPUs as `sm_90`, of AMD's
    /// as `gfx90a`, of x86_64 as `x86-64-v3`, or `native` for this machine's.
    #[arg(
        long = "target",
        value_name = "PROCESSORS",
        value_delimiter = ',',
        required = true
    )]
    targets: Vec<String>,
    /// The file that a run of the program with OFFLOOM_JIT_STATS=FILE wrote.
    #[arg(value_name = "STATISTICS")]
    statistics: PathBuf,
    /// The program, or its shared library with the kernels.
    program: PathBuf,
    #[command(flatten)]
    naming: Naming,
}

/// One target, and what came of it.
#[derive(Debug)]
struct Made {
    target: String,
    statistics: Statistics,
}

/// Makes them.
pub(crate) fn run(arguments: &PrecompileArgs, json: bool) -> Result<Outcome> {
    let recorded = Statistics::read(&arguments.statistics).map_err(Error::from_statistics)?;
    let kernels = wanted(&recorded);
    if kernels.is_empty() {
        return Err(cannot(arguments, "the statistics have no variants"));
    }
    let settings = Found::read(env::vars_os()).settings;
    if settings.cache_mode != CacheMode::ReadWrite {
        let reason = "OFFLOOM_JIT_CACHE_MODE is not `rw`, so nothing would be kept";
        return Err(cannot(arguments, reason));
    }
    cache::check_that_it_can_be_written()?;
    let scratch = ScratchFolder::new().map_err(|error| cannot(arguments, &error.to_string()))?;
    let installation = Installation::find()?;
    let program = fs::canonicalize(&arguments.program);
    let mut order = Order {
        program: program.map_err(|error| cannot(arguments, &error.to_string()))?,
        processor: String::new(),
        kernels,
    };
    let targets: BTreeSet<_> = arguments.targets.iter().collect();
    let made = progress::shown("precompiling", |done| {
        let mut made = Vec::new();
        for (number, target) in targets.iter().enumerate() {
            done(number, targets.len());
            order.processor.clone_from(target);
            made.push(make(&installation, arguments, &order, scratch.path())?);
        }
        done(targets.len(), targets.len());
        Ok::<_, Error>(made)
    })?;
    let failed = made.iter().map(|made| count(made, is_failure)).sum();
    let text = match json {
        true => format!("{:#}\n", Value::from_iter(made.iter().map(value))),
        false => describe(&made, arguments.naming),
    };
    Ok(Outcome {
        failure: (failed > 0).then_some(Error::NotPrecompiled(failed)),
        ..Outcome::from(text)
    })
}

/// The descriptors of the variants that were made for each kernel, each once.
fn wanted(recorded: &Statistics) -> BTreeMap<String, Vec<String>> {
    let mut kernels: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for kernel in &recorded.kernels {
        for variant in kernel
            .variants
            .iter()
            .filter(|variant| !is_failure(&variant.origin))
        {
            let descriptors = kernels.entry(kernel.name.clone()).or_default();
            if !descriptors.contains(&variant.descriptor) {
                descriptors.push(variant.descriptor.clone());
            }
        }
    }
    kernels
}

fn is_failure(origin: &Origin) -> bool {
    matches!(origin, Origin::Failed(_))
}

/// How many of the variants are of some origin.
fn count(made: &Made, is_counted: impl Fn(&Origin) -> bool) -> usize {
    let kernels = made.statistics.kernels.iter();
    let variants = kernels.flat_map(|kernel| &kernel.variants);
    variants.filter(|variant| is_counted(&variant.origin)).count()
}

/// Makes all that is ordered, in a process of its own.
fn make(
    installation: &Installation,
    arguments: &PrecompileArgs,
    order: &Order,
    scratch: &Path,
) -> Result<Made> {
    let target = &order.processor;
    let failed = |reason: String| cannot(arguments, &format!("for {target}: {reason}"));
    let (order_file, statistics) = (scratch.join("order.json"), scratch.join("statistics.json"));
    order
        .write(&order_file)
        .map_err(|error| failed(error.to_string()))?;
    let caller = installation.caller();
    let output = installation
        .call("offloom_jit_precompile", &order_file)
        .env("OFFLOOM_JIT", "sync")
        .env("OFFLOOM_JIT_AMDGPU", "on")
        .env("OFFLOOM_JIT_STATS", &statistics)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failed(format!("`{}`: {error}", caller.display())))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stdout);
        return Err(match said.lines().next() {
            Some(reason) => Error::Precompile(printable_line(reason)),
            None => failed(format!("`{}` ended with {}", caller.display(), output.status)),
        });
    }
    let made = Statistics::read(&statistics).map_err(|error| failed(error.to_string()))?;
    Ok(Made {
        target: target.clone(),
        statistics: made,
    })
}

fn cannot(arguments: &PrecompileArgs, reason: &str) -> Error {
    Error::Precompile(format!("`{}`: {reason}", arguments.program.display()))
}

fn describe(made: &[Made], naming: Naming) -> String {
    let mut table = Table::new(&["processor", "kernel", "specialised to", "", "ms"]);
    for Made { target, statistics } in made {
        for kernel in &statistics.kernels {
            let names = SourceKernel::new(&kernel.name, &kernel.source, naming);
            for variant in &kernel.variants {
                let compiled = variant.phases.map(|phases| 1e3 * f64::from(phases.total_us()));
                table.row([
                    target.clone(),
                    names.name(),
                    names.known(&variant.descriptor),
                    match &variant.origin {
                        Origin::Compiled => "compiled".to_owned(),
                        Origin::Failed(reason) => format!("failed: {reason}"),
                        _ => format!("there already: {}", explain::origin(variant)),
                    },
                    compiled.map_or_else(String::new, milliseconds),
                ]);
            }
        }
    }
    let compiled = made
        .iter()
        .map(|made| count(made, |origin| *origin == Origin::Compiled));
    let all: usize = made
        .iter()
        .map(|made| count(made, |origin| !is_failure(origin)))
        .sum();
    format!(
        "{}\n{} in the cache, {} compiled now\n",
        table.lines(0),
        counted(all as u64, "variant is", "variants are"),
        compiled.sum::<usize>()
    )
}

fn value(made: &Made) -> Value {
    json!({
        "processor": made.target,
        "kernels": made.statistics.kernels.iter().map(|kernel| json!({
            "name": kernel.name,
            "variants": kernel.variants,
        })).collect::<Vec<_>>(),
    })
}
