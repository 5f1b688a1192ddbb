//! x86.

use super::features::Features;

/// What variants are compiled with, whatever the processor has. The first three round otherwise than code
/// without them does; what LLVM takes to include one of them (AVX10) goes with it. With the next two LLVM
/// leaves alone gathers and scatters, which it chooses for constant strides and which are slower than what
/// they replace. The last is for vectors that cross cache lines: those of 512 bits do with every access to
/// data that is not aligned to them.
pub(super) const FOR_VARIANTS: &str =
    "-avx512bf16,-avx512fp16,-avxneconvert,+prefer-no-gather,+prefer-no-scatter,+prefer-256-bit";

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
