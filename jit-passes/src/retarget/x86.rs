//! x86: features only grow.

use super::features::Features;
use super::{Request, RetargetError};

/// The device's features, with all that the image has, less what the image switched off.
pub(super) fn features(request: &Request<'_>, cpu: &str) -> Result<Features, RetargetError> {
    let mut all = request.features.clone();
    for (name, on) in request.image_features.iter() {
        if on && all.get(name) == Some(false) {
            return Err(RetargetError::MissingFeature {
                function: request.function.to_owned(),
                feature: name.to_owned(),
                cpu: cpu.to_owned(),
            });
        }
        all.set(name, on);
    }
    Ok(all)
}

/// Bits of the widest vector register that is used for passing vectors. A processor is known by the names
/// that have neither AVX nor AVX-512; any other is taken to have both, unless a feature says otherwise.
pub(super) fn register_bits(cpu: &str, features: &Features) -> u32 {
    let by_name = match cpu {
        "" | "generic" | "x86-64" | "x86-64-v2" | "nocona" | "core2" | "nehalem" => 128,
        "x86-64-v3" | "haswell" | "broadwell" | "znver1" | "znver2" | "znver3" => 256,
        _ => 512,
    };
    match (features.get("avx"), features.get("avx512f")) {
        (Some(false), _) => 128,
        (_, Some(true)) => 512,
        (_, Some(false)) => by_name.min(256),
        (Some(true), None) => by_name.max(256),
        (None, None) if features.get("avx2") == Some(true) => by_name.max(256),
        (None, None) => by_name,
    }
}
