//! Values of settings, from text.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// When variants are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Never.
    Off,
    /// Before the launch that wants them, as in the JIT paper.
    Sync,
    /// Beside the program.
    Async,
}

/// Which results floating-point operations give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FloatingPoint {
    /// Those of the ahead-of-time code, bit for bit.
    Match,
    /// Those that the source would give with the constants in it.
    Source,
}

/// What is done with the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheMode {
    /// Nothing.
    Off,
    /// It is read.
    ReadOnly,
    /// It is read and written.
    ReadWrite,
}

/// What of a launch is specialised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Specializations {
    /// Values of scalar arguments.
    pub arguments: bool,
    /// Contents of objects that the kernel only reads.
    pub contents: bool,
    /// Alignments of pointers.
    pub alignments: bool,
    /// Numbers of teams and threads.
    pub launch_parameters: bool,
}

impl Specializations {
    /// Everything.
    pub const fn all() -> Self {
        Self {
            arguments: true,
            contents: true,
            alignments: true,
            launch_parameters: true,
        }
    }
}

/// Not a value of the setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a value of this setting")]
pub struct NoSuchValue;

impl FromStr for Mode {
    type Err = NoSuchValue;

    fn from_str(text: &str) -> Result<Self, NoSuchValue> {
        match (text.to_ascii_lowercase().as_str(), switch(text)) {
            (_, Some(false)) => Ok(Self::Off),
            ("sync", _) => Ok(Self::Sync),
            ("async", _) | (_, Some(true)) => Ok(Self::Async),
            _ => Err(NoSuchValue),
        }
    }
}

impl FromStr for FloatingPoint {
    type Err = NoSuchValue;

    fn from_str(text: &str) -> Result<Self, NoSuchValue> {
        match text.to_ascii_lowercase().as_str() {
            "match" => Ok(Self::Match),
            "source" => Ok(Self::Source),
            _ => Err(NoSuchValue),
        }
    }
}

impl FromStr for CacheMode {
    type Err = NoSuchValue;

    fn from_str(text: &str) -> Result<Self, NoSuchValue> {
        match (text.to_ascii_lowercase().as_str(), switch(text)) {
            (_, Some(false)) => Ok(Self::Off),
            ("ro", _) => Ok(Self::ReadOnly),
            ("rw", _) | (_, Some(true)) => Ok(Self::ReadWrite),
            _ => Err(NoSuchValue),
        }
    }
}

impl FromStr for Specializations {
    type Err = NoSuchValue;

    fn from_str(text: &str) -> Result<Self, NoSuchValue> {
        let mut specializations = Self::default();
        for item in text.split(',').filter(|_| !text.is_empty()) {
            let place = match item.trim().to_ascii_lowercase().as_str() {
                "args" => &mut specializations.arguments,
                "contents" => &mut specializations.contents,
                "align" => &mut specializations.alignments,
                "launch" => &mut specializations.launch_parameters,
                _ => return Err(NoSuchValue),
            };
            *place = true;
        }
        Ok(specializations)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Off => "off",
            Self::Sync => "sync",
            Self::Async => "async",
        })
    }
}

impl fmt::Display for FloatingPoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Match => "match",
            Self::Source => "source",
        })
    }
}

impl fmt::Display for CacheMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Off => "off",
            Self::ReadOnly => "ro",
            Self::ReadWrite => "rw",
        })
    }
}

impl fmt::Display for Specializations {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = [
            (self.arguments, "args"),
            (self.contents, "contents"),
            (self.alignments, "align"),
            (self.launch_parameters, "launch"),
        ];
        let items: Vec<_> = items
            .into_iter()
            .filter_map(|(on, item)| on.then_some(item))
            .collect();
        formatter.write_str(&items.join(","))
    }
}

/// Puts a value in its place, if there is one.
pub(super) fn set<T>(place: &mut T, value: Option<T>) -> Option<()> {
    *place = value?;
    Some(())
}

pub(super) fn ratio(text: &str) -> Option<f64> {
    let ratio = text.parse().ok()?;
    (0.0..=1.0).contains(&ratio).then_some(ratio)
}

pub(super) fn not_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

pub(super) fn path(text: &OsStr) -> Option<PathBuf> {
    (!text.is_empty()).then(|| PathBuf::from(text))
}

/// What URLs of stores begin with.
const STORE_SCHEMES: [&str; 7] = ["redis", "rediss", "redis+unix", "s3", "https", "http", "file"];

/// The URL of a store. One with a user or password in it is none: settings are printed, and kept in
/// statistics.
pub(super) fn store_url(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let is_url = STORE_SCHEMES.contains(&scheme)
        && !rest.is_empty()
        && !authority.contains('@')
        && !rest.contains('#');
    is_url.then(|| text.to_owned())
}

/// The value of a setting as it may be printed: without the user and password that somebody has put into a
/// URL.
pub(super) fn without_secrets(name: &str, value: &str) -> String {
    let parts = value
        .split_once("://")
        .filter(|_| name == "OFFLOOM_JIT_REMOTE")
        .and_then(|(scheme, rest)| {
            let authority = rest.split(['/', '?', '#']).next()?;
            let host = authority.rfind('@')?;
            Some((scheme, &rest[host..]))
        });
    parts.map_or_else(
        || value.to_owned(),
        |(scheme, rest)| format!("{scheme}://...{rest}"),
    )
}

/// A path that means the same whatever folder the program works in.
pub(super) fn absolute(text: &OsStr) -> Option<PathBuf> {
    path(text).filter(|path| path.is_absolute())
}

pub(super) fn paths(text: &OsStr) -> Option<Vec<PathBuf>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let paths = text.as_bytes().split(|&byte| byte == b':');
    paths.map(|path| absolute(OsStr::from_bytes(path))).collect()
}

/// A number of bytes, with K, M or G behind it for powers of 1024, or KiB, MiB or GiB; in letters of any
/// size.
pub fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|character: char| !character.is_ascii_digit());
    let shift = match text[digits.len()..].trim_start().to_ascii_lowercase().as_str() {
        "" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        _ => return None,
    };
    // No sign, which a number of Rust's may have.
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = is_number.then(|| digits.parse().ok())??;
    number.checked_mul(1 << shift)
}

/// Whether something is on: 0 or 1, or one of the usual words for them.
pub(super) fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "0" | "off" | "no" | "false" => Some(false),
        "1" | "on" | "yes" | "true" => Some(true),
        _ => None,
    }
}

/// A switch as [`switch`] takes it.
pub(super) fn shown_switch(on: bool) -> String {
    u8::from(on).to_string()
}

/// A number of bytes as [`size`] takes it, in the largest unit of which it is a multiple.
pub(super) fn shown_size(bytes: u64) -> String {
    let unit = [(30, "G"), (20, "M"), (10, "K")]
        .into_iter()
        .find(|(shift, _)| bytes != 0 && bytes.trailing_zeros() >= *shift);
    match unit {
        Some((shift, unit)) => format!("{}{unit}", bytes >> shift),
        None => bytes.to_string(),
    }
}

/// A path for people; empty where there is none.
pub(super) fn shown_path(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |path| path.display().to_string())
}

/// Paths as [`paths`] takes them, for people.
pub(super) fn shown_paths(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| shown_path(Some(path))).collect();
    paths.join(":")
}
