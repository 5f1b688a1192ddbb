//! What kernels and variants need of a GPU, from the JIT's statistics, and how large their machine code is.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::occupancy::Multiprocessor;
use crate::build::Staged;
use crate::corpus::tools;

/// ELF's machine number of NVIDIA's GPUs.
const EM_CUDA: u16 = 190;

/// What code needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Needs {
    /// Registers of a thread.
    pub(super) registers: u32,
    /// Bytes of local memory of a thread.
    pub(super) local_bytes: u32,
    /// Warps on a multiprocessor at a time; none where the threads of a block are not known.
    pub(super) warps: Option<u32>,
}

/// The variant of a kernel that ran most often, and the kernel's ahead-of-time code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub(super) ahead_of_time: Needs,
    pub(super) variant: Needs,
    /// Milliseconds that compiling took, the assembler's in it.
    pub(super) compile_ms: f64,
    /// Milliseconds that loading took.
    pub(super) load_ms: f64,
}

/// Reads a file of statistics, of a run on these multiprocessors.
pub(super) fn of_kernels(
    statistics: &Path,
    multiprocessor: Multiprocessor,
) -> Result<BTreeMap<String, Pair>> {
    let Ok(text) = fs::read_to_string(statistics) else {
        return Ok(BTreeMap::new()); // no kernel was launched
    };
    let statistics: Value = serde_json::from_str(&text).context("statistics of the JIT")?;
    let kernels = statistics["kernels"].as_array().into_iter().flatten();
    Ok(kernels
        .filter_map(|kernel| {
            let copies = kernel["variants"].as_array()?.iter().flat_map(|variant| {
                let copies = variant["copies"].as_array().into_iter().flatten();
                copies.map(move |copy| (variant, copy))
            });
            let (variant, copy) = copies.max_by_key(|(_, copy)| copy["launches"].as_u64())?;
            Some((
                kernel["name"].as_str()?.to_owned(),
                pair(variant, copy, multiprocessor)?,
            ))
        })
        .collect())
}

fn pair(variant: &Value, copy: &Value, multiprocessor: Multiprocessor) -> Option<Pair> {
    let threads = variant["descriptor"]
        .as_str()?
        .split(';')
        .find_map(|field| field.strip_prefix("threads=")?.parse().ok());
    let needs = |code: &str| {
        let number = |name: &str| u32::try_from(copy["on_gpu"][code][name].as_u64()?).ok();
        let registers = number("registers")?;
        let shared = number("shared_bytes")?;
        Some(Needs {
            registers,
            local_bytes: number("local_bytes")?,
            warps: threads.map(|threads| multiprocessor.warps_at_a_time(threads, registers, shared)),
        })
    };
    let phases = variant["phases"].as_object()?;
    let compile_us: u64 = phases.values().filter_map(Value::as_u64).sum();
    Some(Pair {
        ahead_of_time: needs("ahead_of_time")?,
        variant: needs("variant")?,
        compile_ms: compile_us as f64 / 1e3,
        load_ms: copy["link_us"].as_u64()? as f64 / 1e3,
    })
}

/// Bytes of machine code by the name of the kernel, of all cubins in a file or in the files below a folder.
/// What a kernel calls is not in it.
pub(super) fn code_bytes(staged: &Staged, place: &Path) -> Result<BTreeMap<String, u64>> {
    if place.is_dir() {
        let mut all = BTreeMap::new();
        for entry in fs::read_dir(place)? {
            all.extend(code_bytes(staged, &entry?.path())?);
        }
        return Ok(all);
    }
    let bytes = fs::read(place)?;
    let folder = tempfile::tempdir()?;
    let cubin = folder.path().join("cubin");
    let mut all = BTreeMap::new();
    for start in cubins(&bytes) {
        fs::write(&cubin, &bytes[start..])?;
        let mut readelf = tools::tool(staged, "llvm-readelf");
        readelf.arg("--section-headers").arg("--wide").arg(&cubin);
        for line in tools::output(&mut readelf)?.lines() {
            let mut fields = line
                .split_once(']')
                .map_or("", |(_, rest)| rest)
                .split_whitespace();
            let name = fields.next().and_then(|name| name.strip_prefix(".text."));
            let size = fields.nth(3).and_then(|size| u64::from_str_radix(size, 16).ok());
            if let (Some(name), Some(size)) = (name, size) {
                all.insert(name.to_owned(), size);
            }
        }
    }
    Ok(all)
}

/// Where cubins begin.
fn cubins(bytes: &[u8]) -> Vec<usize> {
    let start = b"\x7fELF\x02\x01\x01";
    let places = bytes.windows(20).enumerate();
    let found = places.filter(|(_, window)| {
        window.starts_with(start) && u16::from_le_bytes([window[18], window[19]]) == EM_CUDA
    });
    found.map(|(place, _)| place).collect()
}
