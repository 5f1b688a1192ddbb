//! Where the checkout and Cargo's build folder are.

use std::env;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tempfile::NamedTempFile;

/// The folders that every task works with.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    /// The root of the checkout.
    pub(crate) root: PathBuf,
    /// Cargo's target folder: `target` in the root, or what `CARGO_TARGET_DIR` or Cargo's configuration says.
    pub(crate) target: PathBuf,
}

impl Workspace {
    /// Asks Cargo where the workspace is.
    pub(crate) fn find() -> Result<Self> {
        let metadata = metadata()?;
        let folder = |key: &str| {
            metadata[key]
                .as_str()
                .map(PathBuf::from)
                .with_context(|| format!("`cargo metadata` says nothing of `{key}`"))
        };
        Ok(Self {
            root: folder("workspace_root")?,
            target: folder("target_directory")?,
        })
    }

    /// The target folder of the build for one LLVM. What the builds make is kept apart because it has the
    /// same names; what they make it of is not (`build-dir` in `.cargo/config.toml`).
    pub(crate) fn llvm_target(&self, major: u32) -> PathBuf {
        self.target.join(format!("llvm-{major}"))
    }
}

/// Removes a folder with all that is in it, if it is there.
pub(crate) fn remove_folder(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove `{}`", folder.display()))
        }
        _ => Ok(()),
    }
}

/// `cargo metadata` of this workspace's own packages.
pub(crate) fn metadata() -> Result<Value> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let output = Command::new(cargo())
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--manifest-path",
        ])
        .arg(&manifest)
        .output()
        .context("cannot run `cargo metadata`")?;
    ensure!(
        output.status.success(),
        "`cargo metadata` failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    serde_json::from_slice(&output.stdout).context("`cargo metadata` printed something that is not JSON")
}

/// Writes a file beside its place and puts it there, so that no half of it is ever seen.
pub(crate) fn write_whole(file: &Path, text: &str) -> Result<()> {
    let write = || -> io::Result<()> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut beside = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
        beside.write_all(text.as_bytes())?;
        beside.as_file().set_permissions(Permissions::from_mode(0o644))?;
        beside.persist(file)?;
        Ok(())
    };
    write().with_context(|| format!("cannot write `{}`", file.display()))
}

/// The Cargo that runs this program, or the one on `PATH`.
pub(crate) fn cargo() -> PathBuf {
    env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}
