//! The registration module of SYCL, which LLVM 22 alone has.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use tempfile::TempDir;

use crate::registration_object::{Contents, assert_equal};
use crate::tools::{llvm, succeed, wrapgen};

/// Packs device code, and what its link shall deliver: two images with kernels and one without.
fn pack(folder: &Path) {
    for name in ["one", "two", "three"] {
        fs::write(folder.join(name), format!("SPIR-V of the image {name}\n")).unwrap();
    }
    succeed(wrapgen().current_dir(folder).args([
        "pack",
        "-o",
        "device",
        "--image=file=one,triple=spirv64-unknown-unknown,kind=sycl",
    ]));
    succeed(wrapgen().current_dir(folder).args([
        "pack",
        "-o",
        "linked",
        "--image=file=one,triple=spirv64-unknown-unknown,arch=gen9,kind=sycl,symbols=first\nsecond",
        "--image=file=two,triple=spir64,kind=sycl,symbols=third",
        "--image=file=three,triple=spir64,kind=sycl",
    ]));
}

/// Has the stock linker wrapper link device code of SYCL. Clang starts the device linker from the current
/// folder, where a stand-in for it delivers the images that were packed.
fn stock_wrapper(folder: &Path) -> Output {
    let linker = folder.join("clang-sycl-linker");
    let script = "#!/bin/sh\nwhile [ $# -gt 0 ]; do case $1 in -o) o=$2; shift;; esac; shift; done\ncp linked \"$o\"\n";
    fs::write(&linker, script).unwrap();
    fs::set_permissions(&linker, Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.join("host.c"), "int host;\n").unwrap();
    succeed(llvm("clang").current_dir(folder).args([
        "-c",
        "host.c",
        "-Xclang",
        "-fembed-offload-object=device",
    ]));
    succeed(llvm("clang-linker-wrapper").current_dir(folder).args([
        "--host-triple=x86_64-pc-linux-gnu",
        "--linker-path=/bin/true",
        "--save-temps",
        "--print-wrapped-module",
        "-o",
        "stock",
        "host.o",
    ]))
}

#[test]
fn images_are_printed_and_wrapped_as_stock_does() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    pack(folder);
    let stock = String::from_utf8(stock_wrapper(folder).stderr).unwrap();
    for output in ["ours.ll", "ours.o"] {
        succeed(
            wrapgen()
                .current_dir(folder)
                .args(["wrap", "--kind=sycl", "linked", "-o", output]),
        );
    }
    assert_eq!(fs::read_to_string(folder.join("ours.ll")).unwrap(), stock);
    let mut ours = Contents::of(&folder.join("ours.o"));
    let mut stock = Contents::of(&folder.join("stock.sycl.image.wrapper.o"));
    ours.symbols.sort();
    stock.symbols.sort();
    assert_equal(&ours, &stock);
}
