//! `offloom explain`: what became of a program's launches, by the file that `OFFLOOM_JIT_STATS` made the program write.

use std::collections::BTreeMap;
use std::path::PathBuf;

use offloom_jit_cache::stats::{Kernel, Linked, Origin, Statistics, SubjectCount, Variant, Verdict};
use offloom_text_table::{Table, printable_line};
use serde_json::{Value, json};

use crate::descriptor::read_descriptor;
use crate::error::Result;

/// What [`stats::LeftAheadOfTime::FastMath`](offloom_jit_cache::stats::LeftAheadOfTime::FastMath) is called.
const LEFT_FOR_FAST_MATH: &str = "Left as they were linked, since they were compiled with fast-math flags and OFFLOOM_JIT_FP is not `source` \
                                  (launches are not counted)";

/// Explains one file, or compares several. As JSON, several are a list of what each is by itself.
pub(crate) fn run(paths: &[PathBuf], json: bool) -> Result<String> {
    let processes = paths
        .iter()
        .map(|path| Ok(Statistics::read(path)?))
        .collect::<Result<Vec<_>>>()?;
    Ok(match (processes.as_slice(), json) {
        ([one], false) => explain(one),
        (several, false) => compare(paths, several),
        ([one], true) => format!("{:#}\n", process_value(one)),
        (several, true) => {
            let values: Value = several.iter().map(process_value).collect();
            format!("{values:#}\n")
        }
    })
}

/// A line for each file, and one for all.
fn compare(paths: &[PathBuf], processes: &[Statistics]) -> String {
    let mut table = Table::new(&[
        "file",
        "ahead of time",
        "of variants",
        "compiled",
        "from the cache",
        "failed",
        "compile ms",
        "saved ms",
    ]);
    let mut add = |name: String, processes: &[&Statistics]| {
        let kernels = || processes.iter().flat_map(|process| &process.kernels);
        let sum = |of_kernel: fn(&Kernel) -> u64| kernels().map(of_kernel).fold(0, u64::saturating_add);
        let made = |from: fn(&Origin) -> bool| {
            let variants = kernels().flat_map(|kernel| &kernel.variants);
            variants.filter(|variant| from(&variant.origin)).count()
        };
        table.row([
            name,
            sum(|kernel| kernel.launches_ahead_of_time).to_string(),
            sum(|kernel| kernel.launches_of_variants).to_string(),
            made(|origin| matches!(origin, Origin::Compiled)).to_string(),
            made(|origin| matches!(origin, Origin::Cache)).to_string(),
            made(|origin| matches!(origin, Origin::Failed(_))).to_string(),
            milliseconds(1e3 * sum(compile_us) as f64),
            milliseconds(kernels().map(saved_ns).fold(0.0, |sum, saved| sum + saved)),
        ]);
    };
    for (path, process) in paths.iter().zip(processes) {
        let forked = process
            .forked_from
            .map(|parent| format!(" (forked from {parent})"));
        let name = path.display().to_string() + forked.as_deref().unwrap_or_default();
        add(name, &[process]);
    }
    // What a parent has counted up to the fork is in its child's file too.
    let (twice, once): (Vec<_>, Vec<_>) = processes.iter().partition(|process| {
        let parent = parent_of(process);
        parent.is_some_and(|parent| {
            processes
                .iter()
                .any(|other| (&*other.host, other.process) == parent)
        })
    });
    let all = match twice.len() {
        0 => "all".to_owned(),
        forked => format!("all but {forked} forked"),
    };
    add(all, &once);
    let mut text = format!(
        "Launches and variants of {} processes\n{}",
        processes.len(),
        table.lines(0)
    );
    if !twice.is_empty() {
        text += &format!(
            "Not in the last line: {} forked from others of these, with what those have counted before the fork\n",
            twice.len()
        );
    }
    for ((_, parent), children) in with_absent_parents(&once) {
        text += &format!(
            "{children} were forked from process {parent}, of which there is no file: what it had counted before is in the last line {children} times\n"
        );
    }
    text
}

/// The machine and number of the process that this one was forked from.
fn parent_of(process: &Statistics) -> Option<(&str, u32)> {
    Some((&process.host, process.forked_from?))
}

/// How many of the processes were forked from the same one, where there are several; by that one's machine and number.
fn with_absent_parents<'a>(processes: &[&'a Statistics]) -> BTreeMap<(&'a str, u32), usize> {
    let mut children = BTreeMap::new();
    for parent in processes.iter().filter_map(|process| parent_of(process)) {
        *children.entry(parent).or_default() += 1;
    }
    children.retain(|_, count| *count > 1);
    children
}

fn process_value(statistics: &Statistics) -> Value {
    let kernels: Vec<_> = statistics.kernels.iter().map(kernel_value).collect();
    json!({
        "version": statistics.version, "offloom": statistics.offloom, "llvm": statistics.llvm, "host": statistics.host,
        "process": statistics.process, "forked_from": statistics.forked_from, "duration_us": statistics.duration_us, "kernels": kernels,
    })
}

fn explain(statistics: &Statistics) -> String {
    let mut text = format!(
        "Process {}, Offloom {}, LLVM {}\n",
        statistics.process,
        printable_line(&statistics.offloom),
        printable_line(&statistics.llvm)
    );
    if let Some(parent) = statistics.forked_from {
        text += &format!("Forked from process {parent}, whose launches before the fork are counted too\n");
    }
    if statistics.kernels.is_empty() {
        text += "No kernel: the program was not linked with --jit, or its bundle was refused.\n";
    }
    let (launched, others) = by_launches(statistics);
    for kernel in launched {
        text += &describe(kernel);
    }
    for (heading, kernels) in others {
        text += &format!("\n{heading}:\n");
        for kernel in kernels {
            text += &format!("  {}\n", printable_line(&kernel.name));
        }
    }
    text
}

/// The kernels whose launches there is something to say of, and headings with the others.
pub(crate) fn by_launches(statistics: &Statistics) -> (Vec<&Kernel>, Vec<(&'static str, Vec<&Kernel>)>) {
    let (left, rest): (Vec<_>, Vec<_>) = statistics
        .kernels
        .iter()
        .partition(|kernel| kernel.left_ahead_of_time.is_some());
    let (launched, not_launched) = rest.into_iter().partition(|kernel| launches(kernel) > 0);
    let mut others = vec![(LEFT_FOR_FAST_MATH, left), ("Never launched", not_launched)];
    others.retain(|(_, kernels)| !kernels.is_empty());
    (launched, others)
}

/// How often a kernel was launched.
pub(crate) fn launches(kernel: &Kernel) -> u64 {
    kernel
        .launches_ahead_of_time
        .saturating_add(kernel.launches_of_variants)
}

fn describe(kernel: &Kernel) -> String {
    let mut text = format!(
        "\n{}\n  {} launches: {} ahead of time, {} of variants; a variant was asked for {} times\n",
        printable_line(&kernel.name),
        launches(kernel),
        kernel.launches_ahead_of_time,
        kernel.launches_of_variants,
        kernel.specializations
    );
    let mut arguments = Table::new(&["argument", "what", "good for", "variants caused", "now"]);
    for subject in &kernel.subjects {
        arguments.row([
            subject.argument.map_or(String::new(), |index| index.to_string()),
            subject.what.clone(),
            subject.uses.join(", "),
            subject.specializations.to_string(),
            state(subject).to_owned(),
        ]);
    }
    if arguments.is_empty() {
        text += "  nothing of a launch can be specialised\n";
    } else {
        text += &arguments.lines(2);
    }
    let mut variants = Table::new(&[
        "specialised to",
        "from",
        "compile ms",
        "copy",
        "link ms",
        "launches",
        "variant us",
        "ahead of time us",
        "verdict",
        "saved ms",
    ]);
    for variant in &kernel.variants {
        if variant.copies.is_empty() {
            add_row(&mut variants, variant, None);
        }
        for copy in &variant.copies {
            add_row(&mut variants, variant, Some(copy));
        }
    }
    if !variants.is_empty() {
        text += &variants.lines(2);
    } else if kernel.specializations > 0 {
        text += "  the program ended before one was made; a run with OFFLOOM_JIT=sync waits for each, and the cache keeps them\n";
    }
    text += &format!(
        "  compiling took {} ms, variants saved about {} ms\n",
        milliseconds(1e3 * compile_us(kernel) as f64),
        milliseconds(saved_ns(kernel))
    );
    text
}

fn add_row(table: &mut Table, variant: &Variant, copy: Option<&Linked>) {
    let cell = |value: fn(&Linked) -> Option<String>| copy.and_then(value).unwrap_or_default();
    table.row([
        read_descriptor(&variant.descriptor).1,
        match &variant.origin {
            Origin::Compiled => "compiler".to_owned(),
            Origin::Cache => "cache".to_owned(),
            Origin::Failed(_) => String::new(),
        },
        variant.phases.map_or(String::new(), |phases| {
            milliseconds(1e3 * f64::from(phases.total_us()))
        }),
        cell(|copy| Some(copy.image_copy.to_string())),
        cell(|copy| Some(milliseconds(1e3 * copy.link_us as f64))),
        cell(|copy| Some(copy.launches.to_string())),
        cell(|copy| Some(microseconds(copy.variant_ns?))),
        cell(|copy| Some(microseconds(copy.ahead_of_time_ns?))),
        outcome(variant, copy),
        cell(|copy| Some(milliseconds(copy_saved_ns(copy)?))),
    ]);
}

/// What became of a variant on one copy of its image.
pub(crate) fn outcome(variant: &Variant, copy: Option<&Linked>) -> String {
    match (&variant.origin, copy.map(|copy| &copy.verdict)) {
        (Origin::Failed(reason), _) => format!("failed: {reason}"),
        (_, Some(Verdict::Measuring)) => "too few launches to say".to_owned(),
        (_, Some(Verdict::Kept)) => "kept".to_owned(),
        (_, Some(Verdict::Retired)) => "retired: not faster".to_owned(),
        (_, Some(Verdict::Evicted)) => "evicted: launched too rarely".to_owned(),
        (_, Some(Verdict::Failed(reason))) => format!("not linked: {reason}"),
        (_, None) => "not linked yet".to_owned(),
    }
}

/// Whether something of a launch is specialised, and if not, why.
pub(crate) fn state(subject: &SubjectCount) -> &'static str {
    if subject.specialized {
        "specialised"
    } else if subject.what == "alignment" {
        "not specialised: launches are not aligned, or differ too often"
    } else if subject.changed_earlier {
        "not specialised: it changes, and an earlier run found that it does too often"
    } else {
        "not specialised: it changes too often"
    }
}

/// Nanoseconds as milliseconds.
pub(crate) fn milliseconds(nanoseconds: f64) -> String {
    format!("{:.2}", nanoseconds / 1e6)
}

/// Nanoseconds as microseconds.
pub(crate) fn microseconds(nanoseconds: u64) -> String {
    format!("{:.1}", nanoseconds as f64 / 1e3)
}

/// All compiles of a kernel together.
pub(crate) fn compile_us(kernel: &Kernel) -> u64 {
    let phases = kernel.variants.iter().filter_map(|variant| variant.phases);
    let times = phases.map(|phases| u64::from(phases.total_us()));
    times.fold(0, u64::saturating_add)
}

/// What the launches of a variant saved, by the fastest timed launches of both kinds; nothing where they were not timed.
pub(crate) fn copy_saved_ns(copy: &Linked) -> Option<f64> {
    let difference = copy.ahead_of_time_ns? as f64 - copy.variant_ns? as f64;
    Some(difference * copy.launches as f64)
}

/// What all variants of a kernel saved, as far as it is known.
pub(crate) fn saved_ns(kernel: &Kernel) -> f64 {
    let copies = kernel.variants.iter().flat_map(|variant| &variant.copies);
    copies
        .filter_map(copy_saved_ns)
        .fold(0.0, |sum, saved| sum + saved)
}

/// As it is in the file, and what follows from it.
fn kernel_value(kernel: &Kernel) -> Value {
    let mut value = serde_json::to_value(kernel).unwrap_or_default();
    value["compile_us"] = compile_us(kernel).into();
    value["saved_ns"] = saved_ns(kernel).into();
    value
}
