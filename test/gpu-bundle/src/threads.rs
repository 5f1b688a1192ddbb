//! Kernels about threads, for whoever has no answer of this GPU yet, each in a process of its own: some may
//! never end, and take the context with them.

use std::time::{Duration, Instant};

use crate::archive::Archive;
use crate::correctness::last_line;
use crate::process;
use crate::results::{Threads, Verdict};

/// How long one may take. The first of them that was tried hung.
const LIMIT: Duration = Duration::from_secs(6);

/// Words that are shown; all are in the file.
const SHOWN: usize = 8;

/// Runs the kernels, until `end`.
#[must_use]
pub fn run(archive: &Archive, end: Instant) -> Vec<Threads> {
    let kernels = archive.plan.threads.iter();
    kernels.map(|kernel| one(archive, &kernel.name, end)).collect()
}

fn one(archive: &Archive, kernel: &str, end: Instant) -> Threads {
    let mut threads = Threads {
        kernel: kernel.to_owned(),
        verdict: Verdict::LeftOut("no time is left".to_owned()),
        words: Vec::new(),
    };
    if Instant::now() >= end {
        return threads;
    }
    let mut command = archive.command("bin/probe", &[]);
    command
        .arg("kernel")
        .arg(archive.folder.join("threads/threads.ptx"))
        .arg(kernel);
    let ended = process::run(&mut command, LIMIT);
    // What a kernel of these does on a GPU is the question; that it hangs is an answer too.
    threads.verdict = match ended.problem {
        Some(problem) => Verdict::Noted(format!("{problem}: {}", last_line(&ended.err))),
        None => match words(&ended.out) {
            Some(words) => {
                threads.words = words;
                Verdict::Noted(shown(&threads.words))
            }
            None => Verdict::Failed(format!("`bin/probe` prints `{}`", last_line(&ended.out))),
        },
    };
    threads
}

/// The 128 words that `bin/probe kernel` prints.
fn words(text: &str) -> Option<Vec<u32>> {
    let words: Vec<_> = text
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    (words.len() == 128).then_some(words)
}

/// The beginning of some words.
fn shown(words: &[u32]) -> String {
    let first: Vec<_> = words.iter().take(SHOWN).map(|word| format!("{word:x}")).collect();
    format!("{} ...", first.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_128() {
        let text = |count: u32| (0..count).map(|word| format!("{word} ")).collect::<String>();
        assert_eq!(words(&text(128)).map(|words| words[127]), Some(127));
        assert_eq!(words(&text(127)), None);
        assert_eq!(words("cuInit: 100"), None);
        assert_eq!(shown(&[255; 128]), "ff ff ff ff ff ff ff ff ...");
    }
}
