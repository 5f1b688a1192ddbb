//! What the registration code needs to know of the host processor: its machine code, piece by piece.
//!
//! The constructor and destructor only load the addresses of a few symbols and call a few functions, so four
//! short sequences per processor make them up. To add a processor, add a constant and list it in
//! [`Architecture::ALL`]; the tests compare the result with what LLVM's code generator makes of the same
//! functions.

use object::elf::{self, Machine, RelocationType, SectionType};
use offloom_abi::Triple;

/// One host processor.
#[derive(Debug)]
pub(super) struct Architecture {
    /// How target triples of it start.
    pub(super) name: &'static str,
    pub(super) machine: Machine,
    /// Saves what calls destroy and aligns the stack.
    pub(super) prologue: &'static [u8],
    /// Puts the address of a symbol into the first or second argument register.
    pub(super) load_address: [Code; 2],
    /// Calls a function, through the procedure linkage table if it is elsewhere.
    pub(super) call: Code,
    /// Undoes the prologue and returns.
    pub(super) epilogue: &'static [u8],
    /// Fills functions up to their alignment.
    pub(super) padding: &'static [u8],
    /// Local symbol that says where code starts, if the processor's ABI has one.
    pub(super) code_mark: Option<&'static str>,
    /// Alignment of functions and of their section, in bytes.
    pub(super) function_alignment: u64,
    /// A pointer in data.
    pub(super) pointer: RelocationType,
    /// A 32-bit distance, in unwind tables.
    pub(super) distance: RelocationType,
    /// Type of `.eh_frame`.
    pub(super) unwind_section: SectionType,
    /// Common unwind information after its length and identifier, padded.
    pub(super) unwind_common: &'static [u8],
    /// Unwind instructions of the prologue.
    pub(super) unwind_prologue: &'static [u8],
    /// Unwind instructions of the return; before them the location advances to behind the body. None where
    /// the code generator describes the body alone.
    pub(super) unwind_return: &'static [u8],
    /// Bytes of the last instruction, the return.
    pub(super) return_size: usize,
    /// Code bytes that one step of the unwind table's location stands for.
    pub(super) unwind_step: usize,
}

/// An instruction sequence with places for a symbol.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) bytes: &'static [u8],
    /// Offset in the bytes, what to put there, addend.
    pub(super) relocations: &'static [(u64, RelocationType, i64)],
}

impl Architecture {
    /// Every processor that registration code can be written for.
    pub(super) const ALL: [&'static Self; 2] = [&X86_64, &AARCH64];

    /// The processor of a target triple, if registration code can be written for it.
    pub(super) fn of_triple(triple: &str) -> Option<&'static Self> {
        let name = Triple(triple).architecture();
        Self::ALL
            .into_iter()
            .find(|architecture| architecture.name == name)
    }
}

/// x86-64, System V ABI, position-independent.
static X86_64: Architecture = Architecture {
    name: "x86_64",
    machine: elf::EM_X86_64,
    // push %rax
    prologue: &[0x50],
    load_address: [
        // lea symbol(%rip), %rdi
        Code {
            bytes: &[0x48, 0x8d, 0x3d, 0, 0, 0, 0],
            relocations: &[(3, elf::R_X86_64_PC32, -4)],
        },
        // lea symbol(%rip), %rsi
        Code {
            bytes: &[0x48, 0x8d, 0x35, 0, 0, 0, 0],
            relocations: &[(3, elf::R_X86_64_PC32, -4)],
        },
    ],
    // call function@PLT
    call: Code {
        bytes: &[0xe8, 0, 0, 0, 0],
        relocations: &[(1, elf::R_X86_64_PLT32, -4)],
    },
    // pop %rax; ret
    epilogue: &[0x58, 0xc3],
    // nop
    padding: &[0x90],
    code_mark: None,
    function_alignment: 16,
    pointer: elf::R_X86_64_64,
    distance: elf::R_X86_64_PC32,
    unwind_section: elf::SHT_X86_64_UNWIND,
    // Version 1, augmentation "zR", code alignment 1, data alignment -8, return address in column 16,
    // pointers as 32-bit distances; the frame is 8 bytes above %rsp, the return address at its end; two
    // no-operations.
    unwind_common: &[
        1, b'z', b'R', 0, 1, 0x78, 0x10, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0,
    ],
    // After one byte of code the frame is 16 bytes.
    unwind_prologue: &[0x41, 0x0e, 16],
    // The frame is 8 bytes again.
    unwind_return: &[0x0e, 8],
    return_size: 1,
    unwind_step: 1,
};

/// AArch64, little endian, position-independent.
static AARCH64: Architecture = Architecture {
    name: "aarch64",
    machine: elf::EM_AARCH64,
    // str x30, [sp, #-16]!
    prologue: &[0xfe, 0x0f, 0x1f, 0xf8],
    load_address: [
        // adrp x0, symbol; add x0, x0, :lo12:symbol
        Code {
            bytes: &[0, 0, 0, 0x90, 0, 0, 0, 0x91],
            relocations: AARCH64_ADDRESS,
        },
        // adrp x1, symbol; add x1, x1, :lo12:symbol
        Code {
            bytes: &[1, 0, 0, 0x90, 0x21, 0, 0, 0x91],
            relocations: AARCH64_ADDRESS,
        },
    ],
    // bl function
    call: Code {
        bytes: &[0, 0, 0, 0x94],
        relocations: &[(0, elf::R_AARCH64_CALL26, 0)],
    },
    // ldr x30, [sp], #16; ret
    epilogue: &[0xfe, 0x07, 0x41, 0xf8, 0xc0, 0x03, 0x5f, 0xd6],
    // nop
    padding: &[0x1f, 0x20, 0x03, 0xd5],
    code_mark: Some("$x"),
    function_alignment: 4,
    pointer: elf::R_AARCH64_ABS64,
    distance: elf::R_AARCH64_PREL32,
    unwind_section: elf::SHT_PROGBITS,
    // Version 1, augmentation "zR", code alignment 1, data alignment -4, return address in x30, pointers as
    // 32-bit distances; the frame is at sp.
    unwind_common: &[1, b'z', b'R', 0, 1, 0x7c, 30, 1, 0x1b, 0x0c, 31, 0],
    // After four bytes of code the frame is 16 bytes and x30 at its start.
    unwind_prologue: &[0x44, 0x0e, 16, 0x9e, 4],
    unwind_return: &[],
    return_size: 4,
    unwind_step: 1,
};

/// The page of an address, and its offset in the page.
const AARCH64_ADDRESS: &[(u64, RelocationType, i64)] = &[
    (0, elf::R_AARCH64_ADR_PREL_PG_HI21, 0),
    (4, elf::R_AARCH64_ADD_ABS_LO12_NC, 0),
];
