//! The figure of what was launched, compiled, found, linked and dropped when.

use maud::{Markup, html};
use offloom_jit_cache::stats::{Kernel, Linked, Origin, Progress, Statistics, Variant, Verdict};

use crate::descriptor::read_descriptor;
use crate::explain::launches;

/// Width of the part with bars, and of the names before it, in pixels.
const WIDTH: f64 = 900.0;
const NAMES: f64 = 280.0;
/// Height of a row.
const ROW: f64 = 18.0;
/// Height of a bar in it, and the least that is seen of a share of it.
const BAR: f64 = ROW - 6.0;
const LEAST: f64 = 2.0;
/// Most rows that a figure has; the tables have all.
const MOST: usize = 200;

/// One bar.
#[derive(Debug, PartialEq)]
struct Bar {
    row: usize,
    from_us: u64,
    to_us: u64,
    /// Where it begins in its row and how high it is, in pixels.
    top: f64,
    height: f64,
    class: &'static str,
    says: String,
}

/// The figure, or why there is none.
pub(super) fn figure(statistics: &Statistics) -> Markup {
    let Some(end) = statistics.duration_us.filter(|end| *end > 0) else {
        return html! { p { "The file holds no times: it is of an older version." } };
    };
    let mut names = Vec::new();
    let mut bars = Vec::new();
    for kernel in &statistics.kernels {
        if launches(kernel) > 0 {
            add_launches(&mut bars, names.len(), kernel, end);
            names.push(kernel.name.clone());
        }
        for variant in &kernel.variants {
            let row = names.len();
            names.push(format!(
                "{} {}",
                kernel.name,
                read_descriptor(&variant.descriptor).1
            ));
            add_bars(&mut bars, row, variant, end);
        }
    }
    if names.is_empty() {
        return html! { p { "Nothing was launched that the JIT could specialise." } };
    }
    let left_out = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    let height = ROW * (names.len() + 2) as f64;
    let x = |time: u64| NAMES + WIDTH * (time.min(end) as f64 / end as f64);
    html! {
        figure {
            svg viewBox=(format!("0 0 {} {height}", NAMES + WIDTH + 10.0)) width=(NAMES + WIDTH + 10.0) role="img"
                aria-label="When kernels were launched, and when each variant was compiled, linked and used" {
                @for step in 0..=4_u64 {
                    @let time = end * step / 4;
                    line.axis x1=(x(time)) x2=(x(time)) y1="0" y2=(height - ROW) {}
                    text x=(x(time)) y=(height - 4.0) text-anchor=(anchor(step)) { (format!("{:.1} ms", time as f64 / 1e3)) }
                }
                @for (row, name) in names.iter().enumerate() {
                    text x=(NAMES - 6.0) y=(ROW * (row as f64 + 0.75)) text-anchor="end" {
                        (short(name))
                        title { (name) }
                    }
                }
                @for bar in bars.iter().filter(|bar| bar.row < names.len()) {
                    rect class=(bar.class) x=(x(bar.from_us)) y=(ROW * bar.row as f64 + 3.0 + bar.top)
                        width=((x(bar.to_us) - x(bar.from_us)).max(2.0)) height=(bar.height) {
                        title { (bar.says) }
                    }
                }
            }
            figcaption {
                "Each kernel that was launched has a row, and below it one for each of its variants. Launches that ran ahead of time: grey; \
                 launches of variants: blue; a bar of both colours has their shares. It says how many launches there were in its time, \
                 which is until something was compiled, found, linked or judged, or until the end. Of a variant: compiled: orange; found in \
                 the cache: light blue; in use: blue, until it was retired; failed: red."
                @if left_out > 0 { " " (left_out) " more rows are left out." }
            }
        }
    }
}

fn anchor(step: u64) -> &'static str {
    match step {
        0 => "start",
        4 => "end",
        _ => "middle",
    }
}

/// A bar for each time in which the kernel was launched, or two: one over the other, where not all launches ran the same.
fn add_launches(bars: &mut Vec<Bar>, row: usize, kernel: &Kernel, end: u64) {
    let all = Progress {
        at_us: end,
        launches_ahead_of_time: kernel.launches_ahead_of_time,
        launches_of_variants: kernel.launches_of_variants,
    };
    let mut before = Progress::default();
    // Older files have nothing but the sum.
    for now in kernel.progress.iter().chain([&all]) {
        let ahead_of_time = now
            .launches_ahead_of_time
            .saturating_sub(before.launches_ahead_of_time);
        let of_variants = now
            .launches_of_variants
            .saturating_sub(before.launches_of_variants);
        let count = ahead_of_time.saturating_add(of_variants);
        let says = format!("{count} launches: {ahead_of_time} ahead of time, {of_variants} of variants");
        let height = match (ahead_of_time, of_variants) {
            (_, 0) => 0.0,
            (0, _) => BAR,
            _ => (BAR * of_variants as f64 / count as f64).clamp(LEAST, BAR - LEAST),
        };
        let bar = |top: f64, height: f64, class| Bar {
            row,
            from_us: before.at_us,
            to_us: now.at_us,
            top,
            height,
            class,
            says: says.clone(),
        };
        if of_variants > 0 {
            bars.push(bar(0.0, height, "of-variants"));
        }
        if ahead_of_time > 0 {
            bars.push(bar(height, BAR - height, "ahead-of-time"));
        }
        before = *now;
    }
}

fn add_bars(bars: &mut Vec<Bar>, row: usize, variant: &Variant, end: u64) {
    let Some(made) = variant.made_us else { return };
    let compile = variant.phases.map_or(0, |phases| u64::from(phases.total_us()));
    let (class, says) = match &variant.origin {
        Origin::Compiled => ("compile", format!("compiled in {compile} µs")),
        Origin::Cache => ("cache", "found in the cache".to_owned()),
        Origin::Failed(reason) => ("failed", format!("failed: {reason}")),
    };
    bars.push(Bar {
        row,
        from_us: made.saturating_sub(compile),
        to_us: made,
        top: 0.0,
        height: BAR,
        class,
        says,
    });
    for copy in &variant.copies {
        add_copy(bars, row, copy, end);
    }
}

fn add_copy(bars: &mut Vec<Bar>, row: usize, copy: &Linked, end: u64) {
    let Some(linked) = copy.linked_us else { return };
    let (class, until) = match copy.verdict {
        // It was never in use: the cache remembers that it was slower.
        Verdict::Retired if copy.verdict_us == Some(linked) => return,
        Verdict::Retired | Verdict::Evicted => ("run", copy.verdict_us.unwrap_or(end)),
        Verdict::Failed(_) => ("failed", linked),
        Verdict::Kept | Verdict::Measuring => ("run", end),
    };
    bars.push(Bar {
        row,
        from_us: linked,
        to_us: until,
        top: 0.0,
        height: BAR,
        class,
        says: format!("copy {}: {} launches", copy.image_copy, copy.launches),
    });
}

/// The end of a name that is too long for its place: what differs between variants is there.
fn short(name: &str) -> String {
    const MOST: usize = 36;
    let count = name.chars().count();
    if count <= MOST {
        return name.to_owned();
    }
    let end: String = name.chars().skip(count + 1 - MOST).collect();
    format!("…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_its_end() {
        assert_eq!(short("short"), "short");
        let long = format!("{}end", "x".repeat(60));
        let shown = short(&long);
        assert_eq!(shown.chars().count(), 36);
        assert!(shown.starts_with('…') && shown.ends_with("end"));
    }

    const END: u64 = 1000;

    fn kernel(progress: &[(u64, u64, u64)], ahead_of_time: u64, of_variants: u64) -> Kernel {
        let progress = progress
            .iter()
            .map(|&(at_us, ahead_of_time, of_variants)| Progress {
                at_us,
                launches_ahead_of_time: ahead_of_time,
                launches_of_variants: of_variants,
            });
        Kernel {
            name: "k".to_owned(),
            bundle: String::new(),
            left_ahead_of_time: None,
            launches_ahead_of_time: ahead_of_time,
            launches_of_variants: of_variants,
            specializations: 0,
            subjects: Vec::new(),
            variants: Vec::new(),
            progress: progress.collect(),
        }
    }

    /// From when, to when, which class, how high.
    fn launch_bars(kernel: &Kernel) -> Vec<(u64, u64, &'static str, f64)> {
        let mut bars = Vec::new();
        add_launches(&mut bars, 0, kernel, END);
        let bars = bars.iter();
        bars.map(|bar| (bar.from_us, bar.to_us, bar.class, bar.height))
            .collect()
    }

    #[test]
    fn a_kernel_that_ran_ahead_of_time_all_along_has_one_bar() {
        // The last is an older file, which has the sums alone.
        for progress in [&[(END, 7, 0)][..], &[(3, 0, 0), (3, 0, 0), (END, 7, 0)], &[]] {
            let bars = launch_bars(&kernel(progress, 7, 0));
            let from = if progress.len() > 1 { 3 } else { 0 };
            assert_eq!(bars, [(from, END, "ahead-of-time", BAR)]);
        }
    }

    #[test]
    fn each_time_with_launches_has_its_colours() {
        let kernel = kernel(&[(10, 4, 0), (20, 4, 0), (30, 5, 3), (END, 5, 9)], 5, 9);
        let three_quarters = BAR * 0.75;
        assert_eq!(
            launch_bars(&kernel),
            [
                (0, 10, "ahead-of-time", BAR),
                (20, 30, "of-variants", three_quarters),
                (20, 30, "ahead-of-time", BAR - three_quarters),
                (30, END, "of-variants", BAR),
            ]
        );
        let mut bars = Vec::new();
        add_launches(&mut bars, 0, &kernel, END);
        assert_eq!(bars[1].says, "4 launches: 1 ahead of time, 3 of variants");
        assert_eq!((bars[1].top, bars[2].top), (0.0, three_quarters));
    }

    #[test]
    fn one_launch_of_many_is_seen() {
        let bars = launch_bars(&kernel(&[(END, 1_000_000, 1)], 1_000_000, 1));
        assert_eq!(
            bars,
            [
                (0, END, "of-variants", LEAST),
                (0, END, "ahead-of-time", BAR - LEAST)
            ]
        );
    }

    /// Bars of a variant that was linked at 100.
    fn copy_bars(verdict: Verdict, verdict_us: Option<u64>) -> Vec<(u64, u64, &'static str)> {
        let copy = Linked {
            image_copy: 0,
            link_us: 1,
            launches: 5,
            verdict,
            linked_us: Some(100),
            verdict_us,
            variant_ns: None,
            ahead_of_time_ns: None,
        };
        let mut bars = Vec::new();
        add_copy(&mut bars, 0, &copy, END);
        let bars = bars.iter();
        bars.map(|bar| (bar.from_us, bar.to_us, bar.class)).collect()
    }

    #[test]
    fn a_variant_is_in_use_until_it_is_retired() {
        assert_eq!(copy_bars(Verdict::Retired, Some(300)), [(100, 300, "run")]);
        assert_eq!(copy_bars(Verdict::Evicted, Some(300)), [(100, 300, "run")]);
        assert_eq!(copy_bars(Verdict::Retired, Some(100)), []);
        assert_eq!(copy_bars(Verdict::Kept, Some(300)), [(100, END, "run")]);
        assert_eq!(copy_bars(Verdict::Measuring, None), [(100, END, "run")]);
    }

    #[test]
    fn a_failure_is_a_moment() {
        assert_eq!(
            copy_bars(Verdict::Failed("no".to_owned()), None),
            [(100, 100, "failed")]
        );
        let variant = Variant {
            descriptor: "kernel=k;arch=x86-64".to_owned(),
            origin: Origin::Failed("no".to_owned()),
            bytes: 0,
            phases: None,
            made_us: Some(50),
            copies: Vec::new(),
        };
        let mut bars = Vec::new();
        add_bars(&mut bars, 0, &variant, END);
        let [bar] = &bars[..] else { panic!("{bars:?}") };
        assert_eq!((bar.from_us, bar.to_us, bar.class), (50, 50, "failed"));
        assert_eq!(bar.says, "failed: no");
    }
}
