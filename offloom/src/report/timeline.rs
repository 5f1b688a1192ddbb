//! The figure of what was launched, compiled, found, linked and dropped when.

use maud::{Markup, html};
use offloom_jit_cache::stats::{Kernel, Linked, Origin, Progress, Statistics, Variant, Verdict};
use offloom_text_table::counted;

use crate::explain::launch_counts;
use crate::names::{Naming, SourceKernel};
use crate::processes::launches;
use crate::units::milliseconds;

/// Width of a lane, in units of its own: it is as wide as there is room for.
const WIDTH: f64 = 1000.0;
/// Height of a bar, and the least that is seen of a share of it; and the least width.
const BAR: f64 = 12.0;
const LEAST: f64 = 2.0;
const LEAST_WIDTH: f64 = 4.0;
/// Most lanes that a figure has; the tables have all.
const MOST: usize = 200;
/// What the colours say: class, words.
const LEGEND: [(&str, &str); 6] = [
    ("ahead-of-time", "launches ahead of time"),
    ("of-variants", "launches of variants"),
    ("compile", "compiling"),
    ("cache", "found in the cache"),
    ("run", "variant in use"),
    ("failed", "failed"),
];

/// One bar.
#[derive(Debug, PartialEq)]
struct Bar {
    from_us: u64,
    to_us: u64,
    /// Where it begins in its lane and how high it is.
    top: f64,
    height: f64,
    class: &'static str,
    says: String,
}

/// What is beside one another in the figure.
struct Lane {
    name: String,
    /// More of it than there is room for.
    title: String,
    is_variant: bool,
    bars: Vec<Bar>,
}

/// The figure, or why there is none.
pub(super) fn figure(statistics: &Statistics, naming: Naming) -> Markup {
    let Some(end) = statistics.duration_us.filter(|end| *end > 0) else {
        return html! { p { "The file holds no times: it is of an older version." } };
    };
    let mut lanes = lanes(statistics, naming, end);
    if lanes.is_empty() {
        return html! { p { "Nothing was launched that the JIT could specialise." } };
    }
    let left_out = lanes.len().saturating_sub(MOST);
    lanes.truncate(MOST);
    let has = |class: &str| {
        lanes
            .iter()
            .flat_map(|lane| &lane.bars)
            .any(|bar| bar.class == class)
    };
    let x = |time: u64| WIDTH * (time.min(end) as f64 / end as f64);
    html! {
        figure {
            ul.legend {
                @for (class, words) in LEGEND { @if has(class) { li { i class=(class) {} (words) } } }
            }
            @for lane in &lanes {
                div.lane.variant[lane.is_variant] {
                    span title=(lane.title) { (lane.name) }
                    svg viewBox=(format!("0 0 {WIDTH} {}", BAR + 2.0)) preserveAspectRatio="none" role="img" aria-label=(says(lane)) {
                        @for bar in &lane.bars {
                            @let width = (x(bar.to_us) - x(bar.from_us)).max(LEAST_WIDTH);
                            rect class=(bar.class) x=(x(bar.from_us).min(WIDTH - width)) y=(1.0 + bar.top) width=(width) height=(bar.height) {
                                title { (bar.says) }
                            }
                        }
                    }
                }
            }
            div.lane {
                span.quiet { "ms from the first use of the JIT" }
                div.axis {
                    @for step in 0..=4_u64 { span { (format!("{:.1}", end as f64 * step as f64 / 4e3)) } }
                }
            }
            @if left_out > 0 {
                figcaption.quiet { (counted(left_out as u64, "more lane is", "more lanes are")) " left out; the tables have all." }
            }
        }
    }
}

/// What a lane shows, for who cannot see it.
fn says(lane: &Lane) -> String {
    let says: Vec<_> = lane.bars.iter().map(|bar| bar.says.as_str()).collect();
    format!("{}: {}", lane.title, says.join("; "))
}

/// A lane for each kernel that was launched, and behind it one for each of its variants of which anything is
/// to be seen.
fn lanes(statistics: &Statistics, naming: Naming, end: u64) -> Vec<Lane> {
    let mut lanes = Vec::new();
    for kernel in &statistics.kernels {
        let of_source = SourceKernel::new(&kernel.name, &kernel.source, naming);
        if launches(kernel) > 0 {
            let mut bars = Vec::new();
            add_launches(&mut bars, kernel, end);
            lanes.push(Lane {
                name: of_source.name(),
                title: kernel.name.clone(),
                is_variant: false,
                bars,
            });
        }
        for variant in &kernel.variants {
            let mut bars = Vec::new();
            add_bars(&mut bars, variant, end);
            let name = of_source.known(&variant.descriptor);
            if !bars.is_empty() {
                lanes.push(Lane {
                    title: format!("{}, {name}", of_source.name()),
                    name,
                    is_variant: true,
                    bars,
                });
            }
        }
    }
    lanes
}

/// A bar for each time in which the kernel was launched, or two: one over the other, where not all launches
/// ran the same.
fn add_launches(bars: &mut Vec<Bar>, kernel: &Kernel, end: u64) {
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
        let says = launch_counts(ahead_of_time, of_variants);
        let height = match (ahead_of_time, of_variants) {
            (_, 0) => 0.0,
            (0, _) => BAR,
            _ => (BAR * of_variants as f64 / count as f64).clamp(LEAST, BAR - LEAST),
        };
        let bar = |top: f64, height: f64, class| Bar {
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

fn add_bars(bars: &mut Vec<Bar>, variant: &Variant, end: u64) {
    let Some(made) = variant.made_us else { return };
    let compile = variant.phases.map_or(0, |phases| u64::from(phases.total_us()));
    let (class, says) = match &variant.origin {
        Origin::Compiled => (
            "compile",
            format!("compiled in {} ms", milliseconds(1e3 * compile as f64)),
        ),
        Origin::Cache => ("cache", "found in the cache".to_owned()),
        Origin::SharedCache => ("cache", "found in a shared folder of the cache".to_owned()),
        Origin::Remote => ("cache", "found in the remote store".to_owned()),
        Origin::Failed(reason) => ("failed", format!("failed: {reason}")),
    };
    bars.push(Bar {
        from_us: made.saturating_sub(compile),
        to_us: made,
        top: 0.0,
        height: BAR,
        class,
        says,
    });
    for copy in &variant.copies {
        add_copy(bars, copy, end);
    }
}

fn add_copy(bars: &mut Vec<Bar>, copy: &Linked, end: u64) {
    let Some(linked) = copy.linked_us else { return };
    let is_failure = matches!(copy.verdict, Verdict::Failed(_));
    // What no launch ran was not in use: maybe the cache remembers that it was slower.
    if copy.launches == 0 && !is_failure {
        return;
    }
    let (class, until) = match copy.verdict {
        Verdict::Retired | Verdict::Evicted | Verdict::Refused(_) => ("run", copy.verdict_us.unwrap_or(end)),
        Verdict::Failed(_) => ("failed", linked),
        Verdict::Kept | Verdict::Measuring => ("run", end),
    };
    bars.push(Bar {
        from_us: linked,
        to_us: until,
        top: 0.0,
        height: BAR,
        class,
        says: format!(
            "in use on copy {}: {}",
            copy.image_copy,
            counted(copy.launches, "launch", "launches")
        ),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

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
            source: String::new(),
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
        add_launches(&mut bars, kernel, END);
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
        add_launches(&mut bars, &kernel, END);
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
    fn copy_bars(verdict: Verdict, verdict_us: Option<u64>, launches: u64) -> Vec<(u64, u64, &'static str)> {
        let copy = Linked {
            image_copy: 0,
            link_us: 1,
            launches,
            verdict,
            linked_us: Some(100),
            verdict_us,
            variant_ns: None,
            ahead_of_time_ns: None,
            on_gpu: None,
        };
        let mut bars = Vec::new();
        add_copy(&mut bars, &copy, END);
        let bars = bars.iter();
        bars.map(|bar| (bar.from_us, bar.to_us, bar.class)).collect()
    }

    #[test]
    fn a_variant_is_in_use_until_it_is_retired() {
        assert_eq!(copy_bars(Verdict::Retired, Some(300), 5), [(100, 300, "run")]);
        assert_eq!(copy_bars(Verdict::Evicted, Some(300), 5), [(100, 300, "run")]);
        assert_eq!(copy_bars(Verdict::Retired, Some(100), 0), []);
        assert_eq!(copy_bars(Verdict::Kept, Some(300), 5), [(100, END, "run")]);
        assert_eq!(copy_bars(Verdict::Measuring, None, 5), [(100, END, "run")]);
    }

    #[test]
    fn a_variant_that_no_launch_ran_has_no_bar() {
        assert_eq!(copy_bars(Verdict::Kept, Some(300), 0), []);
        assert_eq!(copy_bars(Verdict::Measuring, None, 0), []);
    }

    #[test]
    fn a_failure_is_a_moment() {
        assert_eq!(
            copy_bars(Verdict::Failed("no".to_owned()), None, 0),
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
        add_bars(&mut bars, &variant, END);
        let [bar] = &bars[..] else { panic!("{bars:?}") };
        assert_eq!((bar.from_us, bar.to_us, bar.class), (50, 50, "failed"));
        assert_eq!(bar.says, "failed: no");
    }
}
