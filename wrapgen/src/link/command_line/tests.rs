//! What is taken for an option of the wrapper, and what goes to the host linker as it is.

use proptest::prelude::*;

use super::*;
use crate::LLVM;

fn parse(words: &[&str]) -> CommandLine {
    CommandLine::parse(words.iter().map(OsString::from).collect()).unwrap()
}

#[test]
fn a_short_v_belongs_to_whom_the_release_gives_it() {
    for word in ["-v", "--v"] {
        let line = parse(&[word, "-o", "out"]);
        assert_eq!(line.options.version, LLVM.short_version_option);
        assert_eq!(
            line.host.arguments.len(),
            if LLVM.short_version_option { 1 } else { 2 }
        );
    }
    assert!(parse(&["-version"]).options.version && parse(&["--version"]).options.version);
}

#[test]
fn the_wrappers_own_options_do_not_reach_the_host_linker() {
    let line = parse(&[
        "--opt-level=O3",
        "--host-triple=x86_64-pc-linux-gnu",
        "--linker-path=/usr/bin/ld",
        "--device-compiler=x86_64-pc-linux-gnu=-O2",
        "--device-linker=nvptx64-nvidia-cuda=-v",
        "--device-linker=a=b",
        "-mllvm",
        "-an-option",
        "--wrapper-verbose",
        "-z",
        "now",
        "-o",
        "out",
        "in.o",
        "-lm",
    ]);
    assert_eq!(line.host.words(&[]), ["-z", "now", "-o", "out", "in.o", "-lm"]);
    let options = &line.options;
    assert!(options.verbose && !options.dry_run);
    assert_eq!(options.opt_level.as_deref(), Some("O3"));
    assert_eq!(options.llvm_arguments, ["-an-option"]);
    assert!(options.device_compiler[0].is_for("x86_64-pc-linux-gnu"));
    assert!(!options.device_linker[0].is_for("x86_64-pc-linux-gnu"));
    assert_eq!(options.device_linker[1].value, "a=b");
}

#[test]
fn a_value_for_a_target_need_not_be_text() {
    let argument = TargetArgument::parse(OsStr::from_bytes(b"x86_64-pc-linux-gnu=-L/jos\xe9=1"));
    assert!(!argument.is_for("nvptx64-nvidia-cuda"));
    assert_eq!(argument.value, OsStr::from_bytes(b"-L/jos\xe9=1"));
}

#[test]
fn objects_are_inserted_behind_the_output_or_in_front() {
    let added = [PathBuf::from("wrapper.o")];
    let words = |arguments: &[&str]| parse(arguments).host.words(&added);
    assert_eq!(
        words(&["a.o", "-o", "out", "-lc"]),
        ["a.o", "-o", "out", "wrapper.o", "-lc"]
    );
    assert_eq!(words(&["-oout", "a.o"]), ["-oout", "wrapper.o", "a.o"]);
    assert_eq!(
        words(&["--output=out", "a.o"]),
        ["--output=out", "wrapper.o", "a.o"]
    );
    assert_eq!(words(&["a.o"]), ["wrapper.o", "a.o"]);
}

#[test]
fn values_of_host_options_are_no_inputs() {
    let line = parse(&[
        "-dynamic-linker",
        "/lib64/ld.so",
        "-m",
        "elf_x86_64",
        "a.o",
        "-L",
        "dir",
        "-ldl",
    ]);
    assert_eq!(line.host.inputs().count(), 1);
    assert_eq!(line.host.arguments[3].role, Role::LibraryPath("dir".into()));
    assert_eq!(line.host.arguments[4].role, Role::Library("dl".into()));
}

#[test]
fn the_jit_can_be_asked_for_through_clang() {
    for (word, form) in [
        ("--jit", JitForm::WithImage),
        ("--device-linker=--jit", JitForm::WithImage),
        ("--jit=only", JitForm::Only),
        ("--device-linker=--jit=only", JitForm::Only),
        ("--device-linker=x86_64-pc-linux-gnu=--jit", JitForm::WithImage),
        ("--device-linker=x86_64-pc-linux-gnu=--jit=only", JitForm::Only),
    ] {
        assert_eq!(parse(&[word]).options.jit, Some(form));
    }
}

#[test]
fn a_missing_value_is_an_error() {
    let error = CommandLine::parse(vec!["-o".into()]).unwrap_err();
    assert!(error.to_string().contains("-o needs a value"), "{error}");
}

/// A word that is surely none of the wrapper's own.
fn host_word() -> impl Strategy<Value = OsString> {
    prop_oneof![
        "[a-z/.=,:@ ]{0,12}".prop_map(OsString::from),
        "-[lLzmhTe][a-zA-Z0-9/=.]{0,8}".prop_map(OsString::from),
        "-?-(start-group|end-group|as-needed|gc-sections|icf=all|push-state|O[0-3])".prop_map(OsString::from),
        proptest::collection::vec(1u8..=255, 1..12)
            .prop_filter("an option of the wrapper", |bytes| options::find(bytes).is_none())
            .prop_map(OsString::from_vec),
    ]
}

proptest! {
    #[test]
    fn host_arguments_survive_byte_for_byte(words in proptest::collection::vec(host_word(), 0..20)) {
        // A last word such as `-l` would lack its value.
        let mut words = words;
        words.push("end".into());
        let line = CommandLine::parse(words.clone()).unwrap();
        prop_assert_eq!(line.host.words(&[]), words);
    }

    #[test]
    fn any_bytes_are_taken_apart_without_a_panic(words in proptest::collection::vec(
        proptest::collection::vec(1u8..=255, 0..20).prop_map(OsString::from_vec), 0..20,
    )) {
        let _ = CommandLine::parse(words);
    }
}
