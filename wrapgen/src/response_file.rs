//! Replaces `@file` arguments by the arguments in that file, as every LLVM tool does, and writes such files.
//!
//! Syntax, that of GNU tools: arguments are separated by white space; single and double quotes keep it; a
//! backslash takes the next character as it is, in quotes of either kind, too. A file may name further ones.
//! An `@file` that does not exist is an ordinary argument.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use crate::error::{Error, Result};

/// Files that name files that name files ...: deeper than this it is a loop.
const MAX_DEPTH: usize = 20;

/// The arguments, with those of response files in their places.
///
/// # Errors
/// A response file cannot be read, or files name each other in a loop.
pub fn expand(arguments: impl IntoIterator<Item = OsString>) -> Result<Vec<OsString>> {
    let mut expanded = Vec::new();
    for argument in arguments {
        expand_into(argument, 0, &mut expanded)?;
    }
    Ok(expanded)
}

fn expand_into(argument: OsString, depth: usize, expanded: &mut Vec<OsString>) -> Result<()> {
    let Some(path) = argument.as_bytes().strip_prefix(b"@") else {
        expanded.push(argument);
        return Ok(());
    };
    let path = Path::new(OsStr::from_bytes(path));
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            expanded.push(argument);
            return Ok(());
        }
        Err(error) => return Err(Error::read(path)(error)),
    };
    if depth == MAX_DEPTH {
        return Err(Error::Usage(format!(
            "response files name each other more than {MAX_DEPTH} deep, last '{}'",
            path.display()
        )));
    }
    for argument in split(&bytes) {
        expand_into(argument, depth + 1, expanded)?;
    }
    Ok(())
}

/// The arguments in the text of a response file.
pub fn split(text: &[u8]) -> Vec<OsString> {
    let mut arguments = Vec::new();
    let mut current: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (None, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c) => arguments.extend(current.take()),
            (None, b'"' | b'\'') => {
                quote = Some(byte);
                current.get_or_insert_default();
            }
            (Some(open), close) if open == close => quote = None,
            (_, b'\\') => {
                // At the end of the text it stands for itself.
                current.get_or_insert_default().push(bytes.next().unwrap_or(byte));
            }
            _ => current.get_or_insert_default().push(byte),
        }
    }
    arguments.extend(current);
    arguments.into_iter().map(OsString::from_vec).collect()
}

/// Arguments as the text of a response file, each between double quotes.
pub fn join<'a>(arguments: impl IntoIterator<Item = &'a OsStr>) -> Vec<u8> {
    let mut text = Vec::new();
    for argument in arguments {
        text.push(b'"');
        for &byte in argument.as_bytes() {
            if matches!(byte, b'"' | b'\\') {
                text.push(b'\\');
            }
            text.push(byte);
        }
        text.extend_from_slice(b"\"\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(words in proptest::collection::vec(
            proptest::collection::vec(1u8..=255, 0..12).prop_map(OsString::from_vec), 0..6,
        )) {
            prop_assert_eq!(split(&join(words.iter().map(OsString::as_os_str))), words);
        }
    }

    #[test]
    fn quotes_and_backslashes() {
        let text = br#"-o 'a b'  "c \" d" e\ f ''"#;
        assert_eq!(split(text), ["-o", "a b", "c \" d", "e f", ""]);
        assert_eq!(split(b" \n"), [""; 0]);
        // As LLVM's tools have it. GNU's do not differ but in a backslash at the end, which they drop.
        assert_eq!(split(br"'a\'b c\d' e\"), ["a'b cd", r"e\"]);
    }

    #[test]
    fn nested_missing_and_circular_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        fs::write(path("inner"), "b c").unwrap();
        fs::write(path("outer"), format!("a @{} d", path("inner"))).unwrap();
        fs::write(path("loop"), format!("@{}", path("loop"))).unwrap();
        let expand = |argument: String| expand([OsString::from(argument)]);
        assert_eq!(
            expand(format!("@{}", path("outer"))).unwrap(),
            ["a", "b", "c", "d"]
        );
        assert_eq!(expand("@/none/such".to_owned()).unwrap(), ["@/none/such"]);
        assert!(matches!(
            expand(format!("@{}", path("loop"))),
            Err(Error::Usage(_))
        ));
    }
}
