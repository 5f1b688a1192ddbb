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

/// The features asked for and the image's settings, with the wavefront size spelled out where the processor's default is another.
pub(super) fn features(request: &Request<'_>, cpu: &str) -> Result<Features, RetargetError> {
    let mut all = request
        .image_features
        .filtered(|name| ABI_FEATURES.contains(&name));
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
