//! x86.

use offloom_ir::processor::Processor;

use super::features::{Features, grown};
use super::{Request, RetargetError};

/// What variants are compiled with, whatever the processor has. The first three round otherwise than code
/// without them does; what LLVM takes to include one of them (AVX10) goes with it. With the next two LLVM
/// leaves alone gathers and scatters, which it chooses for constant strides and which are slower than what
/// they replace. The last is for vectors that cross cache lines: those of 512 bits do with every access to
/// data that is not aligned to them.
pub(super) const FOR_VARIANTS: &str =
    "-avx512bf16,-avx512fp16,-avxneconvert,+prefer-no-gather,+prefer-no-scatter,+prefer-256-bit";

/// The rule of [`grown`], also for what the image's processor has by its name where nothing else is said of
/// it: Clang writes out all features, other compilers need not.
pub(super) fn features(request: &Request<'_>, cpu: &str) -> Result<Features, RetargetError> {
    if request.image_features.is_empty()
        && !request.image_cpu.is_empty()
        && let Some(image) = Processor::named(request.image_cpu)
        && let Some((feature, _)) = request
            .features
            .iter()
            .find(|&(feature, on)| !on && image.has(feature))
    {
        return Err(RetargetError::MissingFeature {
            function: request.function.to_owned(),
            feature: feature.to_owned(),
            cpu: cpu.to_owned(),
        });
    }
    grown(request, cpu)
}

/// Bits of vector registers, without AVX and with AVX-512.
pub(super) const NARROWEST_REGISTER: u32 = 128;
pub(super) const WIDEST_REGISTER: u32 = 512;

/// Bits of the widest vector register that is used for passing vectors; `None`: LLVM does not know the
/// processor.
pub(super) fn register_bits(cpu: &str, features: &Features) -> Option<u32> {
    let processor = Processor::named(if cpu.is_empty() { "x86-64" } else { cpu })?;
    let features = features.to_string();
    let has = |feature| processor.has_with(&features, feature);
    Some(match (has("avx"), has("avx512f")) {
        (_, true) => WIDEST_REGISTER,
        (true, false) => 256,
        (false, false) => NARROWEST_REGISTER,
    })
}
