//! `offloom report`: an HTML page about a run, by the files that `OFFLOOM_JIT_STATS` made its processes
//! write.
//!
//! The page is one file: style and figures are in it, it has no script and loads nothing. What matters comes
//! first: a verdict in a sentence, the numbers of all processes together, what was run; then when what
//! happened; then each kernel.

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
use offloom_text_table::counted;

use crate::error::{Error, Result};
use crate::names::Naming;
use crate::outcome::Outcome;
use crate::processes::{Process, Processes, Sum};
use crate::progress::shown;
use crate::units::{date, milliseconds};

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

/// Most programs that are named of a job.
const MOST_PROGRAMS: usize = 4;

/// What was run, by the names of its files.
fn title(processes: &Processes) -> String {
    let names = each_once(processes.all(), |statistics| {
        let program = statistics.command.first();
        let program = program.and_then(|program| Path::new(program).file_name());
        program.map_or_else(
            || format!("process {}", statistics.process),
            |program| program.to_string_lossy().into_owned(),
        )
    });
    let mut what: Vec<_> = names.iter().map(|(name, _)| name.as_str()).collect();
    if what.len() > MOST_PROGRAMS {
        what.truncate(MOST_PROGRAMS);
        what.push("others");
    }
    let what = what.join(", ");
    match processes.all().len() {
        0 | 1 => format!("{what}: what became of its launches"),
        count => format!("{what}: what became of the launches of {count} processes"),
    }
}

/// What the processes say, each once, with how many of them say it; in the order of the first of these.
fn each_once(processes: &[Process], says: impl Fn(&Statistics) -> String) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for process in processes {
        let says = says(&process.statistics);
        let place = *places.entry(says.clone()).or_insert(found.len());
        match found.get_mut(place) {
            Some((_, count)) => *count += 1,
            None => found.push((says, 1)),
        }
    }
    found
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
        ("fetched from a store", sum.fetched.to_string()),
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
    let mut commands = each_once(processes, |statistics| statistics.command.join(" "));
    commands.retain(|(command, _)| !command.is_empty());
    let left_out = commands.len().saturating_sub(MOST_PROGRAMS);
    commands.truncate(MOST_PROGRAMS);
    html! {
        dl.facts {
            @match commands.as_slice() {
                [] => {}
                [(command, _)] => { dt { "program" } dd { code { (command) } } }
                several => {
                    dt { "programs" }
                    dd {
                        @for (command, count) in several {
                            div { code { (command) } ", " (counted(*count as u64, "process", "processes")) }
                        }
                        @if left_out > 0 { div.quiet { "and " (counted(left_out as u64, "other", "others")) } }
                    }
                }
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
            remote: None,
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
    fn a_job_of_several_programs_names_them() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Vec::new();
        for (process, command) in [(1, "./a 7"), (2, "./b"), (3, "./a 7"), (4, "/bin/a 8")] {
            let statistics = Statistics {
                process,
                command: command.split(' ').map(str::to_owned).collect(),
                ..without_kernels()
            };
            files.push(folder.path().join(process.to_string()));
            statistics.write(files.last().unwrap()).unwrap();
        }
        let job = |files: &[PathBuf]| page(&Processes::read(files).unwrap(), Naming::default()).into_string();
        let several = job(&files);
        assert!(
            several.contains("<h1>a, b: what became of the launches of 4 processes</h1>"),
            "{several}"
        );
        let programs = "<div><code>./a 7</code>, 2 processes</div><div><code>./b</code>, 1 process</div><div><code>/bin/a 8</code>, 1 process</div>";
        assert!(several.contains(programs), "{several}");
        let one = job(&[files[0].clone(), files[2].clone()]);
        assert!(
            one.contains("<dt>program</dt><dd><code>./a 7</code></dd>"),
            "{one}"
        );
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
