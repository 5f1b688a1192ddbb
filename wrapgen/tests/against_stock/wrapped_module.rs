//! The registration module as LLVM IR.

use std::fs;

use tempfile::TempDir;

use crate::tools::{fat_binary_of, image_arguments, images, llvm, stock_wrapper, succeed, wrapgen};

fn check_printed_module(count: usize) {
    let folder = TempDir::new().unwrap();
    let images = images(folder.path(), count);
    let stock = stock_wrapper(
        folder.path(),
        "x86_64-pc-linux-gnu",
        "openmp",
        &images,
        &["--print-wrapped-module"],
    )
    .stderr;

    let ours = folder.path().join("ours.ll");
    succeed(
        wrapgen()
            .arg("wrap")
            .args(image_arguments(&images))
            .arg("-o")
            .arg(&ours),
    );
    assert!(!stock.is_empty());
    assert_eq!(
        fs::read_to_string(ours).unwrap(),
        String::from_utf8(stock).unwrap()
    );
}

#[test]
fn one_image_is_printed_as_stock_prints_it() {
    check_printed_module(1);
}

#[test]
fn several_images_are_printed_as_stock_prints_them() {
    check_printed_module(3);
}

#[test]
fn the_relocatable_form_is_printed_as_stock_prints_it() {
    let folder = TempDir::new().unwrap();
    let images = images(folder.path(), 1);
    // The renaming of the merged object's sections comes after the module was printed, and finds no object.
    let stock = llvm("clang-linker-wrapper")
        .current_dir(folder.path())
        .args([
            "--host-triple=x86_64-pc-linux-gnu",
            "--linker-path=/bin/true",
            "-r",
        ])
        .arg(format!("--override-image=openmp={}", images[0].display()))
        .args(["--print-wrapped-module", "-o", "stock"])
        .output()
        .unwrap()
        .stderr;
    let stock = String::from_utf8(stock).unwrap();
    let ours = folder.path().join("ours.ll");
    succeed(
        wrapgen()
            .args(["wrap", "--relocatable", "-o"])
            .arg(&ours)
            .args(image_arguments(&images)),
    );
    let ours = fs::read_to_string(ours).unwrap();
    assert!(ours.contains(".llvm.offloading.relocatable"));
    assert!(stock.starts_with(&ours), "{stock}");
}

#[test]
fn the_bitcode_form_holds_the_same_module() {
    let folder = TempDir::new().unwrap();
    let images = images(folder.path(), 2);
    let [text, bitcode, disassembled] =
        ["ours.ll", "ours.bc", "disassembled.ll"].map(|name| folder.path().join(name));
    for output in [&text, &bitcode] {
        succeed(
            wrapgen()
                .arg("wrap")
                .args(image_arguments(&images))
                .arg("-o")
                .arg(output),
        );
    }
    succeed(llvm("llvm-dis").arg(&bitcode).arg("-o").arg(&disassembled));
    let body = |path| {
        let text = fs::read_to_string(path).unwrap();
        text.lines().skip(1).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(body(disassembled), body(text));
}

fn check_fat_binary(kind: &str) {
    let folder = TempDir::new().unwrap();
    let image = images(folder.path(), 1);
    let host = "x86_64-pc-linux-gnu";
    let stock = stock_wrapper(folder.path(), host, kind, &image, &["--print-wrapped-module"]).stderr;
    let stock = String::from_utf8(stock).unwrap();
    let [fat_binary, ours] = ["fat", "ours.ll"].map(|name| folder.path().join(name));
    fs::write(&fat_binary, fat_binary_of(&stock)).unwrap();
    succeed(
        wrapgen()
            .args(["wrap", "--kind", kind, "-o"])
            .args([&ours, &fat_binary]),
    );
    assert_eq!(fs::read_to_string(ours).unwrap(), stock);
}

#[test]
fn a_fat_binary_of_cuda_is_printed_as_stock_prints_it() {
    check_fat_binary("cuda");
}

#[test]
fn a_fat_binary_of_hip_is_printed_as_stock_prints_it() {
    check_fat_binary("hip");
}
