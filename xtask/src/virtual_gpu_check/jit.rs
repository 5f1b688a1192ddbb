//! Programs linked with `--jit` or `--jit=only` for NVIDIA GPUs print what they print without, in every mode
//! of the JIT.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::jit_check::run_in_modes;
use crate::matrix::builds::Build;

/// What became of the launches of one program, in a run with a full cache.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Launches {
    /// Launches that ran a variant.
    pub(super) of_variants: u64,
    /// Launches that ran ahead-of-time code.
    pub(super) ahead_of_time: u64,
}

/// Links the program for the JIT in both forms and runs it in every mode; `ptxas` makes cubins that carry
/// their PTX. The launches are those of the program with an image.
///
/// Fails when it does not print what is expected.
pub(super) fn check(program: &Build<'_>, ptxas: &Path, expected: &str) -> Result<Launches> {
    let folder = program.folder().display().to_string();
    let ptxas = ptxas.display().to_string();
    let assembler = ("OFFLOOM_JIT_PTXAS", ptxas.as_str());
    for form in ["--jit=only", "--jit"] {
        program.link_for_jit(&["-foffload-lto", "-Xoffload-linker", form])?;
        run_in_modes(program, form, &folder, expected, &[assembler])?;
    }
    let statistics = format!("{folder}/statistics");
    let cache = format!("{folder}/sync--jit");
    program.run(&[
        assembler,
        ("OFFLOOM_JIT", "sync"),
        ("OFFLOOM_JIT_RETIRE", "0"),
        ("OFFLOOM_JIT_CACHE_DIR", &cache),
        ("OFFLOOM_JIT_STATS", &statistics),
    ])?;
    launches(Path::new(&statistics))
}

/// What statistics say. A program without kernels for the JIT leaves none.
fn launches(statistics: &Path) -> Result<Launches> {
    let Ok(text) = fs::read_to_string(statistics) else {
        return Ok(Launches::default());
    };
    let statistics: Value = serde_json::from_str(&text).context("statistics")?;
    let kernels = statistics["kernels"].as_array().into_iter().flatten();
    let count = |kernel: &Value, name: &str| kernel[name].as_u64().unwrap_or_default();
    Ok(kernels.fold(Launches::default(), |sum, kernel| Launches {
        of_variants: sum.of_variants + count(kernel, "launches_of_variants"),
        ahead_of_time: sum.ahead_of_time + count(kernel, "launches_ahead_of_time"),
    }))
}
