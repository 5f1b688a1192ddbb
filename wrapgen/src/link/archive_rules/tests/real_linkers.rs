//! Links of random names, by the rules and by the linkers themselves, where they are installed.

use std::fs;
use std::path::Path;
use std::process::Command;

use object::{Object as _, ObjectSymbol as _};

use super::*;

/// How many links. Of 300, one differs, for GNU ld: it does not go through an archive again if all that a
/// member lacks is a hidden name that a shared library had before.
const SEEDS: u64 = 20;

const LINKERS: [(&str, Rules); 6] = [
    ("ld.bfd", Rules::GnuLd),
    ("ld.gold", Rules::Gold),
    ("ld.lld-19", LLD),
    ("ld.lld-21", LLD),
    ("ld.lld-22", LLD),
    ("mold", MOLD),
];

/// Random numbers, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn one_of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len() as u64) as usize]
    }

    /// Some names with marks as [`names`] knows them, each name once.
    fn names(&mut self, marks: &[&str], chance: u64) -> String {
        let mut text = String::new();
        for name in ["a", "b", "c", "d", "e"] {
            if self.below(100) < chance {
                text += &format!("{}{name} ", self.one_of(marks));
            }
        }
        text
    }
}

/// A file of a link.
#[derive(Debug)]
enum File {
    Object(String),
    /// The members by name.
    Archive(Vec<(String, String)>),
    Shared {
        text: String,
        as_needed: bool,
    },
}

/// A link of random files. No two definitions that count meet in it.
fn random_files(numbers: &mut Numbers) -> Vec<File> {
    let mut files = vec![File::Object(format!(
        "+_start {}",
        numbers.names(&["-", "-", "_", "!", "?"], 50)
    ))];
    for number in 0..3 {
        let members = (0..3).map(|member| {
            let marks = ["+", "*", "=", "?", "-", "-", "_", "!"];
            (format!("m{number}{member}"), numbers.names(&marks, 35))
        });
        files.push(File::Archive(members.collect()));
    }
    files.push(File::Object(numbers.names(&["*", "-", "_", "?"], 25)));
    files.push(File::Shared {
        text: numbers.names(&["+", "+", "*", "-"], 40),
        as_needed: numbers.below(2) == 0,
    });
    for place in (1..files.len()).rev() {
        files.swap(place, numbers.below(place as u64 + 1) as usize);
    }
    files
}

/// Assembles what defines and lacks the names of `text`, and defines `marker`.
fn assemble(folder: &Path, file: &str, text: &str) {
    let mut lines = format!(".globl marker_{file}\nmarker_{file}:\n");
    for word in text.split_whitespace() {
        let (mark, name) = word.split_at(1);
        lines += &match mark {
            "+" => format!(".text\n.globl {name}\n.type {name}, %function\n{name}: ret\n"),
            "*" => format!(".text\n.weak {name}\n.type {name}, %function\n{name}: ret\n"),
            "=" => format!(".data\n.globl {name}\n.type {name}, %object\n{name}: .quad 1\n"),
            "?" => format!(".comm {name}, 8, 8\n"),
            "_" => format!(".data\n.weak {name}\n.quad {name}\n"),
            "!" => format!(".data\n.hidden {name}\n.quad {name}\n"),
            _ => format!(".data\n.quad {name}\n"),
        };
    }
    let source = folder.join(format!("{file}.s"));
    fs::write(&source, lines + ".section .note.GNU-stack, \"\", %progbits\n").unwrap();
    run(folder, "as", &["-o", &format!("{file}.o"), &format!("{file}.s")]);
}

/// Whether a command succeeds.
fn run(folder: &Path, program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    command.output().is_ok_and(|output| output.status.success())
}

/// The members that a linker takes, by the symbols of what it writes; `None` if it writes nothing.
fn taken_by(linker: &str, folder: &Path, files: &[File], is_group: bool) -> Option<String> {
    let mut arguments: Vec<String> = Vec::new();
    if is_group {
        arguments.push("--start-group".into());
    }
    for (number, file) in files.iter().enumerate() {
        if let File::Shared { as_needed, .. } = file {
            arguments.push(
                if *as_needed {
                    "--as-needed"
                } else {
                    "--no-as-needed"
                }
                .into(),
            );
        }
        let extension = match file {
            File::Object(_) => "o",
            File::Archive(_) => "a",
            File::Shared { .. } => "so",
        };
        arguments.push(format!("f{number}.{extension}"));
    }
    if is_group {
        arguments.push("--end-group".into());
    }
    arguments.extend(
        [
            "-z",
            "muldefs",
            "--unresolved-symbols=ignore-all",
            "-o",
            "program",
        ]
        .map(Into::into),
    );
    let _ = fs::remove_file(folder.join("program"));
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    if !run(folder, linker, &arguments) {
        return None;
    }
    let program = fs::read(folder.join("program")).unwrap();
    let program = object::File::parse(&*program).unwrap();
    let names = program
        .symbols()
        .filter_map(|symbol| symbol.name().ok()?.strip_prefix("marker_m"));
    let mut names: Vec<_> = names.map(|name| format!("m{name}")).collect();
    names.sort();
    Some(names.join(" "))
}

#[test]
fn members_are_those_that_linkers_take() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for seed in 0..SEEDS {
        let files = random_files(&mut Numbers(seed));
        let is_group = seed % 2 == 1;
        for (number, file) in files.iter().enumerate() {
            match file {
                File::Object(text) => assemble(folder, &format!("f{number}"), text),
                File::Archive(members) => {
                    let archive = format!("f{number}.a");
                    let _ = fs::remove_file(folder.join(&archive));
                    let mut arguments = vec!["rcs".to_owned(), archive];
                    for (name, text) in members {
                        assemble(folder, name, text);
                        arguments.push(format!("{name}.o"));
                    }
                    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
                    run(folder, "ar", &arguments);
                }
                File::Shared { text, .. } => {
                    assemble(folder, &format!("f{number}"), text);
                    let (object, library) = (format!("f{number}.o"), format!("f{number}.so"));
                    run(folder, "ld.bfd", &["-shared", &object, "-o", &library]);
                }
            }
        }
        let objects: Vec<_> = files.iter().map(objects).collect();
        for (linker, rules) in LINKERS {
            // Before 2.0, mold fails where a shared library has what is hidden.
            if rules == MOLD && format!("{files:?}").contains('!') {
                continue;
            }
            let Some(by_linker) = taken_by(linker, folder, &files, is_group) else {
                continue;
            };
            let contents = files.iter().zip(&objects).map(|(file, objects)| {
                let content = match file {
                    File::Object(_) => Content::Objects(objects),
                    File::Archive(_) => Content::Archive(objects),
                    File::Shared { text, as_needed } => Content::SharedLibrary {
                        names: Rc::new(names(text)),
                        as_needed: *as_needed,
                    },
                };
                (is_group.then_some(1), content)
            });
            let by_rules = taken(rules, contents.collect());
            assert_eq!(by_rules, by_linker, "{linker}, seed {seed}: {files:?}");
        }
    }
}

fn objects(file: &File) -> Vec<Object<'_>> {
    match file {
        File::Object(text) => archive(&[("object", text)]),
        File::Archive(members) => {
            let members: Vec<_> = members.iter().map(|(name, text)| (&**name, &**text)).collect();
            archive(&members)
        }
        File::Shared { .. } => Vec::new(),
    }
}
