//! The `--image=key=value,...` argument that `pack` and `extract` share with LLVM's packager.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use offloom_abi::OffloadKind;
use offloom_abi::offload_binary::Member;

use crate::error::{Error, Result};

/// One `--image=` argument, taken apart.
///
/// `file` and `kind` have a meaning of their own; every other key is one of the image's strings. A key given
/// twice has both values, joined by a comma. A part without `=` belongs to the value before it, which has a
/// comma in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageArgument {
    text: OsString,
    /// Need not be text, as what they name need not.
    files: Vec<OsString>,
    kind: Option<String>,
    strings: Vec<(String, String)>,
}

impl From<&str> for ImageArgument {
    fn from(text: &str) -> Self {
        Self::from(OsStr::new(text))
    }
}

impl From<OsString> for ImageArgument {
    fn from(text: OsString) -> Self {
        Self::from(text.as_os_str())
    }
}

impl From<&OsStr> for ImageArgument {
    fn from(text: &OsStr) -> Self {
        let mut given: Vec<(&[u8], OsString)> = Vec::new();
        for part in text.as_bytes().split(|&byte| byte == b',') {
            let equals = part.iter().position(|&byte| byte == b'=');
            match (equals, given.last_mut()) {
                (Some(at), _) => given.push((&part[..at], OsStr::from_bytes(&part[at + 1..]).to_owned())),
                (None, Some((_, value))) => {
                    value.push(",");
                    value.push(OsStr::from_bytes(part));
                }
                (None, None) => given.push((part, OsString::new())),
            }
        }
        let mut files = Vec::new();
        let mut pairs: Vec<(&[u8], OsString)> = Vec::new();
        for (key, value) in given {
            match pairs.iter_mut().find(|(found, _)| *found == key) {
                _ if key == b"file" => files.push(value),
                Some((_, values)) => {
                    values.push(",");
                    values.push(value);
                }
                None => pairs.push((key, value)),
            }
        }
        let kind = pairs.iter().position(|(key, _)| *key == b"kind");
        let kind = kind.map(|index| pairs.remove(index).1);
        let in_text = |text: &OsStr| text.to_string_lossy().into_owned();
        Self {
            text: text.to_owned(),
            files,
            kind: kind.as_deref().map(in_text),
            strings: pairs
                .into_iter()
                .map(|(key, value)| (in_text(OsStr::from_bytes(key)), in_text(&value)))
                .collect(),
        }
    }
}

impl ImageArgument {
    /// The argument as it was given.
    pub fn text(&self) -> &OsStr {
        &self.text
    }

    /// As an argument for another program.
    pub fn to_argument(&self) -> OsString {
        let mut argument = OsString::from("--image=");
        argument.push(&self.text);
        argument
    }

    /// The value of `file=`, as one name: given more than once, they are joined as other values are.
    pub fn file(&self) -> Option<PathBuf> {
        let name = self.files.join(OsStr::new(","));
        (!name.is_empty()).then(|| PathBuf::from(name))
    }

    /// The files of `file=`, which may be given more than once.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.files.iter().map(PathBuf::from)
    }

    /// The strings to store or to compare, in the order given.
    pub fn strings(&self) -> Vec<(&str, &str)> {
        self.strings
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect()
    }

    /// Whether `key` is given.
    pub fn has_string(&self, key: &str) -> bool {
        self.strings.iter().any(|(found, _)| found == key)
    }

    /// The programming model of `kind=`; without it none, as in LLVM's packager.
    ///
    /// # Errors
    /// No release knows a model of that name.
    pub fn kind(&self) -> Result<OffloadKind> {
        let Some(name) = &self.kind else {
            return Ok(OffloadKind::None);
        };
        OffloadKind::from_name(name).ok_or_else(|| {
            let known = OffloadKind::ALL.map(OffloadKind::name).join(", ");
            self.error(format!("the offload kind '{name}' is unknown; known are {known}"))
        })
    }

    /// Drops a `kind=` that no release knows and returns it: LLVM's packager takes it for none.
    pub fn drop_unknown_kind(&mut self) -> Option<String> {
        self.kind.take_if(|name| OffloadKind::from_name(name).is_none())
    }

    /// Whether a member is what the argument asks for: its kind and every string are equal; a string that the
    /// member lacks is empty.
    ///
    /// # Errors
    /// `kind=` is unknown.
    pub fn matches(&self, member: &Member<'_>) -> Result<bool> {
        let kind = match self.kind {
            Some(_) => member.offload_kind() == Some(self.kind()?),
            None => true,
        };
        Ok(kind
            && self
                .strings
                .iter()
                .all(|(key, value)| member.string(key).unwrap_or_default() == value))
    }

    /// An error about this argument.
    pub fn error(&self, problem: impl Into<String>) -> Error {
        Error::ImageArgument {
            argument: self.text.display().to_string(),
            problem: problem.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_given_twice_has_both_values() {
        let argument = ImageArgument::from("file=a.o,triple=t,feature=+a,kind=openmp,feature=-b,empty=");
        assert_eq!(argument.file(), Some("a.o".into()));
        assert_eq!(argument.kind().unwrap(), OffloadKind::OpenMp);
        assert_eq!(
            argument.strings(),
            [("triple", "t"), ("feature", "+a,-b"), ("empty", "")]
        );
        assert_eq!(ImageArgument::from("file=a,file=b").files().count(), 2);
    }

    #[test]
    fn a_part_without_a_key_belongs_to_the_value_before() {
        let argument = ImageArgument::from(
            "file=a,b/c,,d.o,triple=t,file=e.o,arch=a,b,kind=openmp,feature=+c,-d,feature=+e",
        );
        let files: Vec<_> = argument.files().collect();
        assert_eq!(files, ["a,b/c,,d.o", "e.o"].map(PathBuf::from));
        assert_eq!(
            argument.strings(),
            [("triple", "t"), ("arch", "a,b"), ("feature", "+c,-d,+e")]
        );
        assert_eq!(argument.kind().unwrap(), OffloadKind::OpenMp);
        assert_eq!(ImageArgument::from("key").strings(), [("key", "")]);
    }

    #[test]
    fn files_need_not_have_names_that_are_text() {
        let text = OsStr::from_bytes(b"file=\xff/a.o,triple=t,file=\xfe");
        let argument = ImageArgument::from(text);
        let files = [&b"\xff/a.o"[..], b"\xfe"].map(|file| PathBuf::from(OsStr::from_bytes(file)));
        assert_eq!(argument.files().collect::<Vec<_>>(), files);
        assert_eq!(argument.strings(), [("triple", "t")]);
        assert_eq!(
            argument.to_argument().as_bytes(),
            [b"--image=", text.as_bytes()].concat()
        );
    }

    #[test]
    fn an_unknown_kind_is_named() {
        let mut argument = ImageArgument::from("file=a,kind=OpenMP");
        assert!(
            argument
                .kind()
                .unwrap_err()
                .to_string()
                .contains("'OpenMP' is unknown")
        );
        assert_eq!(argument.drop_unknown_kind().as_deref(), Some("OpenMP"));
        assert_eq!(argument.kind().unwrap(), OffloadKind::None);
    }
}
