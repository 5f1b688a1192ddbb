//! How many blocks of a kernel fit.

use std::ffi::{c_int, c_uint};

use super::Handle;
use super::arguments::Out;
use super::functions::function;
use crate::error::{CudaError, Result};

/// How much dynamic shared memory a block of so many threads needs.
type SharedOfBlock = Option<extern "C" fn(c_int) -> usize>;

super::exports! {
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: Out<c_int>, handle: Handle, threads: c_int, shared: usize) {
        active_blocks(blocks, handle, threads, shared)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: Out<c_int>,
        handle: Handle,
        threads: c_int,
        shared: usize,
        _flags: c_uint,
    ) {
        active_blocks(blocks, handle, threads, shared)
    }

    fn cuOccupancyMaxPotentialBlockSize(
        grid: Out<c_int>,
        block: Out<c_int>,
        handle: Handle,
        shared_of_block: SharedOfBlock,
        shared: usize,
        limit: c_int,
    ) {
        block_size(grid, block, handle, shared_of_block, shared, limit)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: Out<c_int>,
        block: Out<c_int>,
        handle: Handle,
        shared_of_block: SharedOfBlock,
        shared: usize,
        limit: c_int,
        _flags: c_uint,
    ) {
        block_size(grid, block, handle, shared_of_block, shared, limit)
    }
}

fn active_blocks(blocks: Out<c_int>, handle: Handle, threads: c_int, shared: usize) -> Result<()> {
    let (_, function) = function(handle)?;
    let threads = u32::try_from(threads).map_err(|_| CudaError::INVALID_VALUE)?;
    if threads == 0 {
        return Err(CudaError::INVALID_VALUE);
    }
    blocks.set(function.blocks_per_multiprocessor(threads, shared as u64) as c_int)
}

fn block_size(
    grid: Out<c_int>,
    block: Out<c_int>,
    handle: Handle,
    shared_of_block: SharedOfBlock,
    shared: usize,
    limit: c_int,
) -> Result<()> {
    let (_, function) = function(handle)?;
    let limit = u32::try_from(limit).map_err(|_| CudaError::INVALID_VALUE)?;
    let (blocks, threads) = function.best_block(limit, |threads| match shared_of_block {
        Some(needed) => needed(threads as c_int) as u64,
        None => shared as u64,
    });
    grid.set(blocks as c_int)?;
    block.set(threads as c_int)
}
