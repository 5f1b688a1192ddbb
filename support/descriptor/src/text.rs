//! The text form of a descriptor.
//!
//! Items `key=value`, separated by newlines or `;`. Blank items are skipped, and `#` begins a comment that
//! goes to the end of the line. White space around keys and values is dropped. There is neither a comma nor a
//! parenthesis in it, at which LLVM's pipeline parser would split.
//!
//! | item | says |
//! | --- | --- |
//! | `kernel=NAME` | the kernel; required |
//! | `arch=NAME` | the device architecture; required |
//! | `N=any` | nothing is known of argument N, counted from 0 |
//! | `N=i32:0x2a` | a scalar (`i1` to `i64`, `half`, `bfloat`, `float`, `double`) has these bits; integers also in decimal (`i8:-1`), `float` and `double` also as a number (`double:2.5`) |
//! | `N=bytes:00ff` | an object passed by value has these bytes, in hexadecimal |
//! | `N=align:64` | a pointer has at least this alignment: 128, 64, 32, 16 or 8 |
//! | `N=contents:00ff??` | a pointer leads to an object that begins with these bytes; `??` is one that is not known |
//! | `N=align:64+contents:00ff` | both |
//! | `teams=N` | the number of teams |
//! | `threads=N` | the number of threads in a team |
//!
//! In names every byte other than ASCII letters, digits, `_`, `-`, `.`, `$`, `@`, `:` and `+` is written
//! `%XX`. What is printed has the items in the order of this table, one for each argument, and is the same
//! text for equal descriptors.

use std::fmt;
use std::str::FromStr;

use super::{Alignment, Argument, Contents, Descriptor, MAX_ARGUMENTS, Scalar, ScalarType};

/// Why a text is not a descriptor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DescriptorError {
    /// One item is wrong.
    #[error("descriptor line {line}, item `{item}`: {problem}")]
    Item {
        /// The line of the text, from 1.
        line: usize,
        /// The item as it stands there.
        item: String,
        /// What is wrong with it.
        problem: Problem,
    },
    /// An item that must be there is not.
    #[error("the descriptor has no `{key}=`")]
    Missing {
        /// The item's key.
        key: &'static str,
    },
}

/// What is wrong with an item.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// There is no `=`.
    #[error("an item is `key=value`")]
    NoValue,
    /// The key is none of those that exist.
    #[error("the key must be `kernel`, `arch`, `teams`, `threads` or the number of an argument")]
    UnknownKey,
    /// The key was there before.
    #[error("`{0}` is given twice")]
    Repeated(String),
    /// An argument number past [`MAX_ARGUMENTS`].
    #[error("a kernel has at most {MAX_ARGUMENTS} arguments")]
    TooManyArguments,
    /// A name that is empty, or in which `%` is not followed by two hexadecimal digits, or that is not UTF-8.
    #[error("not a name; special characters are written `%` and two hexadecimal digits, in UTF-8")]
    BadName,
    /// `teams` or `threads` is no number that a launch can have.
    #[error("a number from 1 to {} is expected", u32::MAX)]
    BadCount,
    /// The value of an argument has no form that exists.
    #[error(
        "an argument is `any`, `TYPE:VALUE`, `expect:TYPE:VALUE`, `bytes:HEX`, `align:N`, `contents:HEX` or `align:N+contents:HEX`"
    )]
    BadArgument,
    /// No such scalar type.
    #[error("`{0}` is no type of an argument; types are i1 to i64, half, bfloat, float, double")]
    UnknownType(String),
    /// A scalar's value is not a number, or does not fit the type.
    #[error("`{value}` is not a value of type {scalar_type}")]
    BadScalar {
        /// The value as written.
        value: String,
        /// The type.
        scalar_type: ScalarType,
    },
    /// Not pairs of hexadecimal digits.
    #[error("bytes are pairs of hexadecimal digits")]
    BadBytes,
    /// No byte of the contents is known.
    #[error("at least one byte of the contents must be known")]
    NothingKnown,
    /// Not an alignment class.
    #[error("an alignment is 128, 64, 32, 16 or 8")]
    BadAlignment,
}

impl fmt::Display for Descriptor {
    /// The text form on one line.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "kernel={};arch={}",
            EscapedName(&self.kernel),
            EscapedName(&self.architecture)
        )?;
        for (index, argument) in self.arguments.iter().enumerate() {
            write!(formatter, ";{index}={argument}")?;
        }
        if let Some(teams) = self.teams {
            write!(formatter, ";teams={teams}")?;
        }
        if let Some(threads) = self.threads {
            write!(formatter, ";threads={threads}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Argument {
    /// The value of the argument's item.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => formatter.write_str("any"),
            Self::Value(scalar) => write_scalar(formatter, *scalar),
            Self::Bytes(bytes) => {
                formatter.write_str("bytes:")?;
                bytes.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
            }
            Self::Pointer(pointer) => {
                if let Some(alignment) = pointer.alignment() {
                    write!(formatter, "align:{}", alignment.bytes())?;
                }
                let Some(contents) = pointer.contents() else {
                    return Ok(());
                };
                if pointer.alignment().is_some() {
                    formatter.write_str("+")?;
                }
                formatter.write_str("contents:")?;
                contents.bytes().iter().try_for_each(|byte| match byte {
                    Some(byte) => write!(formatter, "{byte:02x}"),
                    None => formatter.write_str("??"),
                })
            }
        }
    }
}

fn write_scalar(formatter: &mut fmt::Formatter<'_>, scalar: Scalar) -> fmt::Result {
    write!(formatter, "{}:{:#x}", scalar.scalar_type(), scalar.bits())
}

/// A name whose special characters are printed as `%XX`, so that it can be a field of a text.
#[derive(Debug, Clone, Copy)]
pub struct EscapedName<'a>(pub &'a str);

impl fmt::Display for EscapedName<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Run by run: the features of a processor are a thousand characters, in the key of every object.
        self.0.split_inclusive(is_special).try_for_each(|run| {
            let ordinary = run.trim_end_matches(is_special);
            formatter.write_str(ordinary)?;
            let mut special = run[ordinary.len()..].bytes();
            special.try_for_each(|byte| write!(formatter, "%{byte:02X}"))
        })
    }
}

fn is_special(character: char) -> bool {
    !matches!(character, 'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '-' | '.' | '$' | '@' | ':' | '+')
}

impl FromStr for Descriptor {
    type Err = DescriptorError;

    fn from_str(text: &str) -> Result<Self, DescriptorError> {
        let mut items = Items::default();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("");
            for item in line.split(';').map(str::trim).filter(|item| !item.is_empty()) {
                items.add(item).map_err(|problem| DescriptorError::Item {
                    line: number + 1,
                    item: item.to_owned(),
                    problem,
                })?;
            }
        }
        Ok(Self {
            kernel: items.kernel.ok_or(DescriptorError::Missing { key: "kernel" })?,
            architecture: items
                .architecture
                .ok_or(DescriptorError::Missing { key: "arch" })?,
            arguments: items
                .arguments
                .into_iter()
                .map(|argument| argument.unwrap_or(Argument::Any))
                .collect(),
            teams: items.teams,
            threads: items.threads,
        })
    }
}

/// What the items read so far say.
#[derive(Default)]
struct Items {
    kernel: Option<String>,
    architecture: Option<String>,
    arguments: Vec<Option<Argument>>,
    teams: Option<u32>,
    threads: Option<u32>,
}

impl Items {
    fn add(&mut self, item: &str) -> Result<(), Problem> {
        let (key, value) = item.split_once('=').ok_or(Problem::NoValue)?;
        let (key, value) = (key.trim(), value.trim());
        let repeated = match key {
            "kernel" => self.kernel.replace(unescaped_name(value)?).is_some(),
            "arch" => self.architecture.replace(unescaped_name(value)?).is_some(),
            "teams" => self.teams.replace(count(value)?).is_some(),
            "threads" => self.threads.replace(count(value)?).is_some(),
            _ => self.argument(key)?.replace(value.parse()?).is_some(),
        };
        if repeated {
            return Err(Problem::Repeated(key.to_owned()));
        }
        Ok(())
    }

    /// The place of the argument numbered `key`.
    fn argument(&mut self, key: &str) -> Result<&mut Option<Argument>, Problem> {
        if !key.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(Problem::UnknownKey);
        }
        let index: usize = key.parse().map_err(|_| Problem::TooManyArguments)?;
        if index >= MAX_ARGUMENTS {
            return Err(Problem::TooManyArguments);
        }
        if index >= self.arguments.len() {
            self.arguments.resize(index + 1, None);
        }
        Ok(&mut self.arguments[index])
    }
}

/// What [`EscapedName`] was made of, which must not be empty.
///
/// # Errors
/// Where the text is no such name.
pub fn unescaped_name(value: &str) -> Result<String, Problem> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte == b'%' {
            let (digits, after) = rest.split_at_checked(2).ok_or(Problem::BadName)?;
            bytes.push(hexadecimal_byte(digits).ok_or(Problem::BadName)?);
            rest = after;
        } else {
            bytes.push(byte);
        }
    }
    let name = String::from_utf8(bytes).map_err(|_| Problem::BadName)?;
    if name.is_empty() {
        return Err(Problem::BadName);
    }
    Ok(name)
}

fn count(value: &str) -> Result<u32, Problem> {
    match value.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(Problem::BadCount),
    }
}

impl FromStr for Argument {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        if text == "any" {
            return Ok(Self::Any);
        }
        let (kind, value) = text.split_once(':').ok_or(Problem::BadArgument)?;
        match kind {
            "bytes" => Ok(Self::Bytes(bytes(value)?)),
            "contents" => Ok(Self::pointer(None, Some(contents(value)?))),
            "align" => {
                let (alignment, rest) = match value.split_once('+') {
                    Some((alignment, rest)) => (alignment, Some(rest)),
                    None => (value, None),
                };
                let alignment = alignment.parse().ok().and_then(Alignment::from_bytes);
                let alignment = alignment.ok_or(Problem::BadAlignment)?;
                let contents = match rest.map(|rest| rest.strip_prefix("contents:")) {
                    None => None,
                    Some(None) => return Err(Problem::BadArgument),
                    Some(Some(bytes)) => Some(contents(bytes)?),
                };
                Ok(Self::pointer(Some(alignment), contents))
            }
            _ => Ok(Self::Value(typed_scalar(kind, value)?)),
        }
    }
}

fn typed_scalar(kind: &str, value: &str) -> Result<Scalar, Problem> {
    let scalar_type = ScalarType::from_name(kind).ok_or_else(|| Problem::UnknownType(kind.to_owned()))?;
    scalar(scalar_type, value).ok_or_else(|| Problem::BadScalar {
        value: value.to_owned(),
        scalar_type,
    })
}

fn scalar(scalar_type: ScalarType, value: &str) -> Option<Scalar> {
    let bits = match value.strip_prefix("0x") {
        // `from_str_radix` would take a sign.
        Some(digits) if digits.starts_with(['+', '-']) => return None,
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => match scalar_type {
            ScalarType::Float => u64::from(value.parse::<f32>().ok()?.to_bits()),
            ScalarType::Double => value.parse::<f64>().ok()?.to_bits(),
            ScalarType::Half | ScalarType::BFloat => return None,
            ScalarType::Integer(width) => return integer(scalar_type, width.bits(), value.parse().ok()?),
        },
    };
    let scalar = Scalar::from_word(scalar_type, bits);
    (scalar.bits() == bits).then_some(scalar)
}

/// The integer of this value, signed or unsigned, if it has no more than `bits` bits.
fn integer(scalar_type: ScalarType, bits: u32, value: i128) -> Option<Scalar> {
    let fits = value >= -(1 << (bits - 1)) && value < 1 << bits;
    fits.then(|| Scalar::from_word(scalar_type, value as u64))
}

fn bytes(value: &str) -> Result<Vec<u8>, Problem> {
    let bytes: Option<Vec<u8>> = byte_pairs(value).map(hexadecimal_byte).collect();
    bytes.filter(|bytes| !bytes.is_empty()).ok_or(Problem::BadBytes)
}

fn contents(value: &str) -> Result<Contents, Problem> {
    let bytes: Option<Vec<Option<u8>>> = byte_pairs(value)
        .map(|pair| match pair {
            b"??" => Some(None),
            _ => hexadecimal_byte(pair).map(Some),
        })
        .collect();
    let contents = Contents::new(bytes.ok_or(Problem::BadBytes)?);
    if contents.is_unknown() {
        return Err(Problem::NothingKnown);
    }
    Ok(contents)
}

fn byte_pairs(text: &str) -> std::slice::Chunks<'_, u8> {
    text.as_bytes().chunks(2)
}

/// The byte that two hexadecimal digits give; nothing for anything else.
fn hexadecimal_byte(digits: &[u8]) -> Option<u8> {
    let [high, low] = digits else { return None };
    let digit = |digit: u8| char::from(digit).to_digit(16);
    Some((digit(*high)? << 4 | digit(*low)?) as u8)
}

#[cfg(test)]
mod tests;
