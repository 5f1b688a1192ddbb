//! The recipes of `packaging/` name commands, versions, packages and files of this project: all of them are
//! there.

use std::fs;
use std::path::Path;

use clap::Parser as _;
use offloom_abi::LlvmVersion;

use super::{FOLDERS, debian, name};
use crate::build;
use crate::llvm::SUPPORTED;
use crate::llvm::distribution::Distribution;
use crate::task;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const RUST: &str = env!("CARGO_PKG_RUST_VERSION");
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(file)).unwrap()
}

fn container() -> String {
    read("packaging/container/Containerfile")
}

fn spack() -> String {
    read("packaging/spack/package.py")
}

/// The recipe for EasyBuild, whose file's name has to say its version.
fn easybuild() -> String {
    read(&format!(
        "packaging/easybuild/Offloom-{VERSION}-GCCcore-15.2.0.eb"
    ))
}

/// The recipes, and for each the LLVMs that it is for.
fn recipes() -> Vec<(String, Vec<u32>)> {
    let debian = Distribution::of("ID=debian\nVERSION_CODENAME=bookworm\n").unwrap();
    let in_debian = SUPPORTED
        .into_iter()
        .filter(|&major| debian.source(major).is_some());
    let spack = spack();
    let (_, values) = spack.split_once("values=(").unwrap();
    let (values, _) = values.split_once(')').unwrap();
    assert!(spack.contains(&format!("for _major in ({values}):")), "{values}");
    let of_spack = values.split(", ").map(|value| value.trim_matches('"').parse());
    let of_spack = of_spack.map(Result::unwrap).collect();
    vec![
        (container(), in_debian.collect()),
        (spack, of_spack),
        (easybuild(), vec![21]),
    ]
}

/// A recipe with an LLVM's number in the places of it.
fn filled_in(recipe: &str, major: u32) -> String {
    recipe
        .replace("\"$LLVM\"", "$LLVM")
        .replace("$LLVM", &major.to_string())
        .replace("{major}", &major.to_string())
        .replace(" major,", &format!(" {major},"))
}

/// The words that come after each `xtask`, however the recipe's language writes them.
fn commands(recipe: &str) -> Vec<Vec<&str>> {
    let commands = recipe.split("xtask").skip(1);
    let commands = commands.filter_map(|rest| rest.split(['\n', '\\', '&', ')', '`']).next());
    let words = |command| str::split(command, [' ', '"', '\'', ',']).filter(|word| !word.is_empty());
    commands.map(|command| words(command).collect()).collect()
}

#[test]
fn commands_of_recipes_are_tasks() {
    for (recipe, majors) in recipes() {
        assert!(!majors.is_empty());
        for major in majors {
            let recipe = filled_in(&recipe, major);
            let commands = commands(&recipe);
            assert!(!commands.is_empty());
            for words in commands {
                let parsed = task::Arguments::try_parse_from([&["cargo xtask"], &*words].concat());
                assert!(parsed.is_ok(), "{words:?}: {parsed:?}");
            }
            let variable = offloom_find_llvm::prefix_variable(major);
            let named = recipe.contains("_PREFIX");
            assert!(!named || recipe.contains(&variable), "no {variable}");
        }
    }
}

#[test]
fn versions_of_recipes_are_those_of_the_project() {
    for (recipe, wanted) in [
        (container(), format!("ARG RUST={RUST}\n")),
        (spack(), format!("\"rust@{RUST}:\"")),
        (spack(), format!("version(\"{VERSION}\")")),
        (spack(), format!("offloom-{VERSION}.tar.gz")),
        (easybuild(), format!("('Rust', '{RUST}.0')")),
        (easybuild(), format!("\nversion = '{VERSION}'\n")),
    ] {
        assert!(recipe.contains(&wanted), "no `{wanted}` in:\n{recipe}");
    }
}

#[test]
fn the_container_installs_both_packages_and_asks_the_program() {
    let major = LlvmVersion::V19.major();
    assert!(container().contains(&format!("ARG LLVM={major}\n")));
    let recipe = filled_in(&container(), major);
    let packages: Vec<_> = recipe
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("/mnt/")?.strip_suffix("_*.deb"))
        .collect();
    assert_eq!(packages, [debian::runtime_name(major), name(major)]);
    let doctor = format!("\"{}\" doctor", name(major));
    assert_eq!(recipe.matches(&doctor).count(), packages.len());
}

#[test]
fn the_container_is_given_what_git_keeps() {
    let kept_out = |file: &str| {
        let text = read(file);
        let lines = text
            .lines()
            .map(|line| line.trim_matches('/').trim_start_matches("**/"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let ignored = kept_out("packaging/container/Containerfile.dockerignore");
    assert_eq!(ignored, kept_out(".gitignore"));
}

#[test]
fn files_that_recipes_name_are_installed() {
    let mut files: Vec<_> = LlvmVersion::ALL.into_iter().flat_map(build::files).collect();
    let pages = fs::read_dir(Path::new(ROOT).join("docs/user")).unwrap();
    let pages = pages.map(|page| page.unwrap().file_name().into_string().unwrap());
    files.extend(pages.map(|page| format!("share/doc/offloom/{page}")));
    for recipe in [spack(), easybuild()] {
        let words = recipe.split(|c: char| c.is_whitespace() || "'\"`,()[]".contains(c));
        // EasyBuild's name of the folder ends so: `%(installdir)s`.
        let words = words.map(|word| word.strip_prefix("s/").unwrap_or(word));
        let paths: Vec<_> = words
            .filter(|word| {
                FOLDERS
                    .iter()
                    .any(|folder| word.starts_with(&format!("{folder}/")))
            })
            .collect();
        assert!(paths.len() > 5, "{paths:?}");
        for path in paths {
            let there = files
                .iter()
                .any(|file| file == path || file.starts_with(&format!("{path}/")));
            assert!(there, "no build has `{path}`");
        }
    }
    for folder in FOLDERS {
        assert!(spack().contains(&format!("\"{folder}\"")), "{folder}");
        assert!(
            easybuild().contains(&format!("'staged/llvm-21/{folder}',")),
            "{folder}"
        );
    }
}
