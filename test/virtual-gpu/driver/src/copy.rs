//! Copies and fills between memory of hosts and devices.
//!
//! An address of the virtual GPU's memory is told from a host pointer by its value, as with unified
//! addressing. Everything else is memory of the program: that it is there is the program's promise, as with
//! the real driver.

use std::sync::Arc;

use crate::capture;
use crate::context::Context;
use crate::driver::{Driver, lock};
use crate::error::{CudaError, Result};
use crate::stream::{Mark, Stream};

/// Where addresses of devices lie. What is there and not allocated is an error, no host pointer.
const DEVICE_ADDRESSES: std::ops::Range<u64> = 0x9000_0000_0000..0xE000_0000_0000;

/// One piece of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) to: u64,
    pub(crate) from: u64,
    pub(crate) size: u64,
}

/// How a copy behaves beside its caller.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Timing {
    /// It has ended when the function returns.
    Synchronous,
    /// It ends at the stream's turn; only memory that can be paged out is read or written before the function
    /// returns.
    Asynchronous,
}

/// Copies some pieces at a stream's turn.
pub(crate) fn submit(
    driver: &'static Driver,
    stream: &Arc<Stream>,
    pieces: Vec<Piece>,
    timing: Timing,
) -> Result<()> {
    let mut staged = Vec::new();
    let mut is_read_back = false;
    for piece in &pieces {
        check(driver, piece.to, piece.size)?;
        check(driver, piece.from, piece.size)?;
        is_read_back |= is_pageable(driver, piece.to);
    }
    let stages = timing == Timing::Asynchronous && pieces.iter().any(|piece| is_pageable(driver, piece.from));
    if stages && !is_read_back {
        // The program may change it as soon as the function returns.
        for piece in &pieces {
            let mut bytes = vec![0; usize::try_from(piece.size).map_err(|_| CudaError::INVALID_VALUE)?];
            read(driver, piece.from, &mut bytes)?;
            staged.push(bytes);
        }
    }
    let mark = stream.submit(Box::new(move |state| {
        state?;
        for (index, piece) in pieces.iter().enumerate() {
            match staged.get(index) {
                Some(bytes) => write(driver, piece.to, bytes)?,
                None => copy(driver, *piece)?,
            }
        }
        Ok(())
    }))?;
    if timing == Timing::Synchronous || is_read_back {
        mark.wait();
        stream.context.check()?;
    }
    Ok(())
}

/// Rows of a pattern that is written again and again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    pub(crate) to: u64,
    /// Bytes from one row to the next.
    pub(crate) pitch: u64,
    pub(crate) pattern: u32,
    /// Bytes of the pattern: 1, 2 or 4.
    pub(crate) pattern_bytes: u64,
    /// Elements of a row.
    pub(crate) width: u64,
    pub(crate) rows: u64,
}

/// Fills rows at a stream's turn.
pub(crate) fn submit_fill(driver: &'static Driver, stream: &Arc<Stream>, fill: Fill) -> Result<Mark> {
    let row_bytes = fill.width.checked_mul(fill.pattern_bytes);
    let row_bytes = row_bytes.ok_or(CudaError::INVALID_VALUE)?;
    let before = fill.rows.saturating_sub(1).checked_mul(fill.pitch);
    let size = before.and_then(|before| before.checked_add(row_bytes));
    let size = size.ok_or(CudaError::INVALID_VALUE)?;
    if !fill.to.is_multiple_of(fill.pattern_bytes) || (fill.rows > 1 && fill.pitch < row_bytes) {
        return Err(CudaError::INVALID_VALUE);
    }
    if row_bytes > 0 && fill.rows > 0 {
        check(driver, fill.to, size)?;
        if driver.memory.find(fill.to).is_none() {
            return Err(CudaError::INVALID_VALUE);
        }
    }
    stream.submit(Box::new(move |state| {
        state?;
        let pattern = fill.pattern.to_le_bytes();
        for row in 0..fill.rows {
            let at = fill.to + row * fill.pitch;
            driver
                .memory
                .fill(at, &pattern[..fill.pattern_bytes as usize], fill.width)?;
        }
        Ok(())
    }))
}

/// An error where the bytes are said to be a device's and are not.
fn check(driver: &Driver, address: u64, size: u64) -> Result<()> {
    if size == 0 {
        return Ok(());
    }
    if address == 0 {
        return Err(CudaError::INVALID_VALUE);
    }
    match driver.memory.find(address) {
        Some((start, length, _)) if size <= length - (address - start) => Ok(()),
        None if !DEVICE_ADDRESSES.contains(&address) => Ok(()),
        _ => Err(CudaError::INVALID_VALUE),
    }
}

/// Whether an address is memory of the program that no function of the driver allocated or registered.
fn is_pageable(driver: &Driver, address: u64) -> bool {
    driver.memory.find(address).is_none() && !is_registered(driver, address)
}

/// Whether an address is memory of the program that was registered.
pub(crate) fn is_registered(driver: &Driver, address: u64) -> bool {
    let registered = lock(&driver.registered);
    registered
        .iter()
        .any(|(&start, &size)| address >= start && address - start < size)
}

fn copy(driver: &Driver, piece: Piece) -> Result<()> {
    let Piece { to, from, size } = piece;
    if size == 0 {
        return Ok(());
    }
    match (
        driver.memory.find(to).is_some(),
        driver.memory.find(from).is_some(),
    ) {
        (true, true) => driver.memory.copy(to, from, size)?,
        (true, false) => driver.memory.write(to, host_bytes(from, size)?)?,
        (false, true) => driver.memory.read(from, host_bytes_mut(to, size)?)?,
        (false, false) => {
            let size = usize::try_from(size).map_err(|_| CudaError::INVALID_VALUE)?;
            // SAFETY: the program says that both are memory of it, of so many bytes; they may overlap.
            unsafe { std::ptr::copy(from as *const u8, to as *mut u8, size) };
        }
    }
    Ok(())
}

fn read(driver: &Driver, from: u64, bytes: &mut [u8]) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    if driver.memory.find(from).is_some() {
        driver.memory.read(from, bytes)?;
    } else {
        bytes.copy_from_slice(host_bytes(from, bytes.len() as u64)?);
    }
    Ok(())
}

fn write(driver: &Driver, to: u64, bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    if driver.memory.find(to).is_some() {
        driver.memory.write(to, bytes)?;
    } else {
        host_bytes_mut(to, bytes.len() as u64)?.copy_from_slice(bytes);
    }
    Ok(())
}

fn host_bytes<'a>(address: u64, size: u64) -> Result<&'a [u8]> {
    let size = usize::try_from(size).map_err(|_| CudaError::INVALID_VALUE)?;
    // SAFETY: the program says that it is memory of it, of so many bytes, and leaves it alone until the copy
    // has ended.
    Ok(unsafe { std::slice::from_raw_parts(address as *const u8, size) })
}

fn host_bytes_mut<'a>(address: u64, size: u64) -> Result<&'a mut [u8]> {
    let size = usize::try_from(size).map_err(|_| CudaError::INVALID_VALUE)?;
    // SAFETY: the program says that it is memory of it, of so many bytes, and leaves it alone until the copy
    // has ended.
    Ok(unsafe { std::slice::from_raw_parts_mut(address as *mut u8, size) })
}

/// Copies a piece before it returns, in the order of the context's default stream.
pub(crate) fn synchronous(driver: &'static Driver, context: &Arc<Context>, piece: Piece) -> Result<()> {
    capture::check_use(context.default_stream())?;
    submit(driver, context.default_stream(), vec![piece], Timing::Synchronous)
}
