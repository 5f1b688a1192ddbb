//! Formats of `printf`, as devices know them.

/// A part of a format.
pub(crate) enum Piece<'a> {
    /// Printed as it is.
    Text(&'a [u8]),
    /// Prints an argument.
    Conversion(Conversion),
}

/// `%-+ #0width.precision` with a length and a letter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: Option<Amount>,
    precision: Option<Amount>,
    /// 8 bytes, by `l`, `ll`, `j`, `z` or `t`.
    is_long: bool,
    /// Bits that `h` and `hh` leave.
    bits: u32,
    letter: u8,
}

/// A width or precision.
#[derive(Clone, Copy, Debug)]
enum Amount {
    Number(usize),
    /// `*`: an argument.
    Argument,
}

/// Splits a format. A conversion that there is not is text.
pub(crate) fn pieces(format: &[u8]) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = format;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if rest.starts_with(b"%%") {
            let text = &rest[..1];
            rest = &rest[2..];
            return Some(Piece::Text(text));
        }
        if rest[0] == b'%'
            && let Some((conversion, length)) = Conversion::parse(rest)
        {
            rest = &rest[length..];
            return Some(Piece::Conversion(conversion));
        }
        let end = rest[1..]
            .iter()
            .position(|&byte| byte == b'%')
            .map_or(rest.len(), |at| at + 1);
        let (text, after) = rest.split_at(end);
        rest = after;
        Some(Piece::Text(text))
    })
}

impl Conversion {
    /// The conversion at the start of the text, and its length.
    fn parse(text: &[u8]) -> Option<(Self, usize)> {
        let mut at = 1;
        let mut made = Self {
            bits: 32,
            ..Self::default()
        };
        while let Some(flag) = text.get(at) {
            match flag {
                b'-' => made.left = true,
                b'+' => made.plus = true,
                b' ' => made.space = true,
                b'#' => made.alternate = true,
                b'0' => made.zero = true,
                _ => break,
            }
            at += 1;
        }
        made.width = amount(text, &mut at);
        if text.get(at) == Some(&b'.') {
            at += 1;
            made.precision = amount(text, &mut at).or(Some(Amount::Number(0)));
        }
        while let Some(length) = text.get(at) {
            match length {
                b'l' | b'j' | b'z' | b't' | b'L' | b'q' => made.is_long = true,
                b'h' => made.bits /= 2,
                _ => break,
            }
            at += 1;
        }
        made.letter = *text.get(at)?;
        let known = b"diouxXcspfFeEgGaA".contains(&made.letter);
        known.then_some((made, at + 1))
    }

    /// How many arguments give width and precision.
    pub(crate) fn stars(self) -> usize {
        [self.width, self.precision]
            .iter()
            .filter(|amount| matches!(amount, Some(Amount::Argument)))
            .count()
    }

    /// Bytes of the argument.
    pub(crate) fn size(self) -> u32 {
        let is_wide = matches!(self.letter, b's' | b'p') || self.is_float() || self.is_long;
        if is_wide && self.letter != b'c' { 8 } else { 4 }
    }

    /// Whether the argument is the address of a string.
    pub(crate) fn is_string(self) -> bool {
        self.letter == b's'
    }

    fn is_float(self) -> bool {
        b"fFeEgGaA".contains(&self.letter)
    }

    /// Width and precision with their arguments in place.
    fn resolved(mut self, stars: [i32; 2]) -> (Self, usize, Option<usize>) {
        let mut stars = stars.into_iter();
        let mut width = 0;
        match self.width {
            Some(Amount::Number(number)) => width = number,
            Some(Amount::Argument) => {
                let star = stars.next().unwrap_or(0);
                self.left |= star < 0;
                width = star.unsigned_abs() as usize;
            }
            None => {}
        }
        let precision = match self.precision {
            Some(Amount::Number(number)) => Some(number),
            // A negative precision is none.
            Some(Amount::Argument) => stars.next().and_then(|star| usize::try_from(star).ok()),
            None => None,
        };
        (
            self,
            width.min(4096),
            precision.map(|precision| precision.min(4096)),
        )
    }

    /// Prints a string.
    pub(crate) fn string(self, stars: [i32; 2], string: &[u8], to: &mut Vec<u8>) {
        let (conversion, width, precision) = self.resolved(stars);
        let shown = &string[..precision.unwrap_or(string.len()).min(string.len())];
        conversion.pad(width, b"", shown, false, to);
    }

    /// Prints a number, a character or a pointer.
    pub(crate) fn number(self, stars: [i32; 2], value: u64, to: &mut Vec<u8>) {
        let (conversion, width, precision) = self.resolved(stars);
        let bits = if conversion.is_long {
            64
        } else {
            conversion.bits.max(8)
        };
        let value_of_bits = value & (u64::MAX >> (64 - bits));
        match conversion.letter {
            b'c' => conversion.pad(width, b"", &[value as u8], false, to),
            b'p' => conversion.pad(width, b"", format!("{value:#x}").as_bytes(), false, to),
            b'd' | b'i' => {
                let shift = 64 - bits;
                let signed = ((value << shift) as i64) >> shift;
                let digits = digits(signed.unsigned_abs().to_string(), precision);
                let sign = conversion.sign(signed < 0);
                conversion.pad(width, sign, digits.as_bytes(), precision.is_none(), to);
            }
            b'o' | b'u' | b'x' | b'X' => {
                let (text, prefix): (_, &[u8]) = match conversion.letter {
                    b'o' => (format!("{value_of_bits:o}"), b"0"),
                    b'x' => (format!("{value_of_bits:x}"), b"0x"),
                    b'X' => (format!("{value_of_bits:X}"), b"0X"),
                    _ => (value_of_bits.to_string(), b""),
                };
                let prefix = if conversion.alternate && value_of_bits != 0 {
                    prefix
                } else {
                    b""
                };
                let digits = digits(text, precision);
                conversion.pad(width, prefix, digits.as_bytes(), precision.is_none(), to);
            }
            _ => {
                let number = f64::from_bits(value);
                let text = conversion.float(number.abs(), precision);
                let sign = conversion.sign(number.is_sign_negative());
                conversion.pad(width, sign, text.as_bytes(), number.is_finite(), to);
            }
        }
    }

    fn sign(self, negative: bool) -> &'static [u8] {
        if negative {
            b"-"
        } else if self.plus {
            b"+"
        } else if self.space {
            b" "
        } else {
            b""
        }
    }

    fn pad(self, width: usize, prefix: &[u8], body: &[u8], zeros: bool, to: &mut Vec<u8>) {
        let missing = width.saturating_sub(prefix.len() + body.len());
        let zeros = self.zero && !self.left && zeros;
        if !self.left && !zeros {
            to.extend(std::iter::repeat_n(b' ', missing));
        }
        to.extend_from_slice(prefix);
        if zeros {
            to.extend(std::iter::repeat_n(b'0', missing));
        }
        to.extend_from_slice(body);
        if self.left {
            to.extend(std::iter::repeat_n(b' ', missing));
        }
    }

    /// A number that is not negative.
    fn float(self, number: f64, precision: Option<usize>) -> String {
        let text = if number.is_nan() {
            "nan".to_owned()
        } else if number.is_infinite() {
            "inf".to_owned()
        } else {
            match self.letter.to_ascii_lowercase() {
                b'f' => self.point(format!("{number:.*}", precision.unwrap_or(6))),
                b'e' => self.exponent(number, precision.unwrap_or(6)),
                b'a' => hexadecimal(number, precision),
                _ => self.general(number, precision.unwrap_or(6).max(1)),
            }
        };
        if self.letter.is_ascii_uppercase() {
            text.to_uppercase()
        } else {
            text
        }
    }

    /// With `#` there is always a decimal point.
    fn point(self, mut text: String) -> String {
        if self.alternate && !text.contains('.') {
            text.push('.');
        }
        text
    }

    fn exponent(self, number: f64, precision: usize) -> String {
        let text = format!("{number:.precision$e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mantissa = self.point(mantissa.to_owned());
        let (sign, digits) = exponent
            .strip_prefix('-')
            .map_or(('+', exponent), |digits| ('-', digits));
        format!("{mantissa}e{sign}{digits:0>2}")
    }

    /// `%g`: so many digits that count, without zeros at the end.
    fn general(self, number: f64, digits: usize) -> String {
        let rounded = format!("{number:.*e}", digits - 1);
        let exponent: i64 = rounded
            .split_once('e')
            .and_then(|(_, exponent)| exponent.parse().ok())
            .unwrap_or(0);
        let is_fixed = exponent >= -4 && exponent < digits as i64;
        let text = if is_fixed {
            self.point(format!(
                "{number:.*}",
                (digits as i64 - 1 - exponent).max(0) as usize
            ))
        } else {
            self.exponent(number, digits - 1)
        };
        if self.alternate {
            return text;
        }
        let (mantissa, exponent) = match text.split_once('e') {
            Some((mantissa, exponent)) => (mantissa, format!("e{exponent}")),
            None => (&text[..], String::new()),
        };
        let mantissa = if mantissa.contains('.') {
            mantissa.trim_end_matches('0').trim_end_matches('.')
        } else {
            mantissa
        };
        format!("{mantissa}{exponent}")
    }
}

/// `%a` of a number that is not negative.
fn hexadecimal(number: f64, precision: Option<usize>) -> String {
    const FRACTION: u32 = 52;
    let bits = number.to_bits();
    let is_normal = bits >> FRACTION != 0;
    let mut exponent = if number == 0.0 {
        0
    } else {
        (bits >> FRACTION).max(1) as i64 - 1023
    };
    let mut significand = bits & ((1 << FRACTION) - 1) | (u64::from(is_normal) << FRACTION);
    let digits = match precision {
        Some(precision) if precision < 13 => {
            // To nearest, ties to even.
            let drop = FRACTION - precision as u32 * 4;
            let half = 1 << (drop - 1);
            let rest = significand & ((1 << drop) - 1);
            significand >>= drop;
            if rest > half || (rest == half && significand & 1 == 1) {
                significand += 1;
            }
            significand <<= drop;
            precision
        }
        Some(precision) => precision,
        None => {
            let fraction = significand & ((1 << FRACTION) - 1);
            if fraction == 0 {
                0
            } else {
                13 - fraction.trailing_zeros() as usize / 4
            }
        }
    };
    if significand >> FRACTION > 1 {
        significand >>= 1;
        exponent += 1;
    }
    let fraction = format!("{:013x}", significand & ((1 << FRACTION) - 1));
    let fraction: String = fraction
        .chars()
        .chain(std::iter::repeat('0'))
        .take(digits)
        .collect();
    let point = if digits == 0 { "" } else { "." };
    format!("0x{}{point}{fraction}p{exponent:+}", significand >> FRACTION)
}

/// At least so many digits; none for a zero with precision 0.
fn digits(text: String, precision: Option<usize>) -> String {
    match precision {
        Some(0) if text == "0" => String::new(),
        Some(precision) => format!("{text:0>precision$}"),
        None => text,
    }
}

fn amount(text: &[u8], at: &mut usize) -> Option<Amount> {
    if text.get(*at) == Some(&b'*') {
        *at += 1;
        return Some(Amount::Argument);
    }
    let digits = text
        .get(*at..)?
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let number = std::str::from_utf8(&text[*at..*at + digits]).ok()?.parse().ok();
    *at += digits;
    number.map(Amount::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(format: &str, value: u64) -> String {
        let mut text = Vec::new();
        for piece in pieces(format.as_bytes()) {
            match piece {
                Piece::Text(bytes) => text.extend_from_slice(bytes),
                Piece::Conversion(conversion) if conversion.is_string() => {
                    conversion.string([7, 2], b"string", &mut text);
                }
                Piece::Conversion(conversion) => conversion.number([7, 2], value, &mut text),
            }
        }
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn as_the_c_library_prints() {
        // What glibc's printf prints.
        for (format, value, expected) in [
            ("a %d b", (-5_i32) as u32 as u64, "a -5 b"),
            ("%u %%", u64::from(u32::MAX), "4294967295 %"),
            ("%lld", u64::MAX, "-1"),
            ("%5d|%-5d|%05d|%+d", 42, "   42|42   |00042|+42"),
            ("%.3d", 7, "007"),
            ("%x %X %#x %o", 255, "ff FF 0xff 377"),
            ("%c", 65, "A"),
            ("%hhd", 0x1FF, "-1"),
            ("%f", 1.5_f64.to_bits(), "1.500000"),
            ("%g", 1.5_f64.to_bits(), "1.5"),
            ("%g", 1e100_f64.to_bits(), "1e+100"),
            ("%g", 0.0001_f64.to_bits(), "0.0001"),
            ("%g", 100_000.0_f64.to_bits(), "100000"),
            ("%g", 1_000_000.0_f64.to_bits(), "1e+06"),
            ("%.17g", 0.1_f64.to_bits(), "0.10000000000000001"),
            ("%e", 12345.678_f64.to_bits(), "1.234568e+04"),
            (
                "%8.2f|%-8.2f|%08.2f",
                (-3.1394_f64).to_bits(),
                "   -3.14|-3.14   |-0003.14",
            ),
            ("%f %F", f64::INFINITY.to_bits(), "inf INF"),
            ("%08f", f64::NAN.to_bits(), "     nan"),
            ("%a", 1.0_f64.to_bits(), "0x1p+0"),
            ("%a", 0.1_f64.to_bits(), "0x1.999999999999ap-4"),
            ("%.1a", 1.96875_f64.to_bits(), "0x1.0p+1"),
            ("%p", 0x1234, "0x1234"),
            (
                "%s|%.3s|%8s|%-8s|%*.*s",
                0,
                "string|str|  string|string  |     st",
            ),
            ("%k %", 0, "%k %"),
        ] {
            assert_eq!(print(format, value), expected, "{format}");
        }
    }
}
