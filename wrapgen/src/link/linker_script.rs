//! Finds the files that a linker script names, where a library or object is expected: `INPUT` and `GROUP`.
//!
//! Syntax: "Command Language" in the manual of GNU ld. Such scripts are what Debian has as `libc.so` and
//! `libm.a`.

use std::ffi::OsString;
use std::iter::Peekable;
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

/// What a script says.
#[derive(Debug, Default)]
pub struct Script {
    /// The files that it names, in order.
    pub inputs: Vec<NamedInput>,
    /// Whether they are searched again and again, as a group of archives.
    pub is_group: bool,
    /// Whether it does more than to name files, such as to ask for symbols or to define them.
    pub does_more: bool,
}

/// What a script asks for, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedInput {
    /// What.
    pub input: ScriptInput,
    /// Whether, as a shared library, it counts only if something needs it.
    pub as_needed: bool,
}

/// Commands that say nothing about symbols, besides those that name files.
const OTHER_COMMANDS: [&[u8]; 3] = [b"OUTPUT_FORMAT", b"OUTPUT_ARCH", b"SEARCH_DIR"];

impl Script {
    /// Reads the script `text`; what is none names no files.
    pub fn parse(text: &[u8]) -> Self {
        let mut script = Self::default();
        // Text holds no zeros.
        if text.len() > MAX_SIZE || text.contains(&0) {
            return script;
        }
        let mut tokens = Tokens { rest: text }.peekable();
        while let Some(token) = tokens.next() {
            let opens = tokens.next_if_eq(&Token::Open).is_some();
            let Token::Word(command) = token else {
                script.does_more = true;
                continue;
            };
            let names_files = opens && (command == b"INPUT" || command == b"GROUP");
            script.is_group |= opens && command == b"GROUP";
            let is_known = names_files || (opens && OTHER_COMMANDS.contains(&&*command));
            script.does_more |= !is_known;
            if opens && !script.read_list(&mut tokens, names_files) {
                break;
            }
        }
        script
    }

    /// Reads what stands in parentheses; false if they do not end.
    fn read_list(&mut self, tokens: &mut Peekable<Tokens<'_>>, names_files: bool) -> bool {
        let mut depth = 1;
        let mut as_needed_from = None;
        while depth > 0 {
            match tokens.next() {
                None => return false,
                Some(Token::Open) => depth += 1,
                Some(Token::Close) => {
                    depth -= 1;
                    as_needed_from = as_needed_from.filter(|&from| from <= depth);
                }
                Some(Token::Word(word)) if word == b"AS_NEEDED" && tokens.peek() == Some(&Token::Open) => {
                    as_needed_from = as_needed_from.or(Some(depth + 1));
                }
                Some(Token::Word(word)) if names_files => self.inputs.push(NamedInput {
                    input: match word.strip_prefix(b"-l") {
                        Some(name) => ScriptInput::Library(OsString::from_vec(name.to_vec())),
                        None => ScriptInput::File(OsString::from_vec(word)),
                    },
                    as_needed: as_needed_from.is_some(),
                }),
                Some(Token::Word(_)) => {}
            }
        }
        true
    }
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

    fn inputs(text: &[u8]) -> Vec<NamedInput> {
        Script::parse(text).inputs
    }

    #[test]
    fn scripts_name_files_and_libraries() {
        let named = |input, as_needed| NamedInput { input, as_needed };
        let file = |name: &str| named(ScriptInput::File(name.into()), false);
        let text = b"/* GNU ld script\n*/ OUTPUT_FORMAT(elf64-x86-64)\n\
            GROUP ( /lib/libc.so.6 libc_nonshared.a, AS_NEEDED ( \"ld linux.so\" ) -lgcc ) INPUT(=/a.o;b.o)";
        assert_eq!(
            inputs(text),
            [
                file("/lib/libc.so.6"),
                file("libc_nonshared.a"),
                named(ScriptInput::File("ld linux.so".into()), true),
                named(ScriptInput::Library("gcc".into()), false),
                file("=/a.o"),
                file("b.o"),
            ]
        );
    }

    #[test]
    fn a_group_is_told_from_a_list() {
        assert!(Script::parse(b"/* GNU ld script */ GROUP ( a.a b.a )").is_group);
        assert!(!Script::parse(b"INPUT(GROUP a.a) /* GROUP ( */").is_group);
    }

    #[test]
    fn scripts_that_do_more_than_to_name_files() {
        for text in [
            "EXTERN(f) INPUT(a.a)",
            "INPUT(a.a) f = g;",
            "ENTRY(f)",
            "VERSION { V { global: f; }; }",
        ] {
            assert!(Script::parse(text.as_bytes()).does_more, "{text}");
        }
        let text = b"/* EXTERN(f) */ OUTPUT_FORMAT(x) SEARCH_DIR(\"=/lib\") GROUP(a.a AS_NEEDED(b.so))";
        assert!(!Script::parse(text).does_more);
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
