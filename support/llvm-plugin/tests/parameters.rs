//! Parameters inside of pass names.

use llvm_plugin::parameters::{Parameter, ParameterError, PassText};

fn parameter<'a>(key: &'a str, value: Option<&'a str>) -> Parameter<'a> {
    Parameter { key, value }
}

#[test]
fn a_name_alone_has_no_parameters() {
    for text in ["x", "x<>"] {
        let parsed = PassText::parse(text).unwrap();
        assert_eq!(parsed.name, "x");
        assert!(parsed.parameters.is_empty());
    }
}

#[test]
fn keys_values_and_flags_keep_their_order() {
    let parsed = PassText::parse("x<a=1;b;a=c=d;e=>").unwrap();
    let expected = [
        parameter("a", Some("1")),
        parameter("b", None),
        parameter("a", Some("c=d")),
        parameter("e", Some("")),
    ];
    assert_eq!(parsed.parameters, expected);
}

#[test]
fn brackets_must_match_and_keys_must_be_there() {
    for text in ["x<a", "x>", "x<a>b", "x<a<b>>", "x<a>>"] {
        let error = PassText::parse(text).unwrap_err();
        assert!(
            matches!(error, ParameterError::NotClosed { .. }),
            "{text}: {error}"
        );
    }
    for text in ["x<;>", "x<a;;b>", "x<=1>"] {
        let error = PassText::parse(text).unwrap_err();
        assert!(matches!(error, ParameterError::Unnamed { .. }), "{text}: {error}");
    }
}
