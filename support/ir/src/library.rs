//! Bitcode libraries: linked into a module while it is compiled, only what it needs, and made internal there.

use crate::bitcode_header::{is_bitcode, producer, release};
use crate::symbol::{Symbol, functions};
use inkwell::context::AsContextRef;
use inkwell::llvm_sys::core::LLVMDisposeMessage;
use inkwell::llvm_sys::prelude::{LLVMContextRef, LLVMModuleRef};
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use offloom_abi::Triple;
use std::ffi::{CStr, c_char};
use std::path::Path;

unsafe extern "C" {
    fn offloom_ir_open_library(
        context: LLVMContextRef,
        bytes: *const c_char,
        length: usize,
        name: *const c_char,
        name_length: usize,
        library: *mut LLVMModuleRef,
    ) -> *mut c_char;
    fn offloom_ir_needs_library(module: LLVMModuleRef, library: LLVMModuleRef) -> bool;
    fn offloom_ir_link_library(module: LLVMModuleRef, library: LLVMModuleRef) -> *mut c_char;
}

/// The triple and the data layout by which LLVM knows NVIDIA's libdevice, which goes with every NVPTX module
/// (`llvm/lib/Linker/IRMover.cpp`).
const LIBDEVICE_TRIPLE: &str = "nvptx64-nvidia-gpulibs";

/// Why a library cannot be linked. The messages do not name the file.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Io(String),
    /// The file is something else.
    #[error("is not LLVM bitcode")]
    NotBitcode,
    /// Bitcode that a newer release wrote.
    #[error("is bitcode that {producer} wrote, and this is LLVM {major}: use the library of LLVM {major}", major = crate::LLVM.major())]
    NewerLlvm {
        /// What the file names as its producer, as `LLVM22.1.8`.
        producer: String,
    },
    /// Bitcode that this LLVM cannot make sense of.
    #[error("is bitcode that LLVM {major} cannot read: {0}", major = crate::LLVM.major())]
    Parse(String),
    /// A library for another machine.
    #[error("is for `{library}`, and this module is for `{module}`")]
    OtherTarget {
        /// The library's triple.
        library: String,
        /// The module's triple.
        module: String,
    },
    /// A library that lays data out otherwise, as that of an older release does.
    #[error(
        "lays data out as `{library}` ({producer}), and this module as `{module}`: use the library of LLVM {major}",
        major = crate::LLVM.major()
    )]
    OtherLayout {
        /// The library's data layout.
        library: String,
        /// The module's data layout.
        module: String,
        /// What wrote the library.
        producer: String,
    },
    /// Definitions that do not go together with the module's declarations.
    #[error("cannot be linked: {0}")]
    Link(String),
}

/// A library for one module. Its functions are read when they are linked.
pub struct Library<'ctx> {
    /// Dropped before the bytes that its functions are read from.
    library: Module<'ctx>,
    bytes: MemoryBuffer<'ctx>,
}

impl<'ctx> Library<'ctx> {
    /// Opens the bitcode file as a library for `module`.
    ///
    /// # Errors
    /// When the file cannot be read, is not bitcode that this LLVM reads, or is for another target than the
    /// module.
    pub fn open(module: &Module<'ctx>, path: &Path) -> Result<Self, LibraryError> {
        let bytes = MemoryBuffer::create_from_file(path)
            .map_err(|reason| LibraryError::Io(reason.to_string().trim_end().to_owned()))?;
        Self::read(module, bytes, &path.to_string_lossy())
    }

    /// Takes bitcode in memory for a library for `module`; `name` is for messages.
    ///
    /// # Errors
    /// When it is not bitcode that this LLVM reads, or is for another target than the module.
    pub fn read(module: &Module<'ctx>, bytes: MemoryBuffer<'ctx>, name: &str) -> Result<Self, LibraryError> {
        if !is_bitcode(bytes.as_slice()) {
            return Err(LibraryError::NotBitcode);
        }
        let producer =
            producer(bytes.as_slice()).unwrap_or_else(|| "an LLVM that it does not name".to_owned());
        if release(&producer).is_some_and(|release| release > crate::LLVM.major()) {
            return Err(LibraryError::NewerLlvm { producer });
        }
        let library = Self {
            library: read_lazily(module, &bytes, name)?,
            bytes,
        };
        library.check_target(module, producer)?;
        Ok(library)
    }

    fn check_target(&self, module: &Module<'ctx>, producer: String) -> Result<(), LibraryError> {
        let [library, own] =
            [&self.library, module].map(|module| module.get_triple().as_str().to_string_lossy().into_owned());
        if !library.is_empty()
            && !own.is_empty()
            && Triple(&library).architecture() != Triple(&own).architecture()
        {
            return Err(LibraryError::OtherTarget { library, module: own });
        }
        if library == LIBDEVICE_TRIPLE {
            return Ok(());
        }
        let [library, own] = [&self.library, module]
            .map(|module| module.get_data_layout().as_str().to_string_lossy().into_owned());
        if !library.is_empty() && !own.is_empty() && library != own {
            return Err(LibraryError::OtherLayout {
                library,
                module: own,
                producer,
            });
        }
        Ok(())
    }

    /// Its functions, with their attributes, in order.
    pub fn functions(&self) -> Vec<Symbol<'ctx>> {
        functions(&self.library)
    }

    /// Whether it defines anything that the module only declares.
    pub fn is_needed_by(&self, module: &Module<'ctx>) -> bool {
        // SAFETY: both modules are live.
        unsafe { offloom_ir_needs_library(module.as_mut_ptr(), self.library.as_mut_ptr()) }
    }

    /// Links what the module needs of it, directly and indirectly. What was linked becomes internal, but for
    /// what the library keeps by `llvm.used`.
    ///
    /// # Errors
    /// When a definition does not go together with the module; the module is then changed in part.
    pub fn link_needed(self, module: &Module<'ctx>) -> Result<(), LibraryError> {
        let Self { library, bytes } = self;
        let library_ref = library.as_mut_ptr();
        // The call below frees the library.
        std::mem::forget(library);
        // SAFETY: both modules are live and of one context. The bytes that functions are read from outlive
        // the call.
        let problem = unsafe { offloom_ir_link_library(module.as_mut_ptr(), library_ref) };
        drop(bytes);
        take_message(problem).map_or(Ok(()), |problem| Err(LibraryError::Link(problem)))
    }
}

fn read_lazily<'ctx>(
    module: &Module<'ctx>,
    bytes: &MemoryBuffer<'_>,
    name: &str,
) -> Result<Module<'ctx>, LibraryError> {
    let mut library = std::ptr::null_mut();
    // SAFETY: the context is live; bytes and name are passed with their lengths. `Library` keeps the bytes
    // longer than the module.
    let problem = unsafe {
        offloom_ir_open_library(
            module.get_context().as_ctx_ref(),
            bytes.as_slice().as_ptr().cast(),
            bytes.get_size(),
            name.as_ptr().cast(),
            name.len(),
            &raw mut library,
        )
    };
    match take_message(problem) {
        Some(problem) => Err(LibraryError::Parse(problem)),
        // SAFETY: a new module of this context, which nobody else owns.
        None => Ok(unsafe { Module::new(library) }),
    }
}

/// A message of the shim, which is freed.
fn take_message(message: *mut c_char) -> Option<String> {
    if message.is_null() {
        return None;
    }
    // SAFETY: a string that ends with a NUL.
    let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
    // SAFETY: the shim's string, freed once.
    unsafe { LLVMDisposeMessage(message) };
    Some(text)
}
