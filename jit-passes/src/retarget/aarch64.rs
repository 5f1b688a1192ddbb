//! AArch64.

use offloom_abi::Triple;
use offloom_ir::inkwell::module::Module;
use offloom_ir::symbol::functions;

use super::TARGET_FEATURES;
use super::features::Features;

/// What variants are compiled with, whatever the processor has. Arithmetic on `_Float16`, and operations on
/// `__bf16`, round otherwise than code without them does. LLVM takes SVE to include the first, so it goes
/// too.
pub(super) const FOR_VARIANTS: &str = "-fullfp16,-bf16";

/// With it, code calls functions of the compiler's own static library for atomic operations.
const OUTLINE_ATOMICS: &str = "outline-atomics";

/// Has atomic operations be instructions where Clang has them be calls: what is linked at run time has no
/// static library. Does nothing to code for other processors, which has no such feature.
pub(crate) fn inline_atomics(module: &Module<'_>) {
    let triple = module.get_triple();
    if Triple(&triple.as_str().to_string_lossy()).architecture() != "aarch64" {
        return;
    }
    for function in functions(module) {
        let features = function.string_attribute(TARGET_FEATURES).unwrap_or_default();
        let mut features = Features::parse(&features);
        if features.get(OUTLINE_ATOMICS) == Some(true) {
            features.set(OUTLINE_ATOMICS, false);
            function.set_string_attribute(TARGET_FEATURES, &features.to_string());
        }
    }
}
