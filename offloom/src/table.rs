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
        self.rows.push(cells.map(|cell| printable_cell(&cell)).into());
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
            let cells = row.iter().enumerate();
            let cells: Vec<_> = cells
                .map(|(column, cell)| padded(cell, widths[column], right[column]))
                .collect();
            lines += &format!("{:indentation$}{}\n", "", cells.join("  ").trim_end());
        }
        lines
    }
}

/// Text of a file as a terminal may have it: with control characters, other than ends of lines, spelled out.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => shown.push('\n'),
            control if control.is_control() => shown.extend(control.escape_default()),
            other => shown.push(other),
        }
    }
    shown
}

/// The same in one line.
fn printable_cell(text: &str) -> String {
    printable(text).replace('\n', "\\n")
}

/// A cell, as wide as its column.
fn padded(cell: &str, width: usize, right: bool) -> String {
    // Not by a format's width, which has a limit that names in files have not.
    let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
    match right {
        true => padding + cell,
        false => cell.to_owned() + &padding,
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
    fn names_of_files_do_no_harm() {
        let long = "n".repeat(70_000);
        let mut table = Table::new(["name", "bytes"]);
        table.add(["\x1b[31mred\n".to_owned(), "7".to_owned()]);
        table.add([long.clone(), "1".to_owned()]);
        let text = table.lines(0);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[1].starts_with("\\u{1b}[31mred\\n ") && lines[1].ends_with('7'));
        assert_eq!(lines[2], format!("{long}      1"));
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
