//! The table of variants by itself, by its own benchmark.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::corpus::tools;
use crate::workspace::cargo;

/// Nanoseconds that a look-up may take.
const GOAL: f64 = 60.0;

/// Runs the benchmark; a table of variants and threads.
pub(super) fn measure() -> Result<String> {
    let mut bench = Command::new(cargo());
    table(&tools::output(bench.args([
        "bench",
        "--quiet",
        "--package",
        "offloom-jit-variants",
        "--bench",
        "hit",
    ]))?)
}

/// The table, of what the benchmark prints: variants, threads, nanoseconds and their ratio to the first
/// line's.
fn table(printed: &str) -> Result<String> {
    let mut lines = Vec::new();
    for line in printed.lines().skip(1) {
        let words: Vec<_> = line.split_whitespace().collect();
        let &[variants, threads, nanoseconds, _] = words.as_slice() else {
            anyhow::bail!("`{line}` is no line of the benchmark");
        };
        let nanoseconds: f64 = nanoseconds.parse().with_context(|| format!("in `{line}`"))?;
        lines.push((variants, threads, nanoseconds));
    }
    let mut text = "\n| variants | threads | ns | |\n| --- | --- | --- | --- |\n".to_owned();
    for (variants, threads, nanoseconds) in lines {
        let verdict = if nanoseconds <= GOAL {
            "**met**"
        } else {
            "**missed**"
        };
        let _ = writeln!(text, "| {variants} | {threads} | {nanoseconds:.1} | {verdict} |");
    }
    let _ = writeln!(text, "\nGoal: at most {GOAL} ns.");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_verdict_for_each_line() {
        let printed = "variants  threads      ns  ratio\n       1        1    36.0   1.00\n   10000       16    87.1   2.42\n";
        let table = table(printed).unwrap();
        assert!(
            table.contains("| 1 | 1 | 36.0 | **met** |\n| 10000 | 16 | 87.1 | **missed** |"),
            "{table}"
        );
        assert!(super::table("head\n1 2\n").is_err());
    }
}
