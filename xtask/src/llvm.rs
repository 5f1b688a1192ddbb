//! Which LLVMs a task is for, and the Cargo options that choose one.

pub(crate) mod distribution;

use anyhow::{Context as _, Result, bail};
use offloom_abi::LlvmVersion;
use offloom_find_llvm::Llvm;
use serde_json::Value;

use self::distribution::usual_majors;
use crate::workspace;

/// The supported major versions, oldest first.
pub(crate) const SUPPORTED: [u32; LlvmVersion::ALL.len()] = {
    let mut majors = [0; LlvmVersion::ALL.len()];
    let mut index = 0;
    while index < majors.len() {
        majors[index] = LlvmVersion::ALL[index].major();
        index += 1;
    }
    majors
};

/// The command-line choice of LLVMs, shared by all tasks.
#[derive(clap::Args, Debug, Clone)]
pub(crate) struct Choice {
    /// Only this LLVM; may be given twice. Default: every supported one that is installed
    #[arg(long = "llvm", value_name = "MAJOR", value_parser = supported)]
    majors: Vec<u32>,
}

impl Choice {
    /// The major versions asked for, or all supported ones when none was named.
    pub(crate) fn majors(&self) -> Vec<u32> {
        SUPPORTED
            .into_iter()
            .filter(|major| self.majors.is_empty() || self.majors.contains(major))
            .collect()
    }

    /// The major versions asked for, or those that this machine's distribution has together when none was
    /// named.
    pub(crate) fn wanted(&self) -> Vec<u32> {
        if self.majors.is_empty() {
            usual_majors()
        } else {
            self.majors()
        }
    }

    /// The installed LLVMs to work with: those asked for, each of which must be there, or all that are there.
    pub(crate) fn find(&self) -> Result<Vec<Llvm>> {
        let mut found = Vec::new();
        for major in self.majors() {
            match offloom_find_llvm::find(major) {
                Ok(llvm) => found.push(llvm),
                Err(error) if self.majors.is_empty() => println!("LLVM {major} is left out: {error}"),
                Err(error) => return Err(error.into()),
            }
        }
        if found.is_empty() {
            bail!("no supported LLVM is installed; `cargo xtask setup` installs them");
        }
        Ok(found)
    }
}

/// What is known of a release.
pub(crate) fn version(major: u32) -> Result<LlvmVersion> {
    LlvmVersion::of_major(major).with_context(|| format!("LLVM {major} is not supported"))
}

/// The Cargo options that choose LLVM `major`.
pub(crate) fn features(major: u32) -> Vec<String> {
    vec![
        "--no-default-features".to_owned(),
        format!("--features=llvm{major}"),
    ]
}

/// The Cargo options that leave out the packages which are the same for every LLVM: those that have no
/// feature for one. What was checked of them with the first LLVM need not be with another.
pub(crate) fn without_packages_of_none() -> Result<Vec<String>> {
    let metadata = workspace::metadata()?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let chooses = |package: &Value, major: u32| package["features"].get(format!("llvm{major}")).is_some();
    let of_none = packages.filter(|package| !SUPPORTED.iter().any(|&major| chooses(package, major)));
    let names = of_none.filter_map(|package| package["name"].as_str());
    Ok(names.map(|name| format!("--exclude={name}")).collect())
}

/// Packages that are built for each LLVM, beside whose worker they lie, of the same code: their tests say no
/// more for a second one.
pub(crate) const SAME_WITH_ALL: [&str; 2] = ["offloom-jit-remote", "offloom-nvjitlink"];

/// The installed LLVM that is not `llvm`, for tests that mix the two.
pub(crate) fn other(llvm: &Llvm) -> Option<Llvm> {
    SUPPORTED
        .into_iter()
        .filter(|&major| major != llvm.major)
        .find_map(|major| offloom_find_llvm::find(major).ok())
}

/// Reads the number of a supported LLVM.
pub(crate) fn supported(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|major| SUPPORTED.contains(major))
        .ok_or_else(|| {
            format!(
                "supported are {}",
                SUPPORTED.map(|major| major.to_string()).join(" and ")
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_the_same_code_are_built_for_each_llvm() {
        let metadata = workspace::metadata().unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        for name in SAME_WITH_ALL {
            let package = packages.iter().find(|package| package["name"] == name).unwrap();
            assert!(package["features"].get("llvm19").is_some(), "{name}");
        }
    }

    #[test]
    fn packages_without_a_choice_are_left_out() {
        let left_out = without_packages_of_none().unwrap();
        let is_left_out = |name: &str| left_out.contains(&format!("--exclude={name}"));
        assert!(is_left_out("offloom-abi") && is_left_out("xtask"), "{left_out:?}");
        assert!(
            !is_left_out("offloom-ir") && !is_left_out("wrapgen"),
            "{left_out:?}"
        );
    }
}
