//! Which programming model an image or an entry belongs to.
//!
//! LLVM 19 numbers them in order, LLVM 22 as a bit mask. Only HIP changed its number, and no number has two
//! meanings, so reading needs no version; writing does. Source: `llvm/Object/OffloadBinary.h`, `OffloadKind`.

use crate::LlvmVersion;
use crate::version::KindNumbering;

/// The programming model that an image or an entry belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OffloadKind {
    /// Unset: what the stock packager writes when `kind=` is missing or unknown to it.
    None,
    /// OpenMP target offloading.
    OpenMp,
    /// CUDA.
    Cuda,
    /// HIP.
    Hip,
    /// SYCL; known to LLVM 22 only.
    Sycl,
}

impl OffloadKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::None, Self::OpenMp, Self::Cuda, Self::Hip, Self::Sycl];

    /// The number that `version` writes, or `None` where it does not know the kind.
    pub const fn number(self, version: LlvmVersion) -> Option<u16> {
        Some(match (self, version.kinds) {
            (Self::None, _) => 0,
            (Self::OpenMp, _) => 1,
            (Self::Cuda, _) => 2,
            (Self::Hip, KindNumbering::Sequence) => 3,
            (Self::Hip, KindNumbering::Mask) => 4,
            (Self::Sycl, KindNumbering::Sequence) => return None,
            (Self::Sycl, KindNumbering::Mask) => 8,
        })
    }

    /// The kind a number stands for, in either release's numbering.
    pub const fn from_number(number: u16) -> Option<Self> {
        match number {
            0 => Some(Self::None),
            1 => Some(Self::OpenMp),
            2 => Some(Self::Cuda),
            3 | 4 => Some(Self::Hip),
            8 => Some(Self::Sycl),
            _ => None,
        }
    }

    /// The spelling of `kind=` on LLVM's command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::OpenMp => "openmp",
            Self::Cuda => "cuda",
            Self::Hip => "hip",
            Self::Sycl => "sycl",
        }
    }

    /// The kind spelt `name` on LLVM's command lines.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_lead_back_to_their_kind() {
        for kind in OffloadKind::ALL {
            assert_eq!(OffloadKind::from_name(kind.name()), Some(kind));
            for version in LlvmVersion::ALL {
                if let Some(number) = kind.number(version) {
                    assert_eq!(OffloadKind::from_number(number), Some(kind), "{version:?}");
                }
            }
        }
        assert_eq!(OffloadKind::from_number(77), None);
        assert_eq!(OffloadKind::Sycl.number(LlvmVersion::V19), None);
    }
}
