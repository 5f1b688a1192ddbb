//! An opcode, split into its name, modifiers and types.

/// How the result of a floating-point operation is rounded, and to which integer a conversion goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// `.rn`, `.rni`: to nearest, ties to even.
    Nearest,
    /// `.rz`, `.rzi`: towards zero.
    Zero,
    /// `.rm`, `.rmi`: towards negative infinity.
    Down,
    /// `.rp`, `.rpi`: towards positive infinity.
    Up,
}

/// An opcode with its modifiers.
#[derive(Debug, Clone)]
pub(crate) struct Opcode<'a> {
    /// What comes before the first point.
    pub(crate) name: &'a str,
    /// The rounding modifier, if there is one.
    pub(crate) rounding: Option<Rounding>,
    /// Whether the rounding modifier is one to an integer (`.rzi`).
    pub(crate) to_integer: bool,
    /// `.ftz`: subnormal inputs and results become zeros of the same sign.
    pub(crate) ftz: bool,
    /// `.sat`: the result is clamped, to [0, 1] or to the range of the type.
    pub(crate) sat: bool,
    /// `.NaN`: a NaN among the inputs is the result.
    pub(crate) nan: bool,
    /// `.approx`.
    pub(crate) approx: bool,
    /// `.full`.
    pub(crate) full: bool,
    /// All other modifiers that are no types: `hi`, `wide`, `lt`, `wrap`, ...
    pub(crate) modifiers: Vec<&'a str>,
    /// Types, in order: the result's comes first where there are two.
    pub(crate) types: Vec<&'a str>,
}

impl<'a> Opcode<'a> {
    /// `None` where a modifier occurs twice or there is no type.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split('.');
        let mut opcode = Self {
            name: parts.next()?,
            rounding: None,
            to_integer: false,
            ftz: false,
            sat: false,
            nan: false,
            approx: false,
            full: false,
            modifiers: Vec::new(),
            types: Vec::new(),
        };
        for part in parts {
            if let Some((rounding, to_integer)) = rounding(part) {
                if opcode.rounding.replace(rounding).is_some() {
                    return None;
                }
                opcode.to_integer = to_integer;
                continue;
            }
            let flag = match part {
                "ftz" => &mut opcode.ftz,
                "sat" => &mut opcode.sat,
                // `setp.nan` is a comparison and is written in lower case.
                "NaN" => &mut opcode.nan,
                "approx" => &mut opcode.approx,
                "full" => &mut opcode.full,
                _ if is_type(part) => {
                    opcode.types.push(part);
                    continue;
                }
                _ => {
                    opcode.modifiers.push(part);
                    continue;
                }
            };
            if std::mem::replace(flag, true) {
                return None;
            }
        }
        (!opcode.types.is_empty()).then_some(opcode)
    }

    /// The type, where there is one.
    pub(crate) fn only_type(&self) -> Option<&'a str> {
        match *self.types {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Whether the first type is a floating-point type.
    pub(crate) fn is_float(&self) -> bool {
        matches!(
            self.types.first(),
            Some(&("f16" | "bf16" | "f16x2" | "bf16x2" | "f32" | "f64"))
        )
    }

    /// Whether no modifier is there that only floating-point operations have.
    pub(crate) fn is_plain_integer(&self) -> bool {
        self.rounding.is_none() && !self.ftz && !self.nan && !self.approx && !self.full
    }
}

fn rounding(part: &str) -> Option<(Rounding, bool)> {
    Some(match part {
        "rn" => (Rounding::Nearest, false),
        "rz" => (Rounding::Zero, false),
        "rm" => (Rounding::Down, false),
        "rp" => (Rounding::Up, false),
        "rni" => (Rounding::Nearest, true),
        "rzi" => (Rounding::Zero, true),
        "rmi" => (Rounding::Down, true),
        "rpi" => (Rounding::Up, true),
        _ => return None,
    })
}

fn is_type(part: &str) -> bool {
    matches!(
        part,
        "b16"
            | "b32"
            | "b64"
            | "s8"
            | "u8"
            | "s16"
            | "u16"
            | "s32"
            | "u32"
            | "s64"
            | "u64"
            | "s16x2"
            | "u16x2"
            | "f16"
            | "bf16"
            | "f16x2"
            | "bf16x2"
            | "f32"
            | "f64"
    )
}
