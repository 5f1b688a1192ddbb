//! Every on-disk and in-memory format of OpenMP offloading: no LLVM, no I/O.
//!
//! | module | format | where it lives |
//! | --- | --- | --- |
//! | [`version`] | the LLVM releases whose formats are known | everywhere |
//! | [`offload_kind`] | who produced an image or an entry, as numbers and names | images, entries |
//! | [`entry`] | `__tgt_offload_entry`, the table that ties host symbols to device symbols | host objects, objects of the host device |
//! | [`kernel_name`] | names of target regions and of what belongs to them | symbols |
//! | [`kernel_source`] | what the source says of a kernel, for people | JIT bundles, statistics, cache of the JIT |
//! | [`offload_binary`] | the container of device images | `.llvm.offloading` sections, packager output |
//! | [`device_image`] | `__tgt_device_image`, `__tgt_bin_desc` and the wrapper module's symbols | linked host programs |
//! | [`fat_binary`] | the record of a fat binary and its registration, for CUDA and HIP | linked host programs |
//! | [`host_processor`] | what links, images and programs are told of a host's processor | everywhere |
//! | [`gpu_processor`] | which GPU an ELF image is for | headers of cubins and AMD code objects |
//! | [`sycl_image`] | image records and registration of SYCL | linked host programs |
//! | [`kernel_arguments`] | `__tgt_kernel_arguments` and map types | memory, at every launch |
//! | [`jit_base_image`] | base images that are made at run time | cache of the JIT, pipe to its worker process |
//! | [`jit_bundle`] | the JIT's prepared bitcode | host programs linked with `--jit` |
//! | [`jit_compile`] | compile requests and replies | pipe between the JIT library and its worker process |
//! | [`jit_device_image`] | tables of addresses in a GPU's base image and variants | device memory |
//! | [`jit_gpu_code`] | bitcode in the place of an image for NVIDIA GPUs | host programs linked with `--jit=only` |
//! | [`jit_image`] | slots, anchors and announcement of a base image | memory, written by device images |
//! | [`jit_message`] | what compile requests and replies begin with | pipe between the JIT library and its worker process |
//! | [`jit_remote`] | what is asked of remote stores, and what comes back | socket between the JIT library and the process that talks to them |
//! | [`names`] | section names and types, metadata names | objects and IR |
//! | [`triple`] | which device a target triple means | images, bitcode, command lines |
//!
//! Rules of this crate: names match the C headers of LLVM; a layout that changed between releases takes an
//! [`LlvmVersion`]; each record has its size and offsets asserted beside it; parsers take hostile bytes and
//! answer with a [`FormatError`], never with a panic.
#![forbid(unsafe_code)]

pub mod amd_code_object;
pub mod device_image;
pub mod entry;
pub mod error;
pub mod fat_binary;
pub mod gpu_processor;
pub mod host_processor;
pub mod jit_base_image;
pub mod jit_bundle;
pub mod jit_compile;
pub mod jit_device_image;
pub mod jit_gpu_code;
pub mod jit_image;
pub mod jit_message;
pub mod jit_remote;
pub mod kernel_arguments;
pub mod kernel_name;
pub mod kernel_source;
pub mod names;
pub mod offload_binary;
pub mod offload_kind;
pub mod sycl_image;
pub mod triple;
pub mod version;
mod wire;

pub use error::{FormatError, Problem};
pub use host_processor::HostProcessor;
pub use offload_kind::OffloadKind;
pub use triple::Triple;
pub use version::{ContainerFormat, LlvmVersion};
