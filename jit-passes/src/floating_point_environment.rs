//! What reads or changes the floating-point environment: the direction of rounding, whether denormal numbers
//! are zeros, which exceptions have happened. Without `FENV_ACCESS` LLVM takes none of them for a change, and
//! computes with constants as if the environment was the one that programs start with; a variant has more
//! constants than the ahead-of-time code.

use offloom_ir::symbol::{Symbol, SymbolKind};

/// Functions of the C library, and of Flang's runtime those by which it calls them.
const FUNCTIONS: [&str; 21] = [
    "_FortranAGetUnderflowMode",
    "_FortranASetUnderflowMode",
    "_FortranAfeclearexcept",
    "_FortranAfedisableexcept",
    "_FortranAfeenableexcept",
    "_FortranAferaiseexcept",
    "_FortranAfetestexcept",
    "feclearexcept",
    "fedisableexcept",
    "feenableexcept",
    "fegetenv",
    "fegetexceptflag",
    "feholdexcept",
    "feraiseexcept",
    "fesetenv",
    "fesetexcept",
    "fesetexceptflag",
    "fesetmode",
    "fesetround",
    "fetestexcept",
    "feupdateenv",
];

/// How the names of LLVM's own functions begin.
const INTRINSICS: [&str; 11] = [
    "llvm.aarch64.get.fp",
    "llvm.aarch64.set.fp",
    "llvm.get.fpenv",
    "llvm.reset.fp",
    "llvm.set.fpenv",
    "llvm.set.fpmode",
    "llvm.set.rounding",
    "llvm.x86.fxrstor",
    "llvm.x86.sse.ldmxcsr",
    "llvm.x86.sse.stmxcsr",
    "llvm.x86.xrstor",
];

/// Instructions of x86, and registers of AArch64, as assembly names them.
pub(crate) const NAMES_IN_ASSEMBLY: [&str; 14] = [
    "fclex", "fldcw", "fldenv", "fnclex", "fninit", "fpcr", "fpsr", "frstor", "fxrstor", "ldmxcsr",
    "stmxcsr", "vldmxcsr", "vstmxcsr", "xrstor",
];

/// Whether it is one of these functions.
pub(crate) fn is_function_of(global: Symbol<'_>) -> bool {
    if global.kind() != SymbolKind::Function || !global.is_declaration() {
        return false;
    }
    let name = global.name();
    FUNCTIONS.contains(&name.as_str()) || INTRINSICS.iter().any(|beginning| name.starts_with(beginning))
}
