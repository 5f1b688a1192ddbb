//! The part of the page about kernels: all of them in one table, and a section for each.

use maud::{Markup, html};
use offloom_jit_cache::stats::{Kernel, Linked, Statistics, Variant};

use crate::explain::{
    by_launches, launches_in_words, loaded_into_gpus, origin, outcome, remark_on_gpu, state,
};
use crate::names::{Naming, SourceKernel};
use crate::processes::{Sum, copy_saved_ns};
use crate::units::{launch_milliseconds, milliseconds};

/// Most kernels whose sections are open from the start.
const MOST_OPEN: usize = 6;

/// The kernels of one process.
pub(super) fn of_process(statistics: &Statistics, naming: Naming) -> Markup {
    let (launched, others) = by_launches(statistics);
    let sums: Vec<_> = launched
        .iter()
        .map(|kernel| (*kernel, Sum::of_kernel(kernel)))
        .collect();
    html! {
        @if statistics.kernels.is_empty() {
            p { "None: the program was not linked with " code { "--jit" } ", or its bundle was refused." }
        }
        @if sums.len() > 1 { (overview(&sums, false, naming)) }
        @for kernel in &launched { (section(kernel, naming, launched.len() <= MOST_OPEN)) }
        @for (heading, kernels) in others {
            h3 { (heading) }
            ul {
                @for kernel in kernels {
                    li title=(kernel.name) { (SourceKernel::new(&kernel.name, &kernel.source, naming).name()) }
                }
            }
        }
    }
}

/// A row for each kernel; with the number of processes that launched it, if there are `several`.
pub(super) fn overview(kernels: &[(&Kernel, Sum)], several: bool, naming: Naming) -> Markup {
    html! {
        @if kernels.is_empty() {
            p { "None was launched." }
        } @else {
            table {
                thead { tr { th { "kernel" } @if several { th { "processes" } } (sum_headings()) } }
                tbody {
                    @for (kernel, sum) in kernels {
                        tr {
                            td data-label="kernel" title=(kernel.name) {
                                (SourceKernel::new(&kernel.name, &kernel.source, naming).name())
                            }
                            @if several { td.number data-label="processes" { (sum.processes) } }
                            (sum_cells(sum))
                        }
                    }
                }
            }
        }
    }
}

/// The columns of a sum.
pub(super) fn sum_headings() -> Markup {
    html! {
        th { "ahead of time" } th { "of variants" } th { "compiled" } th { "from the cache" } th { "fetched" } th { "failed" }
        th { "compile ms" } th { "saved ms" }
    }
}

/// What is in them.
pub(super) fn sum_cells(sum: &Sum) -> Markup {
    html! {
        td.number data-label="ahead of time" { (sum.ahead_of_time) }
        td.number data-label="of variants" { (sum.of_variants) }
        td.number data-label="compiled" { (sum.compiled) }
        td.number data-label="from the cache" { (sum.cached) }
        td.number data-label="fetched" { (sum.fetched) }
        td.number data-label="failed" { (sum.failed) }
        td.number data-label="compile ms" { (milliseconds(sum.compile_ns)) }
        td.number data-label="saved ms" { (milliseconds(sum.saved_ns)) }
    }
}

fn section(kernel: &Kernel, naming: Naming, open: bool) -> Markup {
    let of_source = SourceKernel::new(&kernel.name, &kernel.source, naming);
    html! {
        section {
            details open[open] {
                summary title=(kernel.name) { (of_source.name()) }
                p { (launches_in_words(kernel)) }
                (arguments(kernel, &of_source))
                (variants(kernel, &of_source))
                (on_gpus(kernel, &of_source))
            }
        }
    }
}

/// What of the launches is specialised.
fn arguments(kernel: &Kernel, of_source: &SourceKernel<'_>) -> Markup {
    html! {
        @if kernel.subjects.is_empty() {
            p { "Nothing of a launch can be specialised." }
        } @else {
            table {
                caption { "What of a launch is specialised" }
                thead { tr { th { "argument" } th { "what" } th { "good for" } th { "variants caused" } th { "now" } } }
                tbody {
                    @for subject in &kernel.subjects {
                        tr {
                            td data-label="argument" { @if let Some(index) = subject.argument { (of_source.argument(index)) } }
                            td data-label="what" { (subject.what) }
                            td data-label="good for" { (subject.uses.join(", ")) }
                            td.number data-label="variants caused" { (subject.specializations) }
                            td data-label="now" { (state(subject)) }
                        }
                    }
                }
            }
        }
    }
}

/// What was made for the kernel.
fn variants(kernel: &Kernel, of_source: &SourceKernel<'_>) -> Markup {
    html! {
        @if !kernel.variants.is_empty() {
            table {
                caption { "Variants; times of the fastest timed launches" }
                thead {
                    tr {
                        th { "specialised to" } th { "from" } th { "compile ms" } th { "copy" } th { "link ms" } th { "launches" }
                        th { "variant ms" } th { "ahead of time ms" } th { "verdict" } th { "at ms" } th { "saved ms" }
                    }
                }
                tbody {
                    @for variant in &kernel.variants {
                        @let known = of_source.known(&variant.descriptor);
                        @if variant.copies.is_empty() { (row(&known, variant, None)) }
                        @for copy in &variant.copies { (row(&known, variant, Some(copy))) }
                    }
                }
            }
        }
    }
}

/// What variants need of the GPUs that they were loaded into, beside what the ahead-of-time code does.
fn on_gpus(kernel: &Kernel, of_source: &SourceKernel<'_>) -> Markup {
    let loaded: Vec<_> = loaded_into_gpus(kernel).collect();
    let number = |label: &str, cell: u32| html! { td.number data-label=(label) { (cell) } };
    html! {
        @if !loaded.is_empty() {
            table {
                caption { "On a GPU; of the variant, and ahead of time" }
                thead {
                    tr {
                        th { "specialised to" } th { "copy" } th { "device" } th { "registers" } th { "ahead of time" }
                        th { "local bytes" } th { "ahead of time" } th { "shared bytes" } th { "ahead of time" }
                    }
                }
                tbody {
                    @for (variant, copy, on) in loaded {
                        tr {
                            td data-label="specialised to" { (of_source.known(&variant.descriptor)) }
                            td.number data-label="copy" { (copy.image_copy) }
                            td data-label="device" { (on.device) }
                            (number("registers", on.variant.registers))
                            (number("ahead of time", on.ahead_of_time.registers))
                            (number("local bytes", on.variant.local_bytes))
                            (number("ahead of time", on.ahead_of_time.local_bytes))
                            (number("shared bytes", on.variant.shared_bytes))
                            (number("ahead of time", on.ahead_of_time.shared_bytes))
                        }
                    }
                }
            }
            @if let Some(remark) = remark_on_gpu(kernel) { p { (remark) } }
        }
    }
}

fn row(known: &str, variant: &Variant, copy: Option<&Linked>) -> Markup {
    let number = |label: &str, cell: Option<String>| html! { td.number data-label=(label) { (cell.unwrap_or_default()) } };
    let at = |time: u64| milliseconds(1e3 * time as f64);
    html! {
        tr {
            td data-label="specialised to" { (known) }
            td data-label="from" { (origin(variant)) }
            (number("compile ms", variant.phases.map(|phases| milliseconds(1e3 * f64::from(phases.total_us())))))
            (number("copy", copy.map(|copy| copy.image_copy.to_string())))
            (number("link ms", copy.map(|copy| milliseconds(1e3 * copy.link_us as f64))))
            (number("launches", copy.map(|copy| copy.launches.to_string())))
            (number("variant ms", copy.and_then(|copy| Some(launch_milliseconds(copy.variant_ns?)))))
            (number("ahead of time ms", copy.and_then(|copy| Some(launch_milliseconds(copy.ahead_of_time_ns?)))))
            td data-label="verdict" { (outcome(variant, copy)) }
            (number("at ms", copy.and_then(|copy| copy.verdict_us.map(at)).or(match copy { None => variant.made_us.map(at), _ => None })))
            (number("saved ms", copy.and_then(|copy| Some(milliseconds(copy_saved_ns(copy)?)))))
        }
    }
}
