//! Launches offload kernels from Rust: what `#pragma omp target` would emit, by hand.
//!
//! The other half of *marking*: a function marked as a kernel (see `docs/dev/launch-contract.md`) becomes a
//! kernel on the device and stays on the host as its own fallback; this crate runs the kernel, with its data
//! mapped to the device and back, and says so when it did not run. Works on stable Rust, with the
//! libomptarget of LLVM 19 and of LLVM 22.
//!
//! ```no_run
//! use offloom_launch::{Launch, LaunchError, region};
//!
//! // Marked as a kernel, and the fallback: y += a * x.
//! #[unsafe(no_mangle)]
//! pub unsafe extern "C" fn saxpy(a: f32, n: usize, x: *const f32, y: *mut f32) {
//!     for i in 0..n {
//!         // SAFETY: the caller passes `n` elements of each.
//!         unsafe { *y.add(i) += a * *x.add(i) };
//!     }
//! }
//!
//! fn offload_saxpy(a: f32, x: &[f32], y: &mut [f32]) -> Result<(), LaunchError> {
//!     let n = x.len().min(y.len());
//!     // SAFETY: the arguments are those of `saxpy`, in its order, and it stays within the first `n` elements.
//!     unsafe { Launch::new(region!(saxpy)) }
//!         .value(a)
//!         .value(n)
//!         .map_to(x)
//!         .map_tofrom(y)
//!         .run()?
//!         // SAFETY: both slices have at least `n` elements.
//!         .or_on_host(|| unsafe { saxpy(a, n, x.as_ptr(), y.as_mut_ptr()) });
//!     Ok(())
//! }
//! ```
//!
//! | module | is |
//! | --- | --- |
//! | [`mod@region`] | the host's identity of a kernel, and the macro that names it |
//! | [`mod@link`] | the host's identity of a variable that is marked `link`, and the macro that names it |
//! | [`launch`] | one launch: arguments, maps, number of teams, outcome |
//! | [`mapped`] | data that stays mapped over several launches, released by `Drop` |
//! | [`mappable`] | the types whose bytes may travel |
//! | [`device`] | which device |
//! | [`error`] | what a launch refuses |
//!
//! # Linking
//! The crate refers to `libomptarget` and does not say where it is: a program has to use the one that belongs
//! to the LLVM that made its offload entries (the entries of LLVM 22 make libomptarget 19 crash when the
//! program starts), and that is known only to the link that adds the device image. `clang -fopenmp
//! -fopenmp-targets=…` as the linker adds it by itself; otherwise the program's own build script does:
//!
//! ```no_run
//! println!("cargo::rustc-link-search=/usr/lib/llvm-22/lib");
//! println!("cargo::rustc-link-lib=dylib=omptarget");
//! println!("cargo::rustc-link-arg=-Wl,-z,nostart-stop-gc");
//! ```
//!
//! The last line keeps the offload entries: nothing refers to an entry, the registration refers to the
//! section they are in, and lld, which is what rustc links with on x86_64 Linux, throws such a section away
//! under `--gc-sections` (`undefined hidden symbol: __start_llvm_offload_entries`). GNU ld keeps it.
//!
//! # What ends the program
//! libomptarget reports many errors by aborting: a region without an entry, a device image that lacks the
//! kernel, a map that extends memory that is mapped already, no memory left on the device, and any offload
//! failure under `OMP_TARGET_OFFLOAD=mandatory`. Errors that can be seen before the call are values of
//! [`LaunchError`].

pub mod device;
pub mod error;
pub mod launch;
pub mod link;
pub mod mappable;
pub mod mapped;
pub mod region;
mod runtime;

pub use device::Device;
pub use error::LaunchError;
pub use launch::{Launch, MAX_ARGUMENTS, Outcome};
pub use link::Link;
pub use mappable::Mappable;
pub use mapped::{Mapped, MappedMut};
pub use region::Region;
