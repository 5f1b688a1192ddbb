//! Whether the machine has a GPU of NVIDIA's.

use std::process::Command;

/// The processor of the first one that `nvidia-smi` finds (`sm_90`).
pub(crate) fn processor() -> Option<String> {
    let mut command = Command::new("nvidia-smi");
    command.args(["--query-gpu=compute_cap", "--format=csv,noheader"]);
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (major, minor) = text.lines().next()?.trim().split_once('.')?;
    Some(format!("sm_{major}{minor}"))
}
