//! `offloom config`: how programs are built with Offloom, and the settings there are.

use std::borrow::Cow;
use std::fs;

use offloom_abi::HostProcessor;
use offloom_jit_cache::settings::{OTHER_VARIABLES, SETTINGS};
use serde_json::{Value, json};

use crate::error::{Error, Result, json_path};
use crate::installation::{Installation, LLVM_MAJOR};

/// The configuration files, and how they are used by hand and by CMake.
pub(crate) fn build(json: bool) -> Result<String> {
    let installation = Installation::find()?;
    if installation.only_runs() {
        return Err(Error::OnlyRuns);
    }
    let path = installation.jit_configuration();
    let contents = fs::read_to_string(&path).map_err(|source| Error::Configuration {
        path: path.clone(),
        source,
    })?;
    if json {
        let value = json!({
            "configuration": json_path(&installation.configuration())?, "jit_configuration": json_path(&path)?, "llvm": LLVM_MAJOR,
            "jit_contents": contents,
        });
        return Ok(format!("{value:#}\n"));
    }
    Ok(format!(
        "\
Clang's configuration file, {}:

{contents}
{} is the same without the JIT.

By hand:

    clang++-{LLVM_MAJOR} {} -O2 -fopenmp -fopenmp-targets={} a.cpp

With CMake, started with -DCMAKE_C_COMPILER=clang-{LLVM_MAJOR} -DCMAKE_CXX_COMPILER=clang++-{LLVM_MAJOR} {}:

    find_package(Offloom REQUIRED)
    offloom_target(app JIT)

No link needs -L or -Wl,-rpath, for libomp and libomptarget: runtime.cfg, which these files name, says where they are. `offloom doctor` tries it.
",
        path.display(),
        installation.configuration().display(),
        shell_word(&format!("--config={}", path.display())),
        HostProcessor::NATIVE.triple,
        shell_word(&format!("-DOffloom_DIR={}", installation.cmake_folder().display()))
    ))
}

/// Text as one word of a command line, quoted if it takes that.
fn shell_word(text: &str) -> Cow<'_, str> {
    let ordinary = |character: char| character.is_alphanumeric() || "_-+=./:,@%".contains(character);
    match text.chars().all(ordinary) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', r"'\''")).into(),
    }
}

/// The table of environment variables, as it is in the documentation.
pub(crate) fn environment(json: bool) -> String {
    let settings = SETTINGS
        .iter()
        .map(|setting| (setting.name, setting.values, setting.help));
    let rows = settings.chain(OTHER_VARIABLES);
    if json {
        let rows = rows.map(|(name, values, help)| json!({ "name": name, "values": values, "help": help }));
        return format!("{:#}\n", Value::Array(rows.collect()));
    }
    let mut table = "| variable | values | meaning |\n| --- | --- | --- |\n".to_owned();
    for (name, values, help) in rows {
        table += &format!("| `{name}` | {values} | {help} |\n");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_path_is_one_word_for_a_shell() {
        assert_eq!(shell_word("--config=/usr/a.cfg"), "--config=/usr/a.cfg");
        assert_eq!(shell_word("--config=/a b/it's"), r"'--config=/a b/it'\''s'");
    }

    #[test]
    fn the_user_documentation_has_the_table_of_settings() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/user/jit.md");
        let page = fs::read_to_string(page).unwrap();
        assert!(
            page.contains(&format!("\n\n{}\n", environment(false))),
            "docs/user/jit.md must have what `offloom config --environment` prints:\n{}",
            environment(false)
        );
    }
}
