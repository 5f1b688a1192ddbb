//! New-pass-manager plugins in Rust for LLVM 19 and 22.
