//! The `#[plugin]` attribute of `llvm-plugin`.
