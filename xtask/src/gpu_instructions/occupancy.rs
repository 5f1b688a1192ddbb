//! How many warps of a kernel fit on a multiprocessor at a time, by the published limits of NVIDIA's
//! processors (CUDA C++ Programming Guide, "Compute Capabilities") and the units of allocation of CUDA's
//! occupancy calculator.

/// Threads of a warp.
const WARP: u32 = 32;

/// What a multiprocessor has, and in which units it gives it out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Multiprocessor {
    /// What compilers call the processor.
    pub(super) processor: &'static str,
    warps: u32,
    blocks: u32,
    registers: u32,
    /// Registers that a warp takes are a multiple of this.
    register_unit: u32,
    /// Warps of a block with registers are a multiple of this.
    warp_unit: u32,
    shared_bytes: u32,
    /// Shared memory that each block takes for the system.
    reserved_bytes: u32,
    shared_unit: u32,
}

/// Of compute capability 8.0.
pub(super) const SM_80: Multiprocessor = Multiprocessor {
    processor: "sm_80",
    warps: 64,
    blocks: 32,
    registers: 65536,
    register_unit: 256,
    warp_unit: 4,
    shared_bytes: 164 << 10,
    reserved_bytes: 1 << 10,
    shared_unit: 128,
};

/// Of compute capability 7.0.
pub(super) const SM_70: Multiprocessor = Multiprocessor {
    processor: "sm_70",
    shared_bytes: 96 << 10,
    reserved_bytes: 0,
    shared_unit: 256,
    ..SM_80
};

/// Of compute capability 9.0.
pub(super) const SM_90: Multiprocessor = Multiprocessor {
    processor: "sm_90",
    shared_bytes: 228 << 10,
    ..SM_80
};

impl Multiprocessor {
    /// How many warps there are at a time of blocks with so many threads, of which each takes so many
    /// registers, and each block so many bytes of shared memory; 0 where no block fits.
    pub(super) fn warps_at_a_time(self, threads: u32, registers: u32, shared_bytes: u32) -> u32 {
        let warps = threads.div_ceil(WARP).max(1);
        let registers_of_warp = (registers.max(1) * WARP).next_multiple_of(self.register_unit);
        // Each of the four schedulers has a quarter of the registers.
        let warps_with_registers = self.registers / registers_of_warp / self.warp_unit * self.warp_unit;
        let shared = (shared_bytes + self.reserved_bytes).next_multiple_of(self.shared_unit);
        let blocks = [
            self.blocks,
            self.warps / warps,
            warps_with_registers / warps,
            self.shared_bytes.checked_div(shared).unwrap_or(self.blocks),
        ];
        blocks.into_iter().min().unwrap_or(0) * warps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_least_of_decides() {
        // Threads: 16 blocks of 4 warps are all 64 warps.
        assert_eq!(SM_80.warps_at_a_time(128, 32, 0), 64);
        // Registers: 65536 / (64 * 32) = 32 warps.
        assert_eq!(SM_80.warps_at_a_time(128, 64, 0), 32);
        // 33 registers of a thread are 1280 of a warp: 51 warps, of which 48 in fours, in blocks of 8.
        assert_eq!(SM_80.warps_at_a_time(256, 33, 0), 48);
        // Blocks: 32 of one warp.
        assert_eq!(SM_80.warps_at_a_time(32, 16, 0), 32);
        // Shared memory: three blocks of 48 KiB and one reserved.
        assert_eq!(SM_80.warps_at_a_time(256, 16, 48 << 10), 24);
        assert_eq!(SM_80.warps_at_a_time(1024, 128, 0), 0);
        // None of it, and none reserved.
        assert_eq!(SM_70.warps_at_a_time(128, 32, 0), 64);
        // Two blocks on the one that has less, four on the one that has more.
        assert_eq!(SM_70.warps_at_a_time(256, 16, 48 << 10), 16);
        assert_eq!(SM_90.warps_at_a_time(256, 16, 48 << 10), 32);
    }
}
