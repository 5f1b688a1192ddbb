//! PTX, NVIDIA's assembly language, as LLVM writes it: from text to a resolved syntax tree.
//!
//! | module | job |
//! | --- | --- |
//! | [`tree`] | the syntax tree: what a PTX file says, with names resolved to indices |
//! | [`link`](mod@link) | one module of several |
//! | [`image`] | cubins that carry their PTX |
//! | [`cubin`] | what a cubin says of its kernels and variables |
//! | [`error`] | what is wrong with a file, where, and what to do |
//!
//! The parser takes hostile bytes: it answers with an [`Error`], never with a panic, and needs memory in
//! proportion to the file.
//!
//! Why a parser of our own: of the crates that parse PTX, `ptoxide` (the part of the language that its own
//! examples use), `ptx-ir` and `ptx-syntax` read almost none of the files that LLVM writes for OpenMP, as the
//! calls, the parameters in arrays and the initialisers with addresses in them are missing; the one of ZLUDA
//! is on no registry. Parser libraries would save little: PTX has nine kinds of tokens and statements that
//! the first token tells apart. The generated lexers of `logos` may call themselves for each byte where code
//! is not optimised, which hostile files turn into a stack overflow.
#![forbid(unsafe_code)]

pub mod cubin;
pub mod error;
pub mod image;
mod lexer;
pub mod link;
mod parser;
pub mod tree;

pub use error::Error;
pub use link::link;
pub use tree::Module;

/// Parses one PTX file.
///
/// `name` is the file's name for messages. `text` may end with zero bytes, as PTX in images does.
///
/// # Errors
///
/// The first fault of the text, with its line and column.
pub fn parse(name: &str, text: &[u8]) -> Result<Module, Error> {
    parser::Parser::new(name, text)?.module()
}
