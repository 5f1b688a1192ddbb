//! Single jobs of a Clang command: what `clang -###` says it would run.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// The job of `clang` (a command with `-###`) that has `marker` among its words: its program and its
/// arguments.
pub(crate) fn find(clang: &mut Command, marker: &str) -> Result<Vec<String>> {
    let output = clang.arg("-###").output().context("cannot run Clang")?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "Clang cannot plan this compile: {}",
        text.trim()
    );
    text.lines()
        .filter(|line| line.starts_with(" \""))
        .map(words)
        .find(|words| words.iter().any(|word| word.contains(marker)))
        .with_context(|| format!("Clang plans no job with `{marker}`: {}", text.trim()))
}

/// The words of a line that Clang printed: each in double quotes, with `"`, `\` and `$` escaped.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut characters = line.chars();
    while characters.by_ref().any(|c| c == '"') {
        let mut word = String::new();
        while let Some(c) = characters.next() {
            match c {
                '"' => break,
                '\\' => word.extend(characters.next()),
                _ => word.push(c),
            }
        }
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_printed_job() {
        let line = r#" "/usr/bin/clang" "-cc1" "-DA=\"b c\"" "" "a\\b""#;
        assert_eq!(
            words(line),
            ["/usr/bin/clang", "-cc1", r#"-DA="b c""#, "", r"a\b"]
        );
    }
}
