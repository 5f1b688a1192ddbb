//! AArch64, little endian. Relocations: *ELF for the Arm 64-bit Architecture*; arguments:
//! *Procedure Call Standard for the Arm 64-bit Architecture*.

use super::HostProcessor;

pub(super) const PROCESSOR: HostProcessor = HostProcessor {
    name: "aarch64",
    triple: "aarch64-unknown-linux-gnu",
    multiarch: "aarch64-linux-gnu",
    debian: "arm64",
    architecture: "aarch64",
    argument_registers: 8,
    linker_emulation: "aarch64linux",
    loader: c"ld-linux-aarch64.so.1",
    import_relocations: [1026, 1025],
};
