//! `offloom report`: an HTML page about a run, by the files that `OFFLOOM_JIT_STATS` made its processes write.
//!
//! The page is one file: style and figures are in it, it has no script and loads nothing. What matters comes first: a verdict in a sentence,
//! the numbers of all processes together, what was run; then when what happened; then each kernel.

mod kernels;
mod style;
mod timeline;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use maud::{DOCTYPE, Markup, PreEscaped, html};
use offloom_jit_cache::output::{is_standard_output, write_whole};
use offloom_jit_cache::stats::Statistics;

use crate::error::{Error, Result};
use crate::names::Naming;
use crate::outcome::Outcome;
use crate::processes::{Process, Processes, Sum};
use crate::progress::shown;
use crate::units::{counted, date, milliseconds};

/// Most processes whose own timelines and kernels are on a page; the tables have all.
const MOST_DETAILED: usize = 16;

/// Writes the page about the processes that wrote these files, and says where it is.
pub(crate) fn run(statistics: &[PathBuf], output: Option<&Path>, naming: Naming) -> Result<Outcome> {
    let read = shown("reading statistics", |_| Processes::read(statistics))?;
    let page = shown("writing the page", |_| page(&read, naming).into_string());
    let first = statistics
        .first()
        .map_or_else(|| Path::new("report"), PathBuf::as_path);
    let file = output.map_or_else(|| with_html(first), Path::to_owned);
    if statistics.iter().any(|statistics| is_same(statistics, &file)) {
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

fn page(processes: &Processes, naming: Naming) -> Markup {
    let title = title(processes);
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
                p.verdict { (processes.verdict()) }
                (cards(&processes.sum()))
                @match processes.all() {
                    [one] => {
                        (facts(&one.statistics))
                        (details(one, naming))
                    }
                    several => {
                        (job(several))
                        (process_table(processes))
                        h2 { "Kernels, in all processes together" }
                        (kernels::overview(&processes.kernels(), true, naming))
                        @for process in several.iter().take(MOST_DETAILED) {
                            details.process {
                                summary { "Process " (process.statistics.process) " on " (process.statistics.host) }
                                (facts(&process.statistics))
                                (details(process, naming))
                            }
                        }
                        @if several.len() > MOST_DETAILED {
                            p.quiet { "Only the first " (MOST_DETAILED) " processes are described one by one." }
                        }
                    }
                }
            }
        }
    }
}

/// What was run, by the name of its file.
fn title(processes: &Processes) -> String {
    let first = processes.all().first().map(|process| &process.statistics);
    let program = first.and_then(|statistics| statistics.command.first());
    let program = program.and_then(|program| Path::new(program).file_name());
    let what = match (program, first) {
        (Some(program), _) => program.to_string_lossy().into_owned(),
        (None, Some(statistics)) => format!("Process {}", statistics.process),
        (None, None) => "Nothing".to_owned(),
    };
    match processes.all().len() {
        0 | 1 => format!("{what}: what became of its launches"),
        count => format!("{what}: what became of the launches of {count} processes"),
    }
}

/// The numbers that matter, of all kernels together.
fn cards(sum: &Sum) -> Markup {
    let saved = match sum.timed {
        true => milliseconds(sum.saved_ns),
        false => "not timed".to_owned(),
    };
    let cards = [
        ("ms saved, about", saved),
        ("launches of variants", sum.of_variants.to_string()),
        ("launches ahead of time", sum.ahead_of_time.to_string()),
        ("ms of compiling", milliseconds(sum.compile_ns)),
        ("compiled", sum.compiled.to_string()),
        ("found in the cache", sum.cached.to_string()),
        ("retired", sum.retired.to_string()),
        ("failed", sum.failed.to_string()),
    ];
    html! {
        dl.cards {
            @for (name, value) in cards { div { dt { (name) } dd { (value) } } }
        }
    }
}

/// What was run, where, when, and how it was set.
fn facts(statistics: &Statistics) -> Markup {
    let (program, arguments) = match statistics.command.split_first() {
        Some((program, arguments)) => (Some(program), arguments.join(" ")),
        None => (None, String::new()),
    };
    let settings = statistics.settings.iter();
    let settings: Vec<_> = settings.map(|(name, value)| format!("{name}={value}")).collect();
    html! {
        dl.facts {
            @if let Some(program) = program { dt { "program" } dd { code { (program) } } }
            @if !arguments.is_empty() { dt { "arguments" } dd { code { (arguments) } } }
            dt { "process" }
            dd {
                (statistics.process)
                @if let Some(parent) = statistics.forked_from {
                    ", forked from " (parent) ", whose launches before the fork are counted too"
                }
            }
            @if !statistics.host.is_empty() { dt { "host" } dd { (statistics.host) } }
            @if let Some(date) = statistics.started.and_then(date) { dt { "date" } dd { (date) } }
            @if let Some(duration) = statistics.duration_us {
                dt { "duration" } dd { (milliseconds(1e3 * duration as f64)) " ms, from the first use of the JIT" }
            }
            dt { "settings" }
            dd {
                @if settings.is_empty() { "the defaults" }
                @for setting in settings { code { (setting) } " " }
            }
            dt { "versions" } dd { "Offloom " (statistics.offloom) ", LLVM " (statistics.llvm) }
        }
    }
}

/// What the processes of a job have in common.
fn job(processes: &[Process]) -> Markup {
    let all = || processes.iter().map(|process| &process.statistics);
    let hosts: std::collections::BTreeSet<_> = all().map(|statistics| &statistics.host).collect();
    let started = all().filter_map(|statistics| statistics.started).min();
    let command = all().next().map(|first| first.command.join(" "));
    html! {
        dl.facts {
            @if let Some(command) = command.filter(|command| !command.is_empty()) {
                dt { "program" } dd { code { (command) } }
            }
            dt { "processes" }
            dd { (processes.len()) " on " (counted(hosts.len() as u64, "host", "hosts")) }
            @if let Some(date) = started.and_then(date) { dt { "date" } dd { (date) } }
        }
    }
}

/// A row for each process.
fn process_table(processes: &Processes) -> Markup {
    html! {
        h2 { "Processes" }
        table {
            thead { tr { th { "file" } th { "host" } th { "process" } (kernels::sum_headings()) } }
            tbody {
                @for process in processes.all() {
                    tr {
                        td data-label="file" { (process.name()) }
                        td data-label="host" { (process.statistics.host) }
                        td.number data-label="process" { (process.statistics.process) }
                        (kernels::sum_cells(&Sum::of(&process.statistics)))
                    }
                }
            }
        }
        @for remark in processes.remarks() { p.quiet { (remark) } }
    }
}

/// Timeline and kernels of one process.
fn details(process: &Process, naming: Naming) -> Markup {
    html! {
        h2 { "Timeline" }
        (timeline::figure(&process.statistics, naming))
        h2 { "Kernels" }
        (kernels::of_process(&process.statistics, naming))
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
            command: Vec::new(),
            started: None,
            settings: std::collections::BTreeMap::new(),
            duration_us: None,
            kernels: Vec::new(),
        }
    }

    fn page_about(statistics: &Statistics) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("statistics");
        statistics.write(&file).unwrap();
        page(&Processes::read(&[file]).unwrap(), Naming::default()).into_string()
    }

    #[test]
    fn nothing_saved_is_no_negative_number() {
        let page = page_about(&without_kernels());
        assert!(!page.contains("-0.00"), "{page}");
    }

    #[test]
    fn what_a_file_says_cannot_become_markup() {
        let statistics = without_kernels();
        let page = page_about(&statistics);
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
        let absent = [folder.path().join("nothing")];
        assert!(run(&absent, Some(&page), Naming::default()).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
