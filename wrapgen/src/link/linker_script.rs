//! Finds the files that a linker script names, where a library or object is expected: `INPUT` and `GROUP`.
//!
//! Syntax: "Command Language" in the manual of GNU ld. Such scripts are what Debian has as `libc.so` and
//! `libm.a`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// What a script asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptInput {
    /// A file.
    File(OsString),
    /// A library to be searched for: the name behind `-l`.
    Library(OsString),
}

/// Scripts that name scripts: deeper than this it is a loop.
pub const MAX_DEPTH: usize = 10;

/// A file that is larger is no script that only names others.
const MAX_SIZE: usize = 1 << 20;

/// The files that the script `text` names, in order; none in what is no such script.
pub fn inputs(text: &[u8]) -> Vec<ScriptInput> {
    let mut inputs = Vec::new();
    // Text holds no zeros.
    if text.len() > MAX_SIZE || text.contains(&0) {
        return inputs;
    }
    let mut tokens = Tokens { rest: text }.peekable();
    while let Some(token) = tokens.next() {
        if tokens.peek() != Some(&Token::Open) {
            continue;
        }
        tokens.next();
        let names_files = matches!(&token, Token::Word(word) if word == b"INPUT" || word == b"GROUP");
        let mut depth = 1;
        while depth > 0 {
            match tokens.next() {
                None => return inputs,
                Some(Token::Open) => depth += 1,
                Some(Token::Close) => depth -= 1,
                // A list of files in the list, which only says when a shared library is recorded.
                Some(Token::Word(word)) if word == b"AS_NEEDED" && tokens.peek() == Some(&Token::Open) => {}
                Some(Token::Word(word)) if names_files => {
                    inputs.push(match word.strip_prefix(b"-l") {
                        Some(name) => ScriptInput::Library(OsString::from_vec(name.to_vec())),
                        None => ScriptInput::File(OsString::from_vec(word)),
                    });
                }
                Some(Token::Word(_)) => {}
            }
        }
    }
    inputs
}

/// Whether the files that the script `text` names are searched again and again, as a group of archives.
pub fn names_group(text: &[u8]) -> bool {
    if text.len() > MAX_SIZE || text.contains(&0) {
        return false;
    }
    let mut tokens = Tokens { rest: text }.peekable();
    while let Some(token) = tokens.next() {
        if matches!(&token, Token::Word(word) if word == b"GROUP") && tokens.peek() == Some(&Token::Open) {
            return true;
        }
    }
    false
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Open,
    Close,
    Word(Vec<u8>),
}

/// The words and parentheses of a script; comments, commas and semicolons only separate them.
struct Tokens<'a> {
    rest: &'a [u8],
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            let (&first, rest) = self.rest.split_first()?;
            match first {
                b' ' | b'\t' | b'\n' | b'\r' | b',' | b';' => self.rest = rest,
                b'/' if rest.starts_with(b"*") => {
                    let end = rest.windows(2).skip(1).position(|pair| pair == b"*/");
                    self.rest = end.map_or(&[], |end| &rest[end + 3..]);
                }
                b'(' | b'{' => {
                    self.rest = rest;
                    return Some(Token::Open);
                }
                b')' | b'}' => {
                    self.rest = rest;
                    return Some(Token::Close);
                }
                b'"' => {
                    let end = rest.iter().position(|&byte| byte == b'"').unwrap_or(rest.len());
                    self.rest = rest.get(end + 1..).unwrap_or(&[]);
                    return Some(Token::Word(rest[..end].to_vec()));
                }
                _ => {
                    let ends = |byte: &u8| b" \t\n\r,;(){}\"".contains(byte);
                    let end = self.rest.iter().position(ends).unwrap_or(self.rest.len());
                    let (word, rest) = self.rest.split_at(end);
                    self.rest = rest;
                    return Some(Token::Word(word.to_vec()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_name_files_and_libraries() {
        let file = |name: &str| ScriptInput::File(name.into());
        let text = b"/* GNU ld script\n*/ OUTPUT_FORMAT(elf64-x86-64)\n\
            GROUP ( /lib/libc.so.6 libc_nonshared.a, AS_NEEDED ( \"ld linux.so\" ) -lgcc ) INPUT(=/a.o;b.o)";
        assert_eq!(
            inputs(text),
            [
                file("/lib/libc.so.6"),
                file("libc_nonshared.a"),
                file("ld linux.so"),
                ScriptInput::Library("gcc".into()),
                file("=/a.o"),
                file("b.o"),
            ]
        );
    }

    #[test]
    fn a_group_is_told_from_a_list() {
        assert!(names_group(b"/* GNU ld script */ GROUP ( a.a b.a )"));
        assert!(!names_group(b"INPUT(GROUP a.a) /* GROUP ( */"));
    }

    #[test]
    fn other_texts_name_none() {
        for text in [
            &b"GROUP"[..],
            b"GROUP(",
            b"/* GROUP(a.o)",
            b"SECTIONS { .text : { INPUT } }",
            b"GROUP(a.o)\0",
            b"",
        ] {
            assert_eq!(inputs(text), []);
        }
    }
}
