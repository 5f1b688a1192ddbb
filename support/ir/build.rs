//! Compiles the C++ shims and passes against the chosen LLVM's headers. Links no LLVM: the final artefact
//! decides how.

fn main() {
    let Some(llvm) = offloom_find_llvm::for_build_script() else {
        return;
    };
    println!("cargo::rerun-if-changed=shim");
    println!("cargo::rerun-if-changed=passes");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .include(&llvm.include_dir)
        .include("shim")
        // As LLVM itself is built: neither run-time type information nor exceptions.
        .flag("-fno-rtti")
        .flag("-fno-exceptions")
        .flag("-fvisibility=hidden")
        .flag_if_supported("-Wno-unused-parameter")
        .flag_if_supported("-Wno-comment")
        .file("shim/alignment_shim.cpp")
        .file("shim/ir_shim.cpp")
        .file("shim/analysis_shim.cpp")
        .file("shim/code_memory.cpp")
        .file("shim/device_shim.cpp")
        .file("passes/distribution.cpp")
        .file("passes/floating_point.cpp")
        .file("passes/gpu.cpp")
        .file("shim/jit_shim.cpp")
        .file("shim/kernel_source_shim.cpp")
        .file("shim/library_shim.cpp")
        .file("shim/location_shim.cpp")
        .file("shim/orc_shim.cpp")
        .file("shim/pipeline_shim.cpp")
        .file("shim/processor_shim.cpp")
        .file("passes/reachable.cpp")
        .file("passes/region_starts.cpp")
        .file("passes/specialize.cpp")
        .file("passes/vectors.cpp")
        .compile("offloom_ir_shim");
    offloom_find_llvm::link_tests(&llvm);
}
