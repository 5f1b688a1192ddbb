//! What is written is read, and bytes that nobody vouches for are errors.

use super::*;
use proptest::prelude::*;

fn kernel(name: &str, parameter_count: usize) -> Kernel<'_> {
    let kinds = [
        ParameterKind::LaunchEnvironment,
        ParameterKind::Pointer,
        ParameterKind::Scalar,
    ];
    let parameters = (0..parameter_count).map(|index| Parameter {
        kind: kinds[index % 3],
        size: (index % 8 + 1) as u8,
        uses: ParameterUses((index * 257) as u16),
        contents: (0..index * 7).map(|byte| byte % 3 == index % 3).collect(),
        contents_are_there: index % 2 == 0,
    });
    Kernel {
        name,
        source: "a.c\n1\tn",
        has_fast_math: parameter_count.is_multiple_of(2),
        parameters: parameters.collect(),
        launch: parameter_count.is_multiple_of(3).then_some(LaunchFacts {
            mode: ExecutionMode::GenericSpmd,
            min_threads: 1,
            max_threads: 128,
            min_teams: -1,
            max_teams: -(parameter_count as i32),
            reduction_data_size: 8,
            reduction_buffer_length: 1024,
            thread_limit: 128,
            num_teams: parameter_count as u32,
        }),
    }
}

fn example() -> Bundle<'static> {
    Bundle {
        llvm_major: 19,
        optimization_level: 2,
        target_triple: "x86_64-pc-linux-gnu",
        kernels: vec![kernel("k0", 3), kernel("k1", 0)],
        anchors: vec!["__offloom_anchor_0", "printf"],
        left_ahead_of_time: vec![("k2", "it calls through a pointer")],
        gpu: Some(Gpu {
            processor: "sm_80",
            features: "+ptx83",
            assembler_arguments: vec!["-maxrregcount", "64"],
            device_runtime: b"BC\xC0\xDEruntime",
        }),
        bitcode: b"BC\xC0\xDEsome bitcode",
        matched_bitcode: b"BC\xC0\xDEother bitcode",
    }
}

#[test]
fn every_truncation_is_an_error() {
    let (bytes, _) = example().encode();
    for length in 0..bytes.len() {
        assert!(
            Bundle::parse(&bytes[..length]).is_err(),
            "{length} bytes were accepted"
        );
    }
}

#[test]
fn a_changed_byte_does_not_keep_the_id() {
    let (bytes, _) = example().encode();
    for index in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[index] ^= 0x10;
        assert!(Bundle::verify(&changed).is_err(), "byte {index}");
    }
}

#[test]
fn fields_of_a_kernel_that_cannot_be_are_refused() {
    let (bytes, _) = example().encode();
    let fast_math = 44 + 4 + example().target_triple.len() + 4 + 4 + 2 + 4 + "a.c\n1\tn".len();
    let kind = fast_math + 1 + 4;
    // Behind its three parameters, with 0, 7 and 14 bytes of contents.
    let launch = kind + 3 * 9 + 1 + 2;
    for (field, value) in [
        (fast_math, 2),
        (kind, 3),
        (kind + 1, 0),
        (kind + 1, 9),
        (launch, 2),
        (launch + 1, 0),
        (launch + 1, 4),
    ] {
        let mut changed = bytes.clone();
        changed[field] = value;
        assert!(
            matches!(Bundle::parse(&changed), Err(BundleError::Damaged { .. })),
            "{field} {value}"
        );
    }
}

#[test]
fn a_count_larger_than_the_bundle_is_refused_without_reserving_memory() {
    let (mut bytes, _) = example().encode();
    let kernel_count = 44 + 4 + example().target_triple.len();
    bytes[kernel_count..kernel_count + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(Bundle::parse(&bytes), Err(BundleError::Damaged { .. })));
}

#[test]
fn a_section_holds_bundles_one_behind_the_other() {
    let bundle = |bitcode: &'static [u8]| {
        let bundle = Bundle { bitcode, ..example() };
        bundle.encode().0
    };
    let bundles = [bundle(b"one"), bundle(b"another"), bundle(b"")];
    let mut section = Vec::new();
    for bundle in &bundles {
        section.resize(section.len().next_multiple_of(SECTION_ALIGNMENT), 0);
        section.extend_from_slice(bundle);
    }
    let found: Result<Vec<_>, _> = bundles_in(&section).collect();
    assert_eq!(found.unwrap(), bundles);
    assert_eq!(bundles_in(&[]).count(), 0);
    let end = section.len();
    section.resize(end.next_multiple_of(SECTION_ALIGNMENT) + 1, 1);
    let found: Vec<_> = bundles_in(&section).collect();
    assert!(found.len() == 4 && found[3].is_err());
    section.truncate(end - 1);
    assert!(bundles_in(&section).nth(2).unwrap().is_err());
}

proptest! {
    #[test]
    fn any_bytes_in_a_section_are_read_without_a_panic(
        size in any::<u64>(),
        mut bytes in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        if let Some(field) = bytes.get_mut(ID_END..ID_END + 8) {
            field.copy_from_slice(&size.to_le_bytes());
        }
        if let Some(magic) = bytes.get_mut(..MAGIC.len()) {
            magic.copy_from_slice(&MAGIC);
        }
        prop_assert!(bundles_in(&bytes).count() <= bytes.len());
    }

    #[test]
    fn what_is_written_is_read(
        llvm_major in any::<u32>(),
        optimization_level in 0u32..4,
        triple in ".{0,20}",
        kernels in prop::collection::vec((".{0,40}", 0usize..12), 0..5),
        anchors in prop::collection::vec(".{0,40}", 0..5),
        left in prop::collection::vec((".{0,40}", ".{0,40}"), 0..3),
        gpu in prop::option::of((".{0,10}", ".{0,10}", prop::collection::vec(".{0,10}", 0..3), prop::collection::vec(any::<u8>(), 0..40))),
        bitcode in prop::collection::vec(any::<u8>(), 0..200),
        matched_bitcode in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let bundle = Bundle {
            llvm_major,
            optimization_level,
            target_triple: &triple,
            kernels: kernels.iter().map(|(name, count)| kernel(name, *count)).collect(),
            anchors: anchors.iter().map(String::as_str).collect(),
            left_ahead_of_time: left.iter().map(|(kernel, reason)| (kernel.as_str(), reason.as_str())).collect(),
            gpu: gpu.as_ref().map(|(processor, features, arguments, runtime)| Gpu {
                processor,
                features,
                assembler_arguments: arguments.iter().map(String::as_str).collect(),
                device_runtime: runtime,
            }),
            bitcode: &bitcode,
            matched_bitcode: &matched_bitcode,
        };
        let (bytes, id) = bundle.encode();
        prop_assert_eq!(Bundle::verify(&bytes), Ok((bundle, id)));
    }

    #[test]
    fn hostile_bytes_give_errors(mut bytes in prop::collection::vec(any::<u8>(), 0..300), size in any::<bool>()) {
        let head: Vec<u8> = [&MAGIC[..], &VERSION.to_le_bytes()].concat();
        let length = bytes.len().min(head.len());
        bytes[..length].copy_from_slice(&head[..length]);
        if size && bytes.len() >= 40 {
            let total = (bytes.len() as u64).to_le_bytes();
            bytes[32..40].copy_from_slice(&total);
        }
        // It must come back, whatever it answers.
        let _ = Bundle::parse(&bytes);
    }
}
