//! What the environment says of the devices.
//!
//! The page `docs/dev/virtual-gpu.md` describes the variables.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use offloom_virtual_gpu::{DeviceProperties, Poison, Schedule};

/// The devices where none are named.
const DEFAULT_DEVICES: &str = "sm_80";

/// Memory of a device, in bytes.
const DEFAULT_MEMORY: u64 = 4 << 30;

/// The CUDA that the driver is for, where none is named: 13.0.
const DEFAULT_VERSION: i32 = 13_000;

/// How long a kernel may run.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// All settings.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The devices, in their order.
    pub(crate) devices: Vec<DeviceProperties>,
    /// Bytes of memory of each device.
    pub(crate) memory: u64,
    pub(crate) poison: Poison,
    pub(crate) schedule: Schedule,
    /// How long a kernel may run.
    pub(crate) timeout: Duration,
    /// Host threads for each launch. 0: as many as there are cores.
    pub(crate) workers: usize,
    /// The file that says what each launch has executed, if that is wanted.
    pub(crate) counts: Option<PathBuf>,
    /// The folder for the PTX of kernels with how often each line was executed, if that is wanted.
    pub(crate) profile: Option<PathBuf>,
    /// Whether kernels reach all memory of the process.
    pub(crate) reaches_host: bool,
    /// Whether launches are checked and nothing is executed: what is left is what a launch takes on the host.
    pub(crate) skips_kernels: bool,
    /// The CUDA that the driver is for, as `cuDriverGetVersion` says it.
    pub(crate) version: i32,
}

impl Settings {
    /// Reads the environment of the process.
    ///
    /// # Errors
    ///
    /// Which variable cannot be read, and what it may be.
    pub(crate) fn read() -> Result<Self, String> {
        Self::from(|name| env::var(name).ok())
    }

    fn from(set: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let variable = |name: &str| set(name).filter(|value| !value.is_empty());
        let number = |name: &str, what: &str| -> Result<Option<u64>, String> {
            let Some(value) = variable(name) else {
                return Ok(None);
            };
            let read = size(&value).ok_or_else(|| format!("{name}={value}: expected {what}"));
            read.map(Some)
        };
        let names = variable("OFFLOOM_VIRTUAL_GPU").unwrap_or_else(|| DEFAULT_DEVICES.to_owned());
        let mut devices = Vec::new();
        if names != "none" {
            for (number, name) in names.split(',').enumerate() {
                let capability = capability(name.trim()).ok_or_else(|| {
                    format!(
                        "OFFLOOM_VIRTUAL_GPU={names}: expected `none` or processors as in `sm_80,sm_90`, from sm_70 on"
                    )
                })?;
                devices.push(DeviceProperties::new(number, capability));
            }
        }
        let name = "OFFLOOM_VIRTUAL_GPU_MULTIPROCESSORS";
        if let Some(count) = number(name, "a number from 1 to 1024")? {
            if !(1..=1024).contains(&count) {
                return Err(format!("{name}={count}: expected a number from 1 to 1024"));
            }
            for device in &mut devices {
                device.multiprocessors = count as u32;
            }
        }
        if let Some(visible) = set("CUDA_VISIBLE_DEVICES") {
            devices = chosen(&devices, &visible);
        }
        let memory = number("OFFLOOM_VIRTUAL_GPU_MEMORY", "a number of bytes, as in 64M or 2G")?;
        let seed = number("OFFLOOM_VIRTUAL_GPU_SEED", "a number")?;
        let timeout = number("OFFLOOM_VIRTUAL_GPU_TIMEOUT", "a number of seconds")?;
        let workers = number("OFFLOOM_VIRTUAL_GPU_WORKERS", "a number of threads")?;
        let poison = match variable("OFFLOOM_VIRTUAL_GPU_POISON").as_deref() {
            None | Some("report") => Poison::Report,
            Some("off") => Poison::Off,
            Some("fault") => Poison::Fault,
            Some(value) => {
                return Err(format!(
                    "OFFLOOM_VIRTUAL_GPU_POISON={value}: expected `off`, `report` or `fault`"
                ));
            }
        };
        let reaches_host = match variable("OFFLOOM_VIRTUAL_GPU_HOST_MEMORY").as_deref() {
            None | Some("0") => false,
            Some("1") => true,
            Some(value) => {
                return Err(format!(
                    "OFFLOOM_VIRTUAL_GPU_HOST_MEMORY={value}: expected `0` or `1`"
                ));
            }
        };
        let skips_kernels = match variable("OFFLOOM_VIRTUAL_GPU_KERNELS").as_deref() {
            None | Some("execute") => false,
            Some("skip") => true,
            Some(value) => {
                return Err(format!(
                    "OFFLOOM_VIRTUAL_GPU_KERNELS={value}: expected `execute` or `skip`"
                ));
            }
        };
        let name = "OFFLOOM_VIRTUAL_GPU_CUDA";
        let version = variable(name).map(|value| {
            cuda(&value).ok_or_else(|| format!("{name}={value}: expected a version of CUDA, as in 12.4"))
        });
        let version = version.transpose()?.unwrap_or(DEFAULT_VERSION);
        Ok(Self {
            version,
            devices,
            memory: memory.unwrap_or(DEFAULT_MEMORY),
            poison,
            schedule: seed.map_or(Schedule::Converging, |seed| Schedule::Random { seed }),
            timeout: timeout.map_or(DEFAULT_TIMEOUT, Duration::from_secs),
            workers: workers.map_or(0, |count| count.min(1024) as usize),
            counts: variable("OFFLOOM_VIRTUAL_GPU_COUNTS").map(PathBuf::from),
            profile: variable("OFFLOOM_VIRTUAL_GPU_PROFILE").map(PathBuf::from),
            reaches_host,
            skips_kernels,
        })
    }
}

/// A number, with `K`, `M` or `G` behind it as factor.
fn size(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number: u64 = digits.parse().ok()?;
    number.checked_mul(1 << shift)
}

/// The devices that `CUDA_VISIBLE_DEVICES` names by their numbers, in its order. As NVIDIA's driver reads it,
/// what names no device, or one again, ends the list.
fn chosen(devices: &[DeviceProperties], visible: &str) -> Vec<DeviceProperties> {
    let mut numbers = Vec::new();
    for name in visible.split(',') {
        match name.trim().parse::<usize>() {
            Ok(number) if number < devices.len() && !numbers.contains(&number) => numbers.push(number),
            _ => break,
        }
    }
    numbers
        .into_iter()
        .map(|number| devices[number].clone())
        .collect()
}

/// A version of CUDA, as `cuDriverGetVersion` says it.
fn cuda(text: &str) -> Option<i32> {
    let (major, minor) = text.split_once('.')?;
    let (major, minor): (u8, u8) = (major.parse().ok()?, minor.parse().ok()?);
    (minor < 100).then(|| i32::from(major) * 1000 + i32::from(minor) * 10)
}

/// Major and minor number of a processor's name.
fn capability(name: &str) -> Option<(u32, u32)> {
    let digits = name.strip_prefix("sm_")?;
    let number: u32 = digits.parse().ok()?;
    (70..200).contains(&number).then_some((number / 10, number % 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, String> {
        Settings::from(|name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn devices_and_their_sizes() {
        let settings = read(&[
            ("OFFLOOM_VIRTUAL_GPU", "sm_80, sm_90"),
            ("OFFLOOM_VIRTUAL_GPU_MULTIPROCESSORS", "4"),
            ("OFFLOOM_VIRTUAL_GPU_MEMORY", "64M"),
        ]);
        let settings = settings.unwrap();
        let capabilities = settings.devices.iter().map(|device| device.compute_capability);
        assert_eq!(capabilities.collect::<Vec<_>>(), [(8, 0), (9, 0)]);
        assert_eq!(settings.devices[1].multiprocessors, 4);
        assert_eq!(settings.memory, 64 << 20);
        assert_eq!(read(&[]).unwrap().devices.len(), 1);
        assert_eq!(read(&[]).unwrap().version, 13_000);
        let older = read(&[("OFFLOOM_VIRTUAL_GPU_CUDA", "12.4")]);
        assert_eq!(older.unwrap().version, 12_040);
        assert!(
            read(&[("OFFLOOM_VIRTUAL_GPU", "none")])
                .unwrap()
                .devices
                .is_empty()
        );
    }

    #[test]
    fn programs_see_the_devices_that_are_visible() {
        let seen = |visible: &str| {
            let settings = read(&[
                ("OFFLOOM_VIRTUAL_GPU", "sm_70,sm_80,sm_90"),
                ("CUDA_VISIBLE_DEVICES", visible),
            ]);
            let devices = settings.unwrap().devices.into_iter();
            devices
                .map(|device| device.compute_capability.0)
                .collect::<Vec<_>>()
        };
        assert_eq!(seen("2,0"), [9, 7]);
        assert_eq!(seen("1, 1"), [8]);
        assert_eq!(seen("0,-1,2"), [7]);
        assert!(seen("").is_empty());
        assert!(seen("3").is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (name, value) in [
            ("OFFLOOM_VIRTUAL_GPU", "gfx90a"),
            ("OFFLOOM_VIRTUAL_GPU", "sm_20"),
            ("OFFLOOM_VIRTUAL_GPU_MEMORY", "much"),
            ("OFFLOOM_VIRTUAL_GPU_MEMORY", "99999999999999999999G"),
            ("OFFLOOM_VIRTUAL_GPU_MULTIPROCESSORS", "0"),
            ("OFFLOOM_VIRTUAL_GPU_POISON", "yes"),
            ("OFFLOOM_VIRTUAL_GPU_HOST_MEMORY", "all"),
            ("OFFLOOM_VIRTUAL_GPU_KERNELS", "none"),
            ("OFFLOOM_VIRTUAL_GPU_CUDA", "12"),
            ("OFFLOOM_VIRTUAL_GPU_CUDA", "12.400"),
        ] {
            let error = read(&[(name, value)]).unwrap_err();
            assert!(error.starts_with(&format!("{name}={value}")), "{error}");
        }
    }
}
