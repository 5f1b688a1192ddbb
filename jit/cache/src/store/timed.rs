//! What launches of an image took, and on which model of a device: caches are shared by machines, and one
//! image runs on several models of GPUs.

use offloom_abi::jit_remote::Device;
use offloom_jit_variants::trial::Times;

/// The model of what launches run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Model(pub(super) u64);

impl Model {
    /// A processor, or a device of which nobody knows more: which one it is the key of an image says.
    pub const OF_KEY: Self = Self(0);

    /// The model of this device.
    pub fn of(device: Device<'_>) -> Self {
        match device {
            Device::Processor => Self::OF_KEY,
            Device::Gpu(name) => {
                let mut number = [0; 8];
                let mut hasher = blake3::Hasher::new();
                hasher.update(name.as_bytes()).finalize_xof().fill(&mut number);
                Self(u64::from_le_bytes(number))
            }
        }
    }
}

/// What launches of an image took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timed {
    /// What they ran on.
    pub model: Model,
    /// The fastest ones.
    pub times: Times,
}

impl Timed {
    /// The times, if they are of this model.
    pub fn on(self, model: Model) -> Option<Times> {
        (self.model == model).then_some(self.times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_one_model() {
        let [first, second] =
            ["NVIDIA H100 80GB HBM3", "NVIDIA H200"].map(|name| Model::of(Device::Gpu(name)));
        let times = Times {
            variant: 1,
            ahead_of_time: 2,
        };
        let timed = Timed { model: first, times };
        assert_eq!(timed.on(first), Some(times));
        assert_eq!(timed.on(second), None);
        assert_eq!(timed.on(Model::of(Device::Processor)), None);
    }
}
