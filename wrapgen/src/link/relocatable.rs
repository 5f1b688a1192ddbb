//! After `-r`: gives the entry table of the merged object a name of its own, so that the object can be linked like any other.
//!
//! The object registers its own images with its own entries. Without a unique section name the final link would merge its
//! entries with those of other objects, and every object would register all of them.

use std::process::Command;

use offloom_abi::{entry, names};

use super::command_line::CommandLine;
use crate::LLVM;
use crate::error::{Error, Result};
use crate::inputs::InputFile;
use crate::process::Runner;
use crate::toolchain;

/// Renames section and symbols in the output of a `-r` link, and drops device code, which the images now hold.
///
/// # Errors
/// The tool for it is missing or fails.
pub fn finish(line: &CommandLine, runner: Runner) -> Result<()> {
    let output = line.output();
    let suffix = match runner.dry_run {
        true => 0,
        false => content_hash(InputFile::open(&output)?.bytes()),
    };
    let (section, start, stop) = (
        entry::section(LLVM),
        entry::start_symbol(LLVM),
        entry::stop_symbol(LLVM),
    );
    let mut command = Command::new(toolchain::llvm_program("llvm-objcopy")?);
    command.arg(&output);
    command.args(["--remove-section", names::OFFLOADING_SECTION]);
    command
        .arg("--rename-section")
        .arg(format!("{section}={section}_{suffix:x}"));
    for symbol in [start, stop] {
        command
            .arg("--redefine-sym")
            .arg(format!("{symbol}={symbol}_{suffix:x}"));
    }
    runner.run(&mut command).map_err(|error| match error {
        Error::Program { program, ending } => Error::Program {
            program,
            ending: format!("{ending} on '{}'", output.display()),
        },
        other => other,
    })
}

/// FNV-1a: the same object gets the same names in every run and on every machine.
fn content_hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
