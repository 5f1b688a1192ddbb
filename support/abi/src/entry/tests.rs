//! What is written is read, and bytes that nobody vouches for are errors.

use super::*;
use proptest::prelude::*;

#[test]
fn fields_in_ir_lie_where_the_record_has_them() {
    for version in LlvmVersion::ALL {
        let offset_of = |wanted| {
            let place = fields(version).iter().take_while(|(field, _)| *field != wanted);
            place.map(|(_, field_type)| field_type.size()).sum::<usize>()
        };
        assert_eq!(offset_of(EntryField::Address), address_offset(version));
        assert_eq!(offset_of(EntryField::Name), name_offset(version));
        let whole: usize = fields(version)
            .iter()
            .map(|(_, field_type)| field_type.size())
            .sum();
        assert_eq!(whole, size(version));
    }
}

fn versions() -> impl Strategy<Value = LlvmVersion> {
    prop::sample::select(&LlvmVersion::ALL[..])
}

fn entries() -> impl Strategy<Value = Entry> {
    (
        any::<u32>(),
        any::<u64>(),
        any::<u64>(),
        any::<u64>(),
        any::<u32>(),
    )
        .prop_map(|(flags, address, name, size, data)| Entry {
            kind: OffloadKind::OpenMp,
            flags: EntryFlags(flags),
            address,
            name,
            size,
            data: data.into(),
            aux_address: 0,
        })
}

#[test]
fn symbols_follow_the_section() {
    for version in LlvmVersion::ALL {
        assert_eq!(start_symbol(version), format!("__start_{}", section(version)));
        assert_eq!(stop_symbol(version), format!("__stop_{}", section(version)));
        assert_eq!(dummy_symbol(version), format!("__dummy.{}", section(version)));
    }
}

#[test]
fn what_a_release_cannot_express_is_refused() {
    let entry = Entry {
        kind: OffloadKind::Cuda,
        flags: EntryFlags::NONE,
        address: 1,
        name: 2,
        size: 3,
        data: 0,
        aux_address: 0,
    };
    assert_eq!(entry.encode(LlvmVersion::V19), None);
    let entry = Entry {
        kind: OffloadKind::OpenMp,
        data: 1 << 32,
        ..entry
    };
    assert_eq!(entry.encode(LlvmVersion::V19), None);
    assert!(entry.encode(LlvmVersion::V22).is_some());
}

#[test]
fn malformed_records_say_where() {
    let good = Entry {
        kind: OffloadKind::OpenMp,
        flags: EntryFlags::NONE,
        address: 1,
        name: 2,
        size: 3,
        data: 0,
        aux_address: 0,
    }
    .encode(LlvmVersion::V22)
    .unwrap();
    for (byte, offset) in [(0, 0), (8, 8), (10, 10)] {
        let mut bad = good.clone();
        bad[byte] = 77;
        let table = [good.clone(), bad].concat();
        let errors: Vec<_> = parse_table(LlvmVersion::V22, &table)
            .unwrap()
            .filter_map(Result::err)
            .collect();
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].offset, 56 + offset);
    }
    assert!(parse_table(LlvmVersion::V22, &good[..55]).is_err());
    assert!(Entry::parse(LlvmVersion::V19, &good[..31]).is_err());
}

proptest! {
    #[test]
    fn round_trip(version in versions(), list in prop::collection::vec(entries(), 0..5)) {
        let bytes: Vec<u8> = list.iter().flat_map(|entry| entry.encode(version).unwrap()).collect();
        prop_assert_eq!(bytes.len(), list.len() * size(version));
        let read: Result<Vec<_>, _> = parse_table(version, &bytes).unwrap().collect();
        prop_assert_eq!(read, Ok(list));
    }

    #[test]
    fn arbitrary_bytes_never_panic(version in versions(), bytes: Vec<u8>) {
        let _ = Entry::parse(version, &bytes);
        if let Ok(table) = parse_table(version, &bytes) {
            for _ in table {}
        }
    }
}
