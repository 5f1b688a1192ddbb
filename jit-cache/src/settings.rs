//! What the user asked for: environment variables, and the same names in a TOML file that `OFFLOOM_CONFIG` names.
//!
//! The environment wins over the file, the file over the defaults. A name that does not exist or a value that cannot be is one
//! [`Warning`], and the default stays. [`SETTINGS`] is the one table of all of them, from which documentation can be made.

mod values;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

pub use values::{CacheMode, FloatingPoint, Mode, Specializations, size as parse_size};

/// The variable that names the TOML file.
pub const CONFIG_VARIABLE: &str = "OFFLOOM_CONFIG";
/// The most bytes of that file. All settings with all their values are a few thousand, and a program that starts must not read `/dev/zero`.
const CONFIG_BYTES: u64 = 1 << 20;
/// How the names of all settings begin. Another variable that begins so is probably a misspelt one.
const PREFIX: &str = "OFFLOOM_JIT";
/// Variables that are no settings, because they say where those or their reader are: name, values, and what each does.
pub const OTHER_VARIABLES: [(&str, &str, &str); 2] = [
    (
        CONFIG_VARIABLE,
        "a file",
        "a TOML file with any of the settings' names as keys; the environment wins",
    ),
    (
        "OFFLOOM_JIT_LIBRARY",
        "a file",
        "load this `liboffloom_jit.so`; ignored in programs with more rights than their user",
    ),
];

/// Everything that can be set.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// When variants are made.
    pub mode: Mode,
    /// What of a launch is specialised.
    pub specialize: Specializations,
    /// Which results floating-point operations give.
    pub floating_point: FloatingPoint,
    /// T of the JIT paper's 4.7.
    pub threshold: u64,
    /// R of the JIT paper's 4.7, from 0 to 1.
    pub ratio: f64,
    /// Processor to compile for; none: the one that the program runs on.
    pub target: Option<String>,
    /// The private cache directory; none: the user's cache folder.
    pub cache_directory: Option<PathBuf>,
    /// Cache directories that are only read.
    pub cache_path: Vec<PathBuf>,
    /// What is done with the cache.
    pub cache_mode: CacheMode,
    /// How large the private cache directory may be, in bytes.
    pub cache_size: u64,
    /// Whether variants are timed, and dropped when they are no faster than the ahead-of-time code.
    pub retire: bool,
    /// Whether compiles run in a process of their own.
    pub worker: bool,
    /// How long a compile may take, in milliseconds.
    pub time_limit: u32,
    /// Memory that the worker process may use, in bytes of address space.
    pub memory_limit: u64,
    /// Where statistics are written at exit.
    pub stats: Option<PathBuf>,
    /// Where launches are dumped, each to be run by itself.
    pub dump_directory: Option<PathBuf>,
    /// Whether compiles and links are told on the error stream.
    pub log: bool,
    /// Whether `perf` is told the names of variants.
    pub perf: bool,
    /// Whether a failure of the JIT ends the program.
    pub strict: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::Async,
            specialize: Specializations::all(),
            floating_point: FloatingPoint::Match,
            threshold: 16,
            ratio: 0.5,
            target: None,
            cache_directory: None,
            cache_path: Vec::new(),
            cache_mode: CacheMode::ReadWrite,
            cache_size: 1 << 30,
            retire: true,
            worker: true,
            time_limit: 10_000,
            memory_limit: 4 << 30,
            stats: None,
            dump_directory: None,
            log: false,
            perf: false,
            strict: false,
        }
    }
}

impl Settings {
    /// The cache directory that was asked for, or `offloom` in the user's cache folder, which environment variables name.
    pub fn private_cache_directory(&self, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let absolute = |name| {
            variable(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        self.cache_directory.clone().or_else(|| {
            let folder = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
            Some(folder.join("offloom"))
        })
    }
}

/// One row of the table of settings.
#[derive(Debug)]
pub struct Setting {
    /// The environment variable, and the key in the file.
    pub name: &'static str,
    /// What values look like.
    pub values: &'static str,
    /// What it does, in one sentence.
    pub help: &'static str,
    set: Set,
}

/// How a setting takes its value; nothing where the value cannot be.
#[derive(Debug)]
enum Set {
    /// From text.
    Text(fn(&mut Settings, &str) -> Option<()>),
    /// From paths, which need not be text.
    Path(fn(&mut Settings, &OsStr) -> Option<()>),
}

/// Every setting, in the order in which they are documented.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "OFFLOOM_JIT",
        values: "off, sync or async",
        help: "when variants are made: never, before the launch, or beside it (default)",
        set: Set::Text(|settings, value| values::set(&mut settings.mode, value.parse().ok())),
    },
    Setting {
        name: "OFFLOOM_JIT_SPECIALIZE",
        values: "a list of args, contents, align, launch, separated by commas; may be empty",
        help: "what of a launch is specialised; all by default",
        set: Set::Text(|settings, value| values::set(&mut settings.specialize, value.parse().ok())),
    },
    Setting {
        name: "OFFLOOM_JIT_FP",
        values: "match or source",
        help: "results of floating-point operations: those of the ahead-of-time code (default), or those of the source with constants in it",
        set: Set::Text(|settings, value| values::set(&mut settings.floating_point, value.parse().ok())),
    },
    Setting {
        name: "OFFLOOM_JIT_THRESHOLD",
        values: "a number, 0 or more",
        help: "specialisations of a kernel that are always allowed; 16 by default",
        set: Set::Text(|settings, value| values::set(&mut settings.threshold, value.parse().ok())),
    },
    Setting {
        name: "OFFLOOM_JIT_RATIO",
        values: "a number from 0 to 1",
        help: "share of a kernel's specialisations that one argument may cause before it is no longer specialised; 0.5 by default",
        set: Set::Text(|settings, value| values::set(&mut settings.ratio, values::ratio(value))),
    },
    Setting {
        name: "OFFLOOM_JIT_TARGET",
        values: "a processor, as LLVM names it, or native",
        help: "the processor that variants are compiled for; by default the one that the program runs on. A processor that LLVM does not know, or whose code this machine cannot run, is ignored, with a line on the error stream",
        set: Set::Text(|settings, value| {
            values::set(&mut settings.target, values::not_empty(value).map(Some))
        }),
    },
    Setting {
        name: "OFFLOOM_JIT_CACHE_DIR",
        values: "an absolute path",
        help: "the private cache directory; by default `offloom` in the user's cache folder",
        set: Set::Path(|settings, value| {
            values::set(&mut settings.cache_directory, values::absolute(value).map(Some))
        }),
    },
    Setting {
        name: "OFFLOOM_JIT_CACHE_PATH",
        values: "absolute paths, separated by colons; may be empty",
        help: "cache directories that are only read",
        set: Set::Path(|settings, value| values::set(&mut settings.cache_path, values::paths(value))),
    },
    Setting {
        name: "OFFLOOM_JIT_CACHE_MODE",
        values: "off, ro or rw",
        help: "whether the cache is used, only read, or read and written (default)",
        set: Set::Text(|settings, value| values::set(&mut settings.cache_mode, value.parse().ok())),
    },
    Setting {
        name: "OFFLOOM_JIT_CACHE_SIZE",
        values: "a number of bytes, or with K, M or G behind it",
        help: "how large the private cache directory may be; 1G by default",
        set: Set::Text(|settings, value| values::set(&mut settings.cache_size, values::size(value))),
    },
    Setting {
        name: "OFFLOOM_JIT_RETIRE",
        values: "0 or 1",
        help: "whether variants are timed, and dropped when they are no faster than the ahead-of-time code; and whether the cache remembers that, and which arguments keep changing, for a day; 1 by default",
        set: Set::Text(|settings, value| values::set(&mut settings.retire, values::switch(value))),
    },
    Setting {
        name: "OFFLOOM_JIT_WORKER",
        values: "0 or 1",
        help: "whether compiles run in a process of their own, so that one that crashes does not end the program; 1 by default",
        set: Set::Text(|settings, value| values::set(&mut settings.worker, values::switch(value))),
    },
    Setting {
        name: "OFFLOOM_JIT_TIME_LIMIT",
        values: "a number of milliseconds",
        help: "how long a compile may take; 10000 by default",
        set: Set::Text(|settings, value| values::set(&mut settings.time_limit, value.parse().ok())),
    },
    Setting {
        name: "OFFLOOM_JIT_MEMORY_LIMIT",
        values: "a number of bytes, or with K, M or G behind it",
        help: "address space that the process which compiles may use, its own code included; 4G by default",
        set: Set::Text(|settings, value| values::set(&mut settings.memory_limit, values::size(value))),
    },
    Setting {
        name: "OFFLOOM_JIT_STATS",
        values: "a file",
        help: "statistics are written to it, as JSON, when the program ends",
        set: Set::Path(|settings, value| values::set(&mut settings.stats, values::path(value).map(Some))),
    },
    Setting {
        name: "OFFLOOM_JIT_DUMP_DIR",
        values: "a folder",
        help: "the first launch of each variant is written to it, for `offloom replay`; the first 32 of a process",
        set: Set::Path(|settings, value| {
            values::set(&mut settings.dump_directory, values::path(value).map(Some))
        }),
    },
    Setting {
        name: "OFFLOOM_JIT_LOG",
        values: "0 or 1",
        help: "compiles and links are told on the error stream",
        set: Set::Text(|settings, value| values::set(&mut settings.log, values::switch(value))),
    },
    Setting {
        name: "OFFLOOM_JIT_PERF",
        values: "0 or 1",
        help: "names of variants are written to /tmp/perf-N.map, N being the process's number, where perf looks for them",
        set: Set::Text(|settings, value| values::set(&mut settings.perf, values::switch(value))),
    },
    Setting {
        name: "OFFLOOM_JIT_STRICT",
        values: "0 or 1",
        help: "a failure of the JIT ends the program",
        set: Set::Text(|settings, value| values::set(&mut settings.strict, values::switch(value))),
    },
];

/// Where the value of a setting comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// The file that `OFFLOOM_CONFIG` names.
    File,
    /// The environment.
    Environment,
}

/// Something that was asked for and is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// A value that cannot be.
    BadValue {
        /// The setting.
        name: &'static str,
        /// The value.
        value: String,
        /// Where it is.
        origin: Origin,
    },
    /// No setting has this name.
    UnknownName {
        /// The name.
        name: String,
        /// Where it is.
        origin: Origin,
    },
    /// The file cannot be read, or is no TOML.
    BadFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |origin: &Origin| match origin {
            Origin::File => " in the file of OFFLOOM_CONFIG",
            Origin::Default | Origin::Environment => "",
        };
        match self {
            Self::BadValue { name, value, origin } => {
                let setting = SETTINGS.iter().find(|setting| setting.name == *name);
                let values = setting.map_or("", |setting| setting.values);
                let place = place(origin);
                write!(
                    formatter,
                    "{name}=`{value}`{place} is ignored: the value must be {values}"
                )
            }
            Self::UnknownName { name, origin } => {
                write!(
                    formatter,
                    "{name}{} is ignored: there is no such setting",
                    place(origin)
                )
            }
            Self::BadFile { path, reason } => write!(
                formatter,
                "{CONFIG_VARIABLE}: `{}` is ignored: {reason}",
                path.display()
            ),
        }
    }
}

/// Settings with where each comes from, and what was asked for in vain.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The settings.
    pub settings: Settings,
    /// Origins in the order of [`SETTINGS`].
    pub origins: Vec<Origin>,
    /// What is to be told, once.
    pub warnings: Vec<Warning>,
}

impl Found {
    /// The settings that environment variables give. Of `environment` only names that begin as settings do are looked at.
    pub fn read(environment: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut found = Self {
            settings: Settings::default(),
            origins: vec![Origin::Default; SETTINGS.len()],
            warnings: Vec::new(),
        };
        let variables: BTreeMap<String, OsString> = environment
            .into_iter()
            .filter_map(|(name, value)| {
                let name = name.into_string().ok()?;
                let ours = name == PREFIX || name.starts_with("OFFLOOM_JIT_") || name == CONFIG_VARIABLE;
                ours.then_some((name, value))
            })
            .collect();
        if let Some(path) = variables.get(CONFIG_VARIABLE).filter(|path| !path.is_empty()) {
            found.read_file(Path::new(path));
        }
        for (name, value) in &variables {
            if name != CONFIG_VARIABLE {
                found.set(name, value, Origin::Environment);
            }
        }
        found
    }

    fn read_file(&mut self, path: &Path) {
        let table = read_text(path)
            .map_err(|error| error.to_string())
            .and_then(|text| {
                text.parse::<toml::Table>()
                    .map_err(|error| error.message().to_owned())
            });
        match table {
            Ok(table) => {
                for (name, value) in &table {
                    let text = match value {
                        toml::Value::String(text) => text.clone(),
                        // Lists are lists in TOML too.
                        toml::Value::Array(items) => {
                            let separator = if name.ends_with("_PATH") { ":" } else { "," };
                            let items: Vec<_> =
                                items.iter().map(|item| item.as_str().unwrap_or("?")).collect();
                            items.join(separator)
                        }
                        toml::Value::Boolean(switch) => u8::from(*switch).to_string(),
                        toml::Value::Integer(number) => number.to_string(),
                        toml::Value::Float(number) => number.to_string(),
                        toml::Value::Datetime(_) | toml::Value::Table(_) => "?".to_owned(),
                    };
                    self.set(name, text.as_ref(), Origin::File);
                }
            }
            Err(reason) => self.warnings.push(Warning::BadFile {
                path: path.to_owned(),
                reason,
            }),
        }
    }

    fn set(&mut self, name: &str, value: &OsStr, origin: Origin) {
        let index = SETTINGS.iter().position(|setting| setting.name == name);
        let Some(index) = index else {
            if !OTHER_VARIABLES.iter().any(|(other, ..)| *other == name) {
                self.warnings.push(Warning::UnknownName {
                    name: name.to_owned(),
                    origin,
                });
            }
            return;
        };
        let setting = &SETTINGS[index];
        let set = match setting.set {
            Set::Text(set) => value.to_str().and_then(|value| set(&mut self.settings, value)),
            Set::Path(set) => set(&mut self.settings, value),
        };
        match set {
            Some(()) => self.origins[index] = origin,
            None => self.warnings.push(Warning::BadValue {
                name: setting.name,
                value: value.display().to_string(),
                origin,
            }),
        }
    }
}

/// The text of a file of settings.
fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(CONFIG_BYTES + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > CONFIG_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has more than {CONFIG_BYTES} bytes"),
        ));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
