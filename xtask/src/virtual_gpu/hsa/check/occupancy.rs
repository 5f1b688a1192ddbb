//! How many wavefronts a SIMD holds at a time, as far as vector registers decide
//! (`getVGPRAllocGranule` and `getTotalNumVGPRs` of LLVM's AMDGPU subtargets).

/// What a SIMD has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Simd {
    /// Registers for each lane.
    registers: u32,
    /// Those of a work-item are a multiple of this.
    unit: u32,
    most: u32,
}

impl Simd {
    /// That of a processor.
    pub(super) fn of(processor: &str) -> Self {
        match processor {
            // Accumulation registers are of the same file.
            "gfx90a" => Self {
                registers: 512,
                unit: 8,
                most: 8,
            },
            // In wavefronts of 32.
            "gfx1030" => Self {
                registers: 1024,
                unit: 16,
                most: 16,
            },
            _ => Self {
                registers: 256,
                unit: 4,
                most: 10,
            },
        }
    }

    /// How many wavefronts there are of work-items with so many registers.
    pub(super) fn wavefronts(self, registers: u32) -> u32 {
        let allocated = registers.max(1).next_multiple_of(self.unit);
        (self.registers / allocated).min(self.most)
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
        // 80 are allocated.
        assert_eq!(Simd::of("gfx1030").wavefronts(72), 12);
        assert_eq!(Simd::of("gfx906").wavefronts(0), 10);
    }
}
