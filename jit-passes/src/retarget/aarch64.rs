//! AArch64.

/// What variants are compiled with, whatever the processor has. Arithmetic on `_Float16`, and operations on
/// `__bf16`, round otherwise than code without them does. LLVM takes SVE to include the first, so it goes
/// too.
pub(super) const FOR_VARIANTS: &str = "-fullfp16,-bf16";
