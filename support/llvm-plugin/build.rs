//! Compiles the C++ shim against the chosen LLVM's headers. Links no LLVM: a plugin takes LLVM's symbols from
//! the program that loads it.

fn main() {
    let Some(llvm) = offloom_find_llvm::for_build_script() else {
        return;
    };
    println!("cargo::rerun-if-changed=shim");
    println!("cargo::rustc-check-cfg=cfg(pre_codegen_callback)");
    // The structure that a plugin hands to LLVM has grown by a field: its header says whether this release
    // has it.
    let headers = ["llvm/Plugins/PassPlugin.h", "llvm/Passes/PassPlugin.h"];
    let header = headers
        .iter()
        .find_map(|header| std::fs::read_to_string(llvm.include_dir.join(header)).ok());
    if header.is_some_and(|text| text.contains("PreCodeGenCallback")) {
        println!("cargo::rustc-cfg=pre_codegen_callback");
    }
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
