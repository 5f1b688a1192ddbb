//! A code object of LLVM's, and what changes of it are told as.

use rmpv::Value;

use super::{CodeObject, CodeObjectFault, metadata};
use crate::isa::TargetId;

/// What LLVM 19 makes of `data/kernels.s`.
pub(crate) const KERNELS: &[u8] = include_bytes!("../../data/kernels.hsaco");

/// Where the program headers begin, and how long one is.
const PROGRAMS: usize = 64;
const PROGRAM_SIZE: usize = 56;
/// Fields of a program header.
const FLAGS: usize = 4;
const OFFSET: usize = 8;
const ADDRESS: usize = 16;
const FILE_SIZE: usize = 32;
const MEMORY_SIZE: usize = 40;

/// Where a field of the how many-th program header is. The second one loads notes and descriptors, the third
/// code, the fifth data; the ninth is the note.
fn program(index: usize, field: usize) -> usize {
    PROGRAMS + index * PROGRAM_SIZE + field
}

/// Where the descriptor of kernel `add` is: address and offset are the same there.
fn descriptor() -> usize {
    let code = CodeObject::parse(KERNELS).unwrap();
    code.kernels[0].descriptor as usize
}

/// What is told of the code object with these bytes put to an offset.
fn told(offset: usize, bytes: &[u8]) -> String {
    let mut changed = KERNELS.to_vec();
    changed[offset..offset + bytes.len()].copy_from_slice(bytes);
    CodeObject::parse(&changed).unwrap_err().to_string()
}

#[test]
fn kernels_have_their_metadata() {
    let code = CodeObject::parse(KERNELS).unwrap();
    assert_eq!(code.target.to_string(), "gfx90a");
    let [add, fixed] = &code.kernels[..] else {
        panic!("{:?}", code.kernels);
    };
    assert_eq!(
        (add.metadata.name.as_str(), add.metadata.explicit_size),
        ("add", 12)
    );
    assert_eq!((add.metadata.group_size, add.metadata.private_size), (128, 16));
    assert_eq!(add.metadata.sizes.len(), 2);
    assert_eq!(fixed.metadata.required_workgroup, Some([32, 2, 1]));
    assert_eq!(code.relocations.len(), 2);
}

#[test]
fn what_is_wrong_with_the_elf_file_is_told() {
    assert!(CodeObject::parse(b"\x7fELF").is_err());
    let header = [
        (4, 1, "it is no whole ELF file: Unsupported ELF header"),
        (
            5,
            2,
            "its ELF header says data encoding 2, where 1 (little endian) is wanted",
        ),
        (
            7,
            3,
            "its ELF header says OS ABI 3, where 64 (AMDGPU HSA) is wanted",
        ),
        (
            8,
            1,
            "its ELF header says ABI version 1, where 2, 3 or 4 (code object version 4, 5 or 6) is wanted",
        ),
        (
            16,
            1,
            "its ELF header says type 1, where 3 (shared object) is wanted",
        ),
        (
            18,
            62,
            "its ELF header says machine 62, where 224 (AMDGPU) is wanted",
        ),
        (48, 0xff, "its e_flags 0x5ff name no known processor"),
        (49, 0x15, "its e_flags 0x153f have bits without a meaning"),
        // gfx1030 with XNACK.
        (
            48,
            0x36,
            "its e_flags are those of `gfx1030`, whose processor lacks one of the features",
        ),
        (
            48,
            0x30,
            "its metadata is for `amdgcn-amd-amdhsa--gfx90a`, its ELF header for `amdgcn-amd-amdhsa--gfx908`",
        ),
        (
            8,
            2,
            "its metadata is of version [1, 2], which is not that of ABI version 2",
        ),
    ];
    for (offset, byte, message) in header {
        assert_eq!(told(offset, &[byte]), message);
    }
}

#[test]
fn what_is_wrong_with_segments_is_told() {
    let segments = [
        (
            program(2, FILE_SIZE),
            1 << 20,
            "segment 2: it goes beyond the end of the file",
        ),
        (
            program(2, OFFSET),
            u64::MAX,
            "segment 2: it goes beyond the end of the file",
        ),
        (
            program(2, MEMORY_SIZE),
            1,
            "segment 2: it has more bytes in the file than in memory",
        ),
        (
            program(2, MEMORY_SIZE),
            1 << 40,
            "segment 2: it goes beyond the first 4 GiB of the image",
        ),
        (
            program(2, ADDRESS),
            0x1810,
            "segment 2: its address and its place in the file do not have its alignment in common",
        ),
        (
            program(2, ADDRESS),
            0x4800,
            "segment 3: it begins before the end of the one before",
        ),
        (
            program(1, MEMORY_SIZE),
            0x1900,
            "segment 2: it begins before the end of the one before",
        ),
    ];
    for (offset, number, message) in segments {
        assert_eq!(told(offset, &number.to_le_bytes()), message);
    }
    let not_executable = 4_u32.to_le_bytes();
    assert_eq!(
        told(program(2, FLAGS), &not_executable),
        "symbol `add`: a function lies in a segment that can be executed"
    );
    // The note is no note any more.
    assert_eq!(
        told(program(8, 0), &[0]),
        "it has 0 notes of AMDGPU metadata, where 1 is wanted"
    );
}

#[test]
fn what_is_wrong_with_a_descriptor_is_told() {
    let cases: [(usize, &[u8], &str); 12] = [
        (
            0,
            &[64],
            "group_segment_fixed_size is 64 in its descriptor and 128 in its metadata",
        ),
        (
            4,
            &[0],
            "private_segment_fixed_size is 0 in its descriptor and 16 in its metadata",
        ),
        (
            8,
            &[33],
            "kernarg_size is 33 in its descriptor and 32 in its metadata",
        ),
        (12, &[1], "reserved bytes of its descriptor are not zero"),
        (24, &[1], "reserved bytes of its descriptor are not zero"),
        (60, &[1], "reserved bytes of its descriptor are not zero"),
        (16, &[0x44], "its code would begin at 0x1804, where no code can"),
        (
            17,
            &[0x12],
            "its descriptor leads to 0x1900, its function lies at 0x1800",
        ),
        (
            44,
            &[0, 1],
            "compute_pgm_rsrc3 0x100 has bits 0x100, which must be zero",
        ),
        (
            53,
            &[0x60],
            "compute_pgm_rsrc2 0x6084 has bits 0x6000, which must be zero",
        ),
        (
            56,
            &[0x88],
            "kernel_code_properties 0x88 has bits without a meaning",
        ),
        (
            57,
            &[0x08],
            "descriptor and metadata differ in whether it uses a dynamic stack",
        ),
    ];
    let start = descriptor();
    for (offset, bytes, message) in cases {
        assert_eq!(told(start + offset, bytes), format!("kernel `add`: {message}"));
    }
}

/// What is told of metadata that `change` has changed.
fn told_of(change: impl Fn(&mut Value)) -> String {
    let mut root = read_metadata();
    change(&mut root);
    check(&root).unwrap_err().to_string()
}

fn read_metadata() -> Value {
    let start = KERNELS
        .windows(8)
        .position(|window| window == b"AMDGPU\0\0")
        .unwrap()
        + 8;
    rmpv::decode::read_value(&mut &KERNELS[start..]).unwrap()
}

fn check(root: &Value) -> Result<Vec<super::KernelMetadata>, CodeObjectFault> {
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, root).unwrap();
    metadata::parse(&bytes, 3, &TargetId::of_flags(0x53f).unwrap())
}

/// The value of a key of a map.
fn entry<'a>(map: &'a mut Value, key: &str) -> &'a mut Value {
    let Value::Map(entries) = map else {
        panic!("no map");
    };
    &mut entries
        .iter_mut()
        .find(|(found, _)| found.as_str() == Some(key))
        .unwrap()
        .1
}

fn remove(map: &mut Value, key: &str) {
    let Value::Map(entries) = map else {
        panic!("no map");
    };
    entries.retain(|(found, _)| found.as_str() != Some(key));
}

fn kernel(root: &mut Value, index: usize) -> &mut Value {
    element(entry(root, "amdhsa.kernels"), index)
}

fn element(list: &mut Value, index: usize) -> &mut Value {
    let Value::Array(list) = list else {
        panic!("no list");
    };
    &mut list[index]
}

/// Sets a key of the first kernel.
fn with(key: &str, value: impl Into<Value>) -> String {
    let value = value.into();
    told_of(|root| *entry(kernel(root, 0), key) = value.clone())
}

/// Sets a key of an argument of the first kernel.
fn with_argument(index: usize, key: &str, value: impl Into<Value>) -> String {
    let value = value.into();
    told_of(|root| *entry(element(entry(kernel(root, 0), ".args"), index), key) = value.clone())
}

#[test]
fn what_is_wrong_with_metadata_is_told() {
    check(&read_metadata()).unwrap();
    assert_eq!(
        told_of(|root| remove(root, "amdhsa.version")),
        "its metadata has no `amdhsa.version` in the root"
    );
    assert_eq!(
        told_of(|root| remove(kernel(root, 1), ".symbol")),
        "its metadata has no `.symbol` in kernel 1"
    );
    assert_eq!(
        with(".wavefront_size", "64"),
        "its metadata has a `.wavefront_size` in kernel 0 that is not a number of 32 bits"
    );
    assert_eq!(
        with(".wavefront_size", 32),
        "kernel `add`: gfx90a has no wavefronts of 32"
    );
    assert_eq!(
        with(".symbol", "other.kd"),
        "kernel `add`: its `.symbol` `other.kd` is not its name with `.kd`"
    );
    assert_eq!(
        with(".kernarg_segment_align", 12),
        "kernel `add`: `.kernarg_segment_align` 12 is no power of 2"
    );
    assert_eq!(
        with(".group_segment_fixed_size", 65537),
        "kernel `add`: `.group_segment_fixed_size` 65537 is beyond 65536"
    );
    assert_eq!(
        with(".max_flat_workgroup_size", 2048),
        "kernel `add`: `.max_flat_workgroup_size` 2048 is not from 1 to 1024"
    );
    assert_eq!(
        with(".kernarg_segment_size", 29),
        "kernel `add`: argument 3 goes beyond `.kernarg_segment_size`"
    );
    assert_eq!(
        with_argument(1, ".offset", 4),
        "kernel `add`: argument 1 begins before the end of the one before"
    );
    assert_eq!(
        with_argument(1, ".value_kind", "by_magic"),
        "kernel `add`: argument 1 has the unknown kind `by_magic`"
    );
    assert_eq!(
        with_argument(3, ".size", 4),
        "kernel `add`: argument 3 is a size of the launch, and has not its number of bytes"
    );
    assert_eq!(
        told_of(|root| *element(entry(kernel(root, 1), ".reqd_workgroup_size"), 0) = 64.into()),
        "kernel `fixed`: `.reqd_workgroup_size` does not fit `.max_flat_workgroup_size` 64"
    );
}

#[test]
fn metadata_is_one_whole_map() {
    let target = TargetId::of_flags(0x53f).unwrap();
    let told = |bytes: &[u8]| metadata::parse(bytes, 3, &target).unwrap_err().to_string();
    assert_eq!(
        told(&[0x92, 1, 2]),
        "its metadata is no whole MessagePack map: the root is no map"
    );
    assert_eq!(
        told(&[0x80, 1]),
        "its metadata is no whole MessagePack map: more bytes follow"
    );
    assert!(told(&[0x81, 0xa3]).starts_with("its metadata is no whole MessagePack map: "));
    // A map that says to have 4 billion entries.
    assert!(told(&[0xdf, 0xff, 0xff, 0xff, 0xff]).starts_with("its metadata is no whole MessagePack map: "));
}

#[test]
fn metadata_and_descriptors_name_the_same_kernels() {
    // Kernel `fixed` gets another name in the symbol table alone.
    let name = KERNELS
        .windows(10)
        .position(|window| window == b"\0fixed.kd\0")
        .unwrap()
        + 1;
    assert_eq!(
        told(name, b"mixed"),
        "kernel `fixed`: there is no descriptor `fixed.kd`"
    );
    let only = told_of_file(|root| {
        let Value::Array(kernels) = entry(root, "amdhsa.kernels") else {
            panic!("no list");
        };
        kernels.truncate(1);
    });
    assert_eq!(only, "descriptor `fixed.kd` is not in the metadata");
}

/// What is told of the file with metadata that `change` has made shorter.
fn told_of_file(change: impl Fn(&mut Value)) -> String {
    let mut root = read_metadata();
    change(&mut root);
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, &root).unwrap();
    let start = KERNELS
        .windows(8)
        .position(|window| window == b"AMDGPU\0\0")
        .unwrap()
        + 8;
    let mut length = [0; 4];
    length.copy_from_slice(&KERNELS[start - 16..start - 12]);
    // The note stays as long as it was.
    bytes.resize(u32::from_le_bytes(length) as usize, 0);
    let mut changed = KERNELS.to_vec();
    changed[start..start + bytes.len()].copy_from_slice(&bytes);
    CodeObject::parse(&changed).unwrap_err().to_string()
}

#[test]
fn relocations_are_those_that_loaders_apply() {
    let entries = KERNELS.windows(24).position(|window| {
        // RELATIVE64 of symbol 0.
        window[8..16] == 13_u64.to_le_bytes() && window[..8] == 0x39c0_u64.to_le_bytes()
    });
    let start = entries.unwrap();
    assert_eq!(
        told(start + 8, &[5]),
        "relocation 0 has type 5, which loaders do not apply"
    );
    assert_eq!(
        told(start, &0x9000_u64.to_le_bytes()),
        "relocation 0 writes to 0x9000, which is in no segment that is loaded"
    );
    assert_eq!(
        told(start + 24 + 12, &[77]),
        "it is no whole ELF file: relocation 1 names symbol 77 of 8"
    );
}
