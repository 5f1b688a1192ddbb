//! Device targets: what an image is for, which linker makes it, and which code may be linked into it.

use offloom_abi::{HostProcessor, Triple, gpu_processor};

use crate::LLVM;
use crate::inputs::EmbeddedMember;

/// A device target: what one device image is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Target triple.
    pub triple: String,
    /// Processor, with its features where the device has any (`gfx90a:xnack+`); empty or `generic` where none
    /// was asked for.
    pub arch: String,
}

/// How a target's code is linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceLinker {
    /// By `wrapgen-lld`, to the shared library that libomptarget's device for the host's own instructions
    /// opens.
    HostLike,
    /// The same by `ld.lld`, which compiles bitcode, too, and knows all options for that.
    HostLikeWithBitcode,
    /// The same by Clang: its options are asked for, or the processor is of another kind than the host's.
    HostLikeByClang,
    /// By `ld.lld`, to an AMD code object. It compiles bitcode, too.
    Amdgcn,
    /// The same by Clang, whose options these are.
    AmdgcnByClang,
    /// By CUDA's `ptxas` and `nvlink`, to a cubin.
    Nvptx,
    /// By Clang, which knows the tools of each other accelerator.
    Clang,
}

impl DeviceLinker {
    /// Whether bitcode is an input of the device link, not compiled before it.
    pub fn takes_bitcode(self) -> bool {
        !matches!(self, Self::HostLike | Self::Clang)
    }
}

impl Target {
    /// The target of a member.
    pub fn of(found: &EmbeddedMember<'_>) -> Self {
        Self {
            triple: found.member.triple().to_owned(),
            arch: found.member.arch().to_owned(),
        }
    }

    /// For people: the triple and, if there is one, the processor.
    pub fn name(&self) -> String {
        format!("{} {}", self.triple, self.arch).trim_end().to_owned()
    }

    /// What links its code in a program for `host_triple`, if no option asks for more than it can do.
    pub fn linker(&self, host_triple: &str) -> DeviceLinker {
        match self.triple().architecture() {
            "amdgcn" => DeviceLinker::Amdgcn,
            "nvptx64" => DeviceLinker::Nvptx,
            _ if self.host_processor().is_some() && self.is_host(host_triple) => DeviceLinker::HostLike,
            other if other.starts_with("spirv") || other.starts_with("nvptx") => DeviceLinker::Clang,
            _ => DeviceLinker::HostLikeByClang,
        }
    }

    /// The processor, if it is one that hosts have.
    pub fn host_processor(&self) -> Option<&'static HostProcessor> {
        self.triple().host_processor()
    }

    /// Whether it is the Linux of `host_triple`, which may be spelled otherwise.
    pub fn is_host(&self, host_triple: &str) -> bool {
        self.triple().is_same_linux(Triple(host_triple))
    }

    /// The triple, to be asked.
    pub fn triple(&self) -> Triple<'_> {
        Triple(&self.triple)
    }

    /// The processor without its features.
    pub fn processor(&self) -> &str {
        gpu_processor::processor_of(&self.arch)
    }

    /// The features behind the processor, as LLVM spells them: `+xnack` of `gfx90a:xnack+`.
    pub fn features(&self) -> impl Iterator<Item = String> {
        gpu_processor::features_of(&self.arch)
    }

    /// Whether its code fits every processor.
    pub fn is_for_any_processor(&self) -> bool {
        matches!(self.arch.as_str(), "generic" | "all")
    }

    /// The arch that the linked image carries: some releases leave the one that stands for none in particular
    /// empty.
    pub fn image_arch(&self) -> &str {
        match self.arch.as_str() {
            "generic" if LLVM.generic_arch_is_empty => "",
            arch => arch,
        }
    }

    /// Whether code for `other` can be linked into an image for this target: the rule of LLVM's linker
    /// wrapper.
    ///
    /// Code for `generic` fits every processor. Of AMD's processors, features that only one of the two names
    /// do not matter.
    pub fn takes(&self, other: &Self) -> bool {
        if self.triple != other.triple {
            return false;
        }
        if self.arch == other.arch || self.is_for_any_processor() || other.is_for_any_processor() {
            return true;
        }
        self.triple().is_amd_gpu()
            && self.processor() == other.processor()
            && !["xnack", "sramecc"].into_iter().any(|name| {
                let has = |target: &Self, sign: &str| target.arch.contains(&format!("{name}{sign}"));
                (has(self, "+") && has(other, "-")) || (has(self, "-") && has(other, "+"))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(triple: &str, arch: &str) -> Target {
        Target {
            triple: triple.to_owned(),
            arch: arch.to_owned(),
        }
    }

    #[test]
    fn code_fits_by_processor_and_features() {
        let amd = |arch: &str| target("amdgcn-amd-amdhsa", arch);
        let nvidia = |arch: &str| target("nvptx64-nvidia-cuda", arch);
        for (image, code, fits) in [
            (amd("gfx90a"), amd("gfx90a:xnack+"), true),
            (amd("gfx90a:xnack+"), amd("gfx90a"), true),
            (amd("gfx90a:xnack+"), amd("gfx90a:xnack-"), false),
            (amd("gfx90a:sramecc+"), amd("gfx90a:sramecc-:xnack+"), false),
            (amd("gfx90a:sramecc+"), amd("gfx90a:xnack-"), true),
            (amd("gfx90a"), amd("gfx942"), false),
            (amd("gfx942"), amd("generic"), true),
            (nvidia("sm_75"), nvidia("sm_80"), false),
            (nvidia("sm_75"), nvidia("generic"), true),
            (nvidia("sm_75"), amd("generic"), false),
        ] {
            assert_eq!(image.takes(&code), fits, "{code:?} in an image for {image:?}");
        }
    }

    #[test]
    fn the_host_has_several_names() {
        let host = "x86_64-pc-linux-gnu";
        for (triple, linker) in [
            ("x86_64-pc-linux-gnu", DeviceLinker::HostLike),
            ("x86_64-unknown-linux-gnu", DeviceLinker::HostLike),
            ("x86_64-linux-gnu", DeviceLinker::HostLike),
            ("x86_64-linux", DeviceLinker::HostLike),
            ("x86_64-unknown-linux-musl", DeviceLinker::HostLikeByClang),
            ("x86_64", DeviceLinker::HostLikeByClang),
            ("aarch64-unknown-linux-gnu", DeviceLinker::HostLikeByClang),
            ("spirv64-intel-unknown", DeviceLinker::Clang),
        ] {
            assert_eq!(target(triple, "").linker(host), linker, "{triple}");
        }
        for (triple, linker) in [
            ("aarch64-unknown-linux-gnu", DeviceLinker::HostLike),
            ("x86_64-pc-linux-gnu", DeviceLinker::HostLikeByClang),
        ] {
            assert_eq!(target(triple, "").linker("aarch64-linux-gnu"), linker, "{triple}");
        }
    }

    #[test]
    fn features_are_spelled_as_llvm_does() {
        let target = target("amdgcn-amd-amdhsa", "gfx90a:sramecc-:xnack+");
        assert_eq!(target.processor(), "gfx90a");
        assert_eq!(target.features().collect::<Vec<_>>(), ["-sramecc", "+xnack"]);
    }
}
