//! Assembles PTX: `ptxas` makes a cubin of it, as a child process that ends with this one.
//!
//! Text and cubin are in memory that has no name in any folder, so nothing is left behind, whatever happens.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::time::Instant;

use offloom_abi::jit_compile::{GpuRequest, GpuResources, Phases, Reply, Request, words};
use offloom_abi::jit_device_image::variant_entry;
use offloom_jit_passes::compile::Compiled;
use offloom_jit_passes::gpu::generate::Generated;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::replies::{failure, unable};
use crate::watch::Watch;

/// Bytes that are read of what the assembler says.
const MOST_WORDS: u64 = 64 << 10;

/// Characters of what is passed on of it.
const LONGEST_REASON: usize = 600;

/// Why there is no cubin.
#[derive(Debug, thiserror::Error)]
enum AssembleError {
    /// The assembler is not there, or memory is not.
    #[error("cannot run the assembler '{program}': {error}")]
    Run {
        /// The path in the request.
        program: String,
        /// Why not.
        error: io::Error,
    },
    /// Somebody ended the assembler, or it crashed.
    #[error("the assembler '{program}' was ended by signal {signal}")]
    Killed {
        /// The path in the request.
        program: String,
        /// The signal's number.
        signal: i32,
    },
    /// The assembler does not take the code, at no try.
    #[error("the assembler '{program}' refuses the code: {reason}")]
    Refused {
        /// The path in the request.
        program: String,
        /// Its words, in one line.
        reason: String,
    },
    /// It says that it is done, and wrote something else.
    #[error("the assembler '{program}' wrote no cubin")]
    NoCubin {
        /// The path in the request.
        program: String,
    },
}

impl AssembleError {
    /// Whether another try may have another end.
    const fn is_of_process(&self) -> bool {
        matches!(self, Self::Run { .. } | Self::Killed { .. })
    }
}

/// What to assemble code with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Assembly<'a> {
    /// Path of the program.
    pub(crate) program: &'a str,
    /// More arguments, each with a NUL behind it.
    pub(crate) arguments: &'a str,
    /// The processor that it is for.
    pub(crate) processor: &'a str,
    /// How far to optimise, 0 to 3.
    pub(crate) optimization_level: u32,
}

/// Assembles a kernel's PTX, which takes one of the phases.
pub(crate) fn assemble_kernel(
    ptx: &Generated,
    request: &Request<'_>,
    gpu: &GpuRequest<'_>,
    watch: &Watch,
) -> Result<(Compiled, GpuResources), Reply> {
    let assembly = Assembly {
        program: gpu.assembler,
        arguments: gpu.assembler_arguments,
        processor: request.processor,
        optimization_level: request.optimization_level,
    };
    let (compiled, said) = assemble(ptx, &assembly, watch)?;
    Ok((compiled, resources(&said, &variant_entry(request.kernel))))
}

/// Assembles PTX, which takes one of the phases. With the cubin comes what the assembler says of it.
pub(crate) fn assemble(
    ptx: &Generated,
    assembly: &Assembly<'_>,
    watch: &Watch,
) -> Result<(Compiled, String), Reply> {
    let start = Instant::now();
    let (object, said) = run(&ptx.code, assembly, watch).map_err(|error| match error.is_of_process() {
        true => unable(error),
        false => failure(error),
    })?;
    let phases = Phases {
        assemble: u32::try_from(start.elapsed().as_micros()).unwrap_or(u32::MAX),
        ..ptx.phases
    };
    Ok((Compiled { object, phases }, said))
}

fn run(ptx: &[u8], assembly: &Assembly<'_>, watch: &Watch) -> Result<(Vec<u8>, String), AssembleError> {
    let program = || assembly.program.to_owned();
    let cannot_run = |error| AssembleError::Run {
        program: program(),
        error,
    };
    // The assembler inherits both.
    let memory = |name| memfd_create(name, MemfdFlags::empty()).map(File::from);
    let mut input = memory("kernel.ptx").map_err(|error| cannot_run(error.into()))?;
    let mut output = memory("kernel.cubin").map_err(|error| cannot_run(error.into()))?;
    input.write_all(ptx).map_err(cannot_run)?;
    let path = |file: &File| format!("/proc/self/fd/{}", file.as_raw_fd());
    let mut command = Command::new(assembly.program);
    command
        .args(["-m64", "-v"])
        .arg(format!("-O{}", assembly.optimization_level))
        .args(["--gpu-name", assembly.processor])
        .args(words(assembly.arguments));
    command.arg("--output-file").arg(path(&output)).arg(path(&input));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    // Whatever it starts goes with it.
    command.process_group(0);
    let mut child = command.spawn().map_err(cannot_run)?;
    let waiting = watch.wait_for_group(child.id());
    let said = child.stderr.take().map_or_else(Vec::new, read_bounded);
    // Once it has been waited for, its number may be that of another group, which must not be killed.
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(Errno::INTR) = waitid(WaitId::Pid(Pid::from_child(&child)), ended) {}
    drop(waiting);
    let status = child.wait().map_err(cannot_run)?;
    let said = String::from_utf8_lossy(&said).into_owned();
    if let Some(signal) = status.signal() {
        return Err(AssembleError::Killed {
            program: program(),
            signal,
        });
    }
    if !status.success() {
        return Err(AssembleError::Refused {
            program: program(),
            reason: in_one_line(&said),
        });
    }
    let mut cubin = Vec::new();
    output
        .rewind()
        .and_then(|()| output.read_to_end(&mut cubin))
        .map_err(cannot_run)?;
    if !cubin.starts_with(b"\x7fELF") {
        return Err(AssembleError::NoCubin { program: program() });
    }
    Ok((cubin, said))
}

/// The start of what comes; the rest is read and forgotten, so that nobody waits for a reader.
fn read_bounded(mut pipe: impl Read) -> Vec<u8> {
    let mut start = Vec::new();
    let _ = pipe.by_ref().take(MOST_WORDS).read_to_end(&mut start);
    let _ = io::copy(&mut pipe, &mut io::sink());
    start
}

/// The assembler's errors, one behind the other; where it says nothing of errors, all that it says.
fn in_one_line(said: &str) -> String {
    let is_error = |line: &&str| line.contains("error") || line.contains("fatal");
    let mut errors: Vec<_> = said.lines().filter(is_error).map(str::trim).collect();
    if errors.is_empty() {
        errors = said
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
    }
    if errors.is_empty() {
        return "it does not say why".to_owned();
    }
    let printable = |character: char| if character.is_control() { ' ' } else { character };
    errors
        .join("; ")
        .chars()
        .map(printable)
        .take(LONGEST_REASON)
        .collect()
}

/// What the assembler says of the kernel's code (`-v`). Numbers that it does not say are 0.
fn resources(said: &str, entry: &str) -> GpuResources {
    let mut resources = GpuResources::default();
    let mut is_of_entry = false;
    for line in said.lines() {
        if let Some((_, function)) = line.split_once("Function properties for ") {
            is_of_entry = function.trim() == entry;
            continue;
        }
        let number = |unit| number_before(line, unit).unwrap_or_default();
        if line.contains("stack frame") {
            // Those of all functions that the kernel calls count for what it may need.
            resources.spill_stores = resources
                .spill_stores
                .saturating_add(number(" bytes spill stores"));
            resources.spill_loads = resources.spill_loads.saturating_add(number(" bytes spill loads"));
            if is_of_entry {
                resources.stack_frame = number(" bytes stack frame");
            }
        }
        if line.contains("Used ") {
            resources.registers = number(" registers");
            resources.shared_memory = number(" bytes smem");
            resources.constant_memory = number(" bytes cmem[0]");
        }
    }
    resources
}

/// The number that stands before these words.
fn number_before(line: &str, words: &str) -> Option<u32> {
    let (before, _) = line.split_once(words)?;
    let digits = before
        .rsplit(|character: char| !character.is_ascii_digit())
        .next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_assembler_s_numbers_are_read() {
        let said = "ptxas info    : 0 bytes gmem, 24 bytes cmem[4]\n\
                    ptxas info    : Compiling entry function 'k$jit' for 'sm_80'\n\
                    ptxas info    : Function properties for callee\n\
                    \u{20}   64 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n\
                    ptxas info    : Function properties for k$jit\n\
                    \u{20}   48 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n\
                    ptxas info    : Used 42 registers, used 1 barriers, 1264 bytes smem, 392 bytes cmem[0], 24 bytes cmem[2]\n";
        assert_eq!(
            resources(said, "k$jit"),
            GpuResources {
                registers: 42,
                stack_frame: 48,
                spill_stores: 16,
                spill_loads: 24,
                shared_memory: 1264,
                constant_memory: 392,
            }
        );
    }

    #[test]
    fn what_makes_no_sense_gives_no_numbers() {
        for said in [
            "",
            "Used registers",
            "bytes stack frame, bytes spill",
            "Used 99999999999999 registers",
        ] {
            assert_eq!(resources(said, "k$jit"), GpuResources::default(), "{said}");
        }
    }

    #[test]
    fn errors_are_one_line() {
        let said = "ptxas info    : 0 bytes gmem\nptxas /proc/self/fd/5, line 3; error   : Unknown symbol 'x'\n\
                    ptxas fatal   : Ptx assembly aborted due to errors\n";
        assert_eq!(
            in_one_line(said),
            "ptxas /proc/self/fd/5, line 3; error   : Unknown symbol 'x'; ptxas fatal   : Ptx assembly aborted due to errors"
        );
        assert_eq!(in_one_line("a\u{7}b\nc"), "a b; c");
        assert_eq!(in_one_line("\n"), "it does not say why");
        assert_eq!(in_one_line(&"x".repeat(5000)).len(), LONGEST_REASON);
    }
}
