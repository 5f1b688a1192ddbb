//! The LLVM releases whose formats this crate knows.

/// An LLVM release. Formats that changed between releases take it as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LlvmVersion {
    /// LLVM 19.1.
    V19,
    /// LLVM 22.1.
    V22,
}

impl LlvmVersion {
    /// Every version, oldest first.
    pub const ALL: [Self; 2] = [Self::V19, Self::V22];

    /// The major version number.
    pub const fn major(self) -> u32 {
        match self {
            Self::V19 => 19,
            Self::V22 => 22,
        }
    }

    /// The other one.
    pub const fn other(self) -> Self {
        match self {
            Self::V19 => Self::V22,
            Self::V22 => Self::V19,
        }
    }
}
