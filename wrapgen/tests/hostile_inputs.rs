//! Whatever the bytes of an input are, looking for device code in it ends in an answer or an error, never in
//! a panic.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::fs;
use std::path::Path;

use object::write::{Object, StandardSegment};
use object::{Architecture, BinaryFormat, Endianness, SectionKind};
use offloom_abi::ContainerFormat;
use offloom_abi::names::{OFFLOADING_SECTION, SHF_EXCLUDE, SHT_LLVM_OFFLOADING};
use offloom_abi::offload_binary::{ImageKind, MemberDescription};
use proptest::prelude::*;
use wrapgen::inputs::{InputFile, InputKind};

const IMAGE: &[u8] = b"an image";

fn offload_binary() -> Vec<u8> {
    let strings = vec![("triple", "x86_64-pc-linux-gnu"), ("arch", "generic")];
    let description = MemberDescription {
        image_kind: ImageKind::OBJECT,
        offload_kind: 1,
        flags: 0,
        strings,
    };
    let header = description
        .header(ContainerFormat::Version1, IMAGE.len() as u64)
        .unwrap();
    [header.bytes(), IMAGE, &vec![0; header.padding()]].concat()
}

/// An object with an OffloadBinary, as Clang leaves it.
fn object() -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let segment = object.segment_name(StandardSegment::Data).to_vec();
    let section = object.add_section(segment, OFFLOADING_SECTION.into(), SectionKind::Other);
    object.section_mut(section).flags = object::SectionFlags::Elf {
        sh_type: object::elf::SectionType(SHT_LLVM_OFFLOADING),
        sh_flags: object::elf::SectionFlags(SHF_EXCLUDE),
    };
    object.append_section_data(section, &offload_binary(), 8);
    object.write().unwrap()
}

/// An archive with two such objects; the second starts at an address that is not a multiple of 8.
fn archive() -> Vec<u8> {
    let object = object();
    let mut bytes = b"!<arch>\n".to_vec();
    for name in ["one.o/", "two.o/"] {
        bytes.extend(
            format!(
                "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
                0,
                0,
                0,
                644,
                object.len()
            )
            .as_bytes(),
        );
        bytes.extend(&object);
        bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    }
    bytes
}

/// How many images are found in a file of these bytes.
fn images(folder: &Path, bytes: &[u8]) -> Result<usize, String> {
    let path = folder.join("input");
    fs::write(&path, bytes).unwrap();
    let file = InputFile::open(&path).map_err(|error| error.to_string())?;
    let found = file.embedded().map_err(|error| error.to_string())?;
    Ok(found.iter().filter(|found| found.member.image() == IMAGE).count())
}

#[test]
fn well_formed_inputs() {
    let folder = tempfile::tempdir().unwrap();
    for (bytes, kind, count) in [
        (offload_binary(), InputKind::OffloadBinary, 1),
        (object(), InputKind::Object, 1),
        (archive(), InputKind::Archive, 2),
        (Vec::new(), InputKind::Unknown, 0),
    ] {
        assert_eq!(InputKind::of(&bytes), kind);
        assert_eq!(images(folder.path(), &bytes), Ok(count), "{kind:?}");
    }
}

#[test]
fn truncated_inputs() {
    let folder = tempfile::tempdir().unwrap();
    for whole in [offload_binary(), object(), archive()] {
        let all = images(folder.path(), &whole).unwrap();
        for length in 0..whole.len() {
            match images(folder.path(), &whole[..length]) {
                // What is left of an archive may be a whole, smaller one; what is left of a magic number is
                // none.
                Ok(found) => assert!(found < all, "{length}"),
                Err(message) => assert!(message.contains("malformed"), "{length}: {message}"),
            }
        }
    }
}

proptest! {
    #[test]
    fn mutated_inputs(
        whole in prop::sample::select(vec![object(), archive()]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        header_change in (0_usize..64, any::<u8>()),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = whole;
        for (index, value) in changes {
            let index = index.index(bytes.len());
            bytes[index] = value;
        }
        let _ = images(folder.path(), &bytes);
        bytes[header_change.0] = header_change.1;
        let _ = images(folder.path(), &bytes);
    }
}
