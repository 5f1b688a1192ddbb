//! What can go wrong with the library.

use std::ffi::{CString, c_int};

/// Why there is no cubin.
#[derive(Debug, thiserror::Error)]
pub enum NvJitLinkError {
    /// The library is not there, or is none.
    #[error("cannot load `{library}`: {error}")]
    Load {
        /// What was asked for.
        library: String,
        /// What the loader says.
        error: libloading::Error,
    },
    /// It lacks a function of the interface of version 12.0.
    #[error("nvJitLink has no `{0}`")]
    Function(String),
    /// It does not say something that it always can.
    #[error("nvJitLink does not say its {what} (error {code})")]
    Silent {
        /// What it was asked for.
        what: String,
        /// The number of the error.
        code: c_int,
    },
    /// It does not take an option.
    #[error("nvJitLink does not take {options:?} (error {code})")]
    Options {
        /// All of them.
        options: Vec<CString>,
        /// The number of the error.
        code: c_int,
    },
    /// It does not take an input.
    #[error("`{}` (error {code}): {log}", .name.to_string_lossy())]
    Input {
        /// The input's name.
        name: CString,
        /// The number of the error.
        code: c_int,
        /// What it says.
        log: String,
    },
    /// It makes no cubin of its inputs.
    #[error("{log} (error {code})")]
    Complete {
        /// The number of the error.
        code: c_int,
        /// What it says.
        log: String,
    },
}
