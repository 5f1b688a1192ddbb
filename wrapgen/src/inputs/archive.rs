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
    let malformed = |error: object::Error| malformed(path, error.to_string());
    let archive = ArchiveFile::parse(bytes).map_err(malformed)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    archive
        .members()
        .map(|member| Ok(folder.join(OsStr::from_bytes(member.map_err(malformed)?.name()))))
        .collect()
}

fn malformed(path: &Path, problem: String) -> Error {
    Error::Archive {
        path: path.to_owned(),
        problem,
    }
}
