//! `OFFLOOM_PASSES`: parameters of passes that run unasked, for programs that can hand none over, as `clang
//! -fpass-plugin`.
//!
//! It holds passes as a pipeline would, `offload-device<host-ir=a.bc>,offload-internalize<keep=f,g>`. A pass
//! that it names gets these parameters wherever it runs without having been named in a pipeline; naming one
//! does not make it run.

use crate::parameters::Parameters;
use crate::registry::{PASSES, Pass};
use llvm_plugin::parameters::PassText;

/// The variable's name.
pub(crate) const VARIABLE: &str = "OFFLOOM_PASSES";

/// Parameters by the name of their pass.
#[derive(Debug, Default)]
pub(crate) struct UnaskedParameters(Vec<(&'static str, Parameters)>);

impl UnaskedParameters {
    /// Reads the variable. Not set or empty: no parameters. The error is for the user.
    pub(crate) fn from_environment() -> Result<Self, String> {
        let Some(value) = std::env::var_os(VARIABLE) else {
            return Ok(Self::default());
        };
        let value = value.to_str().ok_or_else(|| format!("{VARIABLE} is not UTF-8"))?;
        Self::parse(value).map_err(|problem| format!("{VARIABLE}={value}: {problem}"))
    }

    fn parse(value: &str) -> Result<Self, String> {
        let mut all = Self::default();
        for text in split_pipeline(value) {
            let name = PassText::parse(text).map_err(|error| error.to_string())?.name;
            let pass = PASSES
                .iter()
                .find(|pass| pass.name == name && pass.unasked.is_some());
            let pass = pass.ok_or_else(|| {
                format!(
                    "`{name}` is not a pass that runs unasked: write {}",
                    known_passes()
                )
            })?;
            if all.0.iter().any(|(other, _)| *other == name) {
                return Err(format!("`{name}` stands there twice"));
            }
            let parameters =
                Parameters::parse(text, pass.parameters).map_err(|error| format!("{name}: {error}"))?;
            all.0.push((pass.name, parameters));
        }
        Ok(all)
    }

    /// Takes the parameters of a pass; none if the variable does not name it.
    pub(crate) fn of(&self, pass: &Pass) -> Parameters {
        let given = self.0.iter().find(|(name, _)| *name == pass.name);
        given
            .map(|(_, parameters)| parameters.clone())
            .unwrap_or_default()
    }
}

/// The parts between commas, but for commas inside of `<>`.
fn split_pipeline(text: &str) -> Vec<&str> {
    let mut is_inside = false;
    let parts = text.split(|character| {
        match character {
            '<' => is_inside = true,
            '>' => is_inside = false,
            _ => {}
        }
        character == ',' && !is_inside
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn known_passes() -> String {
    let unasked = PASSES.iter().filter(|pass| pass.unasked.is_some());
    let names: Vec<_> = unasked.map(|pass| format!("`{}`", pass.name)).collect();
    names.join(" or ")
}
