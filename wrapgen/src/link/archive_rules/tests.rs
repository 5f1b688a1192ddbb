//! Links of a few names by the rules of each linker.

use std::borrow::Cow;
use std::path::Path;

use super::super::symbol_names::Reference;
use super::*;

const LLD: Rules = Rules::AnyOrder {
    common_is_lacking: false,
};
const MOLD: Rules = Rules::AnyOrder {
    common_is_lacking: true,
};

/// What an object defines and lacks: `+function`, `=variable`, `?common`, `-lacking`; `!hidden` and `~hidden` are
/// references that no shared library satisfies, the latter a weak one.
fn names(text: &'static str) -> SymbolNames<'static> {
    let mut names = SymbolNames::default();
    for word in text.split_whitespace() {
        let (mark, name) = word.split_at(1);
        let name = Cow::Borrowed(name.as_bytes());
        let kind = match mark {
            "-" | "!" | "~" => {
                names.references.push(Reference {
                    name,
                    is_weak: mark == "~",
                    is_local: mark != "-",
                });
                continue;
            }
            "=" => DefinitionKind::StrongVariable,
            "?" => DefinitionKind::Common,
            _ => DefinitionKind::Other,
        };
        names.definitions.push(Definition { name, kind });
    }
    names
}

/// A file: the members of an archive, by name.
fn archive(members: &[(&'static str, &'static str)]) -> Vec<Object<'static>> {
    let member = |&(name, text): &(&'static str, _)| Object {
        origin: Origin {
            path: Path::new(name),
            member: None,
            place: 0,
        },
        names: names(text),
    };
    members.iter().map(member).collect()
}

/// The names of the members that are taken, in alphabetic order.
fn taken(rules: Rules, contents: Vec<(Option<usize>, Content<'_, 'static>)>) -> String {
    let unit = |(group, content)| Unit { content, group };
    let units: Vec<_> = contents.into_iter().map(unit).collect();
    let taken = taken_members(rules, [&b"start"[..]].into_iter(), &units);
    let mut taken: Vec<_> = taken.iter().map(|origin| origin.path.to_string_lossy()).collect();
    taken.sort();
    taken.join(" ")
}

#[test]
fn order_counts_for_gnu_ld_alone() {
    let main = archive(&[("main", "+start -f")]);
    // Each defines `g`, which `f` needs.
    let first = archive(&[("f", "+f -g"), ("other", "+g +h")]);
    let second = archive(&[("late", "+g")]);
    use Content::{Archive, Objects};
    let before = || {
        vec![
            (None, Archive(&second)),
            (None, Objects(&main)),
            (None, Archive(&first)),
        ]
    };
    assert_eq!(taken(Rules::GnuLd, before()), "f other");
    assert_eq!(taken(LLD, before()), "f late");
    // An archive in front of what needs it.
    let alone = || vec![(None, Archive(&first)), (None, Objects(&main))];
    assert_eq!(taken(Rules::GnuLd, alone()), "");
    assert_eq!(taken(Rules::Gold, alone()), "");
    assert_eq!(taken(LLD, alone()), "f other");
}

#[test]
fn archives_are_done_one_by_one_and_groups_together() {
    use Content::{Archive, Objects};
    let main = archive(&[("main", "+start -f -z")]);
    // `z` lacks `x`, which the first archive has, too; `f` lacks `y`, in both.
    let first = archive(&[("f", "+f -y"), ("x1", "+x +y")]);
    let second = archive(&[("y2", "+y"), ("z", "+z -w")]);
    let third = archive(&[("w", "+w -v")]);
    let with_v = archive(&[("v", "+v")]);
    let contents = |group| {
        vec![
            (None, Objects(&main[..])),
            (group, Archive(&first[..])),
            (group, Archive(&with_v[..])),
            (group, Archive(&second[..])),
            (group, Archive(&third[..])),
        ]
    };
    assert_eq!(taken(Rules::GnuLd, contents(None)), "f w x1 z");
    assert_eq!(taken(Rules::GnuLd, contents(Some(1))), "f v w x1 z");
    // Named again, an archive is searched again.
    let mut again = contents(None);
    again.push((None, Archive(&with_v)));
    assert_eq!(taken(Rules::Gold, again), "f v w x1 z");
}

#[test]
fn contents_are_found_for_common_variables() {
    use Content::{Archive, Objects};
    let main = archive(&[("main", "+start ?v ?u ?w")]);
    let library = archive(&[("common", "?v"), ("function", "+u"), ("variable", "=v ?w")]);
    let behind = || vec![(None, Objects(&main)), (None, Archive(&library))];
    assert_eq!(taken(Rules::GnuLd, behind()), "variable");
    assert_eq!(taken(Rules::Gold, behind()), "");
    assert_eq!(taken(LLD, behind()), "");
    assert_eq!(taken(MOLD, behind()), "function variable");
    let in_front = || vec![(None, Archive(&library)), (None, Objects(&main))];
    assert_eq!(taken(Rules::GnuLd, in_front()), "");
    assert_eq!(taken(LLD, in_front()), "");
    // A common symbol is a definition for who lacks the name.
    let user = archive(&[("main", "+start -v")]);
    let lacks = || vec![(None, Objects(&user)), (None, Archive(&library))];
    assert_eq!(taken(LLD, lacks()), "common");
}

#[test]
fn shared_libraries_define_and_lack() {
    use Content::{Archive, Objects};
    let main = archive(&[("main", "+start -f")]);
    let library = archive(&[("f", "+f"), ("g", "+g")]);
    let shared = |as_needed| Content::SharedLibrary {
        names: names("+f -g"),
        as_needed,
    };
    let files = |as_needed| {
        vec![
            (None, Objects(&main[..])),
            (None, shared(as_needed)),
            (None, Archive(&library[..])),
        ]
    };
    for rules in [Rules::GnuLd, Rules::Gold, LLD] {
        assert_eq!(taken(rules, files(false)), "g");
        assert_eq!(taken(rules, files(true)), "g");
    }
    let in_front = || {
        vec![
            (None, shared(true)),
            (None, Objects(&main)),
            (None, Archive(&library)),
        ]
    };
    assert_eq!(taken(Rules::GnuLd, in_front()), "f");
    assert_eq!(taken(Rules::Gold, in_front()), "g");
    assert_eq!(taken(LLD, in_front()), "g");
}

#[test]
fn shared_libraries_define_nothing_that_is_hidden() {
    use Content::{Archive, Objects};
    let library = archive(&[("f", "+f"), ("g", "+g")]);
    let user = archive(&[("user", "-f")]);
    let shared = |as_needed| Content::SharedLibrary {
        names: names("+f -g"),
        as_needed,
    };
    for (main, gnu_ld, lld) in [
        ("+start !f", "f", "f g"),
        // GNU ld takes what was defined for what is lacking, lld forgets it.
        ("+start ~f", "f", "g"),
    ] {
        let main = archive(&[("main", main)]);
        let files = |main_first: bool| {
            let mut files = vec![
                (None, shared(true)),
                (None, Objects(&main[..])),
                (None, Archive(&library[..])),
            ];
            files[..2].rotate_left(usize::from(main_first));
            files.insert(0, (None, Objects(&user[..])));
            files
        };
        assert_eq!(taken(Rules::GnuLd, files(true)), "f");
        assert_eq!(taken(LLD, files(true)), "f g");
        assert_eq!(taken(Rules::GnuLd, files(false)), format!("{gnu_ld} g"));
        assert_eq!(taken(LLD, files(false)), lld);
    }
}
