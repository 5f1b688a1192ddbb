//! `offloom report`: an HTML page about one run, by the file that `OFFLOOM_JIT_STATS` made the program write.
//!
//! The page is one file: style and figures are in it, it has no script and loads nothing.

mod style;
mod timeline;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use maud::{DOCTYPE, Markup, PreEscaped, html};
use offloom_jit_cache::output::{is_standard_output, write_whole};
use offloom_jit_cache::stats::{Kernel, Linked, Origin, Statistics, Variant, Verdict};

use crate::descriptor::read_descriptor;
use crate::error::{Error, Result};
use crate::explain::{
    by_launches, compile_us, copy_saved_ns, launches, microseconds, milliseconds, outcome, saved_ns, state,
};
use crate::outcome::Outcome;
use crate::progress::shown;

/// Writes the page about `statistics`, and says where it is.
pub(crate) fn run(statistics: &Path, output: Option<&Path>) -> Result<Outcome> {
    let read = shown("reading statistics", |_| Statistics::read(statistics))?;
    let page = shown("writing the page", |_| page(&read).into_string());
    let file = output.map_or_else(|| with_html(statistics), Path::to_owned);
    if is_same(statistics, &file) {
        return Err(Error::PageOverStatistics(file));
    }
    write_whole(&file, |scratch| scratch.write_all(page.as_bytes())).map_err(|source| Error::Page {
        path: file.clone(),
        source,
    })?;
    let text = format!("{}\n", file.display());
    Ok(Outcome::from(text).on_error_stream(is_standard_output(&file)))
}

/// Whether two paths lead to the same file.
fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path| {
        let file = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some((file.dev(), file.ino()))
    };
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

/// The file's name with `.html` behind it.
fn with_html(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".html");
    name.into()
}

fn page(statistics: &Statistics) -> Markup {
    let title = format!("Process {}: what became of its launches", statistics.process);
    let (launched, others) = by_launches(statistics);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(style::SHEET)) }
            }
            body {
                h1 { (title) }
                p.quiet {
                    "Offloom " (statistics.offloom) ", LLVM " (statistics.llvm)
                    @if let Some(parent) = statistics.forked_from {
                        "; forked from process " (parent) ", whose launches before the fork are counted too"
                    }
                }
                (summary(statistics))
                h2 { "Timeline" }
                (timeline::figure(statistics))
                h2 { "Kernels" }
                @if statistics.kernels.is_empty() {
                    p { "None: the program was not linked with " code { "--jit" } ", or its bundle was refused." }
                }
                @for kernel in launched { (section(kernel)) }
                @for (heading, kernels) in others {
                    h3 { (heading) }
                    ul { @for kernel in kernels { li { code { (kernel.name) } } } }
                }
            }
        }
    }
}

/// The numbers that matter, of all kernels together.
fn summary(statistics: &Statistics) -> Markup {
    let kernels = &statistics.kernels;
    let sum = |count: fn(&Kernel) -> u64| kernels.iter().map(count).fold(0, u64::saturating_add);
    let variants = || kernels.iter().flat_map(|kernel| &kernel.variants);
    let origins = |is: fn(&Origin) -> bool| variants().filter(|variant| is(&variant.origin)).count();
    let retired = variants()
        .flat_map(|variant| &variant.copies)
        .filter(|copy| copy.verdict == Verdict::Retired);
    let tiles = [
        (
            "launches of variants",
            sum(|kernel| kernel.launches_of_variants).to_string(),
        ),
        (
            "launches ahead of time",
            sum(|kernel| kernel.launches_ahead_of_time).to_string(),
        ),
        (
            "compiled",
            origins(|origin| *origin == Origin::Compiled).to_string(),
        ),
        (
            "found in the cache",
            origins(|origin| *origin == Origin::Cache).to_string(),
        ),
        ("retired", retired.count().to_string()),
        (
            "failed",
            origins(|origin| matches!(origin, Origin::Failed(_))).to_string(),
        ),
        ("ms of compiling", milliseconds(1e3 * sum(compile_us) as f64)),
        (
            "ms saved, about",
            milliseconds(kernels.iter().map(saved_ns).fold(0.0, |sum, saved| sum + saved)),
        ),
    ];
    html! {
        dl.tiles {
            @for (name, value) in tiles { div { dt { (name) } dd { (value) } } }
        }
    }
}

fn section(kernel: &Kernel) -> Markup {
    html! {
        section {
            h3 { code { (kernel.name) } }
            p {
                (launches(kernel)) " launches: " (kernel.launches_ahead_of_time) " ahead of time, " (kernel.launches_of_variants)
                " of variants; a variant was asked for " (kernel.specializations) " times"
            }
            (arguments(kernel))
            (variants(kernel))
        }
    }
}

/// What of the launches is specialised.
fn arguments(kernel: &Kernel) -> Markup {
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
                            td { @if let Some(index) = subject.argument { (index) } }
                            td { (subject.what) }
                            td { (subject.uses.join(", ")) }
                            td.number { (subject.specializations) }
                            td { (state(subject)) }
                        }
                    }
                }
            }
        }
    }
}

/// What was made for the kernel.
fn variants(kernel: &Kernel) -> Markup {
    html! {
        @if !kernel.variants.is_empty() {
            table {
                caption { "Variants" }
                thead {
                    tr {
                        th { "specialised to" } th { "from" } th { "compile ms" } th { "copy" } th { "link ms" } th { "launches" }
                        th { "variant µs" } th { "ahead of time µs" } th { "verdict" } th { "at ms" } th { "saved ms" }
                    }
                }
                tbody {
                    @for variant in &kernel.variants {
                        @if variant.copies.is_empty() { (row(variant, None)) }
                        @for copy in &variant.copies { (row(variant, Some(copy))) }
                    }
                }
            }
        }
    }
}

fn row(variant: &Variant, copy: Option<&Linked>) -> Markup {
    let number = |cell: Option<String>| html! { td.number { (cell.unwrap_or_default()) } };
    let at = |time: u64| milliseconds(1e3 * time as f64);
    html! {
        tr {
            td { code { (read_descriptor(&variant.descriptor).1) } }
            td {
                (match variant.origin {
                    Origin::Compiled => "compiler",
                    Origin::Cache => "cache",
                    Origin::Failed(_) => "",
                })
            }
            (number(variant.phases.map(|phases| milliseconds(1e3 * f64::from(phases.total_us())))))
            (number(copy.map(|copy| copy.image_copy.to_string())))
            (number(copy.map(|copy| milliseconds(1e3 * copy.link_us as f64))))
            (number(copy.map(|copy| copy.launches.to_string())))
            (number(copy.and_then(|copy| Some(microseconds(copy.variant_ns?)))))
            (number(copy.and_then(|copy| Some(microseconds(copy.ahead_of_time_ns?)))))
            td { (outcome(variant, copy)) }
            (number(copy.and_then(|copy| copy.verdict_us.map(at)).or(match copy { None => variant.made_us.map(at), _ => None })))
            (number(copy.and_then(|copy| Some(milliseconds(copy_saved_ns(copy)?)))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn without_kernels() -> Statistics {
        Statistics {
            version: offloom_jit_cache::stats::VERSION,
            offloom: "<script>".to_owned(),
            llvm: "&".to_owned(),
            host: "node".to_owned(),
            process: 1,
            forked_from: None,
            duration_us: None,
            kernels: Vec::new(),
        }
    }

    #[test]
    fn nothing_saved_is_no_negative_number() {
        let page = page(&without_kernels()).into_string();
        assert!(!page.contains("-0.00"), "{page}");
    }

    #[test]
    fn what_a_file_says_cannot_become_markup() {
        let statistics = without_kernels();
        let page = page(&statistics).into_string();
        assert!(!page.contains("<script"), "{page}");
        assert!(page.contains("&lt;script&gt;"), "{page}");
        for outside in ["http:", "https:", "src=", "url(", "@import"] {
            assert!(
                !page.contains(outside),
                "the page refers to something outside: {page}"
            );
        }
    }

    #[test]
    fn there_is_a_whole_page_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("page.html");
        assert!(run(&folder.path().join("nothing"), Some(&page)).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
