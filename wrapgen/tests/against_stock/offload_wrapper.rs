//! The drop-in for `llvm-offload-wrapper`, which LLVM has since 22.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::tools::{llvm, succeed, wrapgen};

/// The module that a wrapper makes of the file `image` in `folder`, as text without the line that names its
/// file.
fn module(wrapper: &mut Command, folder: &Path, options: &[&str]) -> String {
    succeed(wrapper.current_dir(folder).args(options).args([
        "--triple=aarch64-unknown-linux-gnu",
        "-o",
        "module.bc",
        "image",
    ]));
    let text = succeed(
        llvm("llvm-dis")
            .current_dir(folder)
            .args(["-o", "-", "module.bc"]),
    )
    .stdout;
    String::from_utf8(text)
        .unwrap()
        .lines()
        .skip(1)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_drop_in_makes_the_same_modules() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("image"), "neither of them looks into it").unwrap();
    let dropin = folder.join("llvm-offload-wrapper");
    symlink(wrapgen().get_program(), &dropin).unwrap();
    let mut forms = vec![vec!["--kind=openmp"], vec!["--kind=cuda"], vec!["--kind=hip"]];
    let help = succeed(llvm("llvm-offload-wrapper").arg("--help")).stdout;
    if String::from_utf8_lossy(&help).contains("--relocatable") {
        forms.push(vec!["--kind=openmp", "--relocatable"]);
        forms.push(vec!["-kind=hip", "-relocatable"]);
    }
    for options in forms {
        let stock = module(&mut llvm("llvm-offload-wrapper"), folder, &options);
        assert!(stock.contains("neither of them"));
        assert_eq!(
            module(&mut Command::new(&dropin), folder, &options),
            stock,
            "{options:?}"
        );
    }
}

#[test]
fn the_drop_in_takes_arguments_from_a_file() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("image"), "an image").unwrap();
    fs::write(folder.join("arguments"), "--kind=openmp -o module.bc image").unwrap();
    let dropin = folder.join("llvm-offload-wrapper");
    symlink(wrapgen().get_program(), &dropin).unwrap();
    succeed(Command::new(&dropin).current_dir(folder).arg("@arguments"));
    assert!(folder.join("module.bc").is_file());
}
