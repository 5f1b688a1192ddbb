//! Runs the programs under test and LLVM's own.

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

/// Has the stock linker wrapper wrap images that are given as they are; its intermediate files lie in `folder`.
pub(crate) fn stock_wrapper(folder: &Path, images: &[PathBuf], options: &[&str]) -> Output {
    let mut command = llvm("clang-linker-wrapper");
    command.current_dir(folder).args([
        "--host-triple=x86_64-pc-linux-gnu",
        "--linker-path=/bin/true",
        "--save-temps",
    ]);
    command.args(
        images
            .iter()
            .map(|image| format!("--override-image=openmp={}", image.display())),
    );
    succeed(command.args(options).args(["-o", "stock"]))
}

/// Our `--image=` arguments for images as the stock wrapper describes them when they are given as they are: by the triple
/// alone, and as soon as there are several also by an empty arch.
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
