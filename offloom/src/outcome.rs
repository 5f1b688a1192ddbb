//! What comes of a command.

use crate::error::Error;

/// What a command prints, and what it complains about after that.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// For the standard output.
    pub(crate) text: String,
    /// The command found something that is not right.
    pub(crate) failure: Option<Error>,
}

impl From<String> for Outcome {
    fn from(text: String) -> Self {
        Self { text, failure: None }
    }
}
