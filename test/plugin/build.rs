//! Links the plugin as `llvm-plugin` asks for.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // `llvm_plugin::LINK_ARGUMENT`: a program of another LLVM gets as far as comparing versions.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,lazy");
}
