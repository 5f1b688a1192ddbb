//! Runs the archive where there is a C library and a driver, and nothing else.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use offloom_gpu_bundle::results::{self, Results, Verdict};

use crate::command::run_shown;
use crate::workspace::{Workspace, remove_folder};

/// The script that makes the root and runs the archive in it.
const SCRIPT: &str = "test/gpu-bundle/Inputs/try.sh";

/// Runs the archive and looks at the results. Returns where they are.
pub(super) fn archive(workspace: &Workspace, archive: &Path, driver: &Path) -> Result<PathBuf> {
    // Beside the builds: some folders for temporary files do not let programs run.
    let scratch = tempfile::tempdir_in(&workspace.target)?;
    let mut command = Command::new("bash");
    command
        .arg(workspace.root.join(SCRIPT))
        .args([archive, driver, scratch.path()]);
    if env::var_os("OFFLOOM_BUNDLE_SECONDS").is_none() {
        // On a slow machine the virtual GPU is not to run out of time.
        command.env("OFFLOOM_BUNDLE_SECONDS", "2400");
    }
    let ran = run_shown(&mut command);
    let file = scratch.path().join(results::FILE);
    let text = fs::read_to_string(&file).with_context(|| match &ran {
        Ok(_) => "the archive left no results".to_owned(),
        Err(error) => format!("the archive left no results: {error:#}"),
    })?;
    let results: Results = serde_json::from_str(&text)?;
    ran?;
    check(&results)?;
    let kept = workspace.target.join(results::FILE);
    fs::write(&kept, text).with_context(|| format!("cannot write `{}`", kept.display()))?;
    remove_folder(scratch.path())?;
    Ok(kept)
}

/// Fails where results say less than that the archive works.
fn check(results: &Results) -> Result<()> {
    ensure!(
        results.device.is_virtual(),
        "it ran on {}, not on the virtual GPU",
        results.device.name
    );
    ensure!(results.times.is_empty(), "the virtual GPU has no times");
    ensure!(results.bad() == 0, "{} verdicts are bad", results.bad());
    let left_out = |verdict: &Verdict| matches!(verdict, Verdict::LeftOut(_));
    ensure!(
        !results.runs.iter().any(|run| left_out(&run.verdict)),
        "programs were left out"
    );
    for mode in ["sync, warm", "only, warm"] {
        let runs = results.runs.iter().filter(|run| run.mode == mode);
        ensure!(
            runs.map(|run| run.of_variants).sum::<u64>() > 0,
            "{mode}: no launch ran a variant"
        );
    }
    ensure!(
        results.threads.iter().any(|threads| !threads.words.is_empty()),
        "no kernel about threads answered"
    );
    Ok(())
}
