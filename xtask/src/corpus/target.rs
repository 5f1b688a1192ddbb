//! The targets that the corpus is compiled for, and the Clang options that take to.

use std::fmt;

use crate::openmp::OpenMp;

/// What a module of the corpus is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// The host, whose modules launch regions on an x86_64 device.
    Host,
    /// An offload device.
    Device(Device),
}

/// Offload devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Device {
    /// The host's own processor, as libomptarget's x86_64 device.
    X86_64,
    /// NVIDIA GPUs.
    Nvptx64,
    /// AMD GPUs.
    Amdgcn,
}

impl Target {
    /// Every target.
    pub(crate) const ALL: [Self; 4] = [
        Self::Host,
        Self::Device(Device::X86_64),
        Self::Device(Device::Nvptx64),
        Self::Device(Device::Amdgcn),
    ];

    /// The device that a compile for this target is about.
    pub(crate) fn device(self) -> Device {
        match self {
            Self::Host => Device::X86_64,
            Self::Device(device) => device,
        }
    }
}

impl Device {
    /// Its name in `TARGETS` directives and in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Nvptx64 => "nvptx64",
            Self::Amdgcn => "amdgcn",
        }
    }

    /// The triple.
    pub(crate) fn triple(self) -> &'static str {
        match self {
            Self::X86_64 => crate::openmp::DEVICE_TRIPLE,
            Self::Nvptx64 => "nvptx64-nvidia-cuda",
            Self::Amdgcn => "amdgcn-amd-amdhsa",
        }
    }

    /// Options that choose a processor. LLVM 22 without a CUDA installation takes the oldest PTX version,
    /// which does not know it.
    pub(crate) fn processor_options(self) -> &'static [&'static str] {
        match self {
            Self::X86_64 => &[],
            Self::Nvptx64 => &["-march=sm_70", "--cuda-feature=+ptx63"],
            Self::Amdgcn => &["-march=gfx90a"],
        }
    }

    /// Options for compiling a source with target regions for the host and this device. GPUs are compiled for
    /// without a device runtime, which LLVM 22's packages do not have.
    pub(crate) fn compile_options(self, openmp: &OpenMp) -> Vec<String> {
        if self == Self::X86_64 {
            return openmp.compile_options();
        }
        let triple = self.triple();
        let mut options = vec!["-fopenmp".to_owned(), format!("-fopenmp-targets={triple}")];
        for option in self.processor_options() {
            options.extend([format!("-Xopenmp-target={triple}"), (*option).to_owned()]);
        }
        options.push("-nogpulib".to_owned());
        options.extend_from_slice(&openmp.include_options);
        options
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host => "host",
            Self::Device(device) => device.name(),
        })
    }
}
