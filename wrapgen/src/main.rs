//! The command `wrapgen`.
#![forbid(unsafe_code)]

fn main() {}
