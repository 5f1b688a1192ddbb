//! What the code of kernels for AMD GPUs is like, by LLVM's tools.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use offloom_abi::amd_code_object::{DESCRIPTOR_SUFFIX, KernelDescriptor};
use offloom_abi::gpu_processor::amd;
use offloom_abi::jit_device_image::variant_entry;

use super::Codes;
use crate::build::Staged;
use crate::corpus::tools;

/// ELF's machine number of AMD's GPUs.
const EM_AMDGPU: u16 = 224;

/// The code of a kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Code {
    /// Instructions in it, without what it calls.
    pub(super) instructions: u32,
    /// Vector registers of a work-item.
    pub(super) registers: u32,
    /// Bytes of a work-item's stack.
    pub(super) stack: u32,
    /// Bytes of a workgroup's memory.
    pub(super) group_segment: u32,
}

/// The kernels of a program's device image.
pub(super) fn of_program(staged: &Staged, program: &Path, folder: &Path) -> Result<Codes> {
    let image = folder.join("image");
    let mut extract = Command::new(staged.dist.join("bin/wrapgen"));
    extract
        .arg("extract")
        .arg(program)
        .args(["--number=0", "-o"])
        .arg(&image);
    tools::output(&mut extract)?;
    let bytes = fs::read(&image)?;
    of_code_object(staged, &bytes, folder)
}

/// The variants in the files below a folder, each by the name of its kernel; the largest of each.
pub(super) fn of_cache(staged: &Staged, cache: &Path, folder: &Path) -> Result<Codes> {
    let mut all = Codes::new();
    if !cache.is_dir() {
        return Ok(all);
    }
    for entry in fs::read_dir(cache)? {
        let path = entry?.path();
        let found = match path.is_dir() {
            true => of_cache(staged, &path, folder)?,
            false => of_entry(staged, &fs::read(&path)?, folder)?,
        };
        for (kernel, code) in found {
            let kernel = match kernel.strip_suffix(&variant_entry("")) {
                Some(kernel) => kernel.to_owned(),
                None => kernel,
            };
            let largest = all.entry(kernel).or_insert(code);
            if code.instructions > largest.instructions {
                *largest = code;
            }
        }
    }
    Ok(all)
}

/// The code object in a file of the cache, if it has one.
fn of_entry(staged: &Staged, bytes: &[u8], folder: &Path) -> Result<Codes> {
    let start = b"\x7fELF\x02\x01\x01";
    let places = bytes.windows(20).position(|window| {
        window.starts_with(start) && u16::from_le_bytes([window[18], window[19]]) == EM_AMDGPU
    });
    match places {
        Some(place) => of_code_object(staged, &bytes[place..], folder),
        None => Ok(Codes::new()),
    }
}

fn of_code_object(staged: &Staged, bytes: &[u8], folder: &Path) -> Result<Codes> {
    let file = object::File::parse(bytes).context("a code object")?;
    let processor = match file.flags() {
        object::FileFlags::Elf { e_flags, .. } => amd(e_flags.0).unwrap_or_default(),
        _ => "",
    };
    let path = folder.join("code-object");
    fs::write(&path, bytes)?;
    let disassembly = tools::output(tools::tool(staged, "llvm-objdump").arg("-d").arg(&path))?;
    let mut all = Codes::new();
    for symbol in file.dynamic_symbols() {
        let Some(kernel) = symbol
            .name()
            .ok()
            .and_then(|name| name.strip_suffix(DESCRIPTOR_SUFFIX))
        else {
            continue;
        };
        let section = symbol.section_index().context("a descriptor that is not there")?;
        let section = file.section_by_index(section)?;
        let at = usize::try_from(symbol.address() - section.address())?;
        let descriptor = section.data()?.get(at..).and_then(KernelDescriptor::parse);
        let descriptor = descriptor.context("a descriptor that is cut off")?;
        let code = Code {
            instructions: instructions(&disassembly, kernel),
            registers: descriptor.vector_registers(processor),
            stack: descriptor.private_segment,
            group_segment: descriptor.group_segment,
        };
        all.insert(kernel.to_owned(), code);
    }
    Ok(all)
}

/// How many instructions a function has in a disassembly, without those that only fill its end.
fn instructions(disassembly: &str, function: &str) -> u32 {
    let heading = format!("<{function}>:");
    let lines = disassembly
        .lines()
        .skip_while(|line| !line.ends_with(&heading))
        .skip(1);
    let lines = lines.take_while(|line| !line.ends_with(">:"));
    let of_code = lines.filter(|line| line.starts_with('\t'));
    let counted = of_code.filter(|line| {
        let word = line.split_whitespace().next().unwrap_or_default();
        !matches!(word, "s_nop" | "s_code_end")
    });
    u32::try_from(counted.count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_of_one_function_are_counted() {
        let text = "\nDisassembly of section .text:\n\n0000000000001c00 <a>:\n\tv_mov_b32 v0, 1 // 1\n\ts_endpgm // 2\n\
                    \ts_nop 0 // 3\n\n0000000000001d00 <b$jit>:\n\ts_endpgm // 4\n\ts_code_end // 5\n";
        assert_eq!(instructions(text, "a"), 2);
        assert_eq!(instructions(text, "b$jit"), 1);
        assert_eq!(instructions(text, "c"), 0);
    }
}
