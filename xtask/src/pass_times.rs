//! What LLVM's tools report with `-time-passes`: tables of times, in processor seconds.

/// The rows of all tables of a report.
#[derive(Debug)]
pub(crate) struct PassTimes(Vec<Row>);

/// What one pass took, or all of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// The table's heading.
    pub(crate) table: String,
    /// The pass; `Total` for the sum of the table.
    pub(crate) name: String,
    /// User and system time together.
    pub(crate) seconds: f64,
}

impl PassTimes {
    /// Reads lines such as `0.29 ( 25.3%)  0.05 ( 36.0%)  0.33 ( 26.4%)  0.87 ( 27.2%)  Name`, where the
    /// third number is user and system time together. Other lines are left out.
    pub(crate) fn read(report: &str) -> Self {
        let mut table = String::new();
        let mut rows = Vec::new();
        for line in report.lines() {
            if let Some((heading, _)) = line.split_once("timing report") {
                table = heading.trim_matches([' ', '.']).to_owned();
            }
            if let Some((name, seconds)) = read_row(line) {
                let table = table.clone();
                rows.push(Row { table, name, seconds });
            }
        }
        Self(rows)
    }

    /// The rows.
    pub(crate) fn rows(&self) -> &[Row] {
        &self.0
    }

    /// The sum of some rows.
    pub(crate) fn seconds(&self, which: impl Fn(&Row) -> bool) -> f64 {
        let rows = self.0.iter().filter(|row| which(row));
        rows.map(|row| row.seconds).sum()
    }
}

fn read_row(line: &str) -> Option<(String, f64)> {
    let columns: Vec<&str> = line.split("%)").collect();
    let (name, times) = columns.split_last()?;
    // A table without system time has one column less before the sum.
    let sum = times.get(times.len().checked_sub(2)?)?;
    let seconds = sum.split('(').next()?.trim().parse().ok()?;
    Some((name.trim().to_owned(), seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_time_passes_writes() {
        let report = "\
===-------------------------------------------------------------------------===
                          Pass execution timing report
   ---User Time---   --System Time--   --User+System--   ---Wall Time---  --- Name ---
   0.7366 ( 65.1%)   0.0821 ( 64.0%)   0.8187 ( 64.9%)   2.0512 ( 64.3%)  BitcodeWriterPass
   0.2862 ( 25.3%)   0.0463 ( 36.0%)   0.3325 ( 26.4%)   0.8666 ( 27.2%)  {anonymous}::RustModulePass
   1.1323 (100.0%)   0.1284 (100.0%)   1.2500 (100.0%)   3.1895 (100.0%)  Total
                          ... Analysis execution timing report ...
   0.1090 (100.0%)   0.2500 (100.0%)   0.2712 (100.0%)  Total
";
        let times = PassTimes::read(report);
        let names: Vec<_> = times.rows().iter().map(|row| row.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "BitcodeWriterPass",
                "{anonymous}::RustModulePass",
                "Total",
                "Total"
            ]
        );
        assert_eq!(times.rows()[3].table, "Analysis execution");
        assert!((times.seconds(|row| row.name.contains("RustModulePass")) - 0.3325).abs() < 1e-9);
        assert!((times.seconds(|row| row.name == "Total") - 1.5).abs() < 1e-9);
        assert!(PassTimes::read("nothing").rows().is_empty());
    }
}
