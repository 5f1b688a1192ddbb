//! What a device is like.

/// The properties of a device that kernels can see or that limit launches.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DeviceProperties {
    /// The device's number in [`Memory`](crate::Memory).
    pub number: usize,
    /// Compute capability: major and minor. 8 and 0 for `sm_80`.
    pub compute_capability: (u32, u32),
    /// Multiprocessors: `%nsmid`.
    pub multiprocessors: u32,
    /// Threads of a block at most.
    pub max_threads_per_block: u32,
    /// Threads of a block in x, y, z at most.
    pub max_block: [u32; 3],
    /// Blocks of a grid in x, y, z at most.
    pub max_grid: [u32; 3],
    /// Bytes of shared memory of a block at most, static and dynamic, with
    /// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES` raised.
    pub max_shared_bytes: u32,
    /// Threads of a multiprocessor at most: how many blocks make progress beside each other.
    pub max_threads_per_multiprocessor: u32,
    /// Registers of a block at most, of 32 bits each.
    pub registers_per_block: u32,
}

impl DeviceProperties {
    /// A device of this compute capability with 16 multiprocessors and the limits of real ones.
    #[must_use]
    pub fn new(number: usize, compute_capability: (u32, u32)) -> Self {
        let (max_shared_bytes, max_threads_per_multiprocessor) = match compute_capability {
            (9.., _) => (227 << 10, 2048),
            (8, 0) => (163 << 10, 2048),
            (8, _) => (99 << 10, 1536),
            (7, 5) => (64 << 10, 1024),
            _ => (96 << 10, 2048),
        };
        Self {
            number,
            compute_capability,
            multiprocessors: 16,
            max_threads_per_block: 1024,
            max_block: [1024, 1024, 64],
            max_grid: [i32::MAX as u32, 65_535, 65_535],
            max_shared_bytes,
            max_threads_per_multiprocessor,
            registers_per_block: 65_536,
        }
    }
}
