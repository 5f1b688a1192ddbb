//! The library's name, and that it stays loaded: its threads run in it as long as the process does.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libhsa-runtime64.so");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
