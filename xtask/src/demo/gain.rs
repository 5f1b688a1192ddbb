//! What the JIT gains for a kernel that it can do something for, `docs/user/wave.cpp`: the stock build and
//! ours, by the user's two commands, in turn.

use std::fmt;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use super::Demo;
use crate::command::shown;

/// How often each build runs. Machines are busy now and then: the fastest run of each counts.
const RUNS: usize = 5;

/// How long a step of the program takes.
#[derive(Debug)]
pub(crate) struct Gain {
    stock_us: f64,
    jit_us: f64,
}

impl fmt::Display for Gain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stock_us, jit_us } = self;
        let times = stock_us / jit_us;
        write!(
            f,
            "{times:.1} times as fast as the stock build ({jit_us:.0} instead of {stock_us:.0} us)"
        )
    }
}

/// Builds the program both ways and runs both. They must print the same height.
pub(super) fn measure(demo: &mut Demo) -> Result<Gain> {
    let source = demo.root.join("docs/user/wave.cpp");
    let configuration = demo.staged.dist.join("share/offloom/offloom-jit.cfg");
    let mut stock = demo.tool("clang++");
    stock.arg("-O2").args(demo.openmp.compile_options()).arg(&source);
    stock.args(["-o", "wave-stock"]).args(&demo.openmp.link_options);
    demo.step("compile and link", "Clang, clang-linker-wrapper", &mut stock)?;
    let mut ours = demo.tool("clang++");
    ours.arg(format!("--config={}", configuration.display())).args([
        "-O2",
        "-fopenmp",
        "-fopenmp-targets=x86_64-pc-linux-gnu",
    ]);
    ours.arg(&source).args(["-o", "wave-jit"]);
    demo.step("compile and link", "Clang --config=offloom-jit.cfg", &mut ours)?;

    let mut best = Gain {
        stock_us: f64::INFINITY,
        jit_us: f64::INFINITY,
    };
    for number in 0..RUNS {
        let first = number == 0;
        let (height, stock_us) = run(demo, "wave-stock", first.then_some("run"), &[])?;
        let (jit_height, jit_us) = run(demo, "wave-jit", first.then_some("run, empty cache"), &[])?;
        if first {
            // Beside other work, so short a run may end before its variant is made.
            run(
                demo,
                "wave-jit",
                Some("run that waits for variants"),
                &[("OFFLOOM_JIT", "sync")],
            )?;
        }
        ensure!(
            height == jit_height,
            "`wave-stock` says `{height}`, `wave-jit` `{jit_height}`"
        );
        best.stock_us = best.stock_us.min(stock_us);
        best.jit_us = best.jit_us.min(jit_us);
    }
    let explain = demo.staged.dist.join("bin/offloom");
    println!(
        "What `{} explain wave-jit.statistics` says of the last run:",
        explain.display()
    );
    crate::command::run_shown(demo.command(explain).args(["explain", "wave-jit.statistics"]))?;
    Ok(best)
}

/// Runs a build of the program, with these settings besides; the table gets a row if that has a name. Returns
/// the height that it prints, and how long a step took, in microseconds.
fn run(
    demo: &mut Demo,
    program: &str,
    row: Option<&str>,
    settings: &[(&str, &str)],
) -> Result<(String, f64)> {
    let mut command = demo.command(format!("./{program}").into());
    command.env("OMP_TARGET_OFFLOAD", "mandatory");
    command.envs(settings.iter().copied());
    if program == "wave-jit" {
        // The demo's own cache: its first run is anybody's first.
        let folder = &demo.folder;
        command
            .env("OFFLOOM_JIT_CACHE_DIR", folder.join("cache"))
            .env("OFFLOOM_JIT_STATS", "wave-jit.statistics");
    }
    println!("$ {}", shown(&command));
    let start = Instant::now();
    let output = command
        .output()
        .with_context(|| format!("cannot run `{program}`"))?;
    let time = start.elapsed();
    let printed = String::from_utf8_lossy(&output.stdout);
    print!("{}{printed}", String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "`{program}` failed: {}", output.status);
    let (height, step) = printed
        .trim()
        .split_once("; ")
        .with_context(|| format!("`{program}` printed no time: {printed}"))?;
    let step_us = step
        .strip_suffix(" us a step")
        .and_then(|step| step.parse().ok())
        .with_context(|| format!("`{program}` printed no time: {printed}"))?;
    let result = printed.trim().to_owned();
    if let Some(row) = row {
        demo.table.add(row, program, time, result);
    }
    Ok((height.to_owned(), step_us))
}
