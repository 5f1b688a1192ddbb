//! Compiles the program and links lld, and what lld needs of LLVM for native objects, into it statically.

/// What lld takes from LLVM. Not `lto`: `linker.cpp` stands in for it, which keeps code generation and its
/// passes out.
const COMPONENTS: [&str; 3] = ["codegen", "debuginfodwarf", "option"];

/// Functions of LLVM that `embedded_files.cpp` stands in for where lld calls them.
const REPLACED: [&str; 2] = [
    "_ZN4llvm12MemoryBuffer7getFileERKNS_5TwineEbbbSt8optionalINS_5AlignEE",
    "_ZN4llvm16FileOutputBuffer6createENS_9StringRefEmj",
];

fn main() {
    let Some(llvm) = offloom_find_llvm::for_build_script() else {
        return;
    };
    let major = llvm.major;
    if !llvm.include_dir.join("lld/Common/Driver.h").exists() {
        println!(
            "cargo::error=lld's library is not installed: install the Debian package `liblld-{major}-dev`"
        );
        return;
    }
    println!("cargo::rerun-if-changed=src");
    offloom_find_llvm::let_linker_be_chosen();
    let objects = cc::Build::new()
        .cpp(true)
        .std("c++17")
        .include(&llvm.include_dir)
        .define(
            "OFFLOOM_LLVM_BIN_DIR",
            format!("\"{}\"", llvm.bin_dir.display()).as_str(),
        )
        .define("OFFLOOM_VERSIONED_LLD", format!("\"ld.lld-{major}\"").as_str())
        // As LLVM itself is built: neither run-time type information nor exceptions.
        .flag("-fno-rtti")
        .flag("-fno-exceptions")
        .flag_if_supported("-Wno-unused-parameter")
        .flag_if_supported("-Wno-comment")
        .files(["src/linker.cpp", "src/embedded_files.cpp"])
        .compile_intermediates();
    let Some(libraries) = offloom_find_llvm::static_libraries(&llvm, &COMPONENTS) else {
        return;
    };
    // Without relocations to apply at its start; each run is a fresh process, so its addresses need not
    // differ.
    let mut arguments = ["-no-pie", "-Wl,-s"].map(str::to_owned).to_vec();
    arguments.extend(REPLACED.map(|function| format!("-Wl,--wrap={function}")));
    arguments.extend(objects.iter().map(|object| object.display().to_string()));
    arguments.extend(["-llldELF", "-llldCommon"].map(str::to_owned));
    arguments.extend(libraries);
    // The compiler's own library has atomic operations of AArch64.
    arguments.extend(["-l:libstdc++.a", "-lm", "-lgcc"].map(str::to_owned));
    for argument in arguments {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}
