//! Pointers that programs pass. C's callers alone make these types; the interface says that such a pointer is
//! null or leads to what its type says, for as long as the function runs.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use crate::abi::Status;
use crate::runtime::{Failure, Result};

/// What is told of a null pointer.
fn null() -> Failure {
    Failure::fault(Status::ERROR_INVALID_ARGUMENT, "a pointer is null")
}

/// Where a result goes.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Checks that there is a place, before what its result costs.
    pub(super) fn check(&self) -> Result<()> {
        if self.0.is_null() { Err(null()) } else { Ok(()) }
    }

    /// Writes the result.
    pub(super) fn set(self, value: T) -> Result<()> {
        self.check()?;
        // SAFETY: see the file's head.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Writes the result, unless the program does not want it.
    pub(super) fn set_if_wanted(self, value: T) {
        // A null pointer says that.
        let _ = self.set(value);
    }
}

impl Out<c_void> {
    /// Writes an attribute. `None`: nobody knows it.
    pub(super) fn set_attribute(self, attribute: u32, bytes: Option<Vec<u8>>) -> Result<()> {
        self.check()?;
        let bytes = bytes.ok_or_else(|| {
            Failure::fault(
                Status::ERROR_INVALID_ARGUMENT,
                format!("attribute {attribute:#x} is not known here"),
            )
        })?;
        // SAFETY: see the file's head; each attribute says how many bytes there are.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.cast::<u8>(), bytes.len()) };
        Ok(())
    }
}

/// An array that is read.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(super) struct In<T>(*const T);

impl<T: Copy> In<T> {
    /// The first `count` elements. Of none, the pointer may be null.
    pub(super) fn list(self, count: usize) -> Result<Vec<T>> {
        if count > 0 && self.0.is_null() {
            return Err(null());
        }
        // SAFETY: see the file's head; the program says how many there are.
        Ok((0..count)
            .map(|index| unsafe { self.0.wrapping_add(index).read_unaligned() })
            .collect())
    }

    /// The one element. `None`: the pointer is null.
    pub(super) fn get(self) -> Option<T> {
        // SAFETY: see the file's head.
        (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
    }
}

/// A text.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Text(*const c_char);

impl Text {
    /// The text, with what is no UTF-8 replaced.
    pub(super) fn get(self) -> Result<String> {
        if self.0.is_null() {
            return Err(null());
        }
        // SAFETY: see the file's head: it ends with a zero.
        Ok(unsafe { CStr::from_ptr(self.0) }.to_string_lossy().into_owned())
    }
}

/// A function of the program's. Null is `None`.
pub(super) fn function<T>(function: Option<T>) -> Result<T> {
    function.ok_or_else(null)
}

/// An address that must not be null.
pub(super) fn address(pointer: *const c_void) -> Result<usize> {
    if pointer.is_null() {
        Err(null())
    } else {
        Ok(pointer.expose_provenance())
    }
}
