//! `offload-profitability`: prints for each argument of each kernel whether a constant in its place can make
//! better code, and why.
//!
//! Prints: `argument 1, 4 bytes: loop bound, division or modulo`. The module stays as it is; the text goes to
//! the standard output.

use crate::error::PassError;
use crate::parameters::Parameters;
use crate::registry::Pass;
use llvm_plugin::PreservedAnalyses;
use offloom_ir::inkwell::module::Module;
use offloom_jit_passes::profitability::profitability;
use std::io::Write as _;

pub(crate) const PASS: Pass = Pass {
    name: "offload-profitability",
    parameters: &[],
    run,
    unasked: None,
};

fn run(module: &Module<'_>, _: &Parameters) -> Result<PreservedAnalyses, PassError> {
    let mut output = std::io::stdout().lock();
    for kernel in profitability(module)? {
        write!(output, "{kernel}").map_err(PassError::Print)?;
    }
    output.flush().map_err(PassError::Print)?;
    Ok(PreservedAnalyses::All)
}
