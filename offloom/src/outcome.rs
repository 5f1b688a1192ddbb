//! What comes of a command.

use crate::error::Error;

/// What a command prints, and what it complains about after that.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// For the standard output.
    pub(crate) text: String,
    /// The standard output is a file that the command has written: the text is for the error stream.
    pub(crate) on_error_stream: bool,
    /// The command found something that is not right.
    pub(crate) failure: Option<Error>,
}

impl Outcome {
    /// The same, with the text on the error stream if that is so.
    pub(crate) fn on_error_stream(self, on_error_stream: bool) -> Self {
        Self {
            on_error_stream,
            ..self
        }
    }
}

impl From<String> for Outcome {
    fn from(text: String) -> Self {
        Self {
            text,
            on_error_stream: false,
            failure: None,
        }
    }
}
