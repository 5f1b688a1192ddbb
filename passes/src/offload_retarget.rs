//! `offload-retarget`: `offload-retarget<cpu=NAME;features=+a,-b;vector-width=BITS>` compiles for the
//! processor that is there.
//!
//! Before: `"target-cpu"="x86-64"`                After: `"target-cpu"="znver4"`
//!
//! `cpu=native` is this machine's processor with its features. What the image's ABI does not allow is
//! refused, see [`offloom_jit_passes::retarget`].

use crate::error::PassError;
use crate::parameters::Parameters;
use crate::registry::Pass;
use llvm_plugin::PreservedAnalyses;
use offloom_ir::inkwell::module::Module;
use offloom_jit_passes::retarget::{Device, retarget};

/// The processor.
const CPU: &str = "cpu";

/// More features.
const FEATURES: &str = "features";

/// Bits of the vectors to choose.
const VECTOR_WIDTH: &str = "vector-width";

pub(crate) const PASS: Pass = Pass {
    name: "offload-retarget",
    parameters: &[CPU, FEATURES, VECTOR_WIDTH],
    run,
    unasked: None,
};

fn run(module: &Module<'_>, parameters: &Parameters) -> Result<PreservedAnalyses, PassError> {
    let cpu = parameters
        .value(CPU)?
        .ok_or(PassError::MissingValue { key: CPU })?;
    let vector_width = parameters.value(VECTOR_WIDTH)?.map(|bits| {
        bits.parse().map_err(|_| PassError::NotANumber {
            key: VECTOR_WIDTH,
            value: bits.to_owned(),
        })
    });
    let device = Device {
        cpu,
        features: &parameters.list(FEATURES)?.join(","),
        brief_features: "",
        vector_width: vector_width.transpose()?,
    };
    retarget(module, &device)?;
    Ok(PreservedAnalyses::None)
}
