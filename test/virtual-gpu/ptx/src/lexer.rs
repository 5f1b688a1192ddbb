//! Tokens of PTX. No token owns memory, and the lexer needs none.

use crate::Error;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A name: letters, digits, `_`, `$` and `%`, not beginning with a digit.
    Word,
    /// A full stop and what follows it without a space: a directive or a modifier.
    Directive,
    /// An integer, without its sign.
    Integer(u64),
    /// `0f...`: bits of a 32-bit number.
    Single(u32),
    /// `0d...`: bits of a 64-bit number.
    Double(u64),
    /// A number with a decimal point or an exponent.
    Decimal(f64),
    /// Text between quotation marks.
    Text,
    /// Any other byte.
    Mark(u8),
    /// The end of the file.
    End,
}

/// A token and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    /// The token as it is written, without quotation marks. Bytes that are not UTF-8 are only in texts, which
    /// are then empty.
    pub(crate) text: &'a str,
    /// From 1.
    pub(crate) line: u32,
    /// In bytes, from 1.
    pub(crate) column: u32,
}

impl Token<'_> {
    /// Whether this is the given mark.
    pub(crate) fn is_mark(&self, mark: u8) -> bool {
        self.kind == Kind::Mark(mark)
    }

    /// Whether this is the given directive, with its full stop.
    pub(crate) fn is_directive(&self, directive: &str) -> bool {
        self.kind == Kind::Directive && self.text == directive
    }

    /// The token in a message.
    pub(crate) fn shown(&self) -> String {
        match self.kind {
            Kind::End => "the end of the file".to_owned(),
            Kind::Mark(byte) if !byte.is_ascii_graphic() => format!("the byte 0x{byte:02x}"),
            Kind::Text => "a text in quotation marks".to_owned(),
            // A hostile name may be as long as the file.
            _ => format!("`{}`", shortened(self.text)),
        }
    }
}

/// The first characters of a name, for messages.
pub(crate) fn shortened(name: &str) -> String {
    const LONGEST: usize = 200;
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    name.chars().take(LONGEST).chain("...".chars()).collect()
}

/// Splits text into tokens.
pub(crate) struct Lexer<'a> {
    file: &'a str,
    text: &'a [u8],
    position: usize,
    line: u32,
    line_start: usize,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(file: &'a str, text: &'a [u8]) -> Self {
        let end = text
            .iter()
            .rposition(|&byte| byte != 0)
            .map_or(0, |last| last + 1);
        Self {
            file,
            text: text.get(..end).unwrap_or_default(),
            position: 0,
            line: 1,
            line_start: 0,
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.position + ahead).copied()
    }

    fn take_while(&mut self, wanted: impl Fn(u8) -> bool) {
        while self.peek(0).is_some_and(&wanted) {
            self.position += 1;
        }
    }

    fn step_line(&mut self) {
        self.position += 1;
        self.line = self.line.saturating_add(1);
        self.line_start = self.position;
    }

    fn column(&self, position: usize) -> u32 {
        u32::try_from(position - self.line_start + 1).unwrap_or(u32::MAX)
    }

    fn error(&self, position: usize, problem: impl Into<String>, advice: &'static str) -> Error {
        Error {
            file: self.file.to_owned(),
            line: self.line,
            column: self.column(position),
            problem: problem.into(),
            advice,
        }
    }

    /// Goes on behind spaces and comments.
    fn skip_blanks(&mut self) -> Result<(), Error> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(b'\n'), _) => self.step_line(),
                (Some(b' ' | b'\t' | b'\r'), _) => self.position += 1,
                (Some(b'/'), Some(b'/')) => self.take_while(|byte| byte != b'\n'),
                (Some(b'/'), Some(b'*')) => self.skip_comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn skip_comment(&mut self) -> Result<(), Error> {
        let unended = self.error(self.position, "this comment has no end", "write `*/` behind it");
        self.position += 2;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(b'*'), Some(b'/')) => {
                    self.position += 2;
                    return Ok(());
                }
                (Some(b'\n'), _) => self.step_line(),
                (Some(_), _) => self.position += 1,
                (None, _) => return Err(unended),
            }
        }
    }

    /// The next token. At the end of the file: [`Kind::End`], as often as asked.
    pub(crate) fn next(&mut self) -> Result<Token<'a>, Error> {
        self.skip_blanks()?;
        let start = self.position;
        let (line, column) = (self.line, self.column(start));
        let kind = match self.peek(0) {
            None => Kind::End,
            Some(byte) if is_word(byte) && !byte.is_ascii_digit() => {
                self.take_while(is_word);
                Kind::Word
            }
            Some(byte) if byte.is_ascii_digit() => self.number()?,
            Some(b'.') if self.peek(1).is_some_and(is_word) => {
                self.position += 1;
                self.take_while(is_word);
                while self.peek(0) == Some(b':') && self.peek(1) == Some(b':') {
                    self.position += 2;
                    self.take_while(is_word);
                }
                Kind::Directive
            }
            Some(b'"') => return self.quoted(line, column),
            Some(byte) => {
                self.position += 1;
                Kind::Mark(byte)
            }
        };
        let text = self.text.get(start..self.position).unwrap_or_default();
        Ok(Token {
            kind,
            text: str::from_utf8(text).unwrap_or_default(),
            line,
            column,
        })
    }

    fn quoted(&mut self, line: u32, column: u32) -> Result<Token<'a>, Error> {
        let start = self.position + 1;
        self.position = start;
        self.take_while(|byte| byte != b'"' && byte != b'\n');
        if self.peek(0) != Some(b'"') {
            return Err(self.error(
                start - 1,
                "this text has no closing quotation mark",
                "end it on its line",
            ));
        }
        let text = self.text.get(start..self.position).unwrap_or_default();
        self.position += 1;
        Ok(Token {
            kind: Kind::Text,
            text: str::from_utf8(text).unwrap_or_default(),
            line,
            column,
        })
    }

    fn number(&mut self) -> Result<Kind, Error> {
        let start = self.position;
        self.take_while(|byte| byte.is_ascii_alphanumeric());
        let has_point = self.peek(0) == Some(b'.') && self.peek(1).is_some_and(|byte| byte.is_ascii_digit());
        if has_point {
            self.position += 1;
            self.take_while(|byte| byte.is_ascii_alphanumeric());
        }
        // The sign of an exponent, but not of `0xe-1`, which is a subtraction.
        let first = self.text.get(start..self.position).unwrap_or_default();
        let is_decimal = first
            .iter()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E'));
        if is_decimal
            && matches!(first.last(), Some(b'e' | b'E'))
            && matches!(self.peek(0), Some(b'+' | b'-'))
        {
            self.position += 1;
            self.take_while(|byte| byte.is_ascii_digit());
        }
        let text = self.text.get(start..self.position).unwrap_or_default();
        let text = str::from_utf8(text).unwrap_or_default();
        number(text).ok_or_else(|| {
            self.error(
                start,
                format!("`{}` is not a number of PTX", shortened(text)),
                "integers have up to 64 bits, `0f` takes 8 and `0d` 16 hexadecimal digits",
            )
        })
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%')
}

fn number(text: &str) -> Option<Kind> {
    // What is allowed as a digit but is not one (`+` in Rust's parsers) cannot be here: letters, digits and
    // points alone are.
    let bits = |digits: &str, wanted: usize| {
        let whole = digits.len() == wanted;
        u64::from_str_radix(digits, 16).ok().filter(|_| whole)
    };
    match text.as_bytes() {
        [b'0', b'f' | b'F', ..] => {
            let bits = bits(text.get(2..)?, 8)?;
            return Some(Kind::Single(u32::try_from(bits).ok()?));
        }
        [b'0', b'd' | b'D', ..] => return Some(Kind::Double(bits(text.get(2..)?, 16)?)),
        [b'0', b'x' | b'X', ..] => return integer(text.get(2..)?, 16),
        [b'0', b'b' | b'B', ..] => return integer(text.get(2..)?, 2),
        _ => {}
    }
    if text.contains(['.', 'e', 'E']) {
        return Some(Kind::Decimal(text.parse().ok()?));
    }
    match text.strip_prefix('0') {
        Some(digits) if !digits.is_empty() && digits != "U" => integer(digits, 8),
        _ => integer(text, 10),
    }
}

fn integer(digits: &str, radix: u32) -> Option<Kind> {
    let digits = digits.strip_suffix('U').unwrap_or(digits);
    u64::from_str_radix(digits, radix).ok().map(Kind::Integer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        let mut lexer = Lexer::new("x.ptx", text.as_bytes());
        let mut kinds = Vec::new();
        loop {
            match lexer.next().unwrap().kind {
                Kind::End => return kinds,
                kind => kinds.push(kind),
            }
        }
    }

    #[test]
    fn numbers() {
        assert_eq!(
            kinds("0 7 0x1F 0b101 017 5U 0x8000000000000000U 0f3F800000 0dBFF0000000000000 1.5 2e3 1.0e-2"),
            [
                Kind::Integer(0),
                Kind::Integer(7),
                Kind::Integer(31),
                Kind::Integer(5),
                Kind::Integer(15),
                Kind::Integer(5),
                Kind::Integer(1 << 63),
                Kind::Single(0x3F80_0000),
                Kind::Double(0xBFF0_0000_0000_0000),
                Kind::Decimal(1.5),
                Kind::Decimal(2000.0),
                Kind::Decimal(0.01),
            ]
        );
        for wrong in [
            "0f3F8",
            "0d0",
            "0x",
            "08",
            "5x",
            "0b2",
            "18446744073709551616",
            "1.5.5x",
        ] {
            let mut lexer = Lexer::new("x.ptx", wrong.as_bytes());
            let first = lexer.next().and_then(|_| lexer.next()).and_then(|_| lexer.next());
            assert!(first.is_err() || wrong == "1.5.5x", "{wrong}: {first:?}");
        }
    }

    #[test]
    fn a_minus_behind_a_hexadecimal_number_is_a_mark() {
        assert_eq!(
            kinds("0x1e-1"),
            [Kind::Integer(0x1e), Kind::Mark(b'-'), Kind::Integer(1)]
        );
    }

    #[test]
    fn words_and_directives() {
        let mut lexer = Lexer::new(
            "x.ptx",
            b"ld.global.L2::128B.b32 %r1, [$x_1]; // y\n\t/* a\n */ L:\0\0",
        );
        let mut texts = Vec::new();
        loop {
            let token = lexer.next().unwrap();
            if token.kind == Kind::End {
                break;
            }
            texts.push((token.text, token.line, token.column));
        }
        assert_eq!(
            texts,
            [
                ("ld", 1, 1),
                (".global", 1, 3),
                (".L2::128B", 1, 10),
                (".b32", 1, 19),
                ("%r1", 1, 24),
                (",", 1, 27),
                ("[", 1, 29),
                ("$x_1", 1, 30),
                ("]", 1, 34),
                (";", 1, 35),
                ("L", 3, 5),
                (":", 3, 6),
            ]
        );
    }
}
