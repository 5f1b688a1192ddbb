//! Habits of this code base that a program can check: openings of files, where `unsafe` may be, sizes, stray
//! paths.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Folders and files whose Rust code may be unsafe: LLVM's C API, pass plugins, code called by other
/// languages, launches of kernels, and the one place that maps files.
const UNSAFE_PLACES: [&str; 15] = [
    "support/ir/",
    "jit/cuda/",
    "jit/hsa/",
    "jit/nvjitlink/",
    "jit/policy/",
    "jit/runtime/",
    "launch/",
    "support/llvm-plugin/",
    "test/jit-gpu/preload/",
    "test/launch/",
    "test/virtual-gpu/driver/",
    "test/virtual-gpu/executor/src/memory/raw.rs",
    "test/virtual-hsa/",
    "support/thread/",
    "wrapgen/src/inputs/bytes.rs",
];

/// A file of the checkout: path relative to the root, and contents where these are text.
struct File {
    path: String,
    text: String,
}

/// Every text file of the checkout that git knows: what commands of the pages have left there is a user's.
fn files() -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut list = Command::new("git");
    let listed = list.current_dir(root).args(["ls-files", "-z"]).output().unwrap();
    assert!(listed.status.success(), "git knows no checkout here");
    let listed = String::from_utf8(listed.stdout).unwrap();
    let mut found = Vec::new();
    for path in listed.split_terminator('\0') {
        let file = root.join(path);
        if !file.is_symlink()
            && let Ok(text) = fs::read_to_string(&file)
        {
            let path = path.to_owned();
            found.push(File { path, text });
        }
    }
    assert!(found.len() > 20, "the checkout was not found");
    found
}

fn extension(path: &str) -> &str {
    Path::new(path)
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or("")
}

/// The complaint about each file that has one, in one message.
fn check(complaint: impl Fn(&File) -> Option<String>) {
    let complaints: Vec<_> = files()
        .iter()
        .filter_map(|file| Some(format!("{}: {}", file.path, complaint(file)?)))
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_source_file_opens_by_saying_what_it_is_for() {
    check(|file| {
        let openings: &[&str] = match extension(&file.path) {
            "rs" => &["//!"],
            "c" | "cpp" | "h" => &["//", "/*"],
            "ll" => &[";"],
            "py" => &["#", "\"\"\""],
            "sh" => &["#"],
            _ => return None,
        };
        // Inputs of tests may be anything.
        if file.path.contains("/Inputs/") {
            return None;
        }
        let first = file
            .text
            .lines()
            .find(|line| !line.starts_with("#!/"))
            .unwrap_or("");
        let opened = openings.iter().any(|opening| first.starts_with(opening));
        (!opened).then(|| format!("the first line must open with {}", openings.join(" or ")))
    });
}

#[test]
fn the_source_is_the_same_for_every_llvm() {
    // `cargo xtask test` looks for warnings with one LLVM alone.
    check(|file| {
        let is_ours = extension(&file.path) == "rs" && file.path != "xtask/src/tidy_tests.rs";
        let text: String = file.text.split_whitespace().collect();
        let depends = is_ours && text.contains("feature=\"llvm");
        depends.then(|| "what depends on the LLVM is a row of support/abi/src/version.rs".to_owned())
    });
}

/// The most lines of a source file.
const MOST_LINES: usize = 600;

/// Longer ones, and why no seam goes through them.
const LONG_FILES: [(&str, &str); 2] = [
    (
        "test/virtual-gpu/executor/src/decode/body.rs",
        "one arm for each form of an instruction",
    ),
    ("wrapgen/src/link/options.rs", "the table of all options"),
];

#[test]
fn a_long_file_has_a_reason() {
    check(|file| {
        let is_source = matches!(extension(&file.path), "rs" | "c" | "cpp" | "h" | "py");
        let lines = file.text.lines().count();
        let has_reason = LONG_FILES.iter().any(|(path, _)| *path == file.path);
        match (is_source && lines > MOST_LINES, has_reason) {
            (true, false) => Some(format!("{lines} lines, at most {MOST_LINES}: split it")),
            (false, true) => Some("it is short enough now: take it out of `LONG_FILES`".to_owned()),
            _ => None,
        }
    });
}

#[test]
fn unsafe_code_stays_in_its_crates() {
    // The workspace denies unsafe code; what remains to check is that every package listens and that no other
    // one opts out.
    let opt_outs = ["allow", "expect", "warn"].map(|level| format!("{level}(unsafe_code"));
    check(|file| {
        if file.path.ends_with("/Cargo.toml") {
            let listens = file.text.contains("[lints]\nworkspace = true\n");
            return (!listens).then(|| "`[lints]` must say `workspace = true`".to_owned());
        }
        let excepted =
            extension(&file.path) != "rs" || UNSAFE_PLACES.iter().any(|place| file.path.starts_with(place));
        // An attribute may be broken over lines.
        let text: String = file.text.split_whitespace().collect();
        let opts_out = !excepted && opt_outs.iter().any(|opt_out| text.contains(opt_out));
        opts_out.then(|| {
            format!(
                "only {} may opt out of the lint against unsafe code",
                UNSAFE_PLACES.join(", ")
            )
        })
    });
}

#[test]
fn entry_files_are_tables_of_contents() {
    check(|file| {
        let limit = match file.path.rsplit('/').next() {
            Some("main.rs") => 60,
            Some("lib.rs") => 120,
            _ => return None,
        };
        // Crates that are one file have nothing to give the contents of.
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .unwrap()
            .join(&file.path);
        let alone = fs::read_dir(folder.parent().unwrap()).unwrap().count() == 1;
        let lines = file.text.lines().count();
        (lines > limit && !alone).then(|| format!("{lines} lines, at most {limit}"))
    });
}

#[test]
fn no_file_knows_the_machine_it_was_written_on() {
    let places = ["home", "root", "work"].map(|folder| format!("/{folder}/"));
    check(|file| {
        let line = file
            .text
            .lines()
            .find(|line| places.iter().any(|place| names_place(line, place)))?;
        Some(format!("a path of one machine: {}", line.trim()))
    });
}

/// Whether `line` holds the absolute path `place`, not merely a longer path with it inside.
fn names_place(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !"_-./)}>".contains(c))
    })
}

#[test]
fn links_between_pages_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    check(|file| {
        if extension(&file.path) != "md" {
            return None;
        }
        let folder = root.join(&file.path).parent().unwrap().to_owned();
        file.text.split("](").skip(1).find_map(|rest| {
            let link = rest.split([')', '#']).next()?;
            let elsewhere = link.is_empty() || link.contains(':');
            (!elsewhere && !folder.join(link).exists()).then(|| format!("no `{link}`"))
        })
    });
}

/// The longest line of prose: pages, and comments of our own code.
const PROSE_WIDTH: usize = 110;

#[test]
fn prose_is_narrow_enough_to_be_read() {
    check(|file| {
        let is_generated = file.path.starts_with("docs/results/");
        let is_page = extension(&file.path) == "md" && !is_generated;
        let is_code = ["rs", "cpp", "h", "c"].contains(&extension(&file.path));
        // Comments of test inputs are commands and expectations.
        let is_input = file.path.starts_with("test/") && extension(&file.path) != "rs";
        if !is_page && (!is_code || is_input) {
            return None;
        }
        let mut in_code_block = false;
        let (number, line) = file.text.lines().enumerate().find(|(_, line)| {
            let text = line.trim_start();
            let text = match is_page {
                true => Some(text),
                false => text
                    .strip_prefix("//")
                    .map(|comment| comment.trim_start_matches(['/', '!']).trim_start()),
            };
            let Some(text) = text else {
                in_code_block = false;
                return false;
            };
            if text.starts_with("```") {
                in_code_block = !in_code_block;
            }
            let is_code_block = in_code_block || (is_page && line.starts_with("    "));
            !is_code_block && is_too_wide(line, text)
        })?;
        let width = line.chars().count();
        Some(format!(
            "line {}: {width} columns of prose, at most {PROSE_WIDTH}",
            number + 1
        ))
    });
}

/// Whether a line of prose could be broken and is too wide. Rows of tables, definitions of links and marks
/// cannot be broken.
fn is_too_wide(line: &str, text: &str) -> bool {
    let is_whole = ["|", "[", "<!--", "#"]
        .iter()
        .any(|start| text.starts_with(start));
    let longest_word = text.split_whitespace().map(str::len).max().unwrap_or(0);
    line.chars().count() > PROSE_WIDTH && !is_whole && longest_word < PROSE_WIDTH - 20
}
