//! The figure of what was compiled, found, linked and dropped when.

use maud::{Markup, html};
use offloom_jit_cache::stats::{Linked, Origin, Statistics, Variant, Verdict};

use crate::cache::read_descriptor;

/// Width of the part with bars, and of the names before it, in pixels.
const WIDTH: f64 = 900.0;
const NAMES: f64 = 280.0;
/// Height of a row.
const ROW: f64 = 18.0;
/// Most rows that a figure has; the tables have all.
const MOST: usize = 200;

/// One bar.
struct Bar {
    row: usize,
    from_us: u64,
    to_us: u64,
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
        return html! { p { "No variant was asked for." } };
    }
    let left_out = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    let height = ROW * (names.len() + 2) as f64;
    let x = |time: u64| NAMES + WIDTH * (time.min(end) as f64 / end as f64);
    html! {
        figure {
            svg viewBox=(format!("0 0 {} {height}", NAMES + WIDTH + 10.0)) width=(NAMES + WIDTH + 10.0) role="img"
                aria-label="When each variant was compiled, linked and used" {
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
                    rect class=(bar.class) x=(x(bar.from_us)) y=(ROW * bar.row as f64 + 3.0)
                        width=((x(bar.to_us) - x(bar.from_us)).max(2.0)) height=(ROW - 6.0) {
                        title { (bar.says) }
                    }
                }
            }
            figcaption {
                "Each row is a variant. Compiled: orange; found in the cache: light blue; in use: blue, until it was retired: grey; failed: red. \
                 Kernels that ran ahead of time all along have no row."
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
        Verdict::Retired | Verdict::Evicted => ("retired", copy.verdict_us.unwrap_or(end)),
        Verdict::Failed(_) => ("failed", linked),
        Verdict::Kept | Verdict::Measuring => ("run", end),
    };
    bars.push(Bar {
        row,
        from_us: linked,
        to_us: until,
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
}
