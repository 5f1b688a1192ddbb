//! `offloom doctor`: whether programs can be built and run here, by building and running one.

mod probe;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use offloom_jit_cache::settings::{Found, Origin, SETTINGS};
use offloom_text_table::Table;
use serde_json::{Value, json};

use crate::cache;
use crate::error::{Error, Result};
use crate::installation::{Installation, LLVM_MAJOR};
use crate::outcome::Outcome;

/// One thing that was looked at.
#[derive(Debug)]
struct Check {
    what: String,
    /// What was found, or else what is wrong and what to do.
    found: std::result::Result<String, Problem>,
}

/// Something that is not right.
#[derive(Debug)]
struct Problem {
    what: String,
    remedy: String,
    severity: Severity,
}

/// What a problem means for the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Severity {
    /// Something does not work.
    Wrong,
    /// Everything works, provided that links have an option that not all links have.
    Note,
}

impl Problem {
    fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            remedy: remedy.into(),
            severity: Severity::Wrong,
        }
    }

    fn note(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            severity: Severity::Note,
            ..Self::new(what, remedy)
        }
    }
}

impl Check {
    /// Whether something does not work. A note does not count.
    fn is_wrong(&self) -> bool {
        matches!(&self.found, Err(problem) if problem.severity == Severity::Wrong)
    }
}

/// Looks at everything. `options` are Clang's for building a program.
pub(crate) fn run(options: &[String], json: bool) -> Result<Outcome> {
    let installation = Installation::find()?;
    let mut checks: Vec<_> = installation
        .parts()
        .into_iter()
        .map(|(what, path)| Check {
            what: what.to_owned(),
            found: is_there(&path),
        })
        .collect();
    let clang = clang();
    checks.push(Check {
        what: format!("Clang {LLVM_MAJOR}"),
        found: clang.as_ref().map_or_else(no_clang, |clang| clang_version(clang)),
    });
    if let Some(clang) = &clang {
        let library = libomptarget(clang);
        checks.push(Check {
            what: "libomptarget".to_owned(),
            found: library
                .as_ref()
                .map_or_else(no_libomptarget, |path| Ok(path.display().to_string())),
        });
        if let Some(library) = &library {
            checks.extend(probe::checks(clang, &installation, library, options));
        }
    }
    checks.push(Check {
        what: "cache".to_owned(),
        found: cache::describe().map(|(summary, _)| summary).map_err(|error| {
            Problem::new(
                error.to_string(),
                "name another directory with OFFLOOM_JIT_CACHE_DIR, or none with OFFLOOM_JIT_CACHE_MODE=off",
            )
        }),
    });
    let settings = Found::read(env::vars_os());
    for warning in &settings.warnings {
        checks.push(Check {
            what: "setting".to_owned(),
            found: Err(Problem::new(
                warning.to_string(),
                "`offloom config --environment` lists what there is",
            )),
        });
    }
    let failed = checks.iter().filter(|check| check.is_wrong()).count();
    let text = if json {
        format!("{:#}\n", value(&checks, &settings))
    } else {
        describe(&checks, &settings)
    };
    Ok(Outcome {
        failure: (failed != 0).then_some(Error::Unhealthy(failed)),
        ..Outcome::from(text)
    })
}

fn describe(checks: &[Check], settings: &Found) -> String {
    let mut text = String::new();
    for check in checks {
        text += &match &check.found {
            Ok(found) => format!("ok    {}: {found}\n", check.what),
            Err(problem) => format!(
                "{} {}: {}\n      what to do: {}\n",
                match problem.severity {
                    Severity::Wrong => "WRONG",
                    Severity::Note => "note ",
                },
                check.what,
                problem.what,
                problem.remedy
            ),
        };
    }
    let mut table = Table::new(&["setting", "is", "from"]);
    for (setting, origin) in SETTINGS.iter().zip(&settings.origins) {
        let (is, from) = in_force(setting.name, *origin);
        table.row([setting.name.to_owned(), is, from.to_owned()]);
    }
    text + "\n" + &table.lines(0)
}

fn value(checks: &[Check], settings: &Found) -> Value {
    let checks = checks.iter().map(|check| match &check.found {
        Ok(found) => json!({ "what": check.what, "ok": true, "found": found }),
        Err(problem) => {
            json!({ "what": check.what, "ok": !check.is_wrong(), "found": problem.what, "remedy": problem.remedy })
        }
    });
    let settings = SETTINGS.iter().zip(&settings.origins).map(|(setting, origin)| {
        let (is, from) = in_force(setting.name, *origin);
        json!({ "name": setting.name, "value": is, "from": from })
    });
    json!({ "checks": checks.collect::<Vec<_>>(), "settings": settings.collect::<Vec<_>>() })
}

/// What a setting is and who says so.
fn in_force(name: &str, origin: Origin) -> (String, &'static str) {
    match origin {
        Origin::Default => ("default".to_owned(), ""),
        Origin::File => ("set".to_owned(), "the file of OFFLOOM_CONFIG"),
        Origin::Environment => (env::var(name).unwrap_or_default(), "the environment"),
    }
}

fn is_there(path: &Path) -> std::result::Result<String, Problem> {
    if path.exists() {
        return Ok(path.display().to_string());
    }
    Err(Problem::new(
        format!("`{}` is missing", path.display()),
        "install Offloom again, with all of its folders side by side",
    ))
}

/// Clang of the LLVM that this build is for.
fn clang() -> Option<PathBuf> {
    let name = format!("clang++-{LLVM_MAJOR}");
    let folders = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&folders).map(|folder| folder.join(&name));
    let own = PathBuf::from(format!("/usr/lib/llvm-{LLVM_MAJOR}/bin/clang++"));
    on_path.chain([own]).find(|path| path.is_file())
}

fn no_clang() -> std::result::Result<String, Problem> {
    Err(Problem::new(
        format!("no clang++-{LLVM_MAJOR} on PATH, and none in /usr/lib/llvm-{LLVM_MAJOR}/bin"),
        format!("install the Debian package clang-{LLVM_MAJOR}"),
    ))
}

fn no_libomptarget() -> std::result::Result<String, Problem> {
    Err(Problem::new(
        "Clang finds no libomptarget.so",
        format!(
            "install the Debian package libomp-{LLVM_MAJOR}-dev or liboffload-{LLVM_MAJOR}-dev, whichever has it"
        ),
    ))
}

fn clang_version(clang: &Path) -> std::result::Result<String, Problem> {
    let unusable = |reason: String| {
        Problem::new(
            format!("`{}` cannot be run: {reason}", clang.display()),
            format!("install the Debian package clang-{LLVM_MAJOR} again"),
        )
    };
    let output = Command::new(clang)
        .arg("--version")
        .output()
        .map_err(|error| unusable(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().next() {
        Some(first) if output.status.success() => Ok(format!("{}, {first}", clang.display())),
        _ => Err(unusable(output.status.to_string())),
    }
}

/// The library that Clang links; it prints the bare name where it finds none.
fn libomptarget(clang: &Path) -> Option<PathBuf> {
    let output = Command::new(clang)
        .arg("-print-file-name=libomptarget.so")
        .output()
        .ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(what: &str, found: std::result::Result<String, Problem>) -> Check {
        Check {
            what: what.to_owned(),
            found,
        }
    }

    #[test]
    fn a_note_says_what_to_do_and_is_no_failure() {
        let checks = [
            check("building", Ok("it links".to_owned())),
            check("starting", Err(Problem::note("not found", "say where"))),
            check("running", Err(Problem::new("no device", "install one"))),
        ];
        assert_eq!(checks.each_ref().map(Check::is_wrong), [false, false, true]);
        let settings = Found::read([]);
        let text = describe(&checks, &settings);
        assert!(
            text.starts_with(
                "ok    building: it links\n\
                 note  starting: not found\n      what to do: say where\n\
                 WRONG running: no device\n      what to do: install one\n"
            ),
            "{text}"
        );
        let value = value(&checks, &settings);
        assert_eq!(
            value["checks"][1],
            json!({ "what": "starting", "ok": true, "found": "not found", "remedy": "say where" })
        );
        assert_eq!(value["checks"][2]["ok"], false);
    }
}
