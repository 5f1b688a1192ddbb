//! Parameters of a pass: `name<key=value;flag;key=value>`.
//!
//! LLVM hands a pass's parameters over inside its name. A parameter is a key with a value, or a key alone;
//! the same key may come several times. Nothing is quoted: a value cannot hold `;`, `<` or `>`.

/// A pass name taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassText<'a> {
    /// The name before `<`.
    pub name: &'a str,
    /// The parameters, in the order they were written.
    pub parameters: Vec<Parameter<'a>>,
}

/// One parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// What stands before `=`, or all of it where there is none.
    pub key: &'a str,
    /// What stands after the first `=`.
    pub value: Option<&'a str>,
}

/// A pass name whose parameters cannot be told apart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// `<` without a `>` at the end, or `>` without `<`.
    #[error("in `{text}` the parameters are not closed: write `{name}<key=value;key=value>`")]
    NotClosed {
        /// The name as it was written.
        text: String,
        /// The pass.
        name: String,
    },
    /// Two separators with nothing between them, or `=` with nothing before it.
    #[error("in `{text}` a parameter has no name: write `{name}<key=value;key=value>`")]
    Unnamed {
        /// The name as it was written.
        text: String,
        /// The pass.
        name: String,
    },
}

impl<'a> PassText<'a> {
    /// Takes `text` apart. `name` and `name<>` both have no parameters.
    ///
    /// # Errors
    /// When the brackets do not match, or a parameter has no key.
    pub fn parse(text: &'a str) -> Result<Self, ParameterError> {
        let (name, inner) = match text.split_once('<') {
            None => (text, None),
            Some((name, rest)) => (name, Some(rest)),
        };
        let not_closed = || ParameterError::NotClosed {
            text: text.to_owned(),
            name: name.to_owned(),
        };
        let Some(inner) = inner else {
            let parameters = Vec::new();
            return if name.contains('>') {
                Err(not_closed())
            } else {
                Ok(Self { name, parameters })
            };
        };
        let inner = inner.strip_suffix('>').ok_or_else(not_closed)?;
        if inner.contains(['<', '>']) {
            return Err(not_closed());
        }
        if inner.is_empty() {
            let parameters = Vec::new();
            return Ok(Self { name, parameters });
        }
        let parameters: Vec<_> = inner.split(';').map(Parameter::parse).collect();
        if parameters.iter().any(|parameter| parameter.key.is_empty()) {
            return Err(ParameterError::Unnamed {
                text: text.to_owned(),
                name: name.to_owned(),
            });
        }
        Ok(Self { name, parameters })
    }
}

impl<'a> Parameter<'a> {
    fn parse(text: &'a str) -> Self {
        match text.split_once('=') {
            Some((key, value)) => Self {
                key,
                value: Some(value),
            },
            None => Self {
                key: text,
                value: None,
            },
        }
    }
}
