//! Tests of the text form: what is printed is read, and each error says where and what.

use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Result<Descriptor, DescriptorError> {
    text.parse()
}

#[test]
fn every_form_is_read() {
    let text = "
        # a kernel with one argument of each kind
        kernel = __omp_offloading_10_1_f_l5 ; arch = x86-64
        0=i32:0x2a; 1=align:64
        2=align:64+contents:00fF??  # the third byte is a pointer's
        3=any
        4=double:0x4000000000000000;5=bytes:0102;6=contents:07;
        8=i8:-1
        teams=1;threads=16
    ";
    let i32 = ScalarType::integer(32).unwrap();
    let i8 = ScalarType::integer(8).unwrap();
    let expected = Descriptor {
        kernel: "__omp_offloading_10_1_f_l5".to_owned(),
        architecture: "x86-64".to_owned(),
        arguments: vec![
            Argument::Value(Scalar::from_word(i32, 42)),
            Argument::pointer(Alignment::of(64), None),
            Argument::pointer(Alignment::of(64), Some(Contents::new([Some(0), Some(255), None]))),
            Argument::Any,
            Argument::Value(Scalar::from_word(ScalarType::Double, 2.0f64.to_bits())),
            Argument::Bytes(vec![1, 2]),
            Argument::pointer(None, Some(Contents::known(&[7]))),
            Argument::Any,
            Argument::Value(Scalar::from_word(i8, 0xff)),
        ],
        teams: Some(1),
        threads: Some(16),
    };
    assert_eq!(parse(text), Ok(expected));
}

#[test]
fn numbers_may_be_written_for_people() {
    let bits = |value: &str| match parse(&format!("kernel=k;arch=a;0={value}"))
        .map(|descriptor| descriptor.arguments[0].clone())
    {
        Ok(Argument::Value(scalar)) => Some(scalar.bits()),
        _ => None,
    };
    assert_eq!(bits("i1:1"), Some(1));
    assert_eq!(bits("i1:-1"), Some(1));
    assert_eq!(bits("i64:-1"), Some(u64::MAX));
    assert_eq!(bits("i64:18446744073709551615"), Some(u64::MAX));
    assert_eq!(bits("float:-0.0"), Some(0x8000_0000));
    assert_eq!(bits("double:inf"), Some(0x7ff0_0000_0000_0000));
    for too_wide in [
        "i8:256",
        "i8:-129",
        "i8:0x100",
        "half:0x10000",
        "i64:18446744073709551616",
    ] {
        assert_eq!(bits(too_wide), None, "{too_wide}");
    }
}

#[test]
fn errors_say_which_item_where_and_what() {
    let cases = [
        ("arch=a", "the descriptor has no `kernel=`"),
        ("kernel=k", "the descriptor has no `arch=`"),
        (
            "kernel=k\n\narch=a;0=i32:7;0=any",
            "descriptor line 3, item `0=any`: `0` is given twice",
        ),
        (
            "kernel",
            "descriptor line 1, item `kernel`: an item is `key=value`",
        ),
        (
            "name=k",
            "descriptor line 1, item `name=k`: the key must be `kernel`, `arch`, `teams`, `threads` or the number of an argument",
        ),
        (
            "0=i65:1",
            "descriptor line 1, item `0=i65:1`: `i65` is no type of an argument; types are i1 to i64, half, bfloat, float, double",
        ),
        (
            "0=i8:0x1ff",
            "descriptor line 1, item `0=i8:0x1ff`: `0x1ff` is not a value of type i8",
        ),
        (
            "0=align:24",
            "descriptor line 1, item `0=align:24`: an alignment is 128, 64, 32, 16 or 8",
        ),
        (
            "0=contents:0",
            "descriptor line 1, item `0=contents:0`: bytes are pairs of hexadecimal digits",
        ),
        (
            "0=contents:????",
            "descriptor line 1, item `0=contents:????`: at least one byte of the contents must be known",
        ),
        (
            "0=bytes:",
            "descriptor line 1, item `0=bytes:`: bytes are pairs of hexadecimal digits",
        ),
        (
            "99999999999999999999=any",
            "descriptor line 1, item `99999999999999999999=any`: a kernel has at most 1024 arguments",
        ),
        (
            "1024=any",
            "descriptor line 1, item `1024=any`: a kernel has at most 1024 arguments",
        ),
        (
            "teams=0",
            "descriptor line 1, item `teams=0`: a number from 1 to 4294967295 is expected",
        ),
        (
            "kernel=%zz",
            "descriptor line 1, item `kernel=%zz`: not a name; special characters are written `%` and two hexadecimal digits, in UTF-8",
        ),
        (
            "0=align:8+bytes:00",
            "descriptor line 1, item `0=align:8+bytes:00`: an argument is `any`, `TYPE:VALUE`, `expect:TYPE:VALUE`, `bytes:HEX`, `align:N`, `contents:HEX` or `align:N+contents:HEX`",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(parse(text).unwrap_err().to_string(), message);
    }
}

/// Descriptors of every form.
pub(crate) fn descriptors() -> impl Strategy<Value = Descriptor> {
    let name = ".{1,20}";
    let count = prop::option::of(1u32..);
    (
        name,
        name,
        prop::collection::vec(arguments(), 0..12),
        count.clone(),
        count,
    )
        .prop_map(|(kernel, architecture, arguments, teams, threads)| Descriptor {
            kernel,
            architecture,
            arguments,
            teams,
            threads,
        })
}

fn arguments() -> impl Strategy<Value = Argument> {
    let scalar_type = prop_oneof![
        (1u32..=64).prop_map(|bits| ScalarType::integer(bits).unwrap()),
        Just(ScalarType::Half),
        Just(ScalarType::BFloat),
        Just(ScalarType::Float),
        Just(ScalarType::Double),
    ];
    let contents = prop::collection::vec(any::<Option<u8>>(), 0..20).prop_map(Contents::new);
    prop_oneof![
        Just(Argument::Any),
        (scalar_type, any::<u64>())
            .prop_map(|(scalar_type, word)| Argument::Value(Scalar::from_word(scalar_type, word))),
        prop::collection::vec(any::<u8>(), 1..20).prop_map(Argument::Bytes),
        (any::<Option<u16>>(), prop::option::of(contents)).prop_map(|(address, contents)| {
            Argument::pointer(
                address.and_then(|address| Alignment::of(u64::from(address))),
                contents,
            )
        }),
    ]
}

proptest! {
    #[test]
    fn what_is_printed_is_read(descriptor in descriptors()) {
        let text = descriptor.to_string();
        prop_assert!(!text.contains([',', '(', ')', '<', '>', '\n', '#']), "{text}");
        prop_assert_eq!(parse(&text), Ok(descriptor));
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "(kernel=|arch=|[0-9]{1,5}=|i[0-9]*:|expect:|align:|\\+|contents:|bytes:|\\?|%|[0-9a-fx-]|;|\n|.){0,30}") {
        if let Ok(descriptor) = parse(&text) {
            prop_assert_eq!(parse(&descriptor.to_string()), Ok(descriptor));
        }
    }
}
