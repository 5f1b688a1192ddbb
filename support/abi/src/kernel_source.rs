//! What the source says of a kernel: its file, names of its arguments, types of their values. For people;
//! nothing else depends on it.
//!
//! The text form is made at link time, goes through bundle, statistics and cache as it is, and is read by
//! `offloom`. Fields are separated by tabs, lines by line breaks, and neither is in a field:
//!
//! | line | fields |
//! | --- | --- |
//! | first | the file; empty where it is not known |
//! | an argument | its index, its name |
//! | a value of the argument before it | empty, offset in bytes, size in bytes, [`Encoding`], what the source calls it, its type |
//!
//! A line that is none of these is passed over: nobody is to be without a report for a name.

use std::fmt;

/// The most values of one argument that are described.
pub const MAX_VALUES: usize = 64;

/// What is known of a kernel's source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KernelSource {
    /// The file of the directive, as the compiler was given it; empty where it is not known.
    pub file: String,
    /// Arguments of which something is known, by index.
    pub arguments: Vec<SourceArgument>,
}

/// What is known of a kernel's argument.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceArgument {
    /// Its position among the kernel's parameters, the implicit ones included.
    pub index: u32,
    /// Its name; empty where it is not known.
    pub name: String,
    /// The argument itself, or what lies behind it if it is a pointer.
    pub values: Vec<SourceValue>,
}

/// A scalar of the source's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceValue {
    /// Where it begins, in bytes from the start of the argument, or of what the pointer leads to.
    pub offset: u32,
    /// Its size, 1 to 8 bytes.
    pub size: u8,
    /// How its bits are to be read.
    pub encoding: Encoding,
    /// What the source calls it: `n`, `*data`, `box.low[1]`; empty where it has no name.
    pub name: String,
    /// Its type; empty where it is not known.
    pub type_name: String,
}

/// How the bits of a scalar are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// An integer in two's complement.
    Signed,
    /// An integer that is never negative.
    Unsigned,
    /// IEEE 754.
    Float,
    /// 0 or 1.
    Boolean,
    /// An address.
    Pointer,
}

impl Encoding {
    /// Each with its letter in the text form.
    const LETTERS: [(Self, &'static str); 5] = [
        (Self::Signed, "s"),
        (Self::Unsigned, "u"),
        (Self::Float, "f"),
        (Self::Boolean, "b"),
        (Self::Pointer, "p"),
    ];
}

impl KernelSource {
    /// Reads the text form, as much of it as makes sense.
    pub fn parse(text: &str) -> Self {
        let mut lines = text.split('\n');
        let mut source = Self {
            file: lines.next().unwrap_or_default().to_owned(),
            arguments: Vec::new(),
        };
        for line in lines {
            let fields: Vec<_> = line.split('\t').collect();
            match fields[..] {
                ["", offset, size, encoding, name, type_name] => {
                    let value = value(offset, size, encoding).map(|value| SourceValue {
                        name: name.to_owned(),
                        type_name: type_name.to_owned(),
                        ..value
                    });
                    if let (Some(argument), Some(value)) = (source.arguments.last_mut(), value) {
                        argument.values.push(value);
                    }
                }
                [index, name] => {
                    if let Ok(index) = index.parse() {
                        source.arguments.push(SourceArgument {
                            index,
                            name: name.to_owned(),
                            values: Vec::new(),
                        });
                    }
                }
                _ => {}
            }
        }
        source
    }

    /// What is known of the argument at an index.
    pub fn argument(&self, index: usize) -> Option<&SourceArgument> {
        self.arguments
            .iter()
            .find(|argument| argument.index as usize == index)
    }
}

fn value(offset: &str, size: &str, encoding: &str) -> Option<SourceValue> {
    Some(SourceValue {
        offset: offset.parse().ok()?,
        size: size.parse().ok().filter(|size| (1..=8).contains(size))?,
        encoding: Encoding::LETTERS
            .iter()
            .find_map(|(one, letter)| (*letter == encoding).then_some(*one))?,
        name: String::new(),
        type_name: String::new(),
    })
}

impl fmt::Display for KernelSource {
    /// The text form. What would end a field or a line is a space in it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = |text: &str| text.replace(['\t', '\n'], " ");
        formatter.write_str(&field(&self.file))?;
        for argument in &self.arguments {
            write!(formatter, "\n{}\t{}", argument.index, field(&argument.name))?;
            for value in &argument.values {
                let letter = Encoding::LETTERS.iter().find(|(one, _)| *one == value.encoding);
                write!(
                    formatter,
                    "\n\t{}\t{}\t{}\t{}\t{}",
                    value.offset,
                    value.size,
                    letter.map_or("", |(_, letter)| letter),
                    field(&value.name),
                    field(&value.type_name)
                )?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoding() -> impl Strategy<Value = Encoding> {
        prop::sample::select(Encoding::LETTERS.map(|(one, _)| one).to_vec())
    }

    prop_compose! {
        fn source_value()(
            offset: u32, size in 1u8..9, encoding in encoding(), name in "[^\t\n]{0,9}", type_name in "[^\t\n]{0,9}"
        ) -> SourceValue {
            SourceValue { offset, size, encoding, name, type_name }
        }
    }

    prop_compose! {
        fn argument()(
            index: u32, name in "[^\t\n]{0,9}", values in prop::collection::vec(source_value(), 0..4)
        ) -> SourceArgument {
            SourceArgument { index, name, values }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(file in "[^\t\n]{0,9}", arguments in prop::collection::vec(argument(), 0..4)) {
            let source = KernelSource { file, arguments };
            prop_assert_eq!(KernelSource::parse(&source.to_string()), source);
        }

        #[test]
        fn any_text_is_read(text in "[a\t\n0-9sf]{0,60}") {
            let _ = KernelSource::parse(&text);
        }
    }

    #[test]
    fn what_would_end_a_field_is_a_space() {
        let source = KernelSource {
            file: "a\tb\nc".to_owned(),
            arguments: Vec::new(),
        };
        assert_eq!(source.to_string(), "a b c");
        assert_eq!(KernelSource::default(), KernelSource::parse(""));
    }
}
