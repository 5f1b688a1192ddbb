//! NVPTX: only forward, and with a PTX version that knows the processor.

use super::features::Features;
use super::{Request, RetargetError};

/// The oldest PTX version, times ten, that knows a processor: what LLVM 22 writes for it when it is asked for
/// none. Other processors: LLVM chooses.
const OLDEST_PTX: [(u32, u32); 27] = [
    (20, 32),
    (21, 32),
    (30, 32),
    (32, 40),
    (35, 32),
    (37, 41),
    (50, 40),
    (52, 41),
    (53, 42),
    (60, 50),
    (61, 50),
    (62, 50),
    (70, 60),
    (72, 61),
    (75, 63),
    (80, 70),
    (86, 71),
    (87, 74),
    (88, 90),
    (89, 78),
    (90, 78),
    (100, 86),
    (101, 86),
    (103, 88),
    (110, 90),
    (120, 87),
    (121, 88),
];

/// The features asked for, and the image's, but for a PTX version that does not know the processor.
pub(super) fn features(request: &Request<'_>, cpu: &str) -> Result<Features, RetargetError> {
    let older = || RetargetError::OlderProcessor {
        function: request.function.to_owned(),
        image: request.image_cpu.to_owned(),
        cpu: cpu.to_owned(),
    };
    if !request.image_cpu.is_empty() && request.image_cpu != cpu {
        // `sm_90a` is for that processor alone.
        let image = version(request.image_cpu).ok_or_else(older)?;
        let asked = version(cpu.trim_end_matches(char::is_alphabetic)).ok_or_else(older)?;
        if asked < image {
            return Err(older());
        }
    }
    let oldest = version(cpu).and_then(oldest_ptx);
    // Clang names the processor among the features as well.
    let mut all = request.image_features.filtered(|name| match ptx(name) {
        Some(ptx) => oldest.is_some_and(|oldest| ptx >= oldest),
        None => !name.starts_with("sm_"),
    });
    all.override_by(request.features);
    Ok(all)
}

fn version(cpu: &str) -> Option<u32> {
    cpu.strip_prefix("sm_")?.parse().ok()
}

fn ptx(feature: &str) -> Option<u32> {
    feature.strip_prefix("ptx")?.parse().ok()
}

fn oldest_ptx(processor: u32) -> Option<u32> {
    let row = OLDEST_PTX.iter().find(|(known, _)| *known == processor)?;
    Some(row.1)
}
