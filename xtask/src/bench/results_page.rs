//! Puts the results of a whole run into the page that has those of all LLVMs.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::workspace::write_whole;

/// Replaces what stands between the marks for one LLVM.
pub(super) fn put_results(page: &Path, major: u32, results: &str) -> Result<()> {
    let text = fs::read_to_string(page).with_context(|| format!("cannot read `{}`", page.display()))?;
    let new = with_results(&text, major, results).with_context(|| {
        format!(
            "`{}` has no place for the results of LLVM {major}",
            page.display()
        )
    })?;
    write_whole(page, &new)
}

fn with_results(page: &str, major: u32, results: &str) -> Option<String> {
    let begin = format!("<!-- results of LLVM {major}, by `cargo xtask bench` -->\n");
    let end = "<!-- end of results -->";
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}\n{}\n\n{end}{after}", results.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_replace_those_of_the_same_llvm_only() {
        let page = "a\n<!-- results of LLVM 19, by `cargo xtask bench` -->\nold\n<!-- end of results -->\nb\n\
                    <!-- results of LLVM 22, by `cargo xtask bench` -->\nother\n<!-- end of results -->\n";
        let new = with_results(page, 19, "new\n").unwrap();
        assert!(new.contains("\n\nnew\n\n<!-- end of results -->\nb\n"), "{new}");
        assert!(!new.contains("old") && new.contains("other"), "{new}");
        assert_eq!(with_results(&new, 19, "new\n").unwrap(), new);
        assert_eq!(with_results(page, 20, "new"), None);
    }

    #[test]
    fn the_page_has_a_place_for_results() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results/README.md");
        let page = fs::read_to_string(page).unwrap();
        for major in crate::llvm::SUPPORTED {
            assert!(with_results(&page, major, "").is_some(), "LLVM {major}");
        }
    }
}
