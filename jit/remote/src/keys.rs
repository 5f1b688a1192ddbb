//! The keys that entries are signed with: files in one folder. `NAME.key` is private and signs what this
//! machine publishes, `NAME.pub` is public, and trusted by being there.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt};
use std::path::{Path, PathBuf};

use ed25519_dalek::{SigningKey, VerifyingKey};
use rustix::fs::OFlags;
use rustix::process::geteuid;

/// What a line with a private key begins with.
const PRIVATE: &str = "offloom-private-key-1";
/// What a line with a public key begins with.
const PUBLIC: &str = "offloom-public-key-1";
/// The most bytes of a file of a key.
const MOST_BYTES: u64 = 4096;

/// The first eight bytes of a public key, in hexadecimal digits: what people call it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyName([u8; 8]);

impl KeyName {
    /// The name of a public key.
    pub(crate) fn of(key: &[u8; 32]) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = *key;
        Self([a, b, c, d, e, f, g, h])
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// Why a key cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyError {
    /// The system said no.
    #[error("cannot {what} `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// With which file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Others may read a private key, or change a public one.
    #[error(
        "the key `{}` (owner {owner}, mode {mode:o}) is not used: {wanted}",
        path.display()
    )]
    Rights {
        /// The file or folder.
        path: PathBuf,
        /// Its owner's number.
        owner: u32,
        /// Its mode.
        mode: u32,
        /// What it must be.
        wanted: &'static str,
    },
    /// Its contents are no key.
    #[error("`{}` holds no {wanted} key: it is one line, `{line} ` and 64 hexadecimal digits", path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
        /// `private` or `public`.
        wanted: &'static str,
        /// What the line begins with.
        line: &'static str,
    },
    /// There are several private keys.
    #[error(
        "there are several private keys in `{}`, and nobody says which one signs: leave one there",
        .0.display()
    )]
    Several(PathBuf),
    /// There is one already.
    #[error("`{}` is there already; remove it first, or choose another name", .0.display())]
    Taken(PathBuf),
    /// The name cannot be a file's.
    #[error(
        "`{0}` is no name for a key: it takes letters, digits, `-`, `_` and `.`, and begins with a letter or digit"
    )]
    BadName(String),
    /// There is no place for keys.
    #[error(
        "there is no folder for keys: set OFFLOOM_JIT_REMOTE_KEYS, XDG_CONFIG_HOME or HOME to an absolute path"
    )]
    NoFolder,
}

fn failed(what: &'static str, path: &Path) -> impl Fn(io::Error) -> KeyError + use<> {
    let path = path.to_owned();
    move |source| KeyError::Io {
        what,
        path: path.clone(),
        source,
    }
}

/// A public key, and the file it is in.
#[derive(Debug)]
pub(crate) struct Trusted {
    /// The file's name without `.pub`.
    pub(crate) name: String,
    /// The key.
    pub(crate) key: VerifyingKey,
}

/// The keys of a folder.
#[derive(Debug)]
pub(crate) struct Keys {
    /// Whom entries may be of. In the order of their names.
    pub(crate) trusted: Vec<Trusted>,
    /// What signs, with its name; none: entries are only read.
    pub(crate) private: Option<(String, SigningKey)>,
}

impl Keys {
    /// Reads all keys of a folder. One that is not there has none.
    ///
    /// # Errors
    /// A key cannot be read or is not to be trusted: then none is used, since it would be a guess which.
    pub(crate) fn read(folder: &Path) -> Result<Self, KeyError> {
        let mut keys = Self {
            trusted: Vec::new(),
            private: None,
        };
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(keys),
            found => found.map_err(failed("read", folder))?,
        };
        let metadata = fs::metadata(folder).map_err(failed("read", folder))?;
        check(
            folder,
            &metadata,
            0o022,
            "it must belong to you or to root, and only its owner may write to it",
        )?;
        for entry in entries {
            let path = entry.map_err(failed("read", folder))?.path();
            let (Some(stem), Some(extension)) = (path.file_stem(), path.extension()) else {
                continue;
            };
            let name = stem.to_string_lossy().into_owned();
            if extension == "pub" {
                keys.trusted.push(Trusted {
                    name,
                    key: read_public(&path, true)?,
                });
            } else if extension == "key" {
                let key =
                    SigningKey::from_bytes(&read_line(&path, PRIVATE, "private", Some((0o077, ONLY_YOURS)))?);
                if keys.private.replace((name, key)).is_some() {
                    return Err(KeyError::Several(folder.to_owned()));
                }
            }
        }
        keys.trusted.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(keys)
    }

    /// The public keys alone.
    pub(crate) fn public(&self) -> Vec<VerifyingKey> {
        self.trusted.iter().map(|trusted| trusted.key).collect()
    }
}

/// What a private key must be.
const ONLY_YOURS: &str = "a private key must belong to you or to root and have mode 600";
/// What a public key must be.
const NOBODY_ELSES: &str = "it must belong to you or to root, and only its owner may write to it";

fn check(path: &Path, metadata: &fs::Metadata, forbidden: u32, wanted: &'static str) -> Result<(), KeyError> {
    let owner = metadata.uid();
    if (owner != 0 && owner != geteuid().as_raw()) || metadata.mode() & forbidden != 0 {
        return Err(KeyError::Rights {
            path: path.to_owned(),
            owner,
            mode: metadata.mode() & 0o7777,
            wanted,
        });
    }
    Ok(())
}

/// Reads a public key, from a folder of trusted ones or from anywhere.
pub(crate) fn read_public(path: &Path, trusted: bool) -> Result<VerifyingKey, KeyError> {
    let rights = trusted.then_some((0o022, NOBODY_ELSES));
    let bytes = read_line(path, PUBLIC, "public", rights)?;
    VerifyingKey::from_bytes(&bytes)
        .ok()
        .filter(|key| !key.is_weak())
        .ok_or_else(|| KeyError::NoKey {
            path: path.to_owned(),
            wanted: "public",
            line: PUBLIC,
        })
}

/// The bytes of the key in a file, where these bits of its mode are not set.
fn read_line(
    path: &Path,
    line: &'static str,
    wanted: &'static str,
    rights: Option<(u32, &'static str)>,
) -> Result<[u8; 32], KeyError> {
    let unreadable = failed("read", path);
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits() as i32)
        .open(path)
        .map_err(&unreadable)?;
    if let Some((forbidden, wanted)) = rights {
        check(path, &file.metadata().map_err(&unreadable)?, forbidden, wanted)?;
    }
    let mut text = String::new();
    file.take(MOST_BYTES)
        .read_to_string(&mut text)
        .map_err(&unreadable)?;
    let key = text
        .trim_end()
        .strip_prefix(line)
        .and_then(|rest| bytes_of(rest.strip_prefix(' ')?));
    key.ok_or_else(|| KeyError::NoKey {
        path: path.to_owned(),
        wanted,
        line,
    })
}

fn bytes_of(digits: &str) -> Option<[u8; 32]> {
    blake3::Hash::from_hex(digits).ok().map(|hash| *hash.as_bytes())
}

fn line_of(line: &str, bytes: &[u8; 32]) -> String {
    format!("{line} {}\n", blake3::Hash::from_bytes(*bytes).to_hex())
}

/// Makes a key of this name in a folder, which is made too. Returns the file of its public part.
pub(crate) fn make(folder: &Path, name: &str) -> Result<(PathBuf, VerifyingKey), KeyError> {
    let private = place(folder, name, "key")?;
    let public = place(folder, name, "pub")?;
    make_folder(folder)?;
    if let Some((other, _)) = Keys::read(folder)?.private {
        return Err(KeyError::Taken(folder.join(other + ".key")));
    }
    let mut seed = [0; 32];
    let random = Path::new("/dev/urandom");
    File::open(random)
        .and_then(|mut file| file.read_exact(&mut seed))
        .map_err(failed("read", random))?;
    let key = SigningKey::from_bytes(&seed);
    let verifying = key.verifying_key();
    write_new(&private, 0o600, &line_of(PRIVATE, &seed))?;
    if let Err(error) = write_new(&public, 0o644, &line_of(PUBLIC, verifying.as_bytes())) {
        let _ = fs::remove_file(&private);
        return Err(error);
    }
    Ok((public, verifying))
}

/// Trusts the public key in a file, under this name or the file's.
pub(crate) fn trust(
    folder: &Path,
    file: &Path,
    name: Option<&str>,
) -> Result<(PathBuf, VerifyingKey), KeyError> {
    let key = read_public(file, false)?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let place = place(folder, name.unwrap_or(&stem), "pub")?;
    make_folder(folder)?;
    write_new(&place, 0o644, &line_of(PUBLIC, key.as_bytes()))?;
    Ok((place, key))
}

fn make_folder(folder: &Path) -> Result<(), KeyError> {
    let mut builder = DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(folder);
    made.map_err(failed("make", folder))
}

fn place(folder: &Path, name: &str, extension: &str) -> Result<PathBuf, KeyError> {
    let is_name = name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.len() <= 100
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    match is_name {
        true => Ok(folder.join(format!("{name}.{extension}"))),
        false => Err(KeyError::BadName(name.to_owned())),
    }
}

/// Writes a file that was not there: whole, or not at all.
fn write_new(path: &Path, mode: u32, text: &str) -> Result<(), KeyError> {
    let unwritable = failed("write", path);
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .permissions(PermissionsExt::from_mode(mode))
        .tempfile_in(folder)
        .map_err(&unwritable)?;
    file.write_all(text.as_bytes()).map_err(&unwritable)?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            Err(KeyError::Taken(path.to_owned()))
        }
        Err(error) => Err(unwritable(error.error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_trusted_elsewhere_by_its_public_part() {
        let home = tempfile::tempdir().unwrap();
        let [makers, readers] = ["makers", "readers"].map(|name| home.path().join(name));
        let (public, made) = make(&makers, "site").unwrap();
        let keys = Keys::read(&makers).unwrap();
        assert_eq!(keys.private.unwrap().1.verifying_key(), made);
        assert_eq!(keys.trusted[0].key, made);
        assert!(matches!(make(&makers, "site"), Err(KeyError::Taken(_))));
        assert!(matches!(make(&makers, "other"), Err(KeyError::Taken(_))));

        assert!(Keys::read(&readers).unwrap().trusted.is_empty());
        trust(&readers, &public, Some("head")).unwrap();
        let keys = Keys::read(&readers).unwrap();
        assert!(keys.private.is_none());
        assert_eq!(
            (keys.trusted[0].name.as_str(), keys.trusted[0].key),
            ("head", made)
        );
        assert!(matches!(
            trust(&readers, &public, Some("head")),
            Err(KeyError::Taken(_))
        ));
        for name in ["", "../up", ".hidden", "a b"] {
            assert!(matches!(
                trust(&readers, &public, Some(name)),
                Err(KeyError::BadName(_))
            ));
        }
        assert!(matches!(
            trust(&readers, &makers.join("site.key"), None),
            Err(KeyError::NoKey { .. })
        ));
    }

    #[test]
    fn keys_with_other_rights_are_refused() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("keys");
        make(&folder, "site").unwrap();
        let refused = |path: &Path, mode: u32, usual: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            let found = Keys::read(&folder);
            fs::set_permissions(path, fs::Permissions::from_mode(usual)).unwrap();
            assert!(
                matches!(found, Err(KeyError::Rights { .. })),
                "{}: {mode:o}",
                path.display()
            );
        };
        for mode in [0o640, 0o604, 0o660] {
            refused(&folder.join("site.key"), mode, 0o600);
        }
        refused(&folder.join("site.pub"), 0o664, 0o644);
        refused(&folder, 0o770, 0o700);
        assert!(Keys::read(&folder).is_ok());

        fs::copy(folder.join("site.key"), folder.join("second.key")).unwrap();
        assert!(matches!(Keys::read(&folder), Err(KeyError::Several(_))));
        fs::write(folder.join("second.key"), "offloom-private-key-1 12").unwrap();
        assert!(matches!(Keys::read(&folder), Err(KeyError::NoKey { .. })));
    }
}
