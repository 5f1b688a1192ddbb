//! Scalar values of kernel arguments, with their LLVM types.

use std::fmt;

/// The LLVM type of a scalar argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScalarType {
    /// `i1` to `i64`; the number of bits. Made by [`ScalarType::integer`], which checks it.
    Integer(IntegerWidth),
    /// `half`
    Half,
    /// `bfloat`
    BFloat,
    /// `float`
    Float,
    /// `double`
    Double,
}

/// A number of bits from 1 to 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IntegerWidth(u8);

impl IntegerWidth {
    /// The number of bits.
    pub const fn bits(self) -> u32 {
        self.0 as u32
    }
}

impl ScalarType {
    /// The integer type of this many bits, if it can be an argument: 1 to 64.
    pub const fn integer(bits: u32) -> Option<Self> {
        match bits {
            1..=64 => Some(Self::Integer(IntegerWidth(bits as u8))),
            _ => None,
        }
    }

    /// Bits that a value of this type has.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Integer(width) => width.bits(),
            Self::Half | Self::BFloat => 16,
            Self::Float => 32,
            Self::Double => 64,
        }
    }

    /// The bits of an argument word that hold the value. The others are unspecified in a launch.
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// The type that LLVM's assembly language calls `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "half" => Some(Self::Half),
            "bfloat" => Some(Self::BFloat),
            "float" => Some(Self::Float),
            "double" => Some(Self::Double),
            _ => {
                let digits = name.strip_prefix('i')?;
                let canonical =
                    digits.bytes().all(|digit| digit.is_ascii_digit()) && !digits.starts_with('0');
                canonical
                    .then(|| digits.parse().ok())
                    .flatten()
                    .and_then(Self::integer)
            }
        }
    }
}

impl fmt::Display for ScalarType {
    /// The name of the type in LLVM's assembly language.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(width) => write!(formatter, "i{}", width.0),
            Self::Half => formatter.write_str("half"),
            Self::BFloat => formatter.write_str("bfloat"),
            Self::Float => formatter.write_str("float"),
            Self::Double => formatter.write_str("double"),
        }
    }
}

/// A scalar: its type and its bits. Equal means equal bits: 0.0 and -0.0 differ, and a NaN equals itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scalar {
    scalar_type: ScalarType,
    bits: u64,
}

impl Scalar {
    /// The scalar in an argument word: the word's bits past the type's size are dropped.
    pub const fn from_word(scalar_type: ScalarType, word: u64) -> Self {
        Self {
            scalar_type,
            bits: word & scalar_type.mask(),
        }
    }

    /// The type.
    pub const fn scalar_type(self) -> ScalarType {
        self.scalar_type
    }

    /// The bits, zero past the type's size.
    pub const fn bits(self) -> u64 {
        self.bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_past_the_size_are_never_looked_at() {
        let i8 = ScalarType::integer(8).unwrap();
        assert_eq!(
            Scalar::from_word(i8, 0xdead_be07),
            Scalar::from_word(i8, 0x1234_5607)
        );
        assert_eq!(ScalarType::integer(1).unwrap().mask(), 1);
        assert_eq!(ScalarType::Half.mask(), 0xffff);
        assert_eq!(ScalarType::Float.mask(), 0xffff_ffff);
        assert_eq!(ScalarType::Double.mask(), u64::MAX);
    }

    #[test]
    fn only_types_that_an_argument_can_have_have_a_name() {
        for bits in 1..=64 {
            let scalar_type = ScalarType::integer(bits).unwrap();
            assert_eq!(ScalarType::from_name(&scalar_type.to_string()), Some(scalar_type));
        }
        for name in [
            "i0",
            "i65",
            "i128",
            "i",
            "i08",
            "i+8",
            "i4294967297",
            "ptr",
            "fp128",
            "",
        ] {
            assert_eq!(ScalarType::from_name(name), None, "{name}");
        }
    }
}
