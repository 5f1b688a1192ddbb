//! `libcuda.so.1` for tests: the functions of NVIDIA's driver over a virtual GPU.
//!
//! | module | job |
//! | --- | --- |
//! | [`api`] | the functions that programs call: checks, and one call of what is below |
//! | [`error`] | the driver's error codes |
//! | [`settings`] | what the environment says of the devices |
//! | [`driver`] | the devices and everything that programs hold handles to |
//! | [`context`] | contexts, which one is current, errors that stay |
//! | [`stream`] | work in order, beside the caller |
//! | [`event`] | points in streams, with their times |
//! | [`module`] | images: cubins that carry their PTX, or PTX |
//! | [`function`](mod@function) | kernels: attributes, how many blocks fit |
//! | [`launch`] | parameters and limits of a launch, and the launch |
//! | [`profile`] | PTX with how often each line was executed |
//! | [`capture`] | launches that become a graph |
//! | [`copy`] | copies and fills between memory of hosts and devices |
//! | [`message`] | lines on the error stream |
#![expect(
    unsafe_code,
    reason = "its functions have C's interface and take pointers of the program"
)]

mod api;
mod capture;
mod context;
mod copy;
mod driver;
mod error;
mod event;
mod function;
mod launch;
mod message;
mod module;
mod profile;
mod settings;
mod stream;
