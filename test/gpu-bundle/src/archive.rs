//! The unpacked archive on the machine where it runs: its files, and the environment of what runs in it.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::plan::{self, Plan};
use crate::process;
use crate::results::Device;

/// How long the driver may take to say which device there is.
const PROBE_LIMIT: Duration = Duration::from_secs(30);

/// The unpacked archive.
#[derive(Debug)]
pub struct Archive {
    /// Its folder.
    pub folder: PathBuf,
    /// What is to be run.
    pub plan: Plan,
    /// The device that the driver names.
    pub device: Device,
    scratch: PathBuf,
}

impl Archive {
    /// Reads the plan in `folder` and asks the driver for its first device. What programs write goes into
    /// `scratch`.
    ///
    /// # Errors
    /// When the plan cannot be read, or there is no device.
    pub fn open(folder: &Path, scratch: &Path) -> Result<Self> {
        let file = folder.join(plan::FILE);
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
        let plan = serde_json::from_str(&text).with_context(|| format!("`{}`", file.display()))?;
        let mut archive = Self {
            folder: folder.to_owned(),
            plan,
            device: Device::default(),
            scratch: scratch.to_owned(),
        };
        let probed = process::run(archive.command("bin/probe", &[]).arg("device"), PROBE_LIMIT);
        if let Some(problem) = probed.problem {
            anyhow::bail!(
                "no device: `bin/probe device` {problem}: {}{}",
                probed.out.trim(),
                probed.err.trim()
            );
        }
        archive.device = Device::parse(&probed.out)?;
        Ok(archive)
    }

    /// A command that finds the archive's libraries before the system's.
    #[must_use]
    pub fn command(&self, program: &str, environment: &[(&str, &str)]) -> Command {
        let mut command = Command::new(self.folder.join(program));
        command.current_dir(&self.scratch);
        // The program's own settings, and nothing that the user has set.
        for (name, _) in env::vars_os() {
            let name_text = name.to_string_lossy();
            let is_ours = name_text.starts_with("OFFLOOM_JIT");
            if is_ours || name_text.starts_with("OMP_") || name_text.starts_with("LIBOMPTARGET_") {
                command.env_remove(name);
            }
        }
        command.env("LD_LIBRARY_PATH", self.library_path());
        command.env("OMP_TARGET_OFFLOAD", "MANDATORY");
        command.env("OFFLOOM_JIT_LIBRARY", self.folder.join("lib/liboffloom_jit.so"));
        command.env("OFFLOOM_JIT_PTXAS", self.folder.join(self.assembler()));
        command.envs(environment.iter().copied());
        command
    }

    /// The assembler: NVIDIA's; before a virtual GPU, which runs PTX, the one that leaves it in cubins.
    fn assembler(&self) -> &'static str {
        if self.device.is_virtual() {
            "cuda/bin/ptxas"
        } else {
            "cuda/libexec/ptxas"
        }
    }

    /// The archive's libraries, then what the user has: the driver may be there.
    fn library_path(&self) -> OsString {
        let mut path = self.folder.join("lib").into_os_string();
        if let Some(given) = env::var_os("LD_LIBRARY_PATH").filter(|given| !given.is_empty()) {
            path.push(":");
            path.push(given);
        }
        path
    }

    /// A folder for what one program writes, by this name.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn scratch(&self, name: &str) -> Result<PathBuf> {
        let folder = self.scratch.join(name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make folder `{}`", folder.display()))?;
        Ok(folder)
    }
}
