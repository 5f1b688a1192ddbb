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
    /// The bits of the vector it computed.
    numbers: Vec<u8>,
}

impl Reference {
    /// Runs the stock program.
    pub(crate) fn run(demo: &mut Demo, program: &str) -> Result<Self> {
        let mut numbers = Vec::new();
        for size in SIZES {
            numbers.push(run(demo, program, size, &[], |run| Ok(times(&run.line)))?.numbers);
        }
        Ok(Self { numbers })
    }

    /// Runs another build of the program; its numbers must be the same, bit for bit.
    pub(crate) fn compare(&self, demo: &mut Demo, program: &str) -> Result<()> {
        self.compare_under(demo, program, &[])
    }

    /// The same for a build with a JIT: once ahead of time, once with the runtime library.
    pub(crate) fn compare_jit(&self, demo: &mut Demo, program: &str) -> Result<()> {
        self.compare_under(demo, program, &[("OFFLOOM_JIT", "off")])?;
        self.compare_under(demo, program, &[("OFFLOOM_JIT", "sync")])
    }

    fn compare_under(&self, demo: &mut Demo, program: &str, environment: &[(&str, &str)]) -> Result<()> {
        for (size, expected) in SIZES.into_iter().zip(&self.numbers) {
            run(demo, program, size, environment, |run| {
                ensure!(
                    run.numbers == *expected,
                    "its numbers differ from the stock program's"
                );
                Ok(format!("same bits as stock{}", times(&run.line)))
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
    environment: &[(&str, &str)],
    judge: impl FnOnce(&Run) -> Result<String>,
) -> Result<Run> {
    let file = format!("{program}.numbers");
    let mut command = demo.command(format!("./{program}").into());
    command
        .env("OMP_TARGET_OFFLOAD", "mandatory")
        .envs(environment.iter().copied());
    command.args([&size.elements.to_string(), &file, &size.launches.to_string()]);
    println!("$ {}", shown(&command));
    let start = Instant::now();
    let output = command
        .output()
        .with_context(|| format!("cannot run `{program}`"))?;
    let time = start.elapsed();
    print!("{}", String::from_utf8_lossy(&output.stdout));
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "`{program}` failed: {}", output.status);

    let path = demo.folder.join(&file);
    let run = Run {
        line: String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        numbers: fs::read(&path).with_context(|| format!("`{program}` wrote no `{}`", path.display()))?,
    };
    let result = judge(&run).with_context(|| format!("`{program}`, {} elements", size.elements))?;
    let tool = environment
        .first()
        .map_or(String::new(), |(name, value)| format!(", {name}={value}"));
    demo.table.add(
        &format!("run, N = {}", size.elements),
        &format!("{program}{tool}"),
        time,
        result,
    );
    Ok(run)
}

/// The part of the program's line that says how long its launches took; empty when there was only one.
fn times(line: &str) -> String {
    line.find(", first launch")
        .map_or(String::new(), |at| line[at..].to_owned())
}
