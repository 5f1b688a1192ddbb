//! What is left of the source in a kernel's IR: debug info, names of parameters, and the file that was
//! compiled.

use std::ffi::{c_char, c_void};

use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::values::{AsValueRef, FunctionValue};
use offloom_abi::jit_bundle::MAX_CONTENTS;
use offloom_abi::kernel_source::{Encoding, KernelSource, MAX_VALUES, SourceArgument, SourceValue};

/// Functions that get what is found, as the shim has them.
#[repr(C)]
struct Sink {
    receiver: *mut c_void,
    file: extern "C" fn(*mut c_void, *const c_char, usize),
    argument: extern "C" fn(*mut c_void, u32, *const c_char, usize),
    value: extern "C" fn(*mut c_void, u32, u8, c_char, *const c_char, usize, *const c_char, usize),
}

unsafe extern "C" {
    fn offloom_ir_describe_kernel(
        kernel: LLVMValueRef,
        implicit: u32,
        sink: *const Sink,
        most_bytes: u64,
        most_values: u32,
    );
}

/// What debug info says of a kernel and its arguments; where it says nothing, the names that the kernel's
/// parameters have in the IR. `implicit`: which of the parameters is the launch environment's.
pub fn kernel_source(kernel: FunctionValue<'_>, implicit: u32) -> KernelSource {
    let mut source = KernelSource::default();
    let sink = Sink {
        receiver: (&raw mut source).cast(),
        file: take_file,
        argument: take_argument,
        value: take_value,
    };
    // SAFETY: a live function; the receiver outlives the call, and is what the functions take it for.
    unsafe {
        offloom_ir_describe_kernel(
            kernel.as_value_ref(),
            implicit,
            &raw const sink,
            MAX_CONTENTS as u64,
            MAX_VALUES as u32,
        );
    }
    source.arguments.sort_by_key(|argument| argument.index);
    if source.arguments.is_empty() {
        // The implicit one has no name in the source.
        let parameters = (0..)
            .zip(kernel.get_param_iter())
            .filter(|&(index, _)| index != implicit);
        let named = parameters.filter_map(|(index, parameter)| {
            let name = parameter.get_name().to_string_lossy().into_owned();
            (!name.is_empty()).then(|| SourceArgument {
                index,
                name,
                values: Vec::new(),
            })
        });
        source.arguments = named.collect();
    }
    source
}

/// The text that the shim hands over. Bytes that are not UTF-8 are replaced.
///
/// # Safety
/// `size` bytes can be read.
pub(crate) unsafe fn text(start: *const c_char, size: usize) -> String {
    if size == 0 {
        return String::new();
    }
    // SAFETY: as the caller promises.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), size) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// # Safety
/// `receiver` is what [`kernel_source`] has given.
unsafe fn source<'a>(receiver: *mut c_void) -> &'a mut KernelSource {
    // SAFETY: as the caller promises; nothing else refers to it while the shim is at work.
    unsafe { &mut *receiver.cast::<KernelSource>() }
}

extern "C" fn take_file(receiver: *mut c_void, name: *const c_char, name_size: usize) {
    // SAFETY: the shim hands on the receiver, and strings with their sizes.
    unsafe { source(receiver).file = text(name, name_size) };
}

extern "C" fn take_argument(receiver: *mut c_void, index: u32, name: *const c_char, name_size: usize) {
    // SAFETY: as above.
    let (source, name) = unsafe { (source(receiver), text(name, name_size)) };
    source.arguments.push(SourceArgument {
        index,
        name,
        values: Vec::new(),
    });
}

extern "C" fn take_value(
    receiver: *mut c_void,
    offset: u32,
    size: u8,
    encoding: c_char,
    name: *const c_char,
    name_size: usize,
    type_name: *const c_char,
    type_size: usize,
) {
    // SAFETY: as above.
    let (source, name, type_name) = unsafe {
        (
            source(receiver),
            text(name, name_size),
            text(type_name, type_size),
        )
    };
    // `char` has a sign on some processors.
    let [encoding] = encoding.to_ne_bytes();
    let encoding = match encoding {
        b's' => Encoding::Signed,
        b'u' => Encoding::Unsigned,
        b'f' => Encoding::Float,
        b'b' => Encoding::Boolean,
        _ => Encoding::Pointer,
    };
    if let Some(argument) = source.arguments.last_mut() {
        argument.values.push(SourceValue {
            offset,
            size,
            encoding,
            name,
            type_name,
        });
    }
}
