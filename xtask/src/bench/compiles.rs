//! What compiling took: the phases of every compile of the run that fills a workload's cache, from the JIT's
//! own statistics.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde_json::Value;

use super::statistics::median;

/// The phases, as the statistics name them, and as people do.
pub(crate) const PHASES: [(&str, &str); 4] = [
    ("parse_us", "read"),
    ("specialize_us", "specialise"),
    ("optimize_us", "optimise"),
    ("generate_us", "generate code"),
];

/// The compiles of one workload.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Compiles {
    pub(crate) workload: String,
    /// Variants that were compiled.
    pub(crate) variants: usize,
    /// Milliseconds in each of [`PHASES`], of all variants together.
    pub(crate) phases_ms: [f64; PHASES.len()],
    /// Bytes of all objects.
    pub(crate) bytes: u64,
}

impl Compiles {
    /// Reads what a run with `OFFLOOM_JIT_STATS` wrote.
    pub(crate) fn read(workload: &str, file: &Path) -> Result<Self> {
        let text = fs::read(file).with_context(|| format!("cannot read `{}`", file.display()))?;
        let statistics: Value =
            serde_json::from_slice(&text).with_context(|| format!("`{}`", file.display()))?;
        Ok(Self::of(workload, &statistics))
    }

    /// The compiles of several runs of one workload, with the median of each phase; none of nothing.
    pub(crate) fn median(runs: Vec<Self>) -> Option<Self> {
        let phases: Vec<_> = runs.iter().map(|run| run.phases_ms).collect();
        let last = runs.into_iter().last()?;
        let mut phases_ms = last.phases_ms;
        for (phase, time) in phases_ms.iter_mut().enumerate() {
            *time = median(&phases.iter().map(|times| times[phase]).collect::<Vec<_>>());
        }
        Some(Self { phases_ms, ..last })
    }

    fn of(workload: &str, statistics: &Value) -> Self {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let kernels = list(&statistics["kernels"]);
        let variants = kernels.iter().flat_map(|kernel| list(&kernel["variants"]));
        let compiled: Vec<_> = variants
            .filter(|variant| variant["origin"] == "compiled")
            .collect();
        let milliseconds = |phase: &str| {
            let times = compiled
                .iter()
                .filter_map(|variant| variant["phases"][phase].as_f64());
            times.sum::<f64>() / 1e3
        };
        Self {
            workload: workload.to_owned(),
            variants: compiled.len(),
            phases_ms: PHASES.map(|(phase, _)| milliseconds(phase)),
            bytes: compiled
                .iter()
                .filter_map(|variant| variant["bytes"].as_u64())
                .sum(),
        }
    }
}

/// A table with a row for each workload: per variant, on average.
pub(crate) fn table(compiles: &[Compiles]) -> String {
    let mut text = "| workload | variants |".to_owned();
    for (_, phase) in PHASES {
        text += &format!(" {phase}, ms |");
    }
    text += " in all, ms | object, bytes |\n| --- | --- |";
    text += &" --- |".repeat(PHASES.len() + 2);
    text.push('\n');
    for compiles in compiles {
        let each = |sum: f64| sum / compiles.variants.max(1) as f64;
        text += &format!("| {} | {} |", compiles.workload, compiles.variants);
        for phase in compiles.phases_ms {
            text += &format!(" {:.1} |", each(phase));
        }
        text += &format!(
            " {:.1} | {:.0} |\n",
            each(compiles.phases_ms.iter().sum()),
            each(compiles.bytes as f64)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_compiled_variants_count_and_the_table_is_per_variant() {
        let variant = |origin: Value| {
            json!({ "origin": origin, "bytes": 100,
                "phases": { "parse_us": 1000, "specialize_us": 2000, "optimize_us": 3000, "generate_us": 4000 } })
        };
        let statistics = json!({ "kernels": [
            { "variants": [variant(json!("compiled")), variant(json!("cache"))] },
            { "variants": [variant(json!("compiled")), variant(json!({ "failed": "reason" }))] },
        ] });
        let compiles = Compiles::of("w", &statistics);
        assert_eq!((compiles.variants, compiles.bytes), (2, 200));
        assert_eq!(compiles.phases_ms, [2.0, 4.0, 6.0, 8.0]);
        let slower = Compiles {
            phases_ms: [9.0; PHASES.len()],
            ..compiles.clone()
        };
        let runs = vec![compiles.clone(), slower, compiles.clone()];
        assert_eq!(Compiles::median(runs).unwrap().phases_ms, compiles.phases_ms);
        assert!(Compiles::median(Vec::new()).is_none());
        assert!(
            table(&[compiles]).contains("| w | 2 | 1.0 | 2.0 | 3.0 | 4.0 | 10.0 | 100 |"),
            "per variant"
        );
    }
}
