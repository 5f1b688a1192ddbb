//! What a launch refuses, seen before libomptarget is called.

use crate::device::Device;
use crate::launch::MAX_ARGUMENTS;

/// Nothing ran, nothing was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// More than [`MAX_ARGUMENTS`] arguments.
    #[error("a launch has more than {MAX_ARGUMENTS} arguments: gather them in a mapped array")]
    TooManyArguments,
    /// libomptarget would abort over such a number.
    #[error("there is no device {number}: the devices are 0 to {last}, and {devices} is the host", last = devices - 1)]
    NoSuchDevice {
        /// The device that was asked for.
        number: u32,
        /// How many devices there are, at least 1.
        devices: u32,
    },
    /// A [`Mapped`](crate::Mapped) argument is on another device than the launch.
    #[error("an argument is mapped on {mapped}, but the launch is for {launch}")]
    OtherDevice {
        /// Where the argument is mapped.
        mapped: Device,
        /// Where the kernel would run.
        launch: Device,
    },
    /// The data is not the variable that [`link!`](crate::link!) names.
    #[error("the data to be mapped as a `link` variable is not that variable")]
    OtherVariable,
}
