//! The driver's error codes: the values of `CUresult`.

use std::fmt;

/// What a function of the driver returns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(transparent)]
#[must_use]
pub struct Status(pub u32);

impl Status {
    /// `CUDA_SUCCESS`.
    pub const SUCCESS: Self = Self(0);
    /// `CUDA_ERROR_OUT_OF_MEMORY`: of the device.
    pub const OUT_OF_MEMORY: Self = Self(2);
    /// `CUDA_ERROR_NOT_INITIALIZED`.
    pub const NOT_INITIALIZED: Self = Self(3);
    /// `CUDA_ERROR_DEINITIALIZED`: the process is ending.
    pub const DEINITIALIZED: Self = Self(4);
    /// `CUDA_ERROR_NO_DEVICE`.
    pub const NO_DEVICE: Self = Self(100);
    /// `CUDA_ERROR_CONTEXT_IS_DESTROYED`.
    pub const CONTEXT_IS_DESTROYED: Self = Self(709);
    /// `CUDA_ERROR_NOT_READY`: not an error, but no answer yet.
    pub const NOT_READY: Self = Self(600);
    /// `CUDA_ERROR_NOT_SUPPORTED`.
    pub const NOT_SUPPORTED: Self = Self(801);

    /// As a result.
    ///
    /// # Errors
    /// For every code but `CUDA_SUCCESS`.
    pub fn check(self) -> Result<(), CudaError> {
        if self == Self::SUCCESS {
            Ok(())
        } else {
            Err(CudaError(self))
        }
    }
}

/// A code that is not `CUDA_SUCCESS`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub struct CudaError(pub Status);

impl fmt::Display for CudaError {
    /// The driver's own name where this process has a driver.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match crate::driver::driver().and_then(|driver| driver.name_of(self.0)) {
            Some(name) => write!(formatter, "{name} ({})", self.0.0),
            None => write!(formatter, "the driver's error {}", self.0.0),
        }
    }
}
