//! Decides which code each launch of a kernel runs, on any kind of device: keys, objects, variants, their
//! times and their end, written once.
//!
//! Devices are behind the trait [`Backend`](backend::Backend). Neither LLVM nor a driver is linked here.
//!
//! | module | is |
//! | --- | --- |
//! | [`backend`] | the boundary to devices |
//! | [`bundle`], [`registry`] | what is attached; what is announced, with the state that lives as long as the process |
//! | [`gpu_image`] | images for GPUs: what one says of itself, and its bundle |
//! | [`gpu_launch`] | launches on GPUs, as policy sees them |
//! | [`image`] | one copy of a device image, on one device |
//! | [`kernel`] | one kernel of a bundle, and its objects, compiled once for all devices of a kind |
//! | [`kernel_on_device`] | that kernel in one image copy: which code a launch runs |
//! | [`variant`] | a loaded variant, timed against the AOT code until it is kept or retired |
//! | [`dump`] | launches written so that they can be run by themselves |
//! | [`execution_mode`] | which threads execute a kernel of a GPU |
//! | [`first_ask`] | kernels that were launched for the first time a moment ago |
//! | [`disk_cache`] | objects on disk, shared with other processes |
//! | [`remote`] | objects in a remote store, shared with other machines |
//! | [`replay`] | runs a dumped launch: ahead-of-time code against variant |
//! | [`history`] | what was made for each kernel and became of its launches |
//! | [`process`] | how all this lives in a process that is not its own |
//!
//! What belongs to an image is destroyed with it, everything else never: variants may be running on any
//! thread when the process ends.
#![expect(
    unsafe_code,
    reason = "variants are found by address, and the process is the program's: signals, forks, exits"
)]

pub mod backend;
pub mod bundle;
pub mod disk_cache;
pub mod dump;
pub mod execution_mode;
mod first_ask;
pub mod gpu_image;
pub mod gpu_launch;
pub mod history;
pub mod image;
pub mod kernel;
pub mod kernel_on_device;
pub mod process;
pub mod registry;
pub mod remote;
pub mod replay;
pub mod variant;
