//! Which GPU an ELF image is for, as its header says.
//!
//! Source: `llvm/BinaryFormat/ELF.h`, "ELF Code Object" of LLVM's "User Guide for AMDGPU Backend".

/// The bits of an AMD code object's `e_flags` that hold the processor's number.
const AMD_PROCESSOR_MASK: u32 = 0xff;

/// Numbers of AMD processors; gfx940 and gfx941 are known to LLVM 19 alone.
const AMD_PROCESSORS: [(u32, &str); 55] = [
    (0x020, "gfx600"),
    (0x021, "gfx601"),
    (0x022, "gfx700"),
    (0x023, "gfx701"),
    (0x024, "gfx702"),
    (0x025, "gfx703"),
    (0x026, "gfx704"),
    (0x028, "gfx801"),
    (0x029, "gfx802"),
    (0x02a, "gfx803"),
    (0x02b, "gfx810"),
    (0x02c, "gfx900"),
    (0x02d, "gfx902"),
    (0x02e, "gfx904"),
    (0x02f, "gfx906"),
    (0x030, "gfx908"),
    (0x031, "gfx909"),
    (0x032, "gfx90c"),
    (0x033, "gfx1010"),
    (0x034, "gfx1011"),
    (0x035, "gfx1012"),
    (0x036, "gfx1030"),
    (0x037, "gfx1031"),
    (0x038, "gfx1032"),
    (0x039, "gfx1033"),
    (0x03a, "gfx602"),
    (0x03b, "gfx705"),
    (0x03c, "gfx805"),
    (0x03d, "gfx1035"),
    (0x03e, "gfx1034"),
    (0x03f, "gfx90a"),
    (0x040, "gfx940"),
    (0x041, "gfx1100"),
    (0x042, "gfx1013"),
    (0x043, "gfx1150"),
    (0x044, "gfx1103"),
    (0x045, "gfx1036"),
    (0x046, "gfx1101"),
    (0x047, "gfx1102"),
    (0x048, "gfx1200"),
    (0x049, "gfx1250"),
    (0x04a, "gfx1151"),
    (0x04b, "gfx941"),
    (0x04c, "gfx942"),
    (0x04e, "gfx1201"),
    (0x04f, "gfx950"),
    (0x051, "gfx9-generic"),
    (0x052, "gfx10-1-generic"),
    (0x053, "gfx10-3-generic"),
    (0x054, "gfx11-generic"),
    (0x055, "gfx1152"),
    (0x058, "gfx1153"),
    (0x059, "gfx12-generic"),
    (0x05a, "gfx1251"),
    (0x05f, "gfx9-4-generic"),
];

/// The AMD processor that `e_flags` name, as behind Clang's `--offload-arch=`.
pub fn amd(flags: u32) -> Option<&'static str> {
    let number = flags & AMD_PROCESSOR_MASK;
    let known = AMD_PROCESSORS.iter().find(|(known, _)| *known == number);
    known.map(|(_, name)| *name)
}

/// The processor of a target ID, which is what names an AMD GPU behind Clang's `--offload-arch=`: `gfx90a` of
/// `gfx90a:xnack+`.
pub fn processor_of(target_id: &str) -> &str {
    target_id.split(':').next().unwrap_or_default()
}

/// The features of a target ID, as LLVM spells them: `+xnack` of `gfx90a:xnack+`.
pub fn features_of(target_id: &str) -> impl Iterator<Item = String> {
    target_id.split(':').skip(1).filter_map(|feature| {
        let name = feature.strip_suffix(['+', '-'])?;
        Some(format!("{}{name}", &feature[name.len()..]))
    })
}

/// The first version of NVIDIA's ABI, in `e_ident`, with the processor's number one byte further up in
/// `e_flags`.
const NVIDIA_ABI_OF_WIDE_FLAGS: u8 = 8;

/// The NVIDIA processor that a cubin's ABI version and `e_flags` name, as behind Clang's `--offload-arch=`.
pub fn nvidia(abi_version: u8, flags: u32) -> String {
    let number = match abi_version >= NVIDIA_ABI_OF_WIDE_FLAGS {
        true => flags >> 8,
        false => flags,
    };
    format!("sm_{}", number & 0xff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_named_as_clang_names_them() {
        assert_eq!(amd(0x33f), Some("gfx90a"));
        assert_eq!(amd(0x51), Some("gfx9-generic"));
        assert_eq!(amd(0x10), None);
        assert_eq!(nvidia(8, 0x600_4b04), "sm_75");
        assert_eq!(nvidia(7, 0x50_0550), "sm_80");
    }
}
