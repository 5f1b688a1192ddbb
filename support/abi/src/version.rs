//! The LLVM releases that Offloom knows: one row each, of every format and habit that differs between them.
//!
//! Everything else asks a row, never the number of a release. To add a release: a row in [`LlvmVersion::ALL`]
//! (take its neighbour's and let the tests say what differs), a Cargo feature, and what its C++ headers
//! demand of the shims. How: `docs/dev/extending.md`.

/// Where an ELF file says which version of its processor's format it has.
const EI_ABIVERSION: usize = 8;

/// The layout of offload entries. Source: `llvm/Frontend/Offloading/Utility.cpp`, `getEntryTy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryFormat {
    /// 32-byte records without version or kind, in one section for each programming model.
    Legacy,
    /// 56-byte records with a version and a kind, in one section for all. Since LLVM 21.
    Version1,
}

/// The layout of OffloadBinary containers. Source: `llvm/Object/OffloadBinary.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContainerFormat {
    /// One image, strings without their lengths.
    Version1,
    /// Any number of images, values with their lengths. Since LLVM 23.
    Version2,
}

/// How programming models are numbered. Source: `llvm/Object/OffloadBinary.h`, `OffloadKind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KindNumbering {
    /// One after the other.
    Sequence,
    /// As bits of a mask, with SYCL.
    Mask,
}

/// Who knows the options of a GPU's device link. Source:
/// `clang/tools/clang-linker-wrapper/ClangLinkerWrapper.cpp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceLinkDriver {
    /// The linker wrapper hands features and optimisation level on, and words for the linker to Clang.
    Wrapper,
    /// Clang does, and `-device-linker=` is for the linker alone.
    Clang,
}

/// How the OpenMP device runtimes for GPUs lie in the folder of LLVM's libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceRuntimes {
    /// Bitcode for each processor (`libomptarget-nvptx-sm_80.bc`), and a library for all kinds of GPU.
    ForProcessors,
    /// Bitcode and a library for each kind of GPU, in a folder with the name of its triple
    /// (`nvptx64-nvidia-cuda/libomptarget-nvptx.bc`).
    ForTriples,
}

/// An LLVM release: what it writes and expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LlvmVersion {
    /// The major version number.
    major: u32,
    /// Layout of offload entries.
    pub entries: EntryFormat,
    /// Numbers of programming models in entries and in OffloadBinary.
    pub kinds: KindNumbering,
    /// The containers that its tools write. They read those of earlier releases, too.
    pub containers: ContainerFormat,
    /// The name by which Clang runs the packager.
    pub packager: &'static str,
    /// Whether the packager demands a triple of each image.
    pub packager_needs_triple: bool,
    /// Whether the packager stores the features of an image behind its arch and triple, and not before them.
    pub packs_features_last: bool,
    /// Whether `!llvm.offloading.symbols` lists the names of entries.
    pub lists_entry_names: bool,
    /// Whether `omp_offload.info` and entries know `indirect` tables of virtual functions.
    pub indirect_vtables: bool,
    /// Whether NVPTX kernels have the calling convention `ptx_kernel`; else `!nvvm.annotations` marks them.
    pub ptx_kernel_convention: bool,
    /// Whether limits of NVPTX kernels are attributes (`nvvm.maxntid`); else `!nvvm.annotations` holds them.
    pub nvvm_attributes: bool,
    /// Whether Clang makes OpenMP device functions `convergent` for processors, too, not for GPUs alone.
    pub convergent_on_processors: bool,
    /// Whether Flang compiles loops that threads of a GPU share to what its device runtime expects.
    pub flang_shares_loops_on_gpus: bool,
    /// Whether the linker wrapper takes `--wrapper-jobs=jobserver`.
    pub job_server: bool,
    /// Whether `-v` has the linker wrapper say its version; else it is the host linker's.
    pub short_version_option: bool,
    /// Whether images for the processor `generic` name none.
    pub generic_arch_is_empty: bool,
    /// The host as the linker wrapper names it to `clang-offload-bundler`.
    pub bundler_host: &'static str,
    /// Who knows the options of a GPU's device link.
    pub device_links: DeviceLinkDriver,
    /// The newest ABI version of cubins, in their ELF identification, that libomptarget knows. 8 came with
    /// CUDA 13.
    pub newest_cubin: u8,
    /// Whether libomptarget keeps the images of closed libraries, and reads their first bytes later: when
    /// others are registered, or when the program ends.
    pub keeps_closed_images: bool,
    /// Where its OpenMP device runtimes for GPUs are.
    pub device_runtimes: DeviceRuntimes,
    /// Whether Debian's packages of libomptarget are `liboffload-N` and `liboffload-N-dev`; else `libomp5-N`
    /// and `libomp-N-dev` hold it beside the host runtime.
    pub offload_packages: bool,
    /// Whether kernels of processors have one parameter, a list of the addresses of their arguments; else the
    /// arguments are their parameters. Source: `createOutlinedFunction` of
    /// `clang/lib/CodeGen/CGOpenMPRuntime.cpp`, and the host plugin's `launchImpl`.
    pub host_kernels_take_list: bool,
    /// Whether LLVM's wrapper keeps sanitizers from putting anything around the record of a fat binary.
    pub keeps_sanitizers_off_fat_binaries: bool,
    /// The value of the attribute `uniform-work-group-size` of kernels for AMD GPUs.
    pub uniform_work_groups: &'static str,
    /// Whether a kernel's launch environment (`dyn_ptr`) is its last argument; else the first. Source:
    /// `llvm/Frontend/OpenMP/OMPConstants.h`, `OMP_KERNEL_ARG_VERSION`.
    pub launch_environment_is_last: bool,
    /// Whether the configuration in a GPU kernel's environment ends with the number of teams that its buffer
    /// for reductions has room for; else libomptarget makes room for those of the launch. Source:
    /// `ConfigurationEnvironmentTy` of `offload/include/Shared/Environment.h`.
    pub reduction_buffer_has_length: bool,
    /// The release whose device runtime for NVIDIA GPUs tests link programs with: its own, or where Debian's
    /// packages hold none, that of another and the functions that it lacks.
    pub gpu_runtime: u32,
    /// The release whose OpenMP host runtime and `omp.h` Debian's stable releases have beside it: one host
    /// runtime at a time can be installed, and `libomp-22-dev` is for that of 19.
    pub host_runtime: u32,
}

impl LlvmVersion {
    /// LLVM 19.1.
    pub const V19: Self = Self {
        major: 19,
        entries: EntryFormat::Legacy,
        kinds: KindNumbering::Sequence,
        containers: ContainerFormat::Version1,
        packager: "clang-offload-packager",
        packager_needs_triple: true,
        packs_features_last: false,
        lists_entry_names: false,
        indirect_vtables: false,
        ptx_kernel_convention: false,
        nvvm_attributes: false,
        convergent_on_processors: true,
        flang_shares_loops_on_gpus: false,
        job_server: false,
        short_version_option: true,
        generic_arch_is_empty: false,
        bundler_host: "host-x86_64-unknown-linux",
        device_links: DeviceLinkDriver::Wrapper,
        newest_cubin: 7,
        keeps_closed_images: true,
        device_runtimes: DeviceRuntimes::ForProcessors,
        offload_packages: false,
        host_kernels_take_list: false,
        keeps_sanitizers_off_fat_binaries: false,
        uniform_work_groups: "true",
        launch_environment_is_last: false,
        reduction_buffer_has_length: true,
        gpu_runtime: 19,
        host_runtime: 19,
    };

    /// LLVM 21.1.
    pub const V21: Self = Self {
        major: 21,
        entries: EntryFormat::Version1,
        kinds: KindNumbering::Mask,
        containers: ContainerFormat::Version1,
        packager: "clang-offload-packager",
        packager_needs_triple: true,
        packs_features_last: false,
        lists_entry_names: true,
        indirect_vtables: false,
        ptx_kernel_convention: true,
        nvvm_attributes: true,
        convergent_on_processors: false,
        // Not tried.
        flang_shares_loops_on_gpus: false,
        job_server: false,
        short_version_option: true,
        generic_arch_is_empty: true,
        bundler_host: "host-x86_64-unknown-linux-gnu",
        device_links: DeviceLinkDriver::Clang,
        newest_cubin: 8,
        keeps_closed_images: true,
        device_runtimes: DeviceRuntimes::ForTriples,
        offload_packages: true,
        host_kernels_take_list: false,
        keeps_sanitizers_off_fat_binaries: false,
        uniform_work_groups: "true",
        launch_environment_is_last: false,
        reduction_buffer_has_length: true,
        gpu_runtime: 21,
        host_runtime: 21,
    };

    /// LLVM 22.1.
    pub const V22: Self = Self {
        major: 22,
        entries: EntryFormat::Version1,
        kinds: KindNumbering::Mask,
        containers: ContainerFormat::Version1,
        packager: "llvm-offload-binary",
        packager_needs_triple: false,
        packs_features_last: false,
        lists_entry_names: true,
        indirect_vtables: true,
        ptx_kernel_convention: true,
        nvvm_attributes: true,
        convergent_on_processors: false,
        flang_shares_loops_on_gpus: true,
        job_server: true,
        short_version_option: false,
        generic_arch_is_empty: true,
        bundler_host: "host-x86_64-unknown-linux-gnu",
        device_links: DeviceLinkDriver::Clang,
        newest_cubin: 8,
        keeps_closed_images: false,
        device_runtimes: DeviceRuntimes::ForTriples,
        offload_packages: true,
        host_kernels_take_list: false,
        keeps_sanitizers_off_fat_binaries: false,
        uniform_work_groups: "true",
        launch_environment_is_last: false,
        reduction_buffer_has_length: true,
        gpu_runtime: 19,
        host_runtime: 19,
    };

    /// LLVM 23.1.
    pub const V23: Self = Self {
        major: 23,
        containers: ContainerFormat::Version2,
        packs_features_last: true,
        bundler_host: "host-x86_64-pc-linux-gnu",
        host_kernels_take_list: true,
        keeps_sanitizers_off_fat_binaries: true,
        uniform_work_groups: "",
        launch_environment_is_last: true,
        reduction_buffer_has_length: false,
        host_runtime: 23,
        ..Self::V22
    };

    /// Bytes of a cubin that [`too_new_for_libomptarget`](Self::too_new_for_libomptarget) looks at.
    pub const CUBIN_START: usize = EI_ABIVERSION + 1;

    /// The ABI version of a cubin, of which these are the first bytes, if libomptarget would take it for one
    /// that fits no device.
    pub fn too_new_for_libomptarget(&self, cubin: &[u8]) -> Option<u8> {
        let version = *cubin.get(EI_ABIVERSION)?;
        (cubin.starts_with(b"\x7fELF") && version > self.newest_cubin).then_some(version)
    }

    /// Every release, oldest first.
    pub const ALL: [Self; 4] = [Self::V19, Self::V21, Self::V22, Self::V23];

    /// The major version number.
    pub const fn major(self) -> u32 {
        self.major
    }

    /// Debian's package with the libomptarget that programs load.
    pub fn libomptarget_package(self) -> String {
        let name = if self.offload_packages {
            "liboffload"
        } else {
            "libomp5"
        };
        format!("{name}-{}", self.major)
    }

    /// Debian's package with the libomptarget that programs are linked with.
    pub fn libomptarget_dev_package(self) -> String {
        let name = if self.offload_packages {
            "liboffload"
        } else {
            "libomp"
        };
        format!("{name}-{}-dev", self.major)
    }

    /// Debian's package with `omp.h` and the OpenMP host runtime that programs are linked with.
    pub fn host_runtime_dev_package(self) -> String {
        format!("libomp-{}-dev", self.host_runtime)
    }

    /// The release with this major version number.
    pub const fn of_major(major: u32) -> Option<Self> {
        let mut index = 0;
        while index < Self::ALL.len() {
            if Self::ALL[index].major == major {
                return Some(Self::ALL[index]);
            }
            index += 1;
        }
        None
    }

    /// The release whose major version number `text` is: what build scripts pass on as `OFFLOOM_LLVM_MAJOR`.
    ///
    /// # Panics
    /// The number is not that of a known release. Called for constants, this ends the build.
    #[expect(clippy::panic, reason = "it ends the build of a constant")]
    pub const fn of_build(text: &str) -> Self {
        let mut major = 0;
        let mut index = 0;
        while index < text.len() {
            let digit = text.as_bytes()[index].wrapping_sub(b'0');
            assert!(digit < 10, "not a major version number");
            major = major * 10 + digit as u32;
            index += 1;
        }
        match Self::of_major(major) {
            Some(version) => version,
            None => panic!("not an LLVM release that Offloom knows"),
        }
    }

    /// The release nearest to this one that has the other layout of entries, as an example of what this one
    /// cannot read.
    pub fn with_other_entries(self) -> Option<Self> {
        Self::ALL
            .into_iter()
            .filter(|version| version.entries != self.entries)
            .min_by_key(|version| version.major.abs_diff(self.major))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order_and_found_by_their_number() {
        assert!(LlvmVersion::ALL.is_sorted_by(|a, b| a.major < b.major));
        for version in LlvmVersion::ALL {
            assert_eq!(LlvmVersion::of_build(&version.major.to_string()), version);
        }
        assert_eq!(LlvmVersion::of_major(7), None);
    }

    #[test]
    fn releases_with_the_other_entries_are_found_from_both_sides() {
        assert_eq!(LlvmVersion::V19.with_other_entries(), Some(LlvmVersion::V21));
        assert_eq!(LlvmVersion::V22.with_other_entries(), Some(LlvmVersion::V19));
    }
}
