//! `offloom explain`: what became of a program's launches, by the file that `OFFLOOM_JIT_STATS` made the
//! program write.

use std::io::{self, Write as _};
use std::path::PathBuf;

use offloom_jit_cache::stats::{
    GpuResources, Kernel, Linked, OnGpu, Origin, Statistics, SubjectCount, Variant, Verdict,
};
use offloom_text_table::{Table, counted, printable, printable_line};
use serde_json::{Value, json};

use crate::error::Result;
use crate::names::{Naming, SourceKernel};
use crate::processes::{Processes, Sum, compile_us, copy_saved_ns, launches, saved_ns};
use crate::units::{launch_milliseconds, milliseconds, times};

/// What [`stats::LeftAheadOfTime::FastMath`](offloom_jit_cache::stats::LeftAheadOfTime::FastMath) is called.
const LEFT_FOR_FAST_MATH: &str = "Left as they were linked, since they were compiled with fast-math flags and OFFLOOM_JIT_FP is not `source` \
                                  (launches are not counted)";

/// The columns of what a process or a kernel came to, behind its name.
const SUM_HEADINGS: [&str; 8] = [
    "ahead of time",
    "of variants",
    "compiled",
    "from the cache",
    "fetched",
    "failed",
    "compile ms",
    "saved ms",
];

/// Explains one file, or compares several. As JSON, several are a list of what each is by itself.
pub(crate) fn run(paths: &[PathBuf], naming: Naming, json: bool) -> Result<String> {
    let processes = Processes::read(paths)?;
    Ok(match json {
        false => text(&processes, naming),
        true => {
            let values = processes.all().iter();
            let mut values: Vec<_> = values
                .map(|process| process_value(&process.statistics, naming))
                .collect();
            match values.pop() {
                Some(only) if values.is_empty() => format!("{only:#}\n"),
                last => {
                    values.extend(last);
                    format!("{:#}\n", Value::Array(values))
                }
            }
        }
    })
}

/// What a person reads of one process, or of several.
pub(crate) fn text(processes: &Processes, naming: Naming) -> String {
    match processes.all() {
        [one] => explain(&one.statistics, naming),
        _ => compare(processes, naming),
    }
}

/// Says it on the error stream, if anyone listens.
pub(crate) fn say(text: &str, json: bool) {
    let text = match json {
        true => text.to_owned(),
        false => printable(text),
    };
    let _ = io::stderr().write_all(text.as_bytes());
}

/// A line for each file, and one for all; and a line for each kernel, in all processes together.
fn compare(processes: &Processes, naming: Naming) -> String {
    let headings = |first: &[&'static str]| [first, &SUM_HEADINGS].concat();
    let mut table = Table::new(&headings(&["file"]));
    for process in processes.all() {
        table.row([vec![process.name()], sum_cells(&Sum::of(&process.statistics))].concat());
    }
    let once = processes.counted_once();
    let all = match processes.all().len() - once.len() {
        0 => "all".to_owned(),
        forked => format!("all but {forked} forked"),
    };
    table.row([vec![all], sum_cells(&processes.sum())].concat());
    let mut text = format!(
        "Launches and variants of {}\n{}",
        counted(processes.all().len() as u64, "process", "processes"),
        table.lines(0)
    );
    for remark in processes.remarks() {
        text += &format!("{remark}\n");
    }
    let mut table = Table::new(&headings(&["kernel", "processes"]));
    for (kernel, sum) in processes.kernels() {
        let name = SourceKernel::new(&kernel.name, &kernel.source, naming).name();
        table.row([vec![name, sum.processes.to_string()], sum_cells(&sum)].concat());
    }
    if !table.is_empty() {
        text += &format!(
            "\nKernels, in all of these processes together\n{}",
            table.lines(0)
        );
    }
    text
}

fn sum_cells(sum: &Sum) -> Vec<String> {
    vec![
        sum.ahead_of_time.to_string(),
        sum.of_variants.to_string(),
        sum.compiled.to_string(),
        sum.cached.to_string(),
        sum.fetched.to_string(),
        sum.failed.to_string(),
        milliseconds(sum.compile_ns),
        milliseconds(sum.saved_ns),
    ]
}

fn process_value(statistics: &Statistics, naming: Naming) -> Value {
    let kernels = statistics.kernels.iter();
    let kernels: Vec<_> = kernels.map(|kernel| kernel_value(kernel, naming)).collect();
    json!({
        "version": statistics.version, "offloom": statistics.offloom, "llvm": statistics.llvm, "host": statistics.host,
        "process": statistics.process, "forked_from": statistics.forked_from, "command": statistics.command,
        "started": statistics.started, "settings": statistics.settings, "duration_us": statistics.duration_us,
        "remote": statistics.remote, "kernels": kernels,
    })
}

fn explain(statistics: &Statistics, naming: Naming) -> String {
    let mut text = format!(
        "Process {}, Offloom {}, LLVM {}\n",
        statistics.process,
        printable_line(&statistics.offloom),
        printable_line(&statistics.llvm)
    );
    if let Some(parent) = statistics.forked_from {
        text += &format!("Forked from process {parent}, whose launches before the fork are counted too\n");
    }
    if let Some(uses) = &statistics.remote {
        text += &format!(
            "Remote store: {} fetched, {} ahead of need, {} not there, {} refused, {} failed; {} published, {} not put there, {} too large\n",
            uses.fetched,
            uses.fetched_ahead,
            uses.absent,
            uses.refused,
            uses.failed,
            uses.published,
            uses.not_put,
            uses.too_large
        );
        text += &format!(
            "Verdicts of the remote store: {} taken over, {} published\n",
            uses.verdicts, uses.verdicts_published
        );
    }
    if statistics.kernels.is_empty() {
        text += "No kernel: the program was not linked with --jit, or its bundle was refused.\n";
    }
    let (launched, others) = by_launches(statistics);
    for kernel in launched {
        text += &describe(kernel, naming);
    }
    for (heading, kernels) in others {
        text += &format!("\n{heading}:\n");
        for kernel in kernels {
            let name = SourceKernel::new(&kernel.name, &kernel.source, naming).name();
            text += &format!("  {}\n", printable_line(&name));
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

/// `6 launches: 0 ahead of time, 6 of variants`.
pub(crate) fn launch_counts(ahead_of_time: u64, of_variants: u64) -> String {
    format!(
        "{}: {ahead_of_time} ahead of time, {of_variants} of variants",
        counted(ahead_of_time.saturating_add(of_variants), "launch", "launches")
    )
}

/// How often a kernel was launched, and asked for variants.
pub(crate) fn launches_in_words(kernel: &Kernel) -> String {
    format!(
        "{}; a variant was asked for {}",
        launch_counts(kernel.launches_ahead_of_time, kernel.launches_of_variants),
        times(kernel.specializations)
    )
}

fn describe(kernel: &Kernel, naming: Naming) -> String {
    let of_source = SourceKernel::new(&kernel.name, &kernel.source, naming);
    let mut text = format!(
        "\n{}\n  {}\n",
        printable_line(&of_source.name()),
        launches_in_words(kernel)
    );
    let mut arguments = Table::new(&["argument", "what", "good for", "variants caused", "now"]);
    for subject in &kernel.subjects {
        arguments.row([
            subject
                .argument
                .map_or(String::new(), |index| of_source.argument(index)),
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
        "variant ms",
        "ahead of time ms",
        "verdict",
        "saved ms",
    ]);
    for variant in &kernel.variants {
        let known = of_source.known(&variant.descriptor);
        if variant.copies.is_empty() {
            add_row(&mut variants, &known, variant, None);
        }
        for copy in &variant.copies {
            add_row(&mut variants, &known, variant, Some(copy));
        }
    }
    if !variants.is_empty() {
        text += &variants.lines(2);
    } else if kernel.specializations > 0 {
        text += "  the program ended before one was made; a run with OFFLOOM_JIT=sync waits for each, and the cache keeps them\n";
    }
    let on_gpus = on_gpus(kernel, &of_source);
    if !on_gpus.is_empty() {
        text += &on_gpus.lines(2);
        if let Some(remark) = remark_on_gpu(kernel) {
            text += &format!("  {remark}\n");
        }
    }
    text += &format!(
        "  compiling took {} ms, variants saved about {} ms\n",
        milliseconds(1e3 * compile_us(kernel) as f64),
        milliseconds(saved_ns(kernel))
    );
    text
}

fn add_row(table: &mut Table, known: &str, variant: &Variant, copy: Option<&Linked>) {
    let cell = |value: fn(&Linked) -> Option<String>| copy.and_then(value).unwrap_or_default();
    table.row([
        known.to_owned(),
        origin(variant).to_owned(),
        variant.phases.map_or(String::new(), |phases| {
            milliseconds(1e3 * f64::from(phases.total_us()))
        }),
        cell(|copy| Some(copy.image_copy.to_string())),
        cell(|copy| Some(milliseconds(1e3 * copy.link_us as f64))),
        cell(|copy| Some(copy.launches.to_string())),
        cell(|copy| Some(launch_milliseconds(copy.variant_ns?))),
        cell(|copy| Some(launch_milliseconds(copy.ahead_of_time_ns?))),
        outcome(variant, copy),
        cell(|copy| Some(milliseconds(copy_saved_ns(copy)?))),
    ]);
}

/// The variants that were loaded into GPUs: each with the copy of its image, and what both need there.
pub(crate) fn loaded_into_gpus(kernel: &Kernel) -> impl Iterator<Item = (&Variant, &Linked, &OnGpu)> {
    kernel.variants.iter().flat_map(|variant| {
        let copies = variant.copies.iter();
        copies.filter_map(move |copy| Some((variant, copy, copy.on_gpu.as_ref()?)))
    })
}

/// What is to be said where a variant was loaded into an AMD GPU, which are named by their processors.
pub(crate) fn remark_on_gpu(kernel: &Kernel) -> Option<&'static str> {
    loaded_into_gpus(kernel)
        .any(|(_, _, on_gpu)| on_gpu.device.starts_with("gfx"))
        .then_some("the JIT has never been tried on an AMD GPU: compare results with OFFLOOM_JIT=off")
}

/// What variants need of the GPUs that they were loaded into.
fn on_gpus(kernel: &Kernel, of_source: &SourceKernel) -> Table {
    let mut table = Table::new(&[
        "specialised to",
        "copy",
        "device",
        "registers",
        "ahead of time",
        "local bytes",
        "ahead of time",
        "shared bytes",
        "ahead of time",
    ]);
    for (variant, copy, on) in loaded_into_gpus(kernel) {
        let pair = |value: fn(&GpuResources) -> u32| {
            [&on.variant, &on.ahead_of_time].map(|resources| value(resources).to_string())
        };
        let [registers, registers_before] = pair(|resources| resources.registers);
        let [local, local_before] = pair(|resources| resources.local_bytes);
        let [shared, shared_before] = pair(|resources| resources.shared_bytes);
        table.row([
            of_source.known(&variant.descriptor),
            copy.image_copy.to_string(),
            on.device.clone(),
            registers,
            registers_before,
            local,
            local_before,
            shared,
            shared_before,
        ]);
    }
    table
}

/// Where a variant is from, in a word; nothing where there is none.
pub(crate) fn origin(variant: &Variant) -> &'static str {
    match variant.origin {
        Origin::Compiled => "compiler",
        Origin::Cache => "cache",
        Origin::SharedCache => "shared cache",
        Origin::Remote => "remote store",
        Origin::Failed(_) => "",
    }
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
        (_, Some(Verdict::Refused(reason))) => format!("retired: the device refuses to launch it: {reason}"),
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

/// As it is in the file, and what follows from it.
fn kernel_value(kernel: &Kernel, naming: Naming) -> Value {
    let of_source = SourceKernel::new(&kernel.name, &kernel.source, naming);
    let mut value = serde_json::to_value(kernel).unwrap_or_default();
    value["source"] = of_source.json();
    value["compile_us"] = compile_us(kernel).into();
    value["saved_ns"] = saved_ns(kernel).into();
    for (shown, variant) in value["variants"]
        .as_array_mut()
        .into_iter()
        .flatten()
        .zip(&kernel.variants)
    {
        shown["specialized_to"] = of_source.known(&variant.descriptor).into();
    }
    value
}
