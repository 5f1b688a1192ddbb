//! What a kernel is launched with, and the descriptor of it: right, or wrong on purpose.

use super::random::Random;

/// A scalar type of C and what a descriptor calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScalarType {
    /// In C.
    pub(crate) name: &'static str,
    /// In a descriptor.
    in_descriptor: &'static str,
    bits: u32,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Boolean,
    Integer,
    Half,
    Bfloat,
    Float,
    Double,
}

const fn scalar(name: &'static str, in_descriptor: &'static str, bits: u32, kind: Kind) -> ScalarType {
    ScalarType {
        name,
        in_descriptor,
        bits,
        kind,
    }
}

/// The types of arguments.
pub(crate) const SCALAR_TYPES: [ScalarType; 11] = [
    scalar("_Bool", "i8", 8, Kind::Boolean),
    scalar("signed char", "i8", 8, Kind::Integer),
    scalar("unsigned char", "i8", 8, Kind::Integer),
    scalar("short", "i16", 16, Kind::Integer),
    scalar("int", "i32", 32, Kind::Integer),
    scalar("unsigned", "i32", 32, Kind::Integer),
    scalar("long", "i64", 64, Kind::Integer),
    scalar("float", "float", 32, Kind::Float),
    scalar("double", "double", 64, Kind::Double),
    scalar("_Float16", "half", 16, Kind::Half),
    scalar("__bf16", "bfloat", 16, Kind::Bfloat),
];

/// The type of numbers of iterations.
pub(crate) const INT: ScalarType = SCALAR_TYPES[4];

/// A scalar argument: its name, type, and value as bits.
#[derive(Debug, Clone)]
pub(crate) struct Scalar {
    pub(crate) name: String,
    pub(crate) scalar_type: ScalarType,
    bits: u64,
    specialized: bool,
}

/// A pointer argument.
#[derive(Debug, Clone)]
pub(crate) struct Pointer {
    pub(crate) name: &'static str,
    /// Bytes past an address that is aligned to 128.
    pub(crate) offset: u64,
    /// The alignment the descriptor claims; none: nothing.
    claimed: Option<u64>,
}

/// The object that every kernel gets by reference, or by value: `struct box` of the prelude.
#[derive(Debug, Clone)]
pub(crate) struct Box {
    count: u32,
    scale: u32,
    word: u64,
    real: u64,
    specialized: bool,
    /// Whether a kernel gets it by value (`firstprivate`).
    pub(crate) by_value: bool,
}

impl Box {
    pub(crate) fn new(random: &mut Random) -> Self {
        Self {
            count: random.below(6) as u32,
            scale: (random.below(16) as f32 * 0.75 + 0.25).to_bits(),
            word: random.below(1000),
            real: (random.below(16) as f64 * 0.75 + 0.25).to_bits(),
            specialized: random.chance(75),
            by_value: random.chance(30),
        }
    }

    /// An expression of C that has the value.
    pub(crate) fn in_c(&self) -> String {
        format!(
            "(struct box){{{}, float_of({}u), {}ul, double_of({}ul)}}",
            self.count, self.scale, self.word, self.real
        )
    }

    fn item(&self, index: usize, mutant: Option<Mutant>) -> Option<String> {
        let count = if mutant == Some(Mutant::StaleContents) {
            self.count ^ 1
        } else {
            self.count
        };
        let bytes = [
            &count.to_le_bytes()[..],
            &self.scale.to_le_bytes(),
            &self.word.to_le_bytes(),
            &self.real.to_le_bytes(),
        ]
        .concat();
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.specialized.then(|| format!("{index}=contents:{text}"))
    }
}

/// A mistake that a pass could make, made in the descriptor instead: to the pass it is all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mutant {
    /// A value is masked to one byte too few.
    NarrowMask,
    /// A value goes to the next scalar of the same type.
    WrongArgument,
    /// A pointer is said to be of the next alignment class.
    HigherAlignment,
    /// A value is that of an earlier launch.
    StaleValue,
    /// The contents of an object are those of an earlier launch.
    StaleContents,
    /// Floating-point results are those of the constants in the source.
    SourceBits,
}

impl Scalar {
    pub(crate) fn new(random: &mut Random, name: String, scalar_type: ScalarType) -> Self {
        let bits = match scalar_type.kind {
            Kind::Boolean => random.below(2),
            Kind::Integer if random.chance(60) => random.below(12),
            Kind::Integer => random.next() & (u64::MAX >> (64 - scalar_type.bits)),
            // From 1 to just below 4, of either sign.
            Kind::Half => (0x3c00 + random.below(0x800)) | random.below(2) << 15,
            Kind::Bfloat => (0x3f80 + random.below(0x100)) | random.below(2) << 15,
            Kind::Float => u64::from((random.below(64) as f32 * 0.37 - 9.5).to_bits()),
            Kind::Double => (random.below(64) as f64 * 0.37 - 9.5).to_bits(),
        };
        Self {
            name,
            scalar_type,
            bits,
            specialized: random.chance(75),
        }
    }

    pub(crate) fn of_value(random: &mut Random, name: &str, value: u64) -> Self {
        Self {
            name: name.to_owned(),
            scalar_type: INT,
            bits: value,
            specialized: random.chance(75),
        }
    }

    /// The argument of a launch before, which differs where the descriptor says nothing of it. `index`: among
    /// the kernel's scalars.
    pub(crate) fn of_earlier_launch(&self, seed: u64, index: usize) -> Self {
        let mut random = Random::new(seed ^ (index as u64 + 1) << 40);
        match self.name.as_str() {
            _ if self.specialized => self.clone(),
            "n" => Self::of_value(&mut random, &self.name, 64 - self.bits / 2),
            "m" | "teams" | "threads" => Self::of_value(&mut random, &self.name, self.bits % 3 + 1),
            _ => Self::new(&mut random, self.name.clone(), self.scalar_type),
        }
    }

    /// Whether a kernel may change its copy: not every library has what makes a `__bf16` of a `float`, and a
    /// truth value that something is added to is a constant.
    pub(crate) fn can_be_changed(&self) -> bool {
        !matches!(self.scalar_type.kind, Kind::Boolean | Kind::Bfloat)
    }

    /// An expression of C that has the value.
    pub(crate) fn in_c(&self) -> String {
        let bits = self.bits;
        match self.scalar_type.kind {
            Kind::Half => format!("half_of({bits}u)"),
            Kind::Bfloat => format!("bfloat_of({bits}u)"),
            Kind::Float => format!("float_of({bits}u)"),
            Kind::Double => format!("double_of({bits}ul)"),
            Kind::Boolean | Kind::Integer => format!("({}){bits}ul", self.scalar_type.name),
        }
    }

    fn item(&self, index: usize, mutant: Option<Mutant>) -> Option<String> {
        if !self.specialized {
            return None;
        }
        let bits = match mutant {
            Some(Mutant::NarrowMask) => self.bits & (u64::MAX >> (64 - self.scalar_type.bits) >> 8),
            Some(Mutant::StaleValue) => self.bits ^ 1,
            _ => self.bits,
        };
        Some(format!("{index}={}:0x{bits:x}", self.scalar_type.in_descriptor))
    }
}

impl Pointer {
    pub(crate) fn new(random: &mut Random, name: &'static str) -> Self {
        let offset = random.pick(&[0_u64, 0, 8, 16, 24, 32, 64, 96]);
        let class = if offset == 0 {
            128
        } else {
            1 << offset.trailing_zeros()
        };
        let claimed = match random.below(4) {
            0 => None,
            1 if class > 8 => Some(class / 2),
            _ => Some(class),
        };
        Self {
            name,
            offset,
            claimed,
        }
    }

    fn item(&self, index: usize, mutant: Option<Mutant>) -> Option<String> {
        let claimed = self.claimed?;
        let class = match mutant {
            Some(Mutant::HigherAlignment) => (claimed * 2).min(128),
            _ => claimed,
        };
        Some(format!("{index}=align:{class}"))
    }
}

/// The items of a descriptor for a kernel whose parameters have these names.
pub(crate) fn items(
    parameters: &[String],
    scalars: &[Scalar],
    pointers: &[Pointer],
    object: &Box,
    mutant: Option<Mutant>,
) -> Vec<String> {
    let position = |name: &str| parameters.iter().position(|parameter| parameter == name);
    let mut items = Vec::new();
    for scalar in scalars {
        let Some(index) = position(&scalar.name) else {
            continue;
        };
        let index = if mutant == Some(Mutant::WrongArgument) {
            let same_type = |other: &&Scalar| other.scalar_type == scalar.scalar_type;
            let names: Vec<_> = scalars
                .iter()
                .filter(same_type)
                .filter_map(|other| position(&other.name))
                .collect();
            let own = names.iter().position(|&other| other == index).unwrap_or_default();
            names[(own + 1) % names.len()]
        } else {
            index
        };
        items.extend(scalar.item(index, mutant));
    }
    for pointer in pointers {
        if let Some(index) = position(pointer.name) {
            items.extend(pointer.item(index, mutant));
        }
    }
    if let Some(index) = position("box") {
        items.extend(object.item(index, mutant));
    }
    items
}
