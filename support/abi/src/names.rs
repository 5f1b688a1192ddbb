//! Names and numbers of sections, symbols and metadata that tools agree on, the same in every known release.
//!
//! What belongs to one format stands in that format's module.

/// ELF section that holds OffloadBinary members.
pub const OFFLOADING_SECTION: &str = ".llvm.offloading";

/// ELF section that holds the wrapped image of a relocatable link (`-r`).
pub const OFFLOADING_RELOCATABLE_SECTION: &str = ".llvm.offloading.relocatable";

/// ELF type of [`OFFLOADING_SECTION`] in objects (`SHT_LLVM_OFFLOADING` in `llvm/BinaryFormat/ELF.h`).
pub const SHT_LLVM_OFFLOADING: u32 = 0x6fff_4c0b;

/// ELF flag of [`OFFLOADING_SECTION`] in objects: left out of linked programs.
pub const SHF_EXCLUDE: u64 = 0x8000_0000;

/// Alignment in bytes of [`OFFLOADING_SECTION`] and of each OffloadBinary member in it.
pub const OFFLOADING_ALIGNMENT: u64 = 8;

/// Name of the IR global that Clang embeds an OffloadBinary in.
pub const EMBEDDED_OBJECT: &str = "llvm.embedded.object";

/// Named metadata that lists `{global, section name}` of each embedded object.
pub const EMBEDDED_OBJECTS_METADATA: &str = "llvm.embedded.objects";

/// Named metadata that lists the target regions and `declare target` globals of a module.
pub const OFFLOAD_INFO_METADATA: &str = "omp_offload.info";

/// First operand of an [`OFFLOAD_INFO_METADATA`] node for a target region:
/// `{0, device id, file id, parent, line, count, order}`.
pub const OFFLOAD_INFO_TARGET_REGION: u32 = 0;

/// First operand of an [`OFFLOAD_INFO_METADATA`] node for a global: `{1, device symbol, flags, order}`.
pub const OFFLOAD_INFO_DEVICE_GLOBAL: u32 = 1;

/// Named metadata that lists the entry-name globals (LLVM 22 only).
pub const OFFLOADING_SYMBOLS_METADATA: &str = "llvm.offloading.symbols";

/// Module flag present on host and device modules; its value is the OpenMP version, 51 for 5.1.
pub const OPENMP_MODULE_FLAG: &str = "openmp";

/// Module flag that tells a device module from a host module.
pub const OPENMP_DEVICE_MODULE_FLAG: &str = "openmp-device";

/// What Clang appends to a variable's name for the pointer through which device code reaches it
/// (`declare target link`).
pub const LINK_REFERENCE_SUFFIX: &str = "_decl_tgt_ref_ptr";

/// Whether a variable of this name is the pointer through which a device reaches a `link` variable.
pub fn is_link_reference(name: &str) -> bool {
    // The entry of such a pointer ends like it.
    name.ends_with(LINK_REFERENCE_SUFFIX) && !name.starts_with(crate::entry::GLOBAL_PREFIX)
}

/// What the names of the variables have in them in which the device runtime of GPUs keeps the state of a team
/// (`openmp/libomptarget/DeviceRTL`, `offload/DeviceRTL`).
const TEAM_STATE: [&[u8]; 2] = [b"4ompx", b"SharedMemorySmartStack"];

/// Whether a variable of this name, in the memory of a team, is part of the device runtime's state.
pub fn is_team_state(name: &[u8]) -> bool {
    TEAM_STATE
        .iter()
        .any(|part| name.windows(part.len()).any(|at| at == *part))
}
