//! A pass's parameters, checked against those it has.

use crate::error::PassError;
use llvm_plugin::parameters::PassText;

/// The parameters of one use of a pass.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parameters(Vec<(&'static str, Option<String>)>);

impl Parameters {
    /// Reads `name<key=value;…>`.
    pub(crate) fn parse(text: &str, known: &'static [&'static str]) -> Result<Self, PassError> {
        let given = PassText::parse(text)?.parameters;
        let checked = given.into_iter().map(|parameter| {
            let key = known.iter().find(|&&key| key == parameter.key);
            let key = key.ok_or_else(|| PassError::UnknownParameter {
                key: parameter.key.to_owned(),
                known,
            })?;
            Ok((*key, parameter.value.map(str::to_owned)))
        });
        Ok(Self(checked.collect::<Result<_, PassError>>()?))
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
