//! NVIDIA's library nvJitLink, which makes cubins of PTX and links cubins.
//!
//! | module | does |
//! | --- | --- |
//! | [`library`] | the library, by its C interface |
//! | [`error`] | what can go wrong there |
//! | [`assembler`] | the program that stands in for `ptxas` |
#![deny(unsafe_code)]

pub mod assembler;
pub mod error;
pub mod library;
