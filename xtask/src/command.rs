//! Running other programs: shown as a person would type them, and a failure names the program.

use std::ffi::OsStr;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

/// Runs a command with its output going to the terminal, after having shown it.
pub(crate) fn run_shown(command: &mut Command) -> Result<Duration> {
    println!("$ {}", shown(command));
    run(command)
}

/// Runs a command with its output going to the terminal, and says how long it took.
pub(crate) fn run(command: &mut Command) -> Result<Duration> {
    let program = command.get_program().to_string_lossy().into_owned();
    let start = Instant::now();
    let status = command
        .status()
        .with_context(|| format!("cannot run `{program}`"))?;
    ensure!(status.success(), "`{program}` failed: {status}");
    Ok(start.elapsed())
}

/// Has the command run without what the user has set of the JIT and of OpenMP: that is not measured.
pub(crate) fn leave_out_settings(command: &mut Command) {
    let set = std::env::vars_os().map(|(name, _)| name);
    for name in set.filter(|name| is_setting(name)) {
        command.env_remove(name);
    }
}

/// Has the command's programs not find libraries in the folders that Cargo builds this one in: `cargo run`
/// puts those into the loader's path.
pub(crate) fn leave_out_cargos_libraries(command: &mut Command) {
    const PATH: &str = "LD_LIBRARY_PATH";
    let (Some(path), Ok(program)) = (std::env::var_os(PATH), std::env::current_exe()) else {
        return;
    };
    let Some(built) = program.parent() else { return };
    let others = std::env::split_paths(&path).filter(|folder| !folder.starts_with(built));
    // What is taken apart can be put together.
    if let Ok(others) = std::env::join_paths(others) {
        command.env(PATH, others);
    }
}

fn is_setting(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    ["OFFLOOM_", "OMP_", "KMP_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// The command as one would type it in a shell in its working folder.
pub(crate) fn shown(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| {
        let value = value?;
        Some(format!("{}={}", name.to_string_lossy(), quoted(value)))
    });
    let words = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(quoted);
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

/// A word with quotes where a shell needs them.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_user_are_those_of_the_jit_and_of_openmp() {
        assert!(is_setting(OsStr::new("OFFLOOM_CONFIG")) && is_setting(OsStr::new("OMP_NUM_THREADS")));
        assert!(!is_setting(OsStr::new("LD_LIBRARY_PATH")));
    }

    #[test]
    fn a_shown_command_can_be_pasted_into_a_shell() {
        let mut command = Command::new("opt");
        command
            .args(["-passes=offload-entries", "a b", "it's", ""])
            .env("MODE", "x y");
        assert_eq!(
            shown(&command),
            r"MODE='x y' opt -passes=offload-entries 'a b' 'it'\''s' ''"
        );
        let printed = Command::new("sh")
            .args(["-c", r"printf '%s|' 'a b' 'it'\''s' ''"])
            .output()
            .unwrap();
        assert_eq!(printed.stdout, b"a b|it's||");
    }
}
