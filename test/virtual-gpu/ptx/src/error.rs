//! What is wrong with a PTX file: where, what, and what to do.

use thiserror::Error;

/// A fault of a PTX file.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{file}:{line}:{column}: {problem}{}{advice}", if advice.is_empty() { "" } else { "; " })]
pub struct Error {
    /// The file's name, as it was given.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in bytes, from 1.
    pub column: u32,
    /// What is wrong.
    pub problem: String,
    /// What to do, or nothing where the problem says it.
    pub advice: &'static str,
}
