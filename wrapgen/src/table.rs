//! A table of text whose columns are as wide as their widest cell; columns of numbers stand flush right.

use std::fmt;

/// A heading and rows of as many cells.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(heading: &[&str]) -> Self {
        Self {
            rows: vec![heading.iter().map(|&cell| cell.to_owned()).collect()],
        }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        let cells = cells.into_iter();
        self.rows.push(cells.map(|cell| printable_cell(&cell)).collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.first().map_or(0, Vec::len);
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        let widths: Vec<usize> = (0..columns)
            .map(|column| cells(column).map(|cell| cell.chars().count()).max().unwrap_or(0))
            .collect();
        let numeric =
            |cell: &String| cell == "-" || cell.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let right: Vec<bool> = (0..columns)
            .map(|column| cells(column).skip(1).all(numeric))
            .collect();
        for row in &self.rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let gap = if column == 0 { "" } else { "  " };
                line.push_str(gap);
                line.push_str(&padded(cell, widths[column], right[column]));
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_do_no_harm() {
        let long = "n".repeat(70_000);
        let mut table = Table::new(&["name", "bytes"]);
        table.row(vec!["\x1b[31mred\n".to_owned(), "7".to_owned()]);
        table.row(vec![long.clone(), "1".to_owned()]);
        let text = table.to_string();
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[1].starts_with("\\u{1b}[31mred\\n ") && lines[1].ends_with('7'));
        assert_eq!(lines[2], format!("{long}      1"));
    }
}
