//! `offload-match-bits`: floating-point results stay the same when arguments become constants or the
//! processor a wider one.
//!
//! Before: `call double @llvm.fmuladd.f64(double %a, double %b, double %c)`, `call double @pow(double %x,
//! double %y)` After: `fmul`, `fadd` (on x86 without FMA), `call double @pow(double %x, double %y) nobuiltin`
//!
//! Runs before the processor changes, on what Clang's `-O3` starts from or what it has simplified; runs that
//! pipeline up to its vectoriser where there is anything to pin. Part of `offload-specialize`, where it comes
//! too late for functions that `offload-internalize` has made internal: LLVM then sees constants in them that
//! it did not see ahead of time.

use crate::error::PassError;
use crate::parameters::Parameters;
use crate::registry::Pass;
use llvm_plugin::PreservedAnalyses;
use offloom_ir::inkwell::module::Module;
use offloom_jit_passes::match_bits::match_bits;

/// What ahead-of-time code comes from where nobody says otherwise.
pub(crate) const PIPELINE: &str = "default<O3>";

pub(crate) const PASS: Pass = Pass {
    name: "offload-match-bits",
    parameters: &[],
    run,
    unasked: None,
};

fn run(module: &Module<'_>, _: &Parameters) -> Result<PreservedAnalyses, PassError> {
    match_bits(module, None, PIPELINE)?;
    Ok(PreservedAnalyses::None)
}
