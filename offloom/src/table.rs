//! Tables for people: columns as wide as their contents.

/// Rows under a heading; numbers are written to the right.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these column headings.
    pub(crate) fn new<const N: usize>(headings: [&str; N]) -> Self {
        Self {
            rows: vec![headings.map(str::to_owned).to_vec()],
        }
    }

    /// Adds a row, with as many cells as there are headings.
    pub(crate) fn add<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// Whether there is nothing under the heading.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() == 1
    }

    /// The lines, each indented by so many spaces.
    pub(crate) fn lines(&self, indentation: usize) -> String {
        let columns = self.rows[0].len();
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<_> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        let is_number = |cell: &String| cell.is_empty() || cell.parse::<f64>().is_ok();
        let right: Vec<_> = (0..columns)
            .map(|column| !self.is_empty() && self.rows[1..].iter().all(|row| is_number(&row[column])))
            .collect();
        let mut lines = String::new();
        for row in &self.rows {
            let cells = row.iter().enumerate().map(|(column, cell)| {
                let width = widths[column];
                if right[column] {
                    format!("{cell:>width$}")
                } else {
                    format!("{cell:width$}")
                }
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            lines += &format!("{:indentation$}{}\n", "", line.trim_end());
        }
        lines
    }
}

/// A size in bytes, with three digits at most.
pub(crate) fn size(bytes: u64) -> String {
    let mut amount = bytes as f64;
    for unit in ["B", "KiB", "MiB"] {
        if amount < 1024.0 {
            return match unit {
                "B" => format!("{bytes} B"),
                _ => format!("{amount:.1} {unit}"),
            };
        }
        amount /= 1024.0;
    }
    format!("{amount:.1} GiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_numbers_are_at_the_right() {
        let mut table = Table::new(["name", "count"]);
        table.add(["a".to_owned(), "7".to_owned()]);
        table.add(["longer".to_owned(), "1234567".to_owned()]);
        assert_eq!(
            table.lines(2),
            "  name      count\n  a             7\n  longer  1234567\n"
        );
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(3 << 30), "3.0 GiB");
        assert_eq!(size(1 << 50), "1048576.0 GiB");
    }
}
