//! Takes archives apart.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::read::archive::ArchiveFile;

use crate::error::{Error, Result};

/// The name and the bytes of each member of the archive `bytes`, in order.
pub(super) fn members<'a>(path: &Path, bytes: &'a [u8]) -> Result<Vec<(&'a OsStr, &'a [u8])>> {
    let malformed = |error: object::Error| malformed(path, error.to_string());
    let archive = ArchiveFile::parse(bytes).map_err(malformed)?;
    archive
        .members()
        .map(|member| {
            let member = member.map_err(malformed)?;
            let data = member.data(bytes).map_err(malformed)?;
            Ok((OsStr::from_bytes(member.name()), data))
        })
        .collect()
}

/// The file of each member of the thin archive `bytes`, in order. Relative names count from the archive's
/// folder.
pub(super) fn thin_member_paths(path: &Path, bytes: &[u8]) -> Result<Vec<PathBuf>> {
    let malformed = |error: object::Error| match has_nested_members(bytes) {
        true => Error::NestedThinArchive {
            path: path.to_owned(),
        },
        false => malformed(path, error.to_string()),
    };
    let archive = ArchiveFile::parse(bytes).map_err(malformed)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    archive
        .members()
        .map(|member| Ok(folder.join(OsStr::from_bytes(member.map_err(malformed)?.name()))))
        .collect()
}

/// Whether a thin archive has a member of another archive, called `/N:M`: the place of that one's name, and
/// the member's offset in it.
fn has_nested_members(bytes: &[u8]) -> bool {
    const HEADER: usize = 60;
    const NAME: usize = 16;
    bytes.windows(HEADER).any(|header| {
        let numbers = header.strip_prefix(b"/").filter(|_| header.ends_with(b"`\n"));
        let numbers = numbers.and_then(|rest| std::str::from_utf8(rest.get(..NAME - 1)?).ok());
        let numbers = numbers.and_then(|numbers| numbers.trim_end().split_once(':'));
        numbers.is_some_and(|(name, offset)| name.parse::<u64>().is_ok() && offset.parse::<u64>().is_ok())
    })
}

fn malformed(path: &Path, problem: String) -> Error {
    Error::Archive {
        path: path.to_owned(),
        problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thin_archive_of_archives_is_called_so() {
        let header = |name: &str, size| format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644);
        let archive = |member| {
            let names = header("//", 10) + "inner.a/\n\n";
            format!("!<thin>\n{names}{}", header(member, 1104))
        };
        let paths = |member| thin_member_paths(Path::new("folder/outer.a"), archive(member).as_bytes());
        assert_eq!(paths("/0").unwrap(), [Path::new("folder/inner.a")]);
        assert!(matches!(paths("/0:84"), Err(Error::NestedThinArchive { .. })));
        assert!(matches!(paths("/99"), Err(Error::Archive { .. })));
    }
}
