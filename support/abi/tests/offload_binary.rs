//! OffloadBinary: what is written is read back, and hostile bytes are refused with the place of the fault.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use offloom_abi::offload_binary::{
    ContainerHeader, ImageKind, MAX_STRING_BYTES, Member, MemberDescription, members,
};
use offloom_abi::{ContainerFormat, FormatError, LlvmVersion, OffloadKind, Problem};
use proptest::prelude::*;

/// A member as a packager writes it.
fn member(description: &MemberDescription<'_>, image: &[u8]) -> Vec<u8> {
    container(ContainerFormat::Version1, &[(description, image)])
}

/// A container as a packager writes it.
fn container(format: ContainerFormat, members: &[(&MemberDescription<'_>, &[u8])]) -> Vec<u8> {
    let sizes: Vec<_> = members
        .iter()
        .map(|(description, image)| (*description, image.len() as u64))
        .collect();
    let header = ContainerHeader::of(format, &sizes).unwrap();
    let mut bytes = header.bytes().to_vec();
    for (_, image) in members {
        bytes.extend_from_slice(image);
    }
    bytes.resize(bytes.len() + header.padding(), 0);
    assert_eq!(bytes.len() as u64, header.size());
    bytes
}

fn openmp<'a>(strings: &[(&'a str, &'a str)]) -> MemberDescription<'a> {
    MemberDescription {
        image_kind: ImageKind::OBJECT,
        offload_kind: OffloadKind::OpenMp.number(LlvmVersion::V22).unwrap(),
        flags: 0,
        strings: strings.to_vec(),
    }
}

fn good() -> Vec<u8> {
    member(
        &openmp(&[("arch", "generic"), ("triple", "x86_64-pc-linux-gnu")]),
        b"hello",
    )
}

fn read(bytes: &[u8]) -> Result<Vec<Member<'_>>, FormatError> {
    members(bytes).collect()
}

/// Looks at everything that a reader may look at.
fn read_all(bytes: &[u8]) {
    for member in members(bytes).flatten() {
        let strings: usize = member.strings().map(|(key, value)| key.len() + value.len()).sum();
        assert!(strings as u64 <= MAX_STRING_BYTES);
        assert!(member.image_offset() as usize + member.image().len() <= member.container().len());
        let _ = (
            member.triple(),
            member.arch(),
            member.offload_kind(),
            member.image_kind().name(),
        );
    }
}

#[test]
fn the_bytes_of_llvms_packager() {
    // clang-offload-packager -o OUT --image=file=a.o,triple=x86_64-pc-linux-gnu,arch=generic,kind=openmp
    let expected: [u8; 160] = {
        let mut bytes = [0; 160];
        let mut put = |offset: usize, part: &[u8]| bytes[offset..offset + part.len()].copy_from_slice(part);
        put(0, &[0x10, 0xff, 0x10, 0xad, 1]);
        put(8, &[0xa0]);
        put(16, &[0x20]);
        put(24, &[0x28]);
        put(32, &[1, 0, 1]);
        put(40, &[0x48]);
        put(48, &[2]);
        put(56, &[0x98]);
        put(64, &[5]);
        put(72, &[0x7d]);
        put(80, &[0x89]);
        put(88, &[0x82]);
        put(96, &[0x69]);
        put(104, b"\0x86_64-pc-linux-gnu\0arch\0triple\0generic\0");
        put(152, b"hello");
        bytes
    };
    assert_eq!(good(), expected);
}

#[test]
fn the_bytes_of_llvm_23s_packager_for_two_images() {
    // llvm-offload-binary -o OUT --image=file=a,triple=x86_64-pc-linux-gnu,arch=generic,kind=openmp
    //   --image=file=b,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=openmp
    let expected: [u8; 296] = {
        let mut bytes = [0; 296];
        let mut put = |offset: usize, part: &[u8]| bytes[offset..offset + part.len()].copy_from_slice(part);
        let words = |words: &[u64]| {
            words
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .collect::<Vec<_>>()
        };
        put(0, &[0x10, 0xff, 0x10, 0xad, 2]);
        put(8, &words(&[0x128, 0x20, 2]));
        put(34, &[1]);
        put(40, &words(&[0x70, 2, 0x118, 5]));
        put(74, &[1]);
        put(80, &words(&[0xa0, 2, 0x11d, 9]));
        put(112, &words(&[0xe5, 0xf1, 7, 0xea, 0xd1, 0x13]));
        put(160, &words(&[0xe5, 0x10d, 5, 0xea, 0xf9, 0x13]));
        put(
            208,
            b"\0x86_64-pc-linux-gnu\0arch\0triple\0generic\0nvptx64-nvidia-cuda\0sm_80\0",
        );
        put(0x118, b"hello");
        put(0x11d, b"and hello");
        bytes
    };
    let [first, second] = [
        [("arch", "generic"), ("triple", "x86_64-pc-linux-gnu")],
        [("arch", "sm_80"), ("triple", "nvptx64-nvidia-cuda")],
    ]
    .map(|strings| MemberDescription {
        image_kind: ImageKind::NONE,
        ..openmp(&strings)
    });
    let bytes = container(
        ContainerFormat::Version2,
        &[(&first, b"hello"), (&second, b"and hello")],
    );
    assert_eq!(bytes, expected);
    let both = [bytes, good()].concat();
    let found = read(&both).unwrap();
    let told: Vec<_> = found
        .iter()
        .map(|member| {
            (
                member.arch(),
                member.triple(),
                member.image(),
                member.is_alone(),
                member.offset(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("generic", "x86_64-pc-linux-gnu", &b"hello"[..], false, 0),
            ("sm_80", "nvptx64-nvidia-cuda", &b"and hello"[..], false, 0),
            ("generic", "x86_64-pc-linux-gnu", &b"hello"[..], true, 296),
        ]
    );
}

#[test]
fn faults_of_containers_with_several_images_are_named_with_their_place() {
    const HUGE: u64 = 1 << 62;
    let pair = [("arch", "a"), ("triple", "b")];
    let description = openmp(&pair);
    let good = container(
        ContainerFormat::Version2,
        &[(&description, b"hello"), (&description, b"x")],
    );
    let limit = good.len() as u64;
    let faulty = |offset: usize, value: u64| {
        let mut bytes = good.clone();
        bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
        read(&bytes).unwrap_err()
    };
    let out_of_bounds = |what, start, length| Problem::OutOfBounds {
        what,
        start,
        length,
        limit,
    };
    for count in [8, 1 << 60, u64::MAX] {
        let error = faulty(24, count);
        let length = count.saturating_mul(40);
        assert_eq!(
            (error.offset, error.problem),
            (16, out_of_bounds("the array of entries", 32, length))
        );
    }
    // The second entry's image and strings.
    let error = faulty(72 + 24, HUGE);
    assert_eq!(
        (error.offset, error.problem),
        (96, out_of_bounds("the image", HUGE, 1))
    );
    let error = faulty(72 + 16, HUGE);
    assert_eq!(
        (error.offset, error.problem),
        (80, out_of_bounds("the array of string pairs", 0xa0, u64::MAX))
    );
    // The length of the first value.
    let error = faulty(112 + 16, HUGE);
    assert_eq!(
        (error.offset, error.problem),
        (120, out_of_bounds("a value", 0xdf, HUGE))
    );
    // No entry, no member.
    let mut bytes = good.clone();
    bytes[24] = 0;
    assert_eq!(read(&bytes).unwrap().len(), 0);
    for length in 1..good.len() {
        assert!(read(&good[..length]).is_err(), "{length}");
    }
}

#[test]
fn entries_that_share_strings_cannot_make_reading_slow() {
    // Entries as many as fit, each with all of them as its string pairs.
    let pair = [("a", "")];
    let description = openmp(&pair);
    let many = vec![(&description, &b""[..]); 4096];
    let mut bytes = container(ContainerFormat::Version2, &many);
    for entry in 0..4096 {
        let at = 32 + entry * 40 + 8;
        bytes[at..at + 8].copy_from_slice(&(32 + 4096_u64 * 40).to_le_bytes());
        bytes[at + 8..at + 16].copy_from_slice(&4096_u64.to_le_bytes());
    }
    let limit = MAX_STRING_BYTES;
    assert_eq!(
        read(&bytes).unwrap_err().problem,
        Problem::TooManyStringBytes { limit }
    );
    // Entries that all have the same image.
    let large = vec![0; 1 << 16];
    let mut bytes = container(
        ContainerFormat::Version2,
        &[
            (&description, &large[..]),
            (&description, b""),
            (&description, b""),
        ],
    );
    let first_image: [u8; 16] = bytes[32 + 24..32 + 40].try_into().unwrap();
    for entry in [1, 2] {
        let at = 32 + entry * 40 + 24;
        bytes[at..at + 16].copy_from_slice(&first_image);
    }
    let error = read(&bytes).unwrap_err();
    assert_eq!(
        (error.offset, error.problem),
        (32 + 40 + 32, Problem::OverlappingImages)
    );
}

#[test]
fn strings_share_tails_and_empty_ones_the_first_byte() {
    let bytes = member(&openmp(&[("arch", ""), ("h", "ch"), ("x", "arch")]), b"");
    // Header, entry, three pairs, the table "\0x\0arch\0", padding to 8.
    assert_eq!(bytes.len(), 32 + 40 + 3 * 16 + 8);
    let member = read(&bytes).unwrap()[0];
    assert_eq!(
        member.strings().collect::<Vec<_>>(),
        [("arch", ""), ("h", "ch"), ("x", "arch")]
    );
}

#[test]
fn a_key_given_twice_has_its_last_value() {
    let bytes = member(&openmp(&[("arch", "a"), ("triple", "t"), ("arch", "b")]), b"");
    let member = read(&bytes).unwrap()[0];
    assert_eq!(
        member.strings().collect::<Vec<_>>(),
        [("arch", "b"), ("triple", "t")]
    );
}

#[test]
fn what_the_format_cannot_express_is_refused() {
    assert!(
        openmp(&[("arch", "a\0b")])
            .header(ContainerFormat::Version1, 1)
            .is_err()
    );
    assert!(
        openmp(&[("a\0", "")])
            .header(ContainerFormat::Version1, 1)
            .is_err()
    );
    assert!(
        openmp(&[])
            .header(ContainerFormat::Version1, u64::MAX - 8)
            .is_err()
    );
    assert_eq!(
        openmp(&[])
            .header(ContainerFormat::Version1, 1 << 40)
            .unwrap()
            .size(),
        (1 << 40) + 80
    );
}

/// Each way of breaking a member that some stock tool crashes on or lets pass.
#[test]
fn faults_are_named_with_their_place() {
    const HUGE: u64 = 1 << 62;
    let set = |offset: usize, value: u64| {
        let mut bytes = good();
        bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    let set32 = |offset: usize, value: u32| {
        let mut bytes = good();
        bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    let fault = |bytes: Vec<u8>| read(&bytes).map(|members| members.len()).unwrap_err();
    let out_of_bounds = |what, start, length| Problem::OutOfBounds {
        what,
        start,
        length,
        limit: 160,
    };

    // Offsets of keys and values.
    let error = fault(set(72, HUGE));
    assert_eq!(
        (error.offset, error.problem),
        (72, out_of_bounds("a key", HUGE, 1))
    );
    let error = fault(set(80, HUGE));
    assert_eq!(
        (error.offset, error.problem),
        (80, out_of_bounds("a value", HUGE, 1))
    );
    // Number of strings: past the member, and so large that their size overflows.
    for count in [50, 1 << 60, u64::MAX] {
        let error = fault(set(48, count));
        let length = count.saturating_mul(16);
        assert_eq!(
            (error.offset, error.problem),
            (40, out_of_bounds("the array of string pairs", 72, length))
        );
    }
    // A value that runs out of the member.
    let mut bytes = set(80, 159);
    bytes[159] = b'x';
    let error = fault([bytes, good()].concat());
    assert_eq!(
        (error.offset, error.problem),
        (80, Problem::Unterminated { what: "a value" })
    );
    // Sizes and offsets of the image, the entry and the string pairs.
    let error = fault(set(64, HUGE));
    assert_eq!(
        (error.offset, error.problem),
        (56, out_of_bounds("the image", 0x98, HUGE))
    );
    let error = fault(set(56, HUGE));
    assert_eq!(
        (error.offset, error.problem),
        (56, out_of_bounds("the image", HUGE, 5))
    );
    let error = fault(set(40, HUGE));
    assert_eq!(
        (error.offset, error.problem),
        (40, out_of_bounds("the array of string pairs", HUGE, 32))
    );
    let error = fault(set(16, HUGE));
    assert_eq!(
        (error.offset, error.problem),
        (16, out_of_bounds("the entry", HUGE, 40))
    );
    let error = fault(set(24, 0));
    assert_eq!(error.offset, 24);
    assert_eq!(
        error.problem,
        Problem::TooSmall {
            what: "the entry size",
            found: 0,
            minimum: 40
        }
    );
    // The member's size.
    for size in [0, 16, 71] {
        assert!(matches!(fault(set(8, size)).problem, Problem::TooSmall { found, .. } if found == size));
    }
    assert!(matches!(
        fault(set(8, 159)).problem,
        Problem::Misaligned { found: 159, .. }
    ));
    assert!(matches!(fault(set(8, 1 << 63)).problem, Problem::Truncated { needed, .. } if needed == 1 << 63));
    // The first fields.
    for version in [0, 3] {
        let error = fault(set32(4, version));
        assert_eq!(error.offset, 4);
        assert!(matches!(error.problem, Problem::UnsupportedVersion { found, .. } if found == version));
    }
    assert_eq!(
        fault(set32(0, 0)),
        FormatError {
            offset: 0,
            problem: Problem::BadMagic
        }
    );
    // A string that is no text.
    let mut bytes = good();
    bytes[0x69] = 0xff;
    assert_eq!(fault(bytes).problem, Problem::NotUtf8 { what: "a value" });
}

#[test]
fn unknown_kinds_are_kept_as_numbers() {
    let mut bytes = good();
    bytes[32] = 77;
    bytes[34] = 77;
    let member = read(&bytes).unwrap()[0];
    assert_eq!(
        (member.image_kind(), member.image_kind().name()),
        (ImageKind(77), None)
    );
    assert_eq!((member.offload_kind_number(), member.offload_kind()), (77, None));
}

#[test]
fn bytes_behind_the_last_member_are_refused() {
    for (tail, problem) in [
        (&[0; 8][..], Problem::BadMagic),
        (b"junk", Problem::BadMagic),
        (
            &[0x10, 0xff],
            Problem::Truncated {
                what: "the header of an OffloadBinary",
                needed: 32,
                available: 2,
            },
        ),
    ] {
        let bytes = [&good(), tail].concat();
        let error = read(&bytes).unwrap_err();
        assert_eq!((error.offset, error.problem), (160, problem));
    }
    let shifted = [&good()[..], &[0; 4], &good()].concat();
    assert_eq!(
        read(&shifted).unwrap_err(),
        FormatError {
            offset: 160,
            problem: Problem::BadMagic
        }
    );
    assert_eq!(read(&[]).unwrap().len(), 0);
}

#[test]
fn every_truncation_is_refused() {
    let bytes = [good(), good()].concat();
    for length in 1..bytes.len() {
        let read = read(&bytes[..length]);
        assert_eq!(read.is_ok(), length == good().len(), "{length}: {read:?}");
    }
}

#[test]
fn overlapping_strings_cannot_make_reading_slow() {
    // Every pair names the same long value.
    let long = "x".repeat(MAX_STRING_BYTES as usize / 4);
    let keys: Vec<String> = (0..8).map(|key| key.to_string()).collect();
    let pairs: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), long.as_str())).collect();
    let bytes = member(&openmp(&pairs), b"");
    let error = read(&bytes).unwrap_err();
    assert_eq!(
        error.problem,
        Problem::TooManyStringBytes {
            limit: MAX_STRING_BYTES
        }
    );
}

#[derive(Debug, Clone)]
struct Whole {
    image_kind: u16,
    offload_kind: u16,
    flags: u32,
    strings: std::collections::BTreeMap<String, String>,
    image: Vec<u8>,
}

impl Whole {
    fn bytes(&self) -> Vec<u8> {
        let description = MemberDescription {
            image_kind: ImageKind(self.image_kind),
            offload_kind: self.offload_kind,
            flags: self.flags,
            strings: self
                .strings
                .iter()
                .map(|(key, value)| (key.as_str(), value.as_str()))
                .collect(),
        };
        member(&description, &self.image)
    }
}

fn wholes() -> impl Strategy<Value = Whole> {
    let strings = prop::collection::btree_map("[^\0]{0,6}", "[^\0]{0,12}", 0..6);
    (
        any::<u16>(),
        any::<u16>(),
        any::<u32>(),
        strings,
        any::<Vec<u8>>(),
    )
        .prop_map(|(image_kind, offload_kind, flags, strings, image)| Whole {
            image_kind,
            offload_kind,
            flags,
            strings,
            image,
        })
}

proptest! {
    #[test]
    fn round_trip(list in prop::collection::vec(wholes(), 0..5), shift in 0_usize..8) {
        let parts: Vec<Vec<u8>> = list.iter().map(Whole::bytes).collect();
        // The reader must not care how its bytes are aligned.
        let shifted = [vec![0; shift], parts.concat()].concat();
        let bytes = &shifted[shift..];
        let read = read(bytes).unwrap();
        prop_assert_eq!(read.len(), list.len());
        let mut offset = 0;
        for ((member, whole), part) in read.iter().zip(&list).zip(&parts) {
            prop_assert_eq!(member.offset(), offset);
            prop_assert_eq!(member.container(), part);
            prop_assert!(part.len().is_multiple_of(8));
            prop_assert!(member.image_offset().is_multiple_of(8));
            prop_assert_eq!(member.image(), &whole.image);
            prop_assert_eq!(member.image_kind(), ImageKind(whole.image_kind));
            prop_assert_eq!(member.offload_kind_number(), whole.offload_kind);
            prop_assert_eq!(member.flags(), whole.flags);
            for (key, value) in &whole.strings {
                prop_assert_eq!(member.string(key), Some(value.as_str()));
            }
            prop_assert_eq!(member.strings().count(), whole.strings.len());
            offset += part.len() as u64;
        }
    }

    #[test]
    fn mutated_members_never_panic(
        whole in wholes(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)
    ) {
        let mut bytes = [whole.bytes(), good()].concat();
        for (index, value) in changes {
            let index = index.index(bytes.len());
            bytes[index] = value;
        }
        read_all(&bytes);
    }

    #[test]
    fn mutated_fields_never_panic(field in 0_usize..13, value in prop_oneof![any::<u64>(), 0_u64..400]) {
        let mut bytes = good();
        bytes[8 * field..8 * field + 8].copy_from_slice(&value.to_le_bytes());
        read_all(&bytes);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        read_all(&bytes);
        let mut bytes = bytes;
        bytes.splice(0..0, good()[..8].iter().copied());
        read_all(&bytes);
    }
}
