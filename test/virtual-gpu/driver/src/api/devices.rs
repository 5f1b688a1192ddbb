//! Devices: how many, and what they are like.

use std::ffi::{c_char, c_int, c_uint};

use super::arguments::{In, Out};
use crate::driver::{Driver, driver, initialize};
use crate::error::{CudaError, Result, describe};
use crate::function::{SHARED_BYTES, max_blocks};
use crate::settings::Settings;

/// Kilohertz that the clocks of the device are said to have: it has none.
const CLOCK_RATE: c_int = 1_000_000;

/// The last number of `CUdevice_attribute` that CUDA 12.9 knows.
const LAST_ATTRIBUTE: c_uint = 143;

/// The bytes by which rows of images and textures are aligned.
const ALIGNMENT: c_int = 512;

super::exports! {
    fn cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        initialize()
    }

    fn cuDriverGetVersion(version: Out<c_int>) {
        // Programs may ask before `cuInit`.
        let settings = Settings::read().map_err(|_| CudaError::NO_DEVICE)?;
        version.set(settings.version)
    }

    fn cuGetErrorString(error: u32, text: Out<*const c_char>) {
        let Some((_, string)) = describe(error) else {
            text.set(std::ptr::null())?;
            return Err(CudaError::INVALID_VALUE);
        };
        text.set(string.as_ptr())
    }

    fn cuGetErrorName(error: u32, text: Out<*const c_char>) {
        let Some((name, _)) = describe(error) else {
            text.set(std::ptr::null())?;
            return Err(CudaError::INVALID_VALUE);
        };
        text.set(name.as_ptr())
    }

    fn cuDeviceGetCount(count: Out<c_int>) {
        count.set(driver()?.devices.len() as c_int)
    }

    fn cuDeviceGet(device: Out<c_int>, ordinal: c_int) {
        driver()?.device(ordinal)?;
        device.set(ordinal)
    }

    fn cuDeviceGetName(name: Out<c_char>, size: c_int, device: c_int) {
        let (major, minor) = driver()?.device(device)?.properties.compute_capability;
        name.set_string(&format!("Offloom virtual GPU sm_{major}{minor}"), size)
    }

    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: c_int) {
        let driver = driver()?;
        driver.device(device)?;
        bytes.set(driver.settings.memory as usize)
    }

    fn cuDeviceComputeCapability(major: Out<c_int>, minor: Out<c_int>, device: c_int) {
        let capability = driver()?.device(device)?.properties.compute_capability;
        major.set(capability.0 as c_int)?;
        minor.set(capability.1 as c_int)
    }

    fn cuDeviceGetUuid(uuid: Out<[u8; 16]>, device: c_int) {
        uuid.set(uuid_of(driver()?, device)?)
    }

    fn cuDeviceGetUuid_v2(uuid: Out<[u8; 16]>, device: c_int) {
        uuid.set(uuid_of(driver()?, device)?)
    }

    fn cuDeviceGetPCIBusId(name: Out<c_char>, size: c_int, device: c_int) {
        driver()?.device(device)?;
        name.set_string(&format!("0000:{:02X}:00.0", device + 1), size)
    }

    fn cuDeviceGetByPCIBusId(device: Out<c_int>, name: In<c_char>) {
        let name = name.string()?;
        let bus = name.split(':').rev().nth(1).and_then(|bus| c_int::from_str_radix(bus, 16).ok());
        let number = bus.map_or(-1, |bus| bus - 1);
        driver()?.device(number)?;
        device.set(number)
    }

    fn cuDeviceGetAttribute(value: Out<c_int>, attribute: c_uint, device: c_int) {
        value.set(self::attribute(driver()?, attribute, device)?)
    }

    fn cuDeviceCanAccessPeer(can: Out<c_int>, device: c_int, peer: c_int) {
        let driver = driver()?;
        driver.device(device)?;
        driver.device(peer)?;
        can.set(c_int::from(device != peer))
    }
}

/// A number that tells the devices of a process apart.
fn uuid_of(driver: &Driver, device: c_int) -> Result<[u8; 16]> {
    driver.device(device)?;
    let mut uuid = *b"Offloom virtual ";
    uuid[15] = device as u8;
    Ok(uuid)
}

/// A value of `CUdevice_attribute`.
fn attribute(driver: &Driver, attribute: c_uint, device: c_int) -> Result<c_int> {
    let properties = &driver.device(device)?.properties;
    let value = match attribute {
        1 => properties.max_threads_per_block,
        2 => properties.max_block[0],
        3 => properties.max_block[1],
        4 => properties.max_block[2],
        5 => properties.max_grid[0],
        6 => properties.max_grid[1],
        7 => properties.max_grid[2],
        // Shared memory of a block; constant memory.
        8 => SHARED_BYTES,
        9 => 64 << 10,
        // Threads of a warp.
        10 => 32,
        // The largest pitch.
        11 => c_int::MAX as u32,
        // Registers of a block, and of a multiprocessor.
        12 | 82 => properties.registers_per_block,
        13 | 36 => return Ok(CLOCK_RATE),
        14 | 30 | 51 => return Ok(ALIGNMENT),
        16 => properties.multiprocessors,
        // Copies beside kernels; kernels beside each other; host memory that devices reach; unified
        // addressing; priorities; caches; managed memory; cooperative launches; registered memory; pools.
        15 | 19 | 31 | 40 | 41 | 78 | 79 | 80 | 83 | 95 | 99 | 115 => 1,
        // All of the host's memory; registered memory at the host's address.
        88 => u32::from(driver.settings.reaches_host),
        91 => 1,
        33 => device as u32 + 1,
        // Bits of the memory's bus; bytes of the second-level cache.
        37 => 5120,
        38 => 40 << 20,
        39 => properties.max_threads_per_multiprocessor,
        75 => properties.compute_capability.0,
        76 => properties.compute_capability.1,
        // Shared memory of a multiprocessor, of a block at most, and what the system takes of it.
        81 => properties.max_shared_bytes + (1 << 10),
        97 => properties.max_shared_bytes,
        111 => 1 << 10,
        106 => max_blocks(properties.compute_capability),
        // How much slower double precision is.
        87 => 2,
        number if (1..=LAST_ATTRIBUTE).contains(&number) => 0,
        _ => return Err(CudaError::INVALID_VALUE),
    };
    Ok(value as c_int)
}
