//! Links the shared libLLVM into `wrapgen-bitcode` alone, since `wrapgen` itself never loads LLVM, and tells
//! the crate where the programs of that LLVM are. Compiles the pieces of C that the JIT adds to programs.

/// Their files in `jit`, without the extension.
const PIECES: [&str; 2] = ["attach", "register"];

fn main() {
    let Some(llvm) = offloom_find_llvm::for_build_script() else {
        return;
    };
    println!("cargo::rustc-env=OFFLOOM_LLVM_BIN_DIR={}", llvm.bin_dir.display());
    for argument in offloom_find_llvm::shared_library(&llvm) {
        println!("cargo::rustc-link-arg-bin=wrapgen-bitcode={argument}");
    }
    // Tests compare with it where the release has it.
    println!("cargo::rustc-check-cfg=cfg(offload_wrapper)");
    if llvm.bin_dir.join("llvm-offload-wrapper").is_file() {
        println!("cargo::rustc-cfg=offload_wrapper");
    }
    println!("cargo::rerun-if-changed=jit");
    let objects = cc::Build::new()
        .pic(true)
        .opt_level(2)
        .debug(false)
        .flag("-fvisibility=hidden")
        .include("jit")
        .files(PIECES.map(|piece| format!("jit/{piece}.c")))
        .compile_intermediates();
    let out = std::env::var_os("OUT_DIR").map(std::path::PathBuf::from);
    for (object, piece) in objects.iter().zip(PIECES) {
        if let Some(out) = &out
            && let Err(error) = std::fs::copy(object, out.join(format!("{piece}.o")))
        {
            println!("cargo::error=cannot copy {}: {error}", object.display());
        }
    }
}
