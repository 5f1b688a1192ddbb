//! Pointers that programs pass. C's callers alone make these types; the driver's interface says that such a
//! pointer is null or leads to what its type says, for as long as the function runs.

use std::ffi::{CStr, c_char, c_void};

use crate::error::{CudaError, Result};

/// Where a result goes.
#[repr(transparent)]
#[derive(Debug)]
pub(super) struct Out<T>(*mut T);

// Derived, it would ask the same of `T`.
impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// Writes the result.
    pub(super) fn set(self, value: T) -> Result<()> {
        if self.0.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: see the file's head.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Writes the result, unless the program does not want it.
    pub(super) fn set_if_wanted(self, value: T) {
        if !self.0.is_null() {
            // A pointer that is not null is written to.
            let _ = self.set(value);
        }
    }

    /// Whether the program does not want the result.
    pub(super) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Where the element of an array goes.
    pub(super) fn at(self, index: usize) -> Self {
        Self(self.0.wrapping_add(index))
    }
}

impl Out<c_void> {
    /// As what the program says it is.
    pub(super) fn cast<T>(self) -> Out<T> {
        Out(self.0.cast())
    }
}

/// Something that is read.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(super) struct In<T>(*const T);

impl<T: Copy> In<T> {
    /// Reads it.
    pub(super) fn get(self) -> Result<T> {
        if self.0.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: see the file's head.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// Reads an element of an array.
    pub(super) fn at(self, index: usize) -> Result<T> {
        if self.0.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        Self(self.0.wrapping_add(index)).get()
    }

    pub(super) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The same as where a result goes.
    pub(super) fn out(self) -> Out<T> {
        Out(self.0.cast_mut())
    }

    /// A pointer that lay in something of the program.
    pub(super) fn from_program(pointer: *const c_void) -> Self {
        Self(pointer.cast())
    }
}

impl In<u8> {
    /// So many bytes.
    pub(super) fn bytes(self, size: usize) -> Result<Vec<u8>> {
        if size == 0 {
            return Ok(Vec::new());
        }
        if self.0.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: see the file's head; the caller knows the size by the interface.
        Ok(unsafe { std::slice::from_raw_parts(self.0, size) }.to_vec())
    }
}

impl In<c_char> {
    /// A string. Names of device code are ASCII.
    pub(super) fn string(self) -> Result<String> {
        if self.0.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        // SAFETY: see the file's head; strings end with a zero byte.
        let text = unsafe { CStr::from_ptr(self.0) };
        Ok(text.to_string_lossy().into_owned())
    }
}

impl Out<c_char> {
    /// Writes a string and a zero byte, cut to `size` bytes.
    pub(super) fn set_string(self, text: &str, size: i32) -> Result<()> {
        let room = usize::try_from(size).unwrap_or(0);
        let length = room.checked_sub(1).ok_or(CudaError::INVALID_VALUE)?;
        for (index, &byte) in text.as_bytes().iter().take(length).enumerate() {
            self.at(index).set(byte as c_char)?;
        }
        self.at(text.len().min(length)).set(0)
    }
}
