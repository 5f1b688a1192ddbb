//! Runs the programs under test and LLVM's own.

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// `wrapgen` as it was just built.
pub(crate) fn wrapgen() -> Command {
    Command::new(env!("CARGO_BIN_EXE_wrapgen"))
}

/// A program of the LLVM that this build is for.
pub(crate) fn llvm(name: &str) -> Command {
    Command::new(Path::new(env!("OFFLOOM_LLVM_BIN_DIR")).join(name))
}

/// Runs a command that must succeed.
pub(crate) fn succeed(command: &mut Command) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}"));
    assert!(
        output.status.success(),
        "{command:?} failed:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Shared libraries of different sizes, to be wrapped as device images.
pub(crate) fn images(folder: &Path, count: usize) -> Vec<PathBuf> {
    (1..=count)
        .map(|number| {
            let source = folder.join(format!("image{number}.c"));
            let image = folder.join(format!("image{number}.so"));
            std::fs::write(&source, format!("char data[{}] = {{1}};\n", number * 1001)).unwrap();
            succeed(
                llvm("clang")
                    .args(["-shared", "-nostdlib", "-o"])
                    .arg(&image)
                    .arg(&source),
            );
            image
        })
        .collect()
}

/// Has the stock linker wrapper wrap images of `kind` that are given as they are; its intermediate files lie
/// in `folder`.
pub(crate) fn stock_wrapper(
    folder: &Path,
    host: &str,
    kind: &str,
    images: &[PathBuf],
    options: &[&str],
) -> Output {
    let mut command = llvm("clang-linker-wrapper");
    command.current_dir(folder).env("PATH", tools_of_vendors(folder));
    command.args([
        &format!("--host-triple={host}"),
        "--linker-path=/bin/true",
        "--save-temps",
    ]);
    command.args(
        images
            .iter()
            .map(|image| format!("--override-image={kind}={}", image.display())),
    );
    succeed(command.args(options).args(["-o", "stock"]))
}

/// A PATH with a stand-in for CUDA's `fatbinary`, which writes a file of its own: what is in a fat binary is
/// nobody's concern here.
fn tools_of_vendors(folder: &Path) -> OsString {
    let tools = folder.join("tools");
    let tool = tools.join("fatbinary");
    std::fs::create_dir_all(&tools).unwrap();
    let script = "#!/bin/sh\nwhile [ $# -gt 0 ]; do case $1 in --create) o=$2; shift;; --create=*) o=${1#--create=};; esac; shift; done\n\
                  echo 'a fat binary of more than sixteen bytes' > \"$o\"\n";
    std::fs::write(&tool, script).unwrap();
    std::fs::set_permissions(&tool, Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([tools].into_iter().chain(std::env::split_paths(&path))).unwrap()
}

/// The bytes of the fat binary in a printed registration module.
pub(crate) fn fat_binary_of(module: &str) -> Vec<u8> {
    let (_, text) = module.split_once("@.fatbin_image = ").unwrap();
    let (_, text) = text.split_once("c\"").unwrap();
    let (text, _) = text.split_once('"').unwrap();
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'\\' {
            bytes.push(byte);
        } else if rest[0] == b'\\' {
            bytes.push(byte);
            rest = &rest[1..];
        } else {
            let digits = std::str::from_utf8(&rest[..2]).unwrap();
            bytes.push(u8::from_str_radix(digits, 16).unwrap());
            rest = &rest[2..];
        }
    }
    bytes
}

/// Our `--image=` arguments for images as the stock wrapper describes them when they are given as they are:
/// by the triple alone, and as soon as there are several also by an empty arch.
pub(crate) fn image_arguments(images: &[PathBuf]) -> Vec<String> {
    let arch = if images.len() > 1 { ",arch=" } else { "" };
    images
        .iter()
        .map(|image| {
            format!(
                "--image=file={},triple=x86_64--{arch},kind=openmp",
                image.display()
            )
        })
        .collect()
}
