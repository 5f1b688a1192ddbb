//! x86_64. Relocations and arguments: *System V Application Binary Interface, AMD64 Architecture Processor
//! Supplement*.

use super::HostProcessor;

pub(super) const PROCESSOR: HostProcessor = HostProcessor {
    name: "x86_64",
    triple: "x86_64-pc-linux-gnu",
    multiarch: "x86_64-linux-gnu",
    debian: "amd64",
    architecture: "x86-64",
    argument_registers: 6,
    linker_emulation: "elf_x86_64",
    loader: c"ld-linux-x86-64.so.2",
    import_relocations: [7, 6],
};
