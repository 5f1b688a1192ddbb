//! The driver's error codes: the values of `CUresult`.

use std::ffi::CStr;

use offloom_virtual_gpu::{FaultKind, MemoryError};

/// A value of `CUresult` that is an error.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct CudaError(pub(crate) u32);

/// What most functions end with.
pub(crate) type Result<T, E = CudaError> = std::result::Result<T, E>;

/// `CUDA_SUCCESS`.
pub(crate) const SUCCESS: u32 = 0;

macro_rules! codes {
    ($($name:ident = $value:literal, $text:literal;)*) => {
        impl CudaError {
            $(
                #[doc = concat!("`CUDA_ERROR_", stringify!($name), "`")]
                pub(crate) const $name: Self = Self($value);
            )*
        }

        /// Name and meaning of a code. None for a value that is no code.
        pub(crate) fn describe(code: u32) -> Option<(&'static CStr, &'static CStr)> {
            let (name, text) = match code {
                0 => ("CUDA_SUCCESS\0", "no error\0"),
                $($value => (concat!("CUDA_ERROR_", stringify!($name), "\0"), concat!($text, "\0")),)*
                _ => return None,
            };
            let string = |text: &'static str| CStr::from_bytes_until_nul(text.as_bytes()).ok();
            Some((string(name)?, string(text)?))
        }
    };
}

codes! {
    INVALID_VALUE = 1, "an argument is invalid";
    OUT_OF_MEMORY = 2, "out of memory";
    NOT_INITIALIZED = 3, "cuInit was not called";
    NO_DEVICE = 100, "there is no device";
    INVALID_DEVICE = 101, "there is no device of this number";
    INVALID_IMAGE = 200, "the image cannot be loaded";
    INVALID_CONTEXT = 201, "no context, or one that does not exist";
    NO_BINARY_FOR_GPU = 209, "the image is for other devices";
    UNSUPPORTED_LIMIT = 215, "the device has no such limit";
    PEER_ACCESS_UNSUPPORTED = 217, "these devices do not reach each other's memory";
    INVALID_PTX = 218, "the PTX is faulty";
    FILE_NOT_FOUND = 301, "the file cannot be read";
    INVALID_HANDLE = 400, "the handle is invalid here";
    ILLEGAL_STATE = 401, "the object is in another state";
    NOT_FOUND = 500, "the name was not found";
    NOT_READY = 600, "the work has not ended yet";
    ILLEGAL_ADDRESS = 700, "a kernel accessed memory that does not exist";
    LAUNCH_OUT_OF_RESOURCES = 701, "a block needs more than the device has";
    LAUNCH_TIMEOUT = 702, "a kernel took too long";
    PEER_ACCESS_ALREADY_ENABLED = 704, "the access is enabled already";
    PEER_ACCESS_NOT_ENABLED = 705, "the access was not enabled";
    CONTEXT_IS_DESTROYED = 709, "the current context is destroyed";
    ASSERT = 710, "an assertion of a kernel failed";
    HOST_MEMORY_ALREADY_REGISTERED = 712, "the memory is registered already";
    HOST_MEMORY_NOT_REGISTERED = 713, "the memory is not registered";
    ILLEGAL_INSTRUCTION = 715, "a kernel came to an illegal instruction";
    MISALIGNED_ADDRESS = 716, "a kernel accessed an address that is not aligned";
    INVALID_PC = 718, "a kernel called what is no function of its module";
    LAUNCH_FAILED = 719, "a kernel failed";
    COOPERATIVE_LAUNCH_TOO_LARGE = 720, "more blocks than the device runs at the same time";
    NOT_SUPPORTED = 801, "the virtual device does not support this";
    STREAM_CAPTURE_UNSUPPORTED = 900, "not while a stream records a graph";
    STREAM_CAPTURE_INVALIDATED = 901, "the recording was spoilt by an error";
    STREAM_CAPTURE_IMPLICIT = 906, "the default stream would wait for a recording";
    STREAM_CAPTURE_WRONG_THREAD = 908, "another thread began to record";
    UNKNOWN = 999, "an internal error of the virtual device";
}

impl CudaError {
    /// The code for what a kernel did wrong.
    pub(crate) fn of_fault(kind: FaultKind) -> Self {
        match kind {
            FaultKind::IllegalAddress => Self::ILLEGAL_ADDRESS,
            FaultKind::MisalignedAddress => Self::MISALIGNED_ADDRESS,
            FaultKind::InvalidProgramCounter => Self::INVALID_PC,
            FaultKind::IllegalInstruction => Self::ILLEGAL_INSTRUCTION,
            FaultKind::Watchdog => Self::LAUNCH_TIMEOUT,
            FaultKind::Assert => Self::ASSERT,
            FaultKind::TooManyResources => Self::LAUNCH_OUT_OF_RESOURCES,
            FaultKind::InvalidLaunch => Self::INVALID_VALUE,
            FaultKind::Trap | FaultKind::StackOverflow | FaultKind::Poison => Self::LAUNCH_FAILED,
        }
    }
}

impl From<MemoryError> for CudaError {
    fn from(error: MemoryError) -> Self {
        match error {
            MemoryError::OutOfMemory { .. } => Self::OUT_OF_MEMORY,
            _ => Self::INVALID_VALUE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_their_names() {
        let (name, text) = describe(CudaError::ILLEGAL_ADDRESS.0).unwrap();
        assert_eq!(name, c"CUDA_ERROR_ILLEGAL_ADDRESS");
        assert!(!text.is_empty());
        assert!(describe(5000).is_none());
    }
}
