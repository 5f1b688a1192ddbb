//! Shows what PTX files and cubins say: `offloom-ptx opcodes FILE...`, `offloom-ptx cubin FILE...`.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::ExitCode;

use offloom_ptx::{cubin, image};

const USAGE: &str =
    "usage: offloom-ptx opcodes FILE...   the opcodes of PTX files, or of images that carry PTX
       offloom-ptx cubin FILE...     kernels and variables of cubins, compared with the PTX that they carry";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let shown = match arguments.split_first() {
        Some((command, files)) if command == "opcodes" && !files.is_empty() => opcodes(files),
        Some((command, files)) if command == "cubin" && !files.is_empty() => cubins(files),
        _ => Err(USAGE.to_owned()),
    };
    // Where a stream is closed, nobody reads it.
    match shown {
        Ok(text) => {
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "{message}");
            ExitCode::FAILURE
        }
    }
}

fn read(file: &str) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("{file}: {error}"))
}

/// The modules of a PTX file or of an image.
fn modules(file: &str) -> Result<Vec<offloom_ptx::Module>, String> {
    let bytes = read(file)?;
    let texts = if bytes.starts_with(b"\x7fELF") {
        image::parts(&bytes).map_err(|error| format!("{file}: {error}"))?
    } else {
        vec![&bytes[..]]
    };
    let parsed = texts.into_iter().map(|text| offloom_ptx::parse(file, text));
    parsed
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())
}

/// Each opcode, on a line, in the order of the alphabet.
fn opcodes(files: &[String]) -> Result<String, String> {
    let mut found = BTreeSet::new();
    for file in files {
        for module in modules(file)? {
            found.extend(module.opcodes().map(|opcode| opcode.text.clone()));
        }
    }
    Ok(found.into_iter().map(|opcode| opcode + "\n").collect())
}

fn cubins(files: &[String]) -> Result<String, String> {
    let mut shown = String::new();
    for file in files {
        let bytes = read(file)?;
        let found = cubin::read(&bytes).map_err(|error| format!("{file}: {error}"))?;
        let _ = writeln!(shown, "processor sm_{}", found.processor);
        for kernel in &found.kernels {
            let _ = writeln!(
                shown,
                "kernel {}: {} registers, {} bytes stack frame, {} bytes shared, {} bytes of parameters, at most {:?} threads",
                kernel.name,
                kernel.registers,
                kernel.frame_bytes,
                kernel.shared_bytes,
                kernel.parameter_bytes,
                kernel.max_threads.or(kernel.required_threads),
            );
        }
        for variable in &found.variables {
            let _ = writeln!(
                shown,
                "{:?} {}: {} bytes",
                variable.space, variable.name, variable.size
            );
        }
        let parts = modules(file)?;
        if !parts.is_empty() {
            let linked = offloom_ptx::link(parts).map_err(|error| format!("{file}: {error}"))?;
            cubin::compare(&found, &linked).map_err(|error| format!("{file}: {error}"))?;
            let _ = writeln!(shown, "the PTX that it carries is the same program");
        }
    }
    Ok(shown)
}
