//! The processors that programs with target regions run on, and that libomptarget's host device has: what of
//! each links, images and programs are told. What is code for one of them is elsewhere: in `jit-passes` (the
//! stubs), `jit/policy` (floating-point state) and `wrapgen` (registration).

mod aarch64;
mod x86_64;

use std::ffi::CStr;

/// A processor of hosts, always with Linux and glibc.
#[derive(Debug, PartialEq, Eq)]
pub struct HostProcessor {
    /// How target triples of it start.
    pub name: &'static str,
    /// Its triple as Clang spells it, where nobody says otherwise: of the host, and of libomptarget's device
    /// for the host's own instructions.
    pub triple: &'static str,
    /// Its triple as Debian spells it, in names of folders.
    pub multiarch: &'static str,
    /// The architecture that Debian's packages for it name.
    pub debian: &'static str,
    /// What launch descriptors call it.
    pub architecture: &'static str,
    /// Registers for arguments that are integers or pointers, as all of a kernel's are.
    pub argument_registers: usize,
    /// What lld calls its ELF format (`-m`).
    pub linker_emulation: &'static str,
    /// The loader's name, as a library.
    pub loader: &'static CStr,
    /// Types of the relocations by which a library's table of imported functions is filled: of a name that is
    /// called, and of one whose address is taken (`R_..._JUMP_SLOT`, `R_..._GLOB_DAT`).
    pub import_relocations: [u64; 2],
}

impl HostProcessor {
    /// All that are known.
    pub const ALL: [&'static Self; 2] = [&x86_64::PROCESSOR, &aarch64::PROCESSOR];

    /// The one that this code was compiled for.
    pub const NATIVE: &'static Self = native();
}

#[cfg(target_arch = "x86_64")]
const fn native() -> &'static HostProcessor {
    &x86_64::PROCESSOR
}

#[cfg(target_arch = "aarch64")]
const fn native() -> &'static HostProcessor {
    &aarch64::PROCESSOR
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Triple;

    #[test]
    fn a_triple_names_its_processor_however_it_is_spelled() {
        let name = |triple| Triple(triple).host_processor().map(|processor| processor.name);
        for processor in HostProcessor::ALL {
            assert_eq!(name(processor.triple), Some(processor.name));
            assert_eq!(name(processor.multiarch), Some(processor.name));
        }
        assert_eq!(name("aarch64-unknown-linux-gnu"), Some("aarch64"));
    }

    #[test]
    fn the_native_one_is_the_compilers() {
        assert_eq!(HostProcessor::NATIVE.name, std::env::consts::ARCH);
    }
}
