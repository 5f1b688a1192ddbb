//! A pass's parameters, checked against those it has.

use crate::error::PassError;
use llvm_plugin::parameters::PassText;

/// A parameter whose value is everything behind it: its text has `;` in it.
pub(crate) const TAKES_THE_REST: &str = "descriptor";

/// The parameters of one use of a pass.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parameters(Vec<(&'static str, Option<String>)>);

impl Parameters {
    /// Reads `name<key=value;…>`.
    pub(crate) fn parse(text: &str, known: &'static [&'static str]) -> Result<Self, PassError> {
        let (text, rest) = Self::split_off_rest(text, known);
        let given = PassText::parse(&text)?.parameters;
        let checked = given.into_iter().map(|parameter| {
            let key = known.iter().find(|&&key| key == parameter.key);
            let key = key.ok_or_else(|| PassError::UnknownParameter {
                key: parameter.key.to_owned(),
                known,
            })?;
            Ok((*key, parameter.value.map(str::to_owned)))
        });
        let mut parameters = checked.collect::<Result<Vec<_>, PassError>>()?;
        parameters.extend(rest);
        Ok(Self(parameters))
    }

    /// Takes the parameter that [`TAKES_THE_REST`] off the text, if the pass has it and it is there.
    fn split_off_rest(
        text: &str,
        known: &'static [&'static str],
    ) -> (String, Option<(&'static str, Option<String>)>) {
        let found = known.contains(&TAKES_THE_REST).then(|| {
            let (before, value) = text.split_once(&format!("{TAKES_THE_REST}="))?;
            before.ends_with(['<', ';']).then_some((before, value))
        });
        let Some((before, value)) = found.flatten() else {
            return (text.to_owned(), None);
        };
        let Some(value) = value.strip_suffix('>') else {
            // The parser has the words for what is not closed.
            return (text.to_owned(), None);
        };
        let before = before.strip_suffix(';').unwrap_or(before);
        let rest = (TAKES_THE_REST, Some(value.to_owned()));
        (format!("{before}>"), Some(rest))
    }

    /// The value of a parameter that has one: the last that was given.
    pub(crate) fn value(&self, key: &'static str) -> Result<Option<&str>, PassError> {
        let given = self.0.iter().rev().find(|(given, _)| *given == key);
        match given {
            None => Ok(None),
            Some((_, Some(value))) if !value.is_empty() => Ok(Some(value)),
            Some(_) => Err(PassError::MissingValue { key }),
        }
    }

    /// The values of a parameter that is a list: `key=a,b;key=c` has three.
    pub(crate) fn list(&self, key: &'static str) -> Result<Vec<&str>, PassError> {
        let mut values = Vec::new();
        for (_, value) in self.0.iter().filter(|(given, _)| *given == key) {
            let value = value.as_deref().ok_or(PassError::MissingValue { key })?;
            values.extend(value.split(',').filter(|value| !value.is_empty()));
        }
        Ok(values)
    }
}
