//! `offloom doctor`: whether programs can be built and run here, by building and running one.

mod cache;
mod clang;
mod probe;
mod run_only;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use offloom_jit_cache::settings::{Found, Origin, SETTINGS, Setting};
use offloom_text_table::{Table, printable};
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::installation::{Installation, LLVM_MAJOR};
use crate::outcome::Outcome;
use probe::Probe;

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
pub(crate) fn run(options: &[OsString], json: bool) -> Result<Outcome> {
    let installation = Installation::find()?;
    let settings = Found::read(env::vars_os());
    let (mut checks, mut ignored) = match installation.only_runs() {
        true => (what_runs(&installation), Vec::new()),
        false => what_builds(installation, options, &settings),
    };
    checks.extend(cache::checks(&settings.settings));
    let warnings: Vec<_> = settings.warnings.iter().map(ToString::to_string).collect();
    // What a program finds out beyond what is known here. Its lines have no control characters.
    ignored.retain(|line| warnings.iter().all(|warning| printable(warning) != *line));
    for warning in warnings.into_iter().chain(ignored) {
        checks.push(Check {
            what: "setting".to_owned(),
            found: Err(Problem::new(
                warning,
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

/// Looks at an installation that only runs programs.
fn what_runs(installation: &Installation) -> Vec<Check> {
    let mut checks = vec![run_only::notice()];
    checks.extend(parts(installation.running_parts()));
    if !checks.iter().any(Check::is_wrong) {
        checks.extend(run_only::checks(installation));
    }
    checks
}

/// Looks at a whole installation, and builds and runs a program with it. Returns also what the program said
/// is ignored.
fn what_builds(
    installation: Installation,
    options: &[OsString],
    settings: &Found,
) -> (Vec<Check>, Vec<String>) {
    let mut checks: Vec<_> = parts(installation.building_parts())
        .chain(parts(installation.running_parts()))
        .collect();
    let whole = !checks.iter().any(Check::is_wrong);
    let clang = clang::find();
    let version = clang
        .as_ref()
        .map_or_else(clang::missing, |clang| clang::version(clang));
    let usable = version.is_ok();
    checks.push(Check {
        what: format!("Clang {LLVM_MAJOR}"),
        found: version,
    });
    let Some(clang) = clang.filter(|_| usable) else {
        return (checks, Vec::new());
    };
    let library = clang::libomptarget(&clang);
    checks.push(Check {
        what: "libomptarget".to_owned(),
        found: library
            .as_ref()
            .map_or_else(clang::no_libomptarget, |path| Ok(path.display().to_string())),
    });
    let Some(libomptarget) = library.filter(|_| whole) else {
        return (checks, Vec::new());
    };
    let probe = Probe {
        clang,
        installation,
        libomptarget,
        dumps: settings.settings.dump_directory.is_some(),
    };
    let (found, ignored) = probe.checks(options);
    checks.extend(found);
    (checks, ignored)
}

fn parts<const COUNT: usize>(parts: [(&'static str, PathBuf); COUNT]) -> impl Iterator<Item = Check> {
    parts.into_iter().map(|(what, path)| Check {
        what: what.to_owned(),
        found: is_there(&path),
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
        table.row([
            setting.name.to_owned(),
            in_force(setting, settings),
            said_by(*origin).to_owned(),
        ]);
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
        json!({ "name": setting.name, "value": in_force(setting, settings), "from": said_by(*origin) })
    });
    json!({ "checks": checks.collect::<Vec<_>>(), "settings": settings.collect::<Vec<_>>() })
}

/// The value of a setting; empty where it has none.
fn in_force(setting: &Setting, found: &Found) -> String {
    match setting.name {
        // By default, other variables say where it is.
        "OFFLOOM_JIT_CACHE_DIR" => {
            let directory = found.settings.private_cache_directory(|name| env::var_os(name));
            directory.map_or_else(String::new, |directory| directory.display().to_string())
        }
        _ => setting.value(&found.settings),
    }
}

/// Who says what a setting is.
fn said_by(origin: Origin) -> &'static str {
    match origin {
        Origin::Default => "default",
        Origin::File => "the file of OFFLOOM_CONFIG",
        Origin::Environment => "the environment",
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
