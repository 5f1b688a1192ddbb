//! The file that a host linker writes for make (`--dependency-file=`), without the intermediate files of the
//! link: they are gone when make reads it, so that it would link again and again.
//!
//! GNU ld, gold and lld write one name on each line: the output, what it was made of, and then each of these
//! as a rule of its own. lld alone puts a backslash before what is special in a name.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::output::write_file;

/// Takes the names `gone` out of the file that the host linker has written at `path`, and has it say `output`
/// in the place of `linked`. A linker that writes no such file, or another kind, has its way.
///
/// # Errors
/// The file cannot be read or written.
pub(super) fn without_intermediate_files(
    path: &Path,
    gone: &[PathBuf],
    linked: &Path,
    output: &Path,
) -> Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::read(path)(error)),
        _ => return Ok(()),
    }
    let text = fs::read(path).map_err(Error::read(path))?;
    let edited = edited(&text, gone, linked, output);
    match edited == text {
        true => Ok(()),
        false => write_file(path, &edited),
    }
}

fn edited(text: &[u8], gone: &[PathBuf], linked: &Path, output: &Path) -> Vec<u8> {
    let is_gone = |name: &[u8]| gone.iter().any(|path| is_name_of(name, path));
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut after_dropped_rule = false;
    for line in text.split(|&byte| byte == b'\n') {
        let continued = line.strip_suffix(b" \\");
        let name = continued.unwrap_or(line).trim_ascii_start();
        if std::mem::take(&mut after_dropped_rule) && line.is_empty() {
            continue;
        }
        match name.strip_suffix(b":") {
            Some(name) if is_gone(name) => after_dropped_rule = true,
            Some(name) if linked != output && is_name_of(name, linked) => {
                let rest = &line[name.len()..];
                lines.push([output.as_os_str().as_bytes(), rest].concat());
            }
            None if is_gone(name) => {
                // The line before is the last of its rule then.
                if continued.is_none()
                    && let Some(last) = lines.last_mut()
                    && last.ends_with(b" \\")
                {
                    last.truncate(last.len() - 2);
                }
            }
            _ => lines.push(line.to_vec()),
        }
    }
    lines.join(&b'\n')
}

/// Whether `name` is how some linker writes `path`.
fn is_name_of(name: &[u8], path: &Path) -> bool {
    let path = path.as_os_str();
    name == path.as_bytes() || unescaped(name) == path
}

/// A name without lld's escapes: a backslash before a space or `#`, doubled backslashes before those, and
/// `$$` for `$`.
fn unescaped(name: &[u8]) -> std::ffi::OsString {
    let mut bytes = Vec::new();
    let mut rest = name;
    while let Some((&first, after)) = rest.split_first() {
        let next = after.first();
        let is_escape = match first {
            b'\\' => matches!(next, Some(b' ' | b'#' | b'\\')),
            b'$' => next == Some(&b'$'),
            _ => false,
        };
        if is_escape {
            bytes.extend(next);
            rest = &after[1..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    OsStr::from_bytes(&bytes).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let gone = ["/t/a b.wrapper.o", "/t/$.o"].map(PathBuf::from);
        let edited = edited(
            text.as_bytes(),
            &gone,
            Path::new("/t/merged.o"),
            Path::new("out.o"),
        );
        assert_eq!(String::from_utf8(edited).unwrap(), expected);
    }

    #[test]
    fn names_go_wherever_they_stand() {
        check(
            "out: \\\n /t/a\\ b.wrapper.o \\\n x.o \\\n /t/$$.o\n\n/t/a\\ b.wrapper.o:\n\nx.o:\n\n/t/$$.o:\n",
            "out: \\\n x.o\n\nx.o:\n",
        );
        check(
            "out: \\\n  /t/a b.wrapper.o \\\n  x.o\n\n/t/a b.wrapper.o:\n\nx.o:\n",
            "out: \\\n  x.o\n\nx.o:\n",
        );
        check("/t/merged.o: \\\n  /t/$.o\n", "out.o:\n");
        check("something else\n", "something else\n");
    }
}
