//! The JIT's side of AMD's runtime for GPUs, ROCr: sees what libomptarget's AMDGPU plugin loads and launches,
//! and has other kernels launched in place of the program's. `docs/dev/amd-gpu.md` says how.
//!
//! **This has never run on a device.** It is tested with a stand-in for the runtime, which checks what it is
//! given and executes nothing (`test/virtual-hsa/`).
//!
//! | module | does |
//! | --- | --- |
//! | [`backend`] | AMD GPUs as devices of the JIT's policy |
//! | [`install`] | leads the plugin's calls here |
//! | [`tool`] | is a tool of the runtime, which gets functions that others do not |
//! | [`runtime`] | the runtime's functions, the objects it names, its error codes |
//! | [`packet`] | packets of a queue |
//! | [`hooks`] | what the plugin calls in place of the runtime's functions |
//! | [`intercept`] | one batch of packets: asks the policy, writes what it chose |
//! | [`image`] | base images as they are loaded, and the kernels in them |
//! | [`variant`] | loads variants |
//! | [`timing`] | how long sampled launches took |
//!
//! What launches read is freed with its image, once the program has ended all launches of its kernels.
#![expect(
    unsafe_code,
    reason = "it calls the runtime, is called in its place, and replaces words of libomptarget"
)]

pub mod backend;
mod hooks;
mod image;
pub mod install;
mod intercept;
mod packet;
mod runtime;
mod timing;
pub mod tool;
mod variant;
