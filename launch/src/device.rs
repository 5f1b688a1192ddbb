//! Which device a launch or a map is for.

use std::fmt;

use crate::error::LaunchError;
use crate::runtime;

/// A device, as OpenMP's `device` clause names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Device {
    /// The default device, as it is at the time of the call (`OMP_DEFAULT_DEVICE`, `omp_set_default_device`).
    /// Do not change it while something is mapped on it.
    #[default]
    Default,
    /// A device by number, from 0. The number after the last device means the host.
    Number(u32),
    /// The host: nothing is offloaded or copied.
    Host,
}

/// The number by which libomptarget knows the default device.
const DEFAULT_DEVICE: i64 = -1;

impl Device {
    /// How many devices there are besides the host. LLVM 22 says none where offloading is disabled.
    pub fn count() -> u32 {
        u32::try_from(runtime::omp_get_num_devices()).unwrap_or(0)
    }

    /// The number for libomptarget; `None`: there is nothing to ask it for.
    pub(crate) fn number(self) -> Result<Option<i64>, LaunchError> {
        match self {
            Self::Default => Ok(Some(DEFAULT_DEVICE)),
            Self::Host => Ok(None),
            Self::Number(number) => match Self::count() {
                // Offloading is disabled, where every number means the host.
                0 => Ok(Some(i64::from(number))),
                devices if number > devices => Err(LaunchError::NoSuchDevice { number, devices }),
                _ => Ok(Some(i64::from(number))),
            },
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => write!(f, "the default device"),
            Self::Number(number) => write!(f, "device {number}"),
            Self::Host => write!(f, "the host"),
        }
    }
}
