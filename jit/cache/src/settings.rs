//! What the user asked for: environment variables, and the same names in a TOML file that `OFFLOOM_CONFIG`
//! names.
//!
//! The environment wins over the file, the file over the defaults. A name that does not exist or a value that
//! cannot be is one [`Warning`], and the default stays. [`SETTINGS`] is the one table of all of them, from
//! which documentation can be made.

mod table;
mod values;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use strsim::damerau_levenshtein;

use crate::remote::LARGEST;

pub use table::{OTHER_VARIABLES, SETTINGS, Setting};
pub use values::{CacheMode, FloatingPoint, Mode, Specializations, size as parse_size};

/// The variable that names the TOML file.
pub const CONFIG_VARIABLE: &str = "OFFLOOM_CONFIG";
/// The most bytes of that file. All settings with all their values are a few thousand, and a program that
/// starts must not read `/dev/zero`.
const CONFIG_BYTES: u64 = 1 << 20;
/// How the names of all settings begin. Another variable that begins so is probably a misspelt one.
const PREFIX: &str = "OFFLOOM_JIT";
/// How variables begin that may be meant as settings, and are looked at for that.
const OWN_PREFIX: &str = "OFFLOOM";
/// In how many places a name may differ from a setting's to be taken for it.
const MOST_MISTAKES: usize = 2;
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
    /// The assembler for NVIDIA GPUs; none: the one that is found.
    pub ptxas: Option<PathBuf>,
    /// The private cache directory; none: the user's cache folder.
    pub cache_directory: Option<PathBuf>,
    /// Cache directories that are only read.
    pub cache_path: Vec<PathBuf>,
    /// What is done with the cache.
    pub cache_mode: CacheMode,
    /// How large the private cache directory may be, in bytes.
    pub cache_size: u64,
    /// The store that is asked for what the folders lack; none: there is none.
    pub remote: Option<String>,
    /// The folder of keys that entries of the store are signed with; none: the user's.
    pub remote_keys: Option<PathBuf>,
    /// The file of secrets for the store; none: the environment has them, or there are none.
    pub remote_credentials: Option<PathBuf>,
    /// How long a look-up in the store may take, in milliseconds.
    pub remote_deadline: u32,
    /// The largest object that is put into the store, in bytes of its file in the cache.
    pub remote_limit: u64,
    /// Whether variants are timed, and dropped when they are no faster than the ahead-of-time code.
    pub retire: bool,
    /// Whether kernels on AMD GPUs may have variants.
    pub amdgpu: bool,
    /// Whether compiles run in a process of their own.
    pub worker: bool,
    /// How long a compile may take, in milliseconds.
    pub time_limit: u32,
    /// Memory that the worker process may use, in bytes of address space.
    pub memory_limit: u64,
    /// Memory that variants may take on a GPU, in bytes of their cubins or code objects.
    pub device_memory: u64,
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
            ptxas: None,
            cache_directory: None,
            cache_path: Vec::new(),
            cache_mode: CacheMode::ReadWrite,
            cache_size: 1 << 30,
            remote: None,
            remote_keys: None,
            remote_credentials: None,
            remote_deadline: 50,
            remote_limit: LARGEST,
            retire: true,
            amdgpu: false,
            worker: true,
            time_limit: 10_000,
            memory_limit: 4 << 30,
            device_memory: 256 << 20,
            stats: None,
            dump_directory: None,
            log: false,
            perf: false,
            strict: false,
        }
    }
}

impl Settings {
    /// How long making an image may take before another process tries: longer than both tries of a kernel
    /// beside the program, each four times the limit. Who makes a base image, which may take longer, renews
    /// the claim.
    pub fn claim_limit(&self) -> Duration {
        10 * Duration::from_millis(u64::from(self.time_limit))
    }

    /// The cache directory that was asked for, or `offloom` in the user's cache folder, which environment
    /// variables name. A home that is not there has none, and is not made: so daemons and containers say that
    /// they have no home.
    pub fn private_cache_directory(&self, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let absolute = |name| {
            variable(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        self.cache_directory.clone().or_else(|| {
            let folder = absolute("XDG_CACHE_HOME").or_else(|| {
                let home = absolute("HOME").filter(|home| home.is_dir())?;
                Some(home.join(".cache"))
            })?;
            Some(folder.join("offloom"))
        })
    }

    /// The folder of signing keys that was asked for, or `offloom/keys` in the user's configuration folder,
    /// which environment variables name.
    pub fn keys_directory(&self, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let absolute = |name| {
            variable(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        self.remote_keys.clone().or_else(|| {
            let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
            Some(folder.join("offloom/keys"))
        })
    }
}

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
        /// What may have been meant.
        meant: Option<&'static str>,
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
            Self::UnknownName {
                name,
                origin: Origin::File,
                ..
            } if OTHER_VARIABLES.iter().any(|(other, ..)| other == name) => write!(
                formatter,
                "{name} in the file of {CONFIG_VARIABLE} is ignored: only the environment can say it"
            ),
            Self::UnknownName { name, meant, origin } => {
                write!(
                    formatter,
                    "{name}{} is ignored: there is no such setting",
                    place(origin)
                )?;
                match meant {
                    Some(meant) => write!(formatter, "; did you mean {meant}?"),
                    None => Ok(()),
                }
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
    /// The settings that environment variables give. Of `environment` only names that begin as settings do
    /// are looked at; of others that begin with the project's name, those that are so like a setting's that
    /// it must be meant.
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
                let misspelt = || name.starts_with(OWN_PREFIX) && meant_by(&name).is_some();
                (ours || misspelt()).then_some((name, value))
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
                    .map_err(|error| format!("{}{}", place(&text, error.span()), error.message()))
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
            // In the file they would say nothing: it is found, and the library loaded, before it is read.
            let other = OTHER_VARIABLES.iter().any(|(other, ..)| *other == name);
            if !other || origin == Origin::File {
                self.warnings.push(Warning::UnknownName {
                    name: name.to_owned(),
                    meant: meant_by(name),
                    origin,
                });
            }
            return;
        };
        let setting = &SETTINGS[index];
        match setting.set(&mut self.settings, value) {
            Some(()) => self.origins[index] = origin,
            None => self.warnings.push(Warning::BadValue {
                name: setting.name,
                value: values::without_secrets(setting.name, &value.display().to_string()),
                origin,
            }),
        }
    }
}

/// The setting that a name which is none may be meant for: the one that is like it, or that it would be with
/// the prefix of all of them.
fn meant_by(name: &str) -> Option<&'static str> {
    let settings = SETTINGS.iter().map(|setting| setting.name);
    let known = settings.chain(OTHER_VARIABLES.iter().map(|(other, ..)| *other));
    let bare = name.strip_prefix("OFFLOOM_").unwrap_or(name);
    let with_prefix = format!("{PREFIX}_{}", bare.to_ascii_uppercase());
    let mistakes = |known: &str| {
        let [as_it_is, with_prefix] = [name, &with_prefix].map(|name| damerau_levenshtein(name, known));
        // To lack the prefix is a mistake, too.
        as_it_is.min(with_prefix + 1)
    };
    let nearest = known.map(|known| (mistakes(known), known)).min()?;
    (nearest.0 <= MOST_MISTAKES).then_some(nearest.1)
}

/// `line 3, column 7: `, if it is known where something is in a text.
fn place(text: &str, span: Option<Range<usize>>) -> String {
    let Some(before) = span.and_then(|span| text.get(..span.start)) else {
        return String::new();
    };
    let line = before.matches('\n').count() + 1;
    let column = before
        .chars()
        .rev()
        .take_while(|character| *character != '\n')
        .count()
        + 1;
    format!("line {line}, column {column}: ")
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
