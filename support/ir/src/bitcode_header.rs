//! What bitcode says of itself before any module is read from it: who wrote it, for what target.

use inkwell::llvm_sys::core::LLVMDisposeMessage;
use std::ffi::{CStr, c_char};

unsafe extern "C" {
    fn offloom_ir_bitcode_producer(bytes: *const c_char, length: usize) -> *mut c_char;
    fn offloom_ir_bitcode_triple(bytes: *const c_char, length: usize) -> *mut c_char;
}

/// Whether the bytes start as bitcode does, with or without its wrapper (`llvm/Bitcode/BitcodeReader.h`).
pub fn is_bitcode(bytes: &[u8]) -> bool {
    bytes.starts_with(b"BC\xc0\xde") || bytes.starts_with(&[0xde, 0xc0, 0x17, 0x0b])
}

/// What the bitcode names as its producer, as `LLVM19.1.7`; `None` if it names none or is damaged.
pub fn producer(bytes: &[u8]) -> Option<String> {
    read(bytes, offloom_ir_bitcode_producer)
}

/// The target triple of the bitcode; `None` if it names none or is damaged.
pub fn target_triple(bytes: &[u8]) -> Option<String> {
    read(bytes, offloom_ir_bitcode_triple)
}

/// The release in a producer's name: 22 for `LLVM22.1.2-rust-1.95.0-stable`. `None` for one that names none.
pub fn release(producer: &str) -> Option<u32> {
    let version = producer.strip_prefix("LLVM")?;
    let digits = version
        .split(|character: char| !character.is_ascii_digit())
        .next()?;
    digits.parse().ok()
}

/// The producer that the bitcode names, if it is of another LLVM than this.
pub fn foreign_producer(bytes: &[u8]) -> Option<String> {
    producer(bytes).filter(|producer| release(producer).is_some_and(|release| release != crate::LLVM.major()))
}

fn read(bytes: &[u8], reader: unsafe extern "C" fn(*const c_char, usize) -> *mut c_char) -> Option<String> {
    // SAFETY: the bytes are passed with their length.
    let text = unsafe { reader(bytes.as_ptr().cast(), bytes.len()) };
    if text.is_null() {
        return None;
    }
    // SAFETY: a string that ends with a NUL.
    let copy = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    // SAFETY: the shim's string, freed once.
    unsafe { LLVMDisposeMessage(text) };
    Some(copy)
}
