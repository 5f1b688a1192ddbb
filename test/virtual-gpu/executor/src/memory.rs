//! The memory that all kernels and copies of a process share.

mod host;
mod raw;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use offloom_ptx_arithmetic::Lanes;
use thiserror::Error;

use raw::Region;

/// Where addresses of devices begin. No host pointer of x86_64 or AArch64 Linux lies there, so a program that
/// follows a device's address on the host gets a signal, not somebody's bytes.
const FIRST_ADDRESS: u64 = 0x9000_0000_0000;
/// Where addresses of devices end.
const END_OF_ADDRESSES: u64 = 0xE000_0000_0000;
/// What addresses of `cuMemAlloc` are a multiple of, in bytes.
const ALIGNMENT: u64 = 512;
/// Bytes between allocations, so that an access a little outside of one is outside of all.
const GAP: u64 = 4096;
/// What addresses of memory for host and device are a multiple of: a page.
const HOST_ALIGNMENT: usize = 4096;

/// A fault of an allocation or a copy.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum MemoryError {
    /// The device has not so much memory left.
    #[error("out of memory: {wanted} bytes wanted, {free} free")]
    OutOfMemory {
        /// Bytes that were asked for.
        wanted: u64,
        /// Bytes that were left.
        free: u64,
    },
    /// Zero bytes, or a device that does not exist.
    #[error("an allocation of {size} bytes on device {device}")]
    InvalidRequest {
        /// Bytes that were asked for.
        size: u64,
        /// The device's number.
        device: usize,
    },
    /// The bytes are not all in one live allocation.
    #[error("{size} bytes at {address:#x} are not in live memory of a device")]
    NotAllocated {
        /// The first byte.
        address: u64,
        /// How many.
        size: u64,
    },
    /// An address to free at which no live allocation starts.
    #[error("{address:#x} is not the start of live memory of a device")]
    NotStart {
        /// The address.
        address: u64,
    },
}

/// Who owns an allocation, and so where it is counted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Owner {
    /// `cuMemAlloc` and module globals of that device.
    Device(usize),
    /// `malloc` of a kernel on that device.
    Heap(usize),
    /// `cuMemAllocHost`, `cuMemAllocManaged`: one pointer for host and devices. Not limited.
    Host,
}

/// One allocation. It lives on while somebody reads or writes it, even when it is freed.
#[derive(Debug)]
pub(crate) struct Allocation {
    address: u64,
    region: Region,
    owner: Owner,
}

impl Allocation {
    /// The offset in the region of `size` bytes at `address`, where all of them are inside.
    #[inline]
    pub(crate) fn offset(&self, address: u64, size: u64) -> Option<usize> {
        let offset = address.wrapping_sub(self.address);
        let length = self.region.len() as u64;
        if offset < length && size <= length - offset {
            Some(offset as usize)
        } else {
            None
        }
    }

    /// The offsets of elements of these lanes, where all of them are inside.
    #[inline]
    pub(crate) fn offsets(&self, addresses: &Lanes, mask: u32, size: u64) -> Option<Lanes> {
        let last = (self.region.len() as u64).checked_sub(size)?;
        let offsets = addresses.map(|address| address.wrapping_sub(self.address));
        let mut outside = 0;
        for (lane, &offset) in offsets.iter().enumerate() {
            outside |= u32::from(offset > last) << lane;
        }
        (outside & mask == 0).then_some(offsets)
    }

    /// The bytes.
    #[inline]
    pub(crate) fn region(&self) -> &Region {
        &self.region
    }
}

#[derive(Debug)]
struct State {
    allocations: BTreeMap<u64, Arc<Allocation>>,
    /// Memory of the program that kernels reach too.
    registered: BTreeMap<u64, Arc<Allocation>>,
    devices: Vec<Usage>,
    next: u64,
}

#[derive(Debug)]
struct Usage {
    limit: u64,
    used: u64,
    heap_limit: u64,
    heap_used: u64,
}

/// The global memory of all devices of a process, and host memory that devices reach: one space of addresses.
///
/// Every access is checked against live allocations. Addresses are never used twice, so that what is freed
/// stays detectable. Device memory is not addressable by the host. Memory of [`Owner::Host`] has the same
/// address on both sides: it is the host pointer.
///
/// Kernels, copies and the host program may work on the same bytes at the same time: each aligned element of
/// up to 8 bytes is read and written by one atomic access of the processor (relaxed or stronger), as devices
/// do; larger copies have no order.
#[derive(Debug)]
pub struct Memory {
    state: RwLock<State>,
    /// Counts frees, so that threads know when what they remember of allocations is out of date.
    epoch: AtomicU64,
    /// Whether kernels reach all memory of the process.
    reaches_host: AtomicBool,
}

impl Memory {
    /// Memory of devices with so many bytes each. The heap of a device's kernels may hold 8 MiB of it at
    /// first.
    #[must_use]
    pub fn new(bytes_of_devices: &[u64]) -> Arc<Self> {
        let devices = bytes_of_devices.iter().map(|&limit| Usage {
            limit,
            used: 0,
            heap_limit: 8 << 20,
            heap_used: 0,
        });
        Arc::new(Self {
            state: RwLock::new(State {
                allocations: BTreeMap::new(),
                registered: BTreeMap::new(),
                devices: devices.collect(),
                next: FIRST_ADDRESS,
            }),
            epoch: AtomicU64::new(0),
            reaches_host: AtomicBool::new(false),
        })
    }

    /// Sets how many bytes `malloc` in kernels of a device may have at a time (`CU_LIMIT_MALLOC_HEAP_SIZE`).
    pub fn set_heap_limit(&self, device: usize, bytes: u64) {
        if let Some(usage) = self.write_state().devices.get_mut(device) {
            usage.heap_limit = bytes;
        }
    }

    /// Sets whether kernels reach all memory that the process may read and write, as on devices that take
    /// part in the host's paging.
    ///
    /// The program must not unmap memory that a kernel accesses.
    pub fn set_reaches_host(&self, reaches_host: bool) {
        self.reaches_host.store(reaches_host, Ordering::Relaxed);
    }

    /// Lets kernels reach memory that the program has from elsewhere (`cuMemHostRegister`), until
    /// [`unregister`](Self::unregister).
    ///
    /// # Errors
    ///
    /// The process may not read and write all of it.
    pub fn register(&self, address: u64, size: u64) -> Result<(), MemoryError> {
        let error = MemoryError::NotAllocated { address, size };
        host::writable_part(address, size).ok_or(error)?;
        // Whole words, which are in the same pages.
        let start = address & !7;
        let end = (address + size).next_multiple_of(8);
        let region = Region::of_program(start, end - start).ok_or(error)?;
        let registered = Allocation {
            address: start,
            region,
            owner: Owner::Host,
        };
        self.write_state()
            .registered
            .insert(address, Arc::new(registered));
        Ok(())
    }

    /// Ends what [`register`](Self::register) began at this address.
    pub fn unregister(&self, address: u64) {
        self.write_state().registered.remove(&address);
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// Bytes of a device, and how many of them are free.
    #[must_use]
    pub fn total_and_free(&self, device: usize) -> Option<(u64, u64)> {
        let state = self.read_state();
        let usage = state.devices.get(device)?;
        Some((usage.limit, usage.limit - usage.used))
    }

    /// Allocates `size` bytes and returns their address, a multiple of 512 (4,096 for [`Owner::Host`]). They
    /// are zero.
    ///
    /// # Errors
    ///
    /// Zero bytes, no such device, no memory left.
    pub fn allocate(&self, size: u64, owner: Owner) -> Result<u64, MemoryError> {
        let mut state = self.write_state();
        let device = match owner {
            Owner::Device(device) | Owner::Heap(device) => device,
            Owner::Host => 0,
        };
        let invalid = MemoryError::InvalidRequest { size, device };
        if size == 0 {
            return Err(invalid);
        }
        let free = match owner {
            Owner::Host => u64::MAX,
            Owner::Device(device) => {
                let usage = state.devices.get(device).ok_or(invalid)?;
                usage.limit - usage.used
            }
            Owner::Heap(device) => {
                let usage = state.devices.get(device).ok_or(invalid)?;
                usage.heap_limit.saturating_sub(usage.heap_used)
            }
        };
        let out_of_memory = MemoryError::OutOfMemory { wanted: size, free };
        if size > free {
            return Err(out_of_memory);
        }
        let alignment = if owner == Owner::Host {
            HOST_ALIGNMENT
        } else {
            ALIGNMENT as usize
        };
        let region = usize::try_from(size)
            .ok()
            .and_then(|size| Region::new(size, alignment))
            .ok_or(out_of_memory)?;
        let address = if owner == Owner::Host {
            region.host_address()
        } else {
            let address = state.next;
            let end = address.checked_add(size).and_then(|end| end.checked_add(GAP));
            let end = end.filter(|&end| end < END_OF_ADDRESSES).ok_or(out_of_memory)?;
            state.next = end.next_multiple_of(ALIGNMENT);
            address
        };
        match owner {
            Owner::Host => {}
            Owner::Device(device) => state.devices[device].used += size,
            Owner::Heap(device) => state.devices[device].heap_used += size,
        }
        let allocation = Arc::new(Allocation {
            address,
            region,
            owner,
        });
        state.allocations.insert(address, allocation);
        Ok(address)
    }

    /// Ends an allocation. A kernel that still accesses it gets an error.
    ///
    /// # Errors
    ///
    /// No live allocation starts there.
    pub fn free(&self, address: u64) -> Result<(), MemoryError> {
        let mut state = self.write_state();
        let freed = state
            .allocations
            .remove(&address)
            .ok_or(MemoryError::NotStart { address })?;
        let size = freed.region.len() as u64;
        match freed.owner {
            Owner::Host => {}
            Owner::Device(device) => state.devices[device].used -= size,
            Owner::Heap(device) => state.devices[device].heap_used -= size,
        }
        self.epoch.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// The start, size and owner of the allocation that holds `address`.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<(u64, u64, Owner)> {
        let allocation = self.allocation(address, 1)?;
        Some((
            allocation.address,
            allocation.region.len() as u64,
            allocation.owner,
        ))
    }

    /// Reads bytes.
    ///
    /// # Errors
    ///
    /// They are not all in one live allocation.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let (allocation, offset) = self.place(address, bytes.len() as u64)?;
        allocation.region.read(offset, bytes);
        Ok(())
    }

    /// Writes bytes.
    ///
    /// # Errors
    ///
    /// They are not all in one live allocation: nothing is written.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let (allocation, offset) = self.place(address, bytes.len() as u64)?;
        allocation.region.write(offset, bytes);
        Ok(())
    }

    /// Writes `pattern` `count` times in a row.
    ///
    /// # Errors
    ///
    /// The bytes are not all in one live allocation: nothing is written.
    pub fn fill(&self, address: u64, pattern: &[u8], count: u64) -> Result<(), MemoryError> {
        let size = count.checked_mul(pattern.len() as u64);
        let size = size.ok_or(MemoryError::NotAllocated {
            address,
            size: u64::MAX,
        })?;
        if size == 0 {
            return Ok(());
        }
        let (allocation, offset) = self.place(address, size)?;
        // In pieces of some pages, so that a large fill needs no large copy.
        let repeat = (count as usize).min(65_536 / pattern.len().max(1)).max(1);
        let piece = pattern.repeat(repeat);
        let mut done = 0;
        while done < size as usize {
            let now = piece.len().min(size as usize - done);
            allocation.region.write(offset + done, &piece[..now]);
            done += now;
        }
        Ok(())
    }

    /// Copies `size` bytes. Source and destination may overlap: the result is then as if the source had been
    /// read before.
    ///
    /// # Errors
    ///
    /// One of them is not in one live allocation: nothing is written.
    pub fn copy(&self, to: u64, from: u64, size: u64) -> Result<(), MemoryError> {
        if size == 0 {
            return Ok(());
        }
        let (source, source_offset) = self.place(from, size)?;
        let (destination, destination_offset) = self.place(to, size)?;
        let mut buffer = vec![0; 65_536.min(size as usize)];
        let forwards = to <= from || to >= from + size;
        let mut done = 0;
        while done < size as usize {
            let now = buffer.len().min(size as usize - done);
            let at = if forwards {
                done
            } else {
                size as usize - done - now
            };
            source.region.read(source_offset + at, &mut buffer[..now]);
            destination.region.write(destination_offset + at, &buffer[..now]);
            done += now;
        }
        Ok(())
    }

    fn place(&self, address: u64, size: u64) -> Result<(Arc<Allocation>, usize), MemoryError> {
        let error = MemoryError::NotAllocated { address, size };
        let allocation = self.allocation(address, size).ok_or(error)?;
        let offset = allocation.offset(address, size).ok_or(error)?;
        Ok((allocation, offset))
    }

    /// The live allocation that holds these bytes.
    pub(crate) fn allocation(&self, address: u64, size: u64) -> Option<Arc<Allocation>> {
        let state = self.read_state();
        let (_, allocation) = state.allocations.range(..=address).next_back()?;
        allocation.offset(address, size)?;
        Some(Arc::clone(allocation))
    }

    /// What kernels reach at an address: live allocations, registered memory and, if that is set, all of the
    /// process.
    pub(crate) fn reached(&self, address: u64, size: u64) -> Option<Arc<Allocation>> {
        if let Some(allocation) = self.allocation(address, size) {
            return Some(allocation);
        }
        let registered = {
            let state = self.read_state();
            let mut all = state.registered.values();
            all.find(|registered| registered.offset(address, size).is_some())
                .cloned()
        };
        if registered.is_some() || !self.reaches_host.load(Ordering::Relaxed) {
            return registered;
        }
        let (start, size) = host::writable_part(address, size)?;
        Some(Arc::new(Allocation {
            address: start,
            region: Region::of_program(start, size)?,
            owner: Owner::Host,
        }))
    }

    /// A number that changes when something is freed.
    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    // A panic while the lock is held leaves the map whole: each change is one insertion or removal.
    fn read_state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_state(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let memory = Memory::new(&[1 << 20]);
        let address = memory.allocate(1000, Owner::Device(0)).unwrap();
        let bytes: Vec<u8> = (0..997).map(|byte| byte as u8).collect();
        memory.write(address + 3, &bytes).unwrap();
        let mut read = vec![0; 997];
        memory.read(address + 3, &mut read).unwrap();
        assert_eq!(read, bytes);
        assert_eq!(
            memory.find(address + 999),
            Some((address, 1000, Owner::Device(0)))
        );
        assert_eq!(memory.total_and_free(0), Some((1 << 20, (1 << 20) - 1000)));
    }

    #[test]
    fn accesses_outside_live_memory_are_errors_with_their_address() {
        let memory = Memory::new(&[1 << 20]);
        let address = memory.allocate(16, Owner::Device(0)).unwrap();
        let error = memory.write(address + 12, &[0; 8]).unwrap_err();
        assert_eq!(
            error,
            MemoryError::NotAllocated {
                address: address + 12,
                size: 8
            }
        );
        assert!(memory.read(address - 1, &mut [0]).is_err());
        memory.free(address).unwrap();
        assert!(memory.read(address, &mut [0]).is_err());
        assert_eq!(memory.free(address), Err(MemoryError::NotStart { address }));
        let again = memory.allocate(16, Owner::Device(0)).unwrap();
        assert_ne!(again, address, "freed addresses are not used again");
    }

    #[test]
    fn overlapping_copies_and_fills() {
        let memory = Memory::new(&[1 << 20]);
        let size = 200_000;
        let address = memory.allocate(size + 10, Owner::Device(0)).unwrap();
        let bytes: Vec<u8> = (0..size).map(|byte| (byte % 251) as u8).collect();
        let mut read = vec![0; size as usize];
        for (to, from) in [(10, 0), (0, 10)] {
            memory.write(address + from, &bytes).unwrap();
            memory.copy(address + to, address + from, size).unwrap();
            memory.read(address + to, &mut read).unwrap();
            assert!(read == bytes, "copy from {from} to {to}");
        }
        memory.fill(address + 1, &[1, 2, 3], 60_001).unwrap();
        memory.read(address + 1, &mut read[..180_003]).unwrap();
        assert!(read[..180_003].chunks(3).all(|piece| piece == [1, 2, 3]));
    }

    #[test]
    fn limits_of_device_and_heap() {
        let memory = Memory::new(&[1000]);
        memory.set_heap_limit(0, 100);
        assert_eq!(
            memory.allocate(1001, Owner::Device(0)),
            Err(MemoryError::OutOfMemory {
                wanted: 1001,
                free: 1000
            })
        );
        let heap = memory.allocate(100, Owner::Heap(0)).unwrap();
        assert!(memory.allocate(1, Owner::Heap(0)).is_err());
        memory.free(heap).unwrap();
        memory.allocate(100, Owner::Heap(0)).unwrap();
        assert!(memory.allocate(0, Owner::Device(0)).is_err());
        assert!(memory.allocate(8, Owner::Device(1)).is_err());
    }

    #[test]
    fn host_memory_has_one_address() {
        let memory = Memory::new(&[1 << 20]);
        let address = memory.allocate(64, Owner::Host).unwrap();
        assert!(address < FIRST_ADDRESS && address.is_multiple_of(4096));
        memory.write(address, &[7; 64]).unwrap();
        let mut byte = [0];
        memory.read(address + 63, &mut byte).unwrap();
        assert_eq!(byte, [7]);
    }
}
