//! Copies and fills.

use std::ffi::c_uint;

use super::arguments::In;
use super::{Handle, context_of, stream};
use crate::context::current;
use crate::copy::{self, Fill, Piece, Timing};
use crate::driver::driver;
use crate::error::{CudaError, Result};

/// `CU_MEMORYTYPE_HOST`, `_DEVICE`, `_UNIFIED`.
const HOST: c_uint = 1;
const DEVICE: c_uint = 2;
const UNIFIED: c_uint = 4;

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Rectangle {
    from: Side,
    to: Side,
    width: usize,
    height: usize,
}

/// Source or destination of a [`Rectangle`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Side {
    x: usize,
    y: usize,
    kind: c_uint,
    host: u64,
    device: u64,
    array: u64,
    pitch: usize,
}

super::exports! {
    fn cuMemcpyHtoD_v2(to: u64, from: u64, size: usize) {
        synchronous(to, from, size)
    }

    fn cuMemcpyDtoH_v2(to: u64, from: u64, size: usize) {
        synchronous(to, from, size)
    }

    fn cuMemcpyDtoD_v2(to: u64, from: u64, size: usize) {
        synchronous(to, from, size)
    }

    fn cuMemcpy(to: u64, from: u64, size: usize) {
        synchronous(to, from, size)
    }

    fn cuMemcpyHtoDAsync_v2(to: u64, from: u64, size: usize, handle: Handle) {
        asynchronous(to, from, size, handle)
    }

    fn cuMemcpyDtoHAsync_v2(to: u64, from: u64, size: usize, handle: Handle) {
        asynchronous(to, from, size, handle)
    }

    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, size: usize, handle: Handle) {
        asynchronous(to, from, size, handle)
    }

    fn cuMemcpyAsync(to: u64, from: u64, size: usize, handle: Handle) {
        asynchronous(to, from, size, handle)
    }

    fn cuMemcpyPeer(to: u64, to_context: Handle, from: u64, from_context: Handle, size: usize) {
        check_contexts(to_context, from_context)?;
        synchronous(to, from, size)
    }

    fn cuMemcpyPeerAsync(
        to: u64,
        to_context: Handle,
        from: u64,
        from_context: Handle,
        size: usize,
        handle: Handle,
    ) {
        check_contexts(to_context, from_context)?;
        asynchronous(to, from, size, handle)
    }

    fn cuMemcpy2D_v2(rectangle: In<Rectangle>) {
        let (driver, context) = current()?;
        let rows = rows(rectangle.get()?)?;
        copy::submit(driver, context.default_stream(), rows, Timing::Synchronous)
    }

    fn cuMemcpy2DAsync_v2(rectangle: In<Rectangle>, handle: Handle) {
        let (driver, stream) = stream(handle)?;
        copy::submit(driver, &stream, rows(rectangle.get()?)?, Timing::Asynchronous)
    }

    fn cuMemsetD8_v2(to: u64, value: u8, count: usize) {
        fill(row(to, value.into(), 1, count))
    }

    fn cuMemsetD16_v2(to: u64, value: u16, count: usize) {
        fill(row(to, value.into(), 2, count))
    }

    fn cuMemsetD32_v2(to: u64, value: u32, count: usize) {
        fill(row(to, value, 4, count))
    }

    fn cuMemsetD8Async(to: u64, value: u8, count: usize, handle: Handle) {
        fill_async(row(to, value.into(), 1, count), handle)
    }

    fn cuMemsetD16Async(to: u64, value: u16, count: usize, handle: Handle) {
        fill_async(row(to, value.into(), 2, count), handle)
    }

    fn cuMemsetD32Async(to: u64, value: u32, count: usize, handle: Handle) {
        fill_async(row(to, value, 4, count), handle)
    }

    fn cuMemsetD2D8_v2(to: u64, pitch: usize, value: u8, width: usize, height: usize) {
        fill(rectangle(to, pitch, value.into(), 1, [width, height]))
    }

    fn cuMemsetD2D16_v2(to: u64, pitch: usize, value: u16, width: usize, height: usize) {
        fill(rectangle(to, pitch, value.into(), 2, [width, height]))
    }

    fn cuMemsetD2D32_v2(to: u64, pitch: usize, value: u32, width: usize, height: usize) {
        fill(rectangle(to, pitch, value, 4, [width, height]))
    }

    fn cuMemsetD2D8Async(to: u64, pitch: usize, value: u8, width: usize, height: usize, handle: Handle) {
        fill_async(rectangle(to, pitch, value.into(), 1, [width, height]), handle)
    }

    fn cuMemsetD2D16Async(to: u64, pitch: usize, value: u16, width: usize, height: usize, handle: Handle) {
        fill_async(rectangle(to, pitch, value.into(), 2, [width, height]), handle)
    }

    fn cuMemsetD2D32Async(to: u64, pitch: usize, value: u32, width: usize, height: usize, handle: Handle) {
        fill_async(rectangle(to, pitch, value, 4, [width, height]), handle)
    }
}

fn synchronous(to: u64, from: u64, size: usize) -> Result<()> {
    let (driver, context) = current()?;
    let size = size as u64;
    copy::synchronous(driver, &context, Piece { to, from, size })
}

fn asynchronous(to: u64, from: u64, size: usize, handle: Handle) -> Result<()> {
    let (driver, stream) = stream(handle)?;
    let size = size as u64;
    copy::submit(
        driver,
        &stream,
        vec![Piece { to, from, size }],
        Timing::Asynchronous,
    )
}

fn check_contexts(to: Handle, from: Handle) -> Result<()> {
    let driver = driver()?;
    context_of(driver, to)?;
    context_of(driver, from).map(drop)
}

/// The rows of a rectangle that is copied.
fn rows(rectangle: Rectangle) -> Result<Vec<Piece>> {
    let start = |side: Side, height: usize| {
        let base = match side.kind {
            HOST => side.host,
            DEVICE | UNIFIED => side.device,
            // Arrays, which textures are made of.
            _ => return Err(CudaError::NOT_SUPPORTED),
        };
        if height > 1 && side.pitch < rectangle.width {
            return Err(CudaError::INVALID_VALUE);
        }
        let last_row = side
            .y
            .checked_add(height)
            .and_then(|rows| rows.checked_mul(side.pitch));
        let end = last_row.and_then(|offset| offset.checked_add(side.x));
        let end = end.and_then(|end| base.checked_add(end as u64));
        end.ok_or(CudaError::INVALID_VALUE)?;
        Ok(base + (side.y * side.pitch + side.x) as u64)
    };
    let (from, to) = (
        start(rectangle.from, rectangle.height)?,
        start(rectangle.to, rectangle.height)?,
    );
    let pieces = (0..rectangle.height).map(|row| Piece {
        to: to + (row * rectangle.to.pitch) as u64,
        from: from + (row * rectangle.from.pitch) as u64,
        size: rectangle.width as u64,
    });
    Ok(pieces.collect())
}

fn row(to: u64, pattern: u32, pattern_bytes: u64, count: usize) -> Fill {
    rectangle(to, 0, pattern, pattern_bytes, [count, 1])
}

fn rectangle(to: u64, pitch: usize, pattern: u32, pattern_bytes: u64, [width, height]: [usize; 2]) -> Fill {
    Fill {
        to,
        pitch: pitch as u64,
        pattern,
        pattern_bytes,
        width: width as u64,
        rows: height as u64,
    }
}

fn fill(fill: Fill) -> Result<()> {
    let (driver, context) = current()?;
    copy::submit_fill(driver, context.default_stream(), fill)?.wait();
    context.check()
}

fn fill_async(fill: Fill, handle: Handle) -> Result<()> {
    let (driver, stream) = stream(handle)?;
    copy::submit_fill(driver, &stream, fill).map(drop)
}
