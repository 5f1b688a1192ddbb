//! Compiles the C++ shim against the chosen LLVM's headers. Links no LLVM: a plugin takes LLVM's symbols from the program that
//! loads it.

fn main() {
    let Some(llvm) = offloom_find_llvm::for_build_script() else {
        return;
    };
    println!("cargo::rerun-if-changed=shim");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .include(&llvm.include_dir)
        // As LLVM itself is built: neither run-time type information nor exceptions.
        .flag("-fno-rtti")
        .flag("-fno-exceptions")
        .flag("-fvisibility=hidden")
        .flag("-fvisibility-inlines-hidden")
        .flag_if_supported("-Wno-unused-parameter")
        .flag_if_supported("-Wno-comment")
        .file("shim/plugin_shim.cpp")
        .compile("llvm_plugin_shim");
    offloom_find_llvm::link_tests(&llvm);
}
