//! Running the demo's program, and comparing its numbers with the stock program's.

use std::fs;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use super::Demo;
use crate::command::shown;

/// The sizes to run: that of the design document, and one that takes measurable time.
const SIZES: [Size; 2] = [
    Size {
        elements: 1024,
        launches: 1,
    },
    Size {
        elements: 4_000_000,
        launches: 20,
    },
];

/// One way to run the program.
#[derive(Clone, Copy)]
struct Size {
    elements: usize,
    launches: usize,
}

/// The numbers that the stock program computed, one file's contents for each of `SIZES`.
pub(crate) struct Reference {
    numbers: Vec<Vec<u8>>,
}

/// What one run of the program gave.
struct Run {
    /// The line it printed.
    line: String,
    /// What it, or the JIT, said on the error stream.
    messages: String,
    /// The bits of the vector it computed.
    numbers: Vec<u8>,
}

/// A way to run a program: what the table calls it, and its environment.
#[derive(Clone, Copy)]
struct Mode {
    name: &'static str,
    environment: &'static [(&'static str, &'static str)],
}

/// As it is.
const PLAIN: Mode = Mode {
    name: "",
    environment: &[],
};

/// The program of a JIT link with the code that was linked.
const AHEAD_OF_TIME: Mode = Mode {
    name: ", ahead of time",
    environment: &[("OFFLOOM_JIT", "off")],
};

/// The same with code that the JIT makes: a failure of the JIT fails the run, and it says what it did.
const JIT: Mode = Mode {
    name: ", JIT",
    environment: &[
        ("OFFLOOM_JIT", "sync"),
        ("OFFLOOM_JIT_CACHE_MODE", "off"),
        ("OFFLOOM_JIT_RETIRE", "0"),
        ("OFFLOOM_JIT_STRICT", "1"),
        ("OFFLOOM_JIT_LOG", "1"),
    ],
};

/// What the JIT says at the end of a run in which code that it had made ran.
const RAN_VARIANT: &str = "ran a variant";

impl Reference {
    /// Runs the stock program.
    pub(crate) fn run(demo: &mut Demo, program: &str) -> Result<Self> {
        let mut numbers = Vec::new();
        for size in SIZES {
            numbers.push(run(demo, program, size, PLAIN, |_| Ok("the reference"))?.numbers);
        }
        Ok(Self { numbers })
    }

    /// Runs another build of the program; its numbers must be the same, bit for bit.
    pub(crate) fn compare(&self, demo: &mut Demo, program: &str) -> Result<()> {
        self.compare_under(demo, program, PLAIN, |_| Ok("same bits"))
    }

    /// The same for a build with the JIT: once with the code that was linked, once with code that the JIT
    /// makes.
    pub(crate) fn compare_jit(&self, demo: &mut Demo, program: &str) -> Result<()> {
        self.compare_under(demo, program, AHEAD_OF_TIME, |_| Ok("same bits"))?;
        self.compare_under(demo, program, JIT, |run| {
            ensure!(
                run.messages.contains(RAN_VARIANT),
                "no launch ran code that the JIT made"
            );
            Ok("same bits, by code of the JIT")
        })
    }

    fn compare_under(
        &self,
        demo: &mut Demo,
        program: &str,
        mode: Mode,
        judge: impl Fn(&Run) -> Result<&'static str>,
    ) -> Result<()> {
        for (size, expected) in SIZES.into_iter().zip(&self.numbers) {
            run(demo, program, size, mode, |run| {
                ensure!(
                    run.numbers == *expected,
                    "its numbers differ from the stock program's"
                );
                judge(run)
            })?;
        }
        Ok(())
    }
}

/// Runs a program of the demo on the device, and puts it in the table with what `judge` says of the run.
fn run(
    demo: &mut Demo,
    program: &str,
    size: Size,
    mode: Mode,
    judge: impl FnOnce(&Run) -> Result<&'static str>,
) -> Result<Run> {
    let file = format!("{program}.numbers");
    let mut command = demo.command(format!("./{program}").into());
    command
        .env("OMP_TARGET_OFFLOAD", "mandatory")
        .envs(mode.environment.iter().copied());
    command.args([&size.elements.to_string(), &file, &size.launches.to_string()]);
    println!("$ {}", shown(&command));
    let start = Instant::now();
    let output = command
        .output()
        .with_context(|| format!("cannot run `{program}`"))?;
    let time = start.elapsed();
    let [printed, messages] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    print!("{messages}{printed}");
    ensure!(output.status.success(), "`{program}` failed: {}", output.status);

    let path = demo.folder.join(&file);
    let numbers = fs::read(&path).with_context(|| format!("`{program}` wrote no `{}`", path.display()))?;
    let run = Run {
        line: printed,
        messages,
        numbers,
    };
    let result = judge(&run).with_context(|| format!("`{program}`, {} elements", size.elements))?;
    let tool = format!("{program}{}", mode.name);
    let result = format!("{result}{}", times(&run.line));
    demo.table
        .add(&format!("run, N = {}", size.elements), &tool, time, result);
    Ok(run)
}

/// The part of the program's line that says how long its launches took; empty when there was only one.
fn times(line: &str) -> &str {
    line.find(", first launch").map_or("", |at| line[at..].trim_end())
}
