//! AMDGPU: the old processor's features make way, what the ABI fixes stays.

use super::features::Features;
use super::{Request, RetargetError};

/// Settings of an image that its code relies on (LLVM's "User Guide for AMDGPU Backend", target properties).
const ABI_FEATURES: [&str; 6] = [
    "wavefrontsize32",
    "wavefrontsize64",
    "xnack",
    "sramecc",
    "cumode",
    "tgsplit",
];

/// Processors with XNACK, without `gfx`; on others there is no such setting, and code is good for either (the
/// same guide's table of processors).
const WITH_XNACK: [&str; 21] = [
    "801",
    "810",
    "900",
    "902",
    "904",
    "906",
    "908",
    "909",
    "90a",
    "90c",
    "940",
    "941",
    "942",
    "950",
    "1010",
    "1011",
    "1012",
    "1013",
    "9-generic",
    "9-4-generic",
    "10-1-generic",
];

/// Processors with SRAM ECC.
const WITH_SRAM_ECC: [&str; 8] = ["906", "908", "90a", "940", "941", "942", "950", "9-4-generic"];

/// Whether the processor has such a setting.
fn has(cpu: &str, setting: &str) -> bool {
    let number = cpu.strip_prefix("gfx").unwrap_or(cpu);
    match setting {
        "xnack" => WITH_XNACK.contains(&number),
        "sramecc" => WITH_SRAM_ECC.contains(&number),
        _ => true,
    }
}

/// The features asked for and the image's settings, with the wavefront size spelled out where the processor's
/// default is another.
pub(super) fn features(request: &Request<'_>, cpu: &str) -> Result<Features, RetargetError> {
    let mut all = request
        .image_features
        .filtered(|name| ABI_FEATURES.contains(&name) && has(cpu, name));
    let size = wavefront_size(request.image_cpu, &request.image_features);
    let unchanged = request.image_cpu.is_empty() || request.image_cpu == cpu;
    if !unchanged && size != wavefront_size(cpu, &Features::default()) {
        if size == 32 {
            return Err(RetargetError::WavefrontSize {
                function: request.function.to_owned(),
                size,
                cpu: cpu.to_owned(),
            });
        }
        all.set("wavefrontsize64", true);
    }
    for (name, on) in request.features.iter() {
        if all.get(name).is_none() {
            all.set(name, on);
        }
    }
    Ok(all)
}

/// Threads of a wavefront: what the features say, else what the processor does by default: 32 from gfx10 on.
fn wavefront_size(cpu: &str, features: &Features) -> u32 {
    if features.get("wavefrontsize64") == Some(true) {
        return 64;
    }
    if features.get("wavefrontsize32") == Some(true) {
        return 32;
    }
    let number = cpu.strip_prefix("gfx").unwrap_or_default();
    // `gfx90a` has one digit of generation, `gfx1030` two; `gfx11-generic` is a generation.
    let generation = match number.split_once('-') {
        Some((generation, _)) => generation,
        None => number.get(..number.len().saturating_sub(2)).unwrap_or_default(),
    };
    if generation.parse::<u32>().is_ok_and(|generation| generation >= 10) {
        32
    } else {
        64
    }
}
