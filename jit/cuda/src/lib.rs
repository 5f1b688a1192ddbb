//! The JIT's side of NVIDIA's driver: sees what libomptarget's CUDA plugin loads and launches, and has other
//! kernels launched in place of the program's. Which ones is decided by a `Client`.
//! `docs/dev/gpu-launches.md` says how.
//!
//! | module | does |
//! | --- | --- |
//! | [`client`] | what decides about launches |
//! | [`backend`] | NVIDIA GPUs as devices of the JIT's policy, which is the client outside of tests |
//! | [`install`] | leads the plugin's calls here |
//! | [`devices`] | which GPUs there are, before libomptarget asks |
//! | [`driver`], [`handles`], [`error`] | the driver's functions, the objects it names, its error codes |
//! | [`hooks`] | what the plugin calls in place of the driver's functions |
//! | [`launch`] | one launch: asks the client, starts what it chose |
//! | [`arguments`] | a launch's argument words |
//! | [`context`] | contexts, work with one current, events |
//! | [`image`] | base images as they are loaded, and the kernels in them |
//! | [`image_file`] | base images as files |
//! | [`variant`] | loads and unloads variants |
//! | [`timing`] | how long sampled launches took |
//! | [`background`] | the thread for what launches must not wait for |
//! | [`fault`] | says which variant ran where a kernel has failed |
//! | [`ptxas`] | finds the assembler |
//! | [`profiler`] | what profilers show of the JIT's work |
//!
//! What launches read is never freed.
#![expect(
    unsafe_code,
    reason = "it calls the driver, is called in its place, and replaces words of libomptarget"
)]

pub mod arguments;
pub mod backend;
pub mod background;
pub mod client;
pub mod context;
pub mod devices;
pub mod driver;
pub mod error;
mod fault;
pub mod handles;
mod hooks;
pub mod image;
pub mod image_file;
pub mod install;
pub mod launch;
mod profiler;
pub mod ptxas;
pub mod timing;
pub mod variant;
