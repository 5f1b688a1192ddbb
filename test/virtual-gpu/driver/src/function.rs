//! Kernels: what they need, and how many of their blocks fit.

use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use offloom_ptx::cubin::CubinKernel;
use offloom_virtual_gpu::{DeviceProperties, Kernel};

use crate::error::{CudaError, Result};
use crate::module::Module;

/// Dynamic and static shared memory of a block together, where no attribute asks for more.
pub(crate) const SHARED_BYTES: u32 = 48 << 10;

/// Shared memory that the system takes for each block since `sm_80`.
const RESERVED_SHARED_BYTES: u32 = 1 << 10;

/// Registers are given to warps in units of this many.
const REGISTER_UNIT: u32 = 256;

/// Threads of a warp.
const WARP: u32 = 32;

/// Registers of a thread where no cubin says how many: PTX alone was loaded.
const REGISTERS_OF_PTX: u32 = 32;

/// A kernel of a module.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) module: Arc<Module>,
    pub(crate) name: CString,
    pub(crate) kernel: Kernel,
    pub(crate) registers: u32,
    pub(crate) local_bytes: u32,
    /// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
    pub(crate) max_dynamic_shared: AtomicU32,
}

impl Function {
    pub(crate) fn new(module: Arc<Module>, kernel: &Kernel, needs: Option<&CubinKernel>) -> Result<Self> {
        Ok(Self {
            name: CString::new(kernel.name.as_str()).map_err(|_| CudaError::NOT_FOUND)?,
            registers: needs.map_or(REGISTERS_OF_PTX, |needs| needs.registers),
            local_bytes: needs.map_or(kernel.local_bytes, |needs| {
                needs.min_stack_bytes.unwrap_or(needs.frame_bytes)
            }),
            max_dynamic_shared: AtomicU32::new(SHARED_BYTES.saturating_sub(kernel.shared_bytes)),
            kernel: kernel.clone(),
            module,
        })
    }

    /// Its device.
    pub(crate) fn properties(&self) -> &DeviceProperties {
        self.module.program.properties()
    }

    /// Threads of a block at most: by the device, by the kernel's directives, and by its registers.
    pub(crate) fn max_threads(&self) -> u32 {
        let warps = self.properties().registers_per_block / self.registers_of_a_warp();
        self.kernel.max_threads_per_block.min(warps * WARP)
    }

    /// Sets how much dynamic shared memory a launch may ask for.
    pub(crate) fn set_max_dynamic_shared(&self, bytes: u32) -> Result<()> {
        let most = self
            .properties()
            .max_shared_bytes
            .saturating_sub(self.kernel.shared_bytes);
        if bytes > most {
            return Err(CudaError::INVALID_VALUE);
        }
        self.max_dynamic_shared.store(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// How many blocks of so many threads and bytes of dynamic shared memory fit on a multiprocessor.
    pub(crate) fn blocks_per_multiprocessor(&self, threads: u32, dynamic_shared: u64) -> u32 {
        let properties = self.properties();
        if threads == 0 || threads > self.max_threads() {
            return 0;
        }
        let warps = threads.div_ceil(WARP);
        let by_threads = properties.max_threads_per_multiprocessor / (warps * WARP);
        let by_registers = properties.registers_per_block / (self.registers_of_a_warp() * warps);
        let shared = u64::from(self.kernel.shared_bytes) + dynamic_shared + u64::from(RESERVED_SHARED_BYTES);
        let all = u64::from(properties.max_shared_bytes + RESERVED_SHARED_BYTES);
        let by_shared = u32::try_from(all / shared).unwrap_or(u32::MAX);
        by_threads
            .min(by_registers)
            .min(by_shared)
            .min(max_blocks(properties.compute_capability))
    }

    /// The size of blocks with which most threads run on a multiprocessor, and the blocks that fill the
    /// device.
    pub(crate) fn best_block(&self, limit: u32, dynamic_shared: impl Fn(u32) -> u64) -> (u32, u32) {
        let most = if limit == 0 { u32::MAX } else { limit }.min(self.max_threads());
        let mut best = (0, 0);
        let mut size = if most < WARP { most } else { most / WARP * WARP };
        while size > 0 {
            let blocks = self.blocks_per_multiprocessor(size, dynamic_shared(size));
            if blocks * size > best.0 * best.1 {
                best = (blocks, size);
            }
            size = size.saturating_sub(WARP);
        }
        (best.0 * self.properties().multiprocessors, best.1)
    }

    fn registers_of_a_warp(&self) -> u32 {
        (self.registers.max(1) * WARP).next_multiple_of(REGISTER_UNIT)
    }
}

/// Blocks of a multiprocessor at most.
pub(crate) fn max_blocks(capability: (u32, u32)) -> u32 {
    match capability {
        (7, 5) => 16,
        (8, 6 | 7) => 16,
        (8, 9) => 24,
        _ => 32,
    }
}
