//! `cargo xtask bench-launch`: what the JIT adds to a launch of a tiny kernel with ten arguments.
//!
//! The program is linked once with `--jit` and runs, interleaved, with the JIT off, with a full cache, and with an empty one beside
//! which variants are made; with a few scalars in turns, and with one that changes at every launch. Compared is processor time of the
//! launching thread, because it says the same on a machine that does other work as well.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::build::{LlvmBuilds, Staged};
use crate::corpus::tools;
use crate::figures::Figures;
use crate::openmp::OpenMp;
use crate::workspace::Workspace;

/// The program, from the root of the checkout.
const SOURCE: &str = "test/jit/Inputs/launch-times.c";

/// How the program runs: name, `OFFLOOM_JIT`, `OFFLOOM_JIT_CACHE_MODE`, different scalars.
const CONTENDERS: [(&str, &str, &str, &str); 5] = [
    ("off, 4 values", "off", "off", "4"),
    ("warm, 4 values", "async", "rw", "4"),
    ("cold, 4 values", "async", "off", "4"),
    ("off, changing", "off", "off", "1000003"),
    ("cold, changing", "async", "off", "1000003"),
];

/// Options of `cargo xtask bench-launch`.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    builds: LlvmBuilds,
    /// Launches of each run
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1000..))]
    launches: u32,
    /// Repetitions
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
}

/// Runs `cargo xtask bench-launch`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find()?;
    arguments.builds.for_each(&workspace, |staged| {
        let folder = workspace.llvm_target(staged.llvm.major).join("bench-launch");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make folder `{}`", folder.display()))?;
        build_program(&workspace, staged, &folder)?;
        bench(staged, &folder, arguments)
    })
}

fn build_program(workspace: &Workspace, staged: &Staged, folder: &Path) -> Result<()> {
    let openmp = OpenMp::prepare(workspace, &staged.llvm)?;
    let mut clang = tools::clang(staged, false);
    clang.arg("-B").arg(staged.dist.join("libexec/offloom"));
    clang.args(["-O2", "-foffload-lto", "-Xoffload-linker", "--jit"]);
    clang
        .args(openmp.compile_options())
        .arg(workspace.root.join(SOURCE));
    clang
        .args(&openmp.link_options)
        .arg("-o")
        .arg(folder.join("program"));
    tools::output(&mut clang).map(drop)
}

fn bench(staged: &Staged, folder: &Path, arguments: &Arguments) -> Result<()> {
    let mut medians = CONTENDERS.map(|_| Vec::new());
    let mut tails = CONTENDERS.map(|_| Vec::new());
    // One round more, which fills the cache.
    for round in 0..=arguments.repetitions {
        let mut answers = Vec::new();
        for (index, contender) in CONTENDERS.iter().enumerate() {
            let [median, tail, answer] = run_once(folder, arguments.launches, *contender)?;
            answers.push((contender.3, answer));
            if round > 0 {
                medians[index].push(median);
                tails[index].push(tail);
            }
        }
        let agree = answers.iter().all(|(values, answer)| {
            answers
                .iter()
                .all(|other| other.0 != *values || other.1.total_cmp(answer).is_eq())
        });
        ensure!(agree, "the results differ: {answers:?}");
    }
    println!(
        "LLVM {}, {} launches, nanoseconds of processor time on the launching thread (minimum, median, maximum of {} runs):",
        staged.llvm.major, arguments.launches, arguments.repetitions
    );
    let medians = medians.map(Figures::of);
    let tails = tails.map(Figures::of);
    for (index, (name, ..)) in CONTENDERS.iter().enumerate() {
        println!(
            "{name:16} median {:.0}    99.9% {:.0}",
            medians[index], tails[index]
        );
    }
    for (off, on) in [(0, 1), (0, 2), (3, 4)] {
        println!(
            "{}: median {:+.0} ns, {:.3} of that with the JIT off; 99.9% {:+.0} ns",
            CONTENDERS[on].0,
            medians[on].minimum - medians[off].minimum,
            medians[on].minimum / medians[off].minimum,
            tails[on].minimum - tails[off].minimum
        );
    }
    Ok(())
}

/// One run: the median launch, the 99.9th percentile, and a number that was computed.
fn run_once(
    folder: &Path,
    launches: u32,
    (_, mode, cache, values): (&str, &str, &str, &str),
) -> Result<[f64; 3]> {
    let mut command = Command::new(folder.join("program"));
    command.arg(launches.to_string()).arg(values);
    command.env("OMP_TARGET_OFFLOAD", "mandatory");
    command.env("OFFLOOM_JIT", mode).env("OFFLOOM_JIT_RETIRE", "0");
    command
        .env("OFFLOOM_JIT_CACHE_MODE", cache)
        .env("OFFLOOM_JIT_CACHE_DIR", folder.join("cache"));
    let printed = tools::output(&mut command)?;
    let numbers: Result<Vec<f64>, _> = printed.split_whitespace().map(str::parse).collect();
    let numbers = numbers.with_context(|| format!("`{printed}` is no result"))?;
    <[f64; 3]>::try_from(numbers).map_err(|numbers| anyhow::anyhow!("{numbers:?} are no result"))
}
