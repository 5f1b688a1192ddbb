//! Tables and counts for people: columns as wide as their widest cell, columns of numbers flush right; one
//! file, two files. Text may come from any file: no length is too much, and nothing in it controls the
//! terminal.
#![forbid(unsafe_code)]

/// So many of something.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    let what = if count == 1 { one } else { many };
    format!("{count} {what}")
}

/// Rows under a heading.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these column headings.
    pub fn new(headings: &[&str]) -> Self {
        Self {
            rows: vec![headings.iter().map(|&cell| cell.to_owned()).collect()],
        }
    }

    /// Adds a row, with as many cells as there are headings.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter();
        self.rows.push(cells.map(|cell| printable_line(&cell)).collect());
    }

    /// Whether there is nothing under the heading.
    pub fn is_empty(&self) -> bool {
        self.rows.len() <= 1
    }

    /// The lines, each indented by so many spaces.
    pub fn lines(&self, indentation: usize) -> String {
        let columns = self.rows.first().map_or(0, Vec::len);
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        let widths: Vec<usize> = (0..columns)
            .map(|column| cells(column).map(|cell| cell.chars().count()).max().unwrap_or(0))
            .collect();
        let right: Vec<bool> = (0..columns)
            .map(|column| !self.is_empty() && cells(column).skip(1).all(|cell| is_number(cell)))
            .collect();
        let mut lines = String::new();
        for row in &self.rows {
            let cells = row.iter().zip(widths.iter().zip(&right));
            let cells: Vec<_> = cells
                .map(|(cell, (&width, &right))| padded(cell, width, right))
                .collect();
            lines += &" ".repeat(indentation);
            lines += cells.join("  ").trim_end();
            lines.push('\n');
        }
        lines
    }
}

/// Text of a file as a terminal may have it: with control characters, other than ends of lines, spelled out.
pub fn printable(text: &str) -> String {
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
pub fn printable_line(text: &str) -> String {
    printable(text).replace('\n', "\\n")
}

/// Whether a cell is a number, or stands where one is not known.
fn is_number(cell: &str) -> bool {
    cell.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        || cell == "-"
        || cell.parse::<f64>().is_ok()
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
    fn columns_line_up_and_numbers_are_at_the_right() {
        let mut table = Table::new(&["name", "count"]);
        table.row(["a".to_owned(), "7".to_owned()]);
        table.row(["longer".to_owned(), "1234567".to_owned()]);
        assert_eq!(
            table.lines(2),
            "  name      count\n  a             7\n  longer  1234567\n"
        );
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!(counted(1, "file", "files"), "1 file");
        assert_eq!(counted(0, "file", "files"), "0 files");
    }

    #[test]
    fn names_of_files_do_no_harm() {
        let long = "n".repeat(70_000);
        let mut table = Table::new(&["name", "bytes"]);
        table.row(["\x1b[31mred\n".to_owned(), "7".to_owned()]);
        table.row([long.clone(), "1".to_owned()]);
        let text = table.lines(0);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[1].starts_with("\\u{1b}[31mred\\n ") && lines[1].ends_with('7'));
        assert_eq!(lines[2], format!("{long}      1"));
    }
}
