//! What every comparison found, kept between runs, and the document that is written of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::builds::{Form, Variant};
use super::report::Outcome;
use super::{pairs, subjects};
use crate::llvm::SUPPORTED;
use crate::workspace::{Workspace, write_whole};

/// Of what a build or a program printed, no more than this many characters are kept.
const KEPT: usize = 4000;

/// What is known of one LLVM.
#[derive(Debug)]
pub(super) struct Records {
    file: PathBuf,
    known: BTreeMap<Key, Outcome>,
}

type Key = (String, Variant, Form);

/// One line of the file, which ends with a line feed. A later one takes the place of an earlier one.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    program: String,
    variant: Variant,
    form: Form,
    outcome: Outcome,
}

impl Records {
    /// Reads what earlier runs found.
    pub(super) fn load(workspace: &Workspace, major: u32) -> Result<Self> {
        Self::read(workspace.llvm_target(major).join("matrix.jsonl"))
    }

    fn read(file: PathBuf) -> Result<Self> {
        let bytes = match fs::read(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.with_context(|| format!("cannot read `{}`", file.display()))?,
        };
        let mut known = BTreeMap::new();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            // A run was killed while it wrote its last line.
            if !line.ends_with(b"\n") {
                let whole = bytes.len() - line.len();
                let file = OpenOptions::new().write(true).open(&file)?;
                file.set_len(whole as u64)?;
                break;
            }
            let record: Record = serde_json::from_slice(line)
                .with_context(|| format!("`{}` is malformed: remove it", file.display()))?;
            known.insert((record.program, record.variant, record.form), record.outcome);
        }
        Ok(Self { file, known })
    }

    /// Whether a pair was compared in every form, without a difference.
    pub(super) fn has(&self, program: &str, variant: Variant) -> bool {
        Form::ALL.into_iter().all(|form| {
            let outcome = self.known.get(&(program.to_owned(), variant, form));
            outcome.is_some_and(|outcome| !matches!(outcome, Outcome::Different(_)))
        })
    }

    /// Keeps what a comparison found, in the place of what was known of it.
    pub(super) fn add(
        &mut self,
        program: &str,
        variant: Variant,
        form: Form,
        outcome: &Outcome,
    ) -> Result<()> {
        let shortened = |text: &String| text.chars().take(KEPT).collect();
        let outcome = match outcome {
            Outcome::Same => Outcome::Same,
            Outcome::OursOnly(text) => Outcome::OursOnly(shortened(text)),
            Outcome::Neither(text) => Outcome::Neither(shortened(text)),
            Outcome::Different(text) => Outcome::Different(shortened(text)),
        };
        let record = Record {
            program: program.to_owned(),
            variant,
            form,
            outcome,
        };
        let line = serde_json::to_string(&record)? + "\n";
        let mut file = OpenOptions::new().create(true).append(true).open(&self.file)?;
        file.write_all(line.as_bytes())
            .with_context(|| format!("cannot write `{}`", self.file.display()))?;
        self.known.insert((record.program, variant, form), record.outcome);
        Ok(())
    }
}

/// Writes `docs/results/matrix.md` of what is known of every LLVM.
pub(super) fn write_document(workspace: &Workspace) -> Result<()> {
    let mut text = String::from(
        "# Every program in every form of link, compared\n\n\
         Written by `cargo xtask matrix`. Each program of `test/corpus` and `test/workloads` (at their small size) is built twice, \
         once with our drop-ins for LLVM's packager and linker wrapper and once with LLVM's own, linked in each form and run on the \
         x86_64 device. *Same*: both print the same. *Ours only*: what LLVM's tools make does not run, and what ours make prints \
         what the program prints when it is linked of objects. *Neither*: none of the two makes a program that runs.\n",
    );
    for major in SUPPORTED {
        let records = Records::load(workspace, major)?;
        if !records.known.is_empty() {
            let subjects = subjects(workspace, major)?;
            records.describe(major, pairs(&subjects).len(), &mut text);
        }
    }
    let results = workspace.root.join("docs/results");
    fs::create_dir_all(&results).with_context(|| format!("cannot make folder `{}`", results.display()))?;
    let file = results.join("matrix.md");
    write_whole(&file, &text)?;
    println!("written: {}", file.display());
    Ok(())
}

impl Records {
    fn describe(&self, major: u32, pairs: usize, text: &mut String) {
        let compared: BTreeSet<_> = self
            .known
            .keys()
            .map(|(program, variant, _)| (program, variant))
            .collect();
        let _ = write!(
            text,
            "\n## LLVM {major}\n\n{} of {pairs} pairs of program and variant were compared, in up to {} forms. Cells: same, ours only, \
             neither, different.\n\n| form |",
            compared.len(),
            Form::ALL.len()
        );
        for variant in Variant::ALL {
            let _ = write!(text, " {variant} |");
        }
        text.push_str("\n| --- |");
        text.push_str(&" --- |".repeat(Variant::ALL.len()));
        text.push('\n');
        for form in Form::ALL {
            let _ = write!(text, "| {form} |");
            for variant in Variant::ALL {
                let mut counts = [0; 4];
                for outcome in self.of(form, variant) {
                    counts[match outcome {
                        Outcome::Same => 0,
                        Outcome::OursOnly(_) => 1,
                        Outcome::Neither(_) => 2,
                        Outcome::Different(_) => 3,
                    }] += 1;
                }
                let _ = write!(
                    text,
                    " {}, {}, {}, {} |",
                    counts[0], counts[1], counts[2], counts[3]
                );
            }
            text.push('\n');
        }
        self.describe_failures(text);
    }

    fn of(&self, form: Form, variant: Variant) -> impl Iterator<Item = &Outcome> {
        let known = self.known.iter();
        known
            .filter(move |(key, _)| key.1 == variant && key.2 == form)
            .map(|(_, outcome)| outcome)
    }

    /// Where and why LLVM's own tools make nothing that runs, and where the programs differ.
    fn describe_failures(&self, text: &mut String) {
        let mut reasons: BTreeMap<_, (usize, BTreeSet<&str>)> = BTreeMap::new();
        for ((program, _, form), outcome) in &self.known {
            let (verdict, reason) = match outcome {
                Outcome::Same => continue,
                Outcome::OursOnly(reason) => ("ours only", reason),
                Outcome::Neither(reason) => ("neither", reason),
                Outcome::Different(reason) => ("different", reason),
            };
            let entry = reasons.entry((*form, verdict, cause(reason))).or_default();
            entry.0 += 1;
            entry.1.insert(program);
        }
        if reasons.is_empty() {
            text.push_str("\nNothing failed.\n");
            return;
        }
        text.push_str("\n| form | | builds | what LLVM's tools, or the program, say | programs |\n| --- | --- | --- | --- | --- |\n");
        for ((form, verdict, cause), (builds, programs)) in reasons {
            let names: Vec<_> = programs.iter().take(4).copied().collect();
            let more = match programs.len() - names.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let _ = writeln!(
                text,
                "| {form} | {verdict} | {builds} | {cause} | {}{more} |",
                names.join(", ")
            );
        }
    }
}

/// The reason for a failure, the same for failures of the same kind.
fn cause(text: &str) -> String {
    if text.contains("undefined reference") || text.contains("undefined symbol") {
        return "the device link leaves functions undefined".to_owned();
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let said = lines
        .clone()
        .find(|line| line.contains("error"))
        .or_else(|| lines.clone().next_back());
    // Names of files, which are temporary ones mostly, without their folders.
    let words = said
        .unwrap_or_default()
        .split_whitespace()
        .map(|word| match word.contains("/tmp") {
            true => "...",
            false => word.rsplit('/').next().unwrap_or(word),
        });
    words.collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_outlives_a_kill_in_the_middle_of_a_line() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("records");
        let [variant, ..] = Variant::ALL;
        let different = Outcome::Different("é".to_owned());
        let mut records = Records::read(file.clone())?;
        for form in Form::ALL {
            records.add("a", variant, form, &Outcome::Same)?;
        }
        assert!(records.has("a", variant));
        records.add("a", variant, Form::Objects, &different)?;
        let whole = fs::read(&file)?;
        records.add("b", variant, Form::Objects, &different)?;
        let longer = fs::read(&file)?;
        for length in whole.len()..longer.len() {
            fs::write(&file, &longer[..length])?;
            let mut records = Records::read(file.clone())?;
            assert_eq!(records.known.len(), Form::ALL.len(), "{length} bytes");
            assert!(!records.has("a", variant), "the last line counts");
            records.add("b", variant, Form::Objects, &different)?;
            assert_eq!(fs::read(&file)?, longer);
        }
        Ok(())
    }
}
