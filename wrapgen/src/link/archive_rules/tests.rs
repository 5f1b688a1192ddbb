//! Links of a few names by the rules of each linker.

use std::borrow::Cow;
use std::path::Path;

use super::*;

mod real_linkers;

const LLD: Rules = Rules::AnyOrder {
    common_is_lacking: false,
};
const LLD_WITH_FORTRAN: Rules = Rules::AnyOrder {
    common_is_lacking: true,
};
const MOLD: Rules = Rules::ByRank;

/// What an object defines and lacks: `+function`, `*weak_function`, `=variable`, `?common`; `-lacking`,
/// `_weak`, `!hidden`, `~weak_hidden`.
fn names(text: &str) -> SymbolNames<'_> {
    let mut names = SymbolNames::default();
    for word in text.split_whitespace() {
        let (mark, name) = word.split_at(1);
        let name = Cow::Borrowed(name.as_bytes());
        let kind = match mark {
            "-" | "_" | "!" | "~" => {
                names.references.push(Reference {
                    name,
                    is_weak: matches!(mark, "_" | "~"),
                    is_local: matches!(mark, "!" | "~"),
                });
                continue;
            }
            "=" => DefinitionKind::StrongVariable,
            "?" => DefinitionKind::Common,
            _ => DefinitionKind::Other,
        };
        let is_weak = mark == "*";
        names.definitions.push(Definition { name, kind, is_weak });
    }
    names
}

/// A file: the members of an archive, by name.
fn archive<'a>(members: &[(&'a str, &'a str)]) -> Vec<Object<'a>> {
    let member = |&(name, text): &(&'a str, &'a str)| Object {
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
fn taken(rules: Rules, contents: Vec<(Option<usize>, Content<'_, '_>)>) -> String {
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
fn many_members_that_need_the_one_before_are_taken_at_once() {
    use Content::{Archive, Objects};
    const COUNT: usize = 20_000;
    let texts: Vec<_> = (0..COUNT)
        .map(|number| format!("+f{} -f{number}", number + 1))
        .collect();
    let members: Vec<_> = texts.iter().map(|text| (&**text, &**text)).collect();
    let library = archive(&members);
    let (even, odd): (Vec<_>, Vec<_>) = members
        .iter()
        .enumerate()
        .partition(|(number, _)| number % 2 == 0);
    let [even, odd] = [even, odd].map(|members| {
        let members: Vec<_> = members.into_iter().map(|(_, member)| *member).collect();
        archive(&members)
    });
    let wanted = format!("+start -f{COUNT}");
    let main = archive(&[("main", &wanted)]);
    for rules in [Rules::GnuLd, LLD, MOLD] {
        let files = vec![(None, Objects(&main)), (None, Archive(&library))];
        assert_eq!(taken(rules, files).split("+").count(), COUNT + 1);
        let files = vec![
            (None, Objects(&main)),
            (Some(1), Archive(&even)),
            (Some(1), Archive(&odd)),
        ];
        assert_eq!(taken(rules, files).split("+").count(), COUNT + 1);
    }
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
    assert_eq!(taken(LLD_WITH_FORTRAN, behind()), "function variable");
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
        names: Rc::new(names("+f -g")),
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
        names: Rc::new(names("+f -g")),
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

#[test]
fn mold_looks_at_all_files_at_once() {
    use Content::{Archive, Objects};
    let main = archive(&[("main", "+start -f"), ("later", "*g +h -f ?v")]);
    // `g` and `h` are in an object that stands behind.
    let library = archive(&[
        ("f", "+f -g -h -k"),
        ("g", "+g"),
        ("h", "+h"),
        ("k", "*k"),
        ("v", "?v"),
    ]);
    let strong = archive(&[("strong", "+k -v")]);
    let shared = |text, as_needed| Content::SharedLibrary {
        names: Rc::new(names(text)),
        as_needed,
    };
    let files = |more| {
        let mut files = vec![
            (None, Archive(&library)),
            (None, Objects(&main)),
            (None, Archive(&strong)),
        ];
        files.insert(0, (None, more));
        files
    };
    assert_eq!(taken(MOLD, files(shared("+x", false))), "f strong");
    assert_eq!(taken(MOLD, files(shared("+k", false))), "f");
    assert_eq!(taken(MOLD, files(shared("*k", false))), "f strong");
    // A shared library that is not needed lacks nothing.
    assert_eq!(taken(MOLD, files(shared("+f -k", true))), "strong");
    assert_eq!(taken(MOLD, files(shared("+x -k", true))), "f strong");
    let hidden = archive(&[("main", "+start !f")]);
    let hidden = vec![
        (None, shared("+f -k", true)),
        (None, Objects(&hidden)),
        (None, Archive(&library)),
    ];
    assert_eq!(taken(MOLD, hidden), "f g h k");
}
