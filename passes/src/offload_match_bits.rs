//! `offload-match-bits`: floating-point results stay the same when arguments become constants or the processor a wider one.
//!
//! Before: `call double @llvm.fmuladd.f64(double %a, double %b, double %c)`, `call double @pow(double %x, double %y)`
//! After: `fmul`, `fadd` (on x86 without FMA), `call double @pow(double %x, double %y) nobuiltin`
//!
//! Runs before `offload-specialize`, on a module that the ahead-of-time pipeline has simplified.

use crate::error::PassError;
use crate::parameters::Parameters;
use crate::registry::Pass;
use llvm_plugin::PreservedAnalyses;
use offloom_ir::inkwell::module::Module;
use offloom_jit_passes::match_bits::match_bits;

pub(crate) const PASS: Pass = Pass {
    name: "offload-match-bits",
    parameters: &[],
    run,
    unasked: None,
};

fn run(module: &Module<'_>, _: &Parameters) -> Result<PreservedAnalyses, PassError> {
    match_bits(module)?;
    Ok(PreservedAnalyses::None)
}
