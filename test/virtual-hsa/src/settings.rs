//! What the environment says of the devices and of the log.
//!
//! The page `docs/dev/virtual-hsa.md` describes the variables.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use crate::isa::TargetId;

/// The devices where none are named.
const DEFAULT_DEVICES: &str = "gfx90a";

/// The variable that says how long kernels seem to run.
const KERNEL_TIME: &str = "OFFLOOM_VIRTUAL_HSA_KERNEL_TIME";

/// All settings.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The devices, in their order.
    pub(crate) devices: Vec<TargetId>,
    /// The file that the log goes to, if one is wanted.
    pub(crate) log: Option<PathBuf>,
    /// How long each kernel seems to run.
    pub(crate) kernel_time: Duration,
}

impl Settings {
    /// Reads the environment of the process.
    ///
    /// # Errors
    ///
    /// Which variable cannot be read, and what it may be.
    pub(crate) fn read() -> Result<Self, String> {
        let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
        let names = variable("OFFLOOM_VIRTUAL_HSA").map_or_else(
            || DEFAULT_DEVICES.to_owned(),
            |value| value.to_string_lossy().into_owned(),
        );
        Ok(Self {
            devices: devices(&names)?,
            log: variable("OFFLOOM_VIRTUAL_HSA_LOG").map(PathBuf::from),
            kernel_time: match variable(KERNEL_TIME) {
                Some(value) => kernel_time(&value.to_string_lossy())?,
                None => Duration::ZERO,
            },
        })
    }
}

/// The devices of a list such as `gfx90a,gfx1030`; of `none`, none.
fn devices(names: &str) -> Result<Vec<TargetId>, String> {
    if names == "none" {
        return Ok(Vec::new());
    }
    let target = |name: &str| {
        TargetId::of_device(name.trim()).ok_or_else(|| {
            format!(
                "OFFLOOM_VIRTUAL_HSA={names}: expected `none` or devices as in `gfx90a,gfx90a:xnack+,gfx1030`"
            )
        })
    };
    names.split(',').map(target).collect()
}

/// How long kernels seem to run.
fn kernel_time(value: &str) -> Result<Duration, String> {
    let microseconds = value.parse().ok();
    microseconds
        .map(Duration::from_micros)
        .ok_or_else(|| format!("{KERNEL_TIME}={value}: expected a number of microseconds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_seem_to_run_for_a_number_of_microseconds() {
        assert_eq!(kernel_time("1500").unwrap(), Duration::from_micros(1500));
        assert!(
            kernel_time("1s")
                .unwrap_err()
                .contains("OFFLOOM_VIRTUAL_HSA_KERNEL_TIME=1s")
        );
    }

    #[test]
    fn devices_are_named_in_their_order() {
        let names =
            |list| devices(list).map(|found| found.iter().map(TargetId::to_string).collect::<Vec<_>>());
        assert_eq!(
            names("gfx1030, gfx90a:xnack+").unwrap(),
            ["gfx1030", "gfx90a:sramecc+:xnack+"]
        );
        assert_eq!(names("none").unwrap(), Vec::<String>::new());
        assert!(names("gfx90a,sm_80").unwrap_err().contains("gfx90a,sm_80"));
    }
}
