//! `cargo xtask bench --device gpu`: the workloads on NVIDIA GPUs.
//!
//! What has no time is there on any machine: executed instructions, registers, occupancy, code and compiles
//! ([`gpu_instructions`]). Times come from a GPU, where the machine has one ([`gpu_bundle`]).

use anyhow::Result;

use crate::build::LlvmBuilds;
use crate::workspace::Workspace;
use crate::{cuda, gpu_bundle, gpu_instructions};

/// Measures, and writes the pages of a whole run.
pub(super) fn run(workspace: &Workspace, builds: &LlvmBuilds, only: &[String]) -> Result<()> {
    let processor = cuda::gpu::processor();
    builds.check_each(workspace, |staged| {
        gpu_instructions::count(workspace, staged, only)?;
        match &processor {
            Some(processor) => {
                println!("times, on the GPU that is here, {processor}");
                gpu_bundle::measure_here(workspace, staged)
            }
            None => {
                println!(
                    "no GPU is here: times are those that another machine has left in `docs/results/gpu.md`"
                );
                Ok(())
            }
        }
    })
}
