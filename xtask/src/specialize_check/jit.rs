//! Cases with the JIT: one program, linked with `--jit`, run without variants and with a variant for every
//! launch.
//!
//! Each kernel is launched twice. The first launch specialises all that it can, the second one leaves alone
//! what has changed since: what the case's descriptor does not name. What is printed for both launches is
//! compared.
//!
//! On a GPU, numbers are not converted to integers that do not hold them: what that gives is undefined, and a
//! GPU's code does not keep to it.
//!
//! LLVM's OpenMPOpt takes minutes over a module for a GPU of fifty such kernels. So of each fifty, four are
//! in a program that is linked as usual, and the others in one whose link does without that pass; variants
//! always go through it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::build::Staged;
use crate::corpus::tools::{self, WITHOUT_OPENMP_OPT};
use crate::openmp::OpenMp;
use crate::virtual_gpu_check::Targets;

use super::BATCH;
use super::batch::{Batch, Outcome};
use super::kernel::{Kernel, Narrows};

/// The most seconds that a run may take before it counts as hanging: it compiles two variants of each kernel.
const SECONDS_PER_RUN: &str = "900";

/// Has a variant made before each launch and used whatever it gains, and an argument megamorphic at its first
/// change.
const EVERY_VARIANT: [(&str, &str); 7] = [
    ("OFFLOOM_JIT", "sync"),
    ("OFFLOOM_JIT_RETIRE", "0"),
    ("OFFLOOM_JIT_THRESHOLD", "1"),
    ("OFFLOOM_JIT_CACHE_MODE", "off"),
    ("OFFLOOM_JIT_STRICT", "0"),
    ("OFFLOOM_JIT_STATS", "statistics"),
    // Compiles beside others are slow, and so is a virtual GPU.
    ("OFFLOOM_JIT_TIME_LIMIT", "120000"),
];

/// In the reason why a variant for a GPU is not used.
const LOCAL_MEMORY: &str = "bytes of local memory";

/// How many of [`BATCH`] cases are in programs that are linked as usual.
const AS_USUAL: u64 = 4;

/// Whether a case for a GPU is in such a program: its seed alone says so.
fn is_linked_as_usual(kernel: &Kernel) -> bool {
    kernel.seed.wrapping_sub(1) % BATCH < AS_USUAL
}

/// Where the JIT's kernels run.
pub(super) enum Device {
    /// The x86_64 device.
    Host,
    /// A GPU.
    Gpu(Box<Targets>),
}

impl Device {
    /// Whether the link of a batch does without OpenMPOpt.
    fn links_without_openmp_opt(&self, batch: &Batch) -> bool {
        matches!(self, Self::Gpu(_)) && !batch.kernels.iter().all(is_linked_as_usual)
    }

    /// The program of a batch, which launches each kernel twice.
    fn source(&self, batch: &Batch) -> String {
        let text = batch.source(|kernel| kernel.earlier_launch() + &kernel.launch());
        if matches!(self, Self::Host) {
            return text;
        }
        // LLVM's runtime makes a team of one thread of less than a warp, and then comes to a barrier for one
        // thread, which no GPU has.
        let text = text.replace("(threads)", "(32 * threads)");
        // LLVM 19's `__kmpc_dispatch_init` has a race between the threads of a team.
        let text = text.replace("schedule(dynamic, 2)", "schedule(static, 2)");
        if self.links_without_openmp_opt(batch) {
            // In generic mode Clang hands the threads of a region an object that lies in one thread's own
            // memory.
            text.replace("firstprivate(box)", "map(to : box)")
        } else {
            text
        }
    }

    fn compile_options(&self, openmp: &OpenMp) -> Vec<String> {
        match self {
            Self::Host => openmp.compile_options(),
            Self::Gpu(targets) => {
                let mut options = vec!["-fopenmp".to_owned()];
                options.extend(targets.one.options.iter().cloned());
                options.extend(openmp.include_options.iter().cloned());
                options
            }
        }
    }

    fn set_environment(&self, command: &mut Command) {
        command.env("OMP_TARGET_OFFLOAD", "mandatory");
        match self {
            Self::Host => command.env("OMP_MAX_ACTIVE_LEVELS", "3"),
            Self::Gpu(targets) => command
                .env("OFFLOOM_JIT_PTXAS", targets.cuda.join("bin/ptxas"))
                .envs(targets.one.environment.iter().map(|(name, value)| (name, value))),
        };
    }
}

/// The cases from `first` on, in programs for GPUs that link in seconds.
pub(super) fn batches_for_gpus(first: u64, cases: u64) -> Vec<Batch> {
    let of_fifty = |batch: Batch| {
        let (usual, others) = batch.partition(is_linked_as_usual);
        [usual, others].into_iter().filter(|batch| batch.len() > 0)
    };
    let batches = super::seeds_of_batches(first, cases).map(|seeds| Batch::of(seeds, Narrows::Never));
    batches.flat_map(of_fifty).collect()
}

/// What came of the launches of a batch with variants.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Launches {
    /// Launches that ran a variant.
    pub(super) of_variants: u64,
    /// Variants that the JIT did not use, since they need more local memory than the kernel in the image.
    pub(super) not_used: u64,
}

/// Builds the program of a batch in a folder and runs it both ways.
pub(super) fn run(
    batch: &Batch,
    staged: &Staged,
    openmp: &OpenMp,
    device: &Device,
    folder: &Path,
) -> Result<(Outcome, Launches)> {
    let source = folder.join("cases.c");
    fs::write(&source, device.source(batch))
        .with_context(|| format!("cannot write `{}`", source.display()))?;
    build(batch, staged, openmp, device, folder)?;
    let run = |environment: &[(&str, &str)]| {
        let mut command = Command::new("timeout");
        command.current_dir(folder).args([SECONDS_PER_RUN, "./cases"]);
        device.set_environment(&mut command);
        command.envs(environment.iter().copied());
        tools::output(&mut command)
    };
    let plain = run(&[("OFFLOOM_JIT", "off")]).context("without the JIT")?;
    let with_variants = match run(&EVERY_VARIANT) {
        Ok(printed) => printed,
        Err(error) => {
            let message = format!("the program fails with the JIT: {error:#}");
            return Ok((Outcome::Crashed(message), Launches::default()));
        }
    };
    let different = different(batch, &plain, &with_variants)?;
    if !different.is_empty() {
        return Ok((Outcome::Different(different), Launches::default()));
    }
    Ok((Outcome::Same, launches(&folder.join("statistics"))?))
}

fn build(batch: &Batch, staged: &Staged, openmp: &OpenMp, device: &Device, folder: &Path) -> Result<()> {
    let mut command = tools::clang(staged, false);
    command
        .current_dir(folder)
        .arg("-B")
        .arg(staged.dist.join("libexec/offloom"))
        .args([batch.level(), "-foffload-lto", "-Xoffload-linker", "--jit"])
        .args(device.compile_options(openmp))
        // The compiler's own contraction, which users have.
        .arg("-ffp-contract=on")
        .arg("cases.c")
        .args(&openmp.link_options)
        .args(["-lm", "-o", "cases"]);
    if device.links_without_openmp_opt(batch) {
        command.args(["-mllvm", WITHOUT_OPENMP_OPT]);
    }
    tools::output(&mut command).map(drop)
}

/// The seeds of which a launch gave another result.
fn different(batch: &Batch, plain: &str, with_variants: &str) -> Result<Vec<u64>> {
    let plain: Vec<_> = plain.lines().collect();
    let with_variants: Vec<_> = with_variants.lines().collect();
    for lines in [&plain, &with_variants] {
        ensure!(
            lines.len() == 2 * batch.len(),
            "the program prints {} results",
            lines.len()
        );
    }
    let results = plain.chunks(2).zip(with_variants.chunks(2));
    let different = batch.kernels.iter().zip(results);
    let different = different.filter(|(_, (plain, with_variants))| plain != with_variants);
    Ok(different.map(|(kernel, _)| kernel.seed).collect())
}

/// What the statistics say. Fails where a variant was not made, or not loaded for another reason than its
/// local memory.
fn launches(statistics: &Path) -> Result<Launches> {
    let text = fs::read_to_string(statistics).context("cannot read the statistics")?;
    let statistics: Value = serde_json::from_str(&text).context("statistics")?;
    let mut launches = Launches::default();
    for kernel in array(&statistics, "kernels") {
        launches.of_variants += kernel["launches_of_variants"].as_u64().unwrap_or_default();
        for variant in array(kernel, "variants") {
            let what = || format!("{}: {}", kernel["name"], variant["descriptor"]);
            if let Some(reason) = variant["origin"]["failed"].as_str() {
                bail!("{}: not made: {reason}", what());
            }
            for copy in array(variant, "copies") {
                match copy["verdict"]["failed"].as_str() {
                    Some(reason) if reason.contains(LOCAL_MEMORY) => launches.not_used += 1,
                    Some(reason) => bail!("{}: not loaded: {reason}", what()),
                    None => {}
                }
            }
        }
    }
    Ok(launches)
}

fn array<'a>(object: &'a Value, member: &str) -> impl Iterator<Item = &'a Value> {
    object[member].as_array().into_iter().flatten()
}
