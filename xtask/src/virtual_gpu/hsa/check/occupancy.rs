//! How many wavefronts a SIMD holds at a time, as far as vector registers decide ("Shader Register Unit" and
//! "Compute Unit" of AMD's instruction set guides; `getMaxNumVGPRs` of LLVM's AMDGPU subtarget).

/// What a SIMD has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Simd {
    /// Registers for each lane.
    registers: u32,
    most: u32,
}

impl Simd {
    /// That of a processor.
    pub(super) fn of(processor: &str) -> Self {
        match processor {
            // Accumulation registers are of the same file.
            "gfx90a" => Self {
                registers: 512,
                most: 8,
            },
            // In wavefronts of 32.
            "gfx1030" => Self {
                registers: 1024,
                most: 16,
            },
            _ => Self {
                registers: 256,
                most: 10,
            },
        }
    }

    /// How many wavefronts there are of work-items with so many registers.
    pub(super) fn wavefronts(self, registers: u32) -> u32 {
        (self.registers / registers.max(1)).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_decide() {
        assert_eq!(Simd::of("gfx90a").wavefronts(24), 8);
        assert_eq!(Simd::of("gfx90a").wavefronts(128), 4);
        assert_eq!(Simd::of("gfx1030").wavefronts(64), 16);
        assert_eq!(Simd::of("gfx1030").wavefronts(128), 8);
        assert_eq!(Simd::of("gfx906").wavefronts(0), 10);
    }
}
