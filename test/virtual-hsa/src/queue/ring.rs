//! The packets that the program writes, the indices, the doorbell.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicI64, AtomicU16, AtomicU64, Ordering};

use crate::memory::Pages;
use crate::packet::{PACKET_SIZE, Packet, TYPE_INVALID, is_invalid};

/// A ring of packets. The program writes into it; a header says whether a packet is there.
#[derive(Debug)]
pub(crate) struct Ring {
    pages: Pages,
    size: u64,
    /// The next packet that the device takes, and the next that the program reserves.
    pub(crate) read: AtomicU64,
    pub(crate) write: AtomicU64,
    /// The highest index that the doorbell was rung with; -1: it was not.
    rung: AtomicI64,
}

impl Ring {
    /// A ring of `size` packets, a power of 2.
    pub(super) fn new(size: u32) -> Option<Self> {
        let ring = Self {
            pages: Pages::of_host(size as usize * PACKET_SIZE)?,
            size: u64::from(size),
            read: AtomicU64::new(0),
            write: AtomicU64::new(0),
            rung: AtomicI64::new(-1),
        };
        for index in 0..ring.size {
            ring.header(index).store(TYPE_INVALID, Ordering::Release);
        }
        Some(ring)
    }

    /// Where the program writes packets.
    pub(super) fn base(&self) -> *mut c_void {
        ptr::with_exposed_provenance_mut(self.pages.address)
    }

    /// The address of the packet of an index.
    fn address(&self, index: u64) -> usize {
        self.pages.address + (index % self.size) as usize * PACKET_SIZE
    }

    /// The header of the packet of an index.
    fn header(&self, index: u64) -> &AtomicU16 {
        let header = ptr::with_exposed_provenance_mut::<u16>(self.address(index));
        // SAFETY: it lies in the ring's pages, which live as long, at a multiple of 64 bytes. The program
        // writes it atomically, as the interface says.
        unsafe { AtomicU16::from_ptr(header) }
    }

    /// Notes that the doorbell was rung.
    ///
    /// # Errors
    ///
    /// When the value is not the index of a packet that may be there.
    pub(super) fn note_doorbell(&self, value: i64, is_single: bool) -> Result<(), String> {
        let (read, write) = (
            self.read.load(Ordering::SeqCst),
            self.write.load(Ordering::SeqCst),
        );
        let Some(index) = u64::try_from(value).ok().filter(|index| *index < write) else {
            return Err(format!(
                "the doorbell was rung for packet {value}, and {write} were reserved"
            ));
        };
        if index >= read + self.size {
            return Err(format!(
                "packet {index} overwrites one that was not taken: {read} were, the queue has room for {}",
                self.size
            ));
        }
        let before = self.rung.fetch_max(value, Ordering::SeqCst);
        if is_single && value <= before {
            return Err(format!(
                "the doorbell was rung for packet {value} after packet {before}, and one thread alone adds packets"
            ));
        }
        if is_single && is_invalid(self.header(index).load(Ordering::Acquire)) {
            return Err(format!(
                "the doorbell was rung for packet {index}, which is not written"
            ));
        }
        Ok(())
    }

    /// Packets whose doorbell was rung and that were not taken.
    pub(super) fn waiting(&self) -> u64 {
        let rung = self.rung.load(Ordering::SeqCst).wrapping_add(1).cast_unsigned();
        rung.saturating_sub(self.read.load(Ordering::SeqCst))
    }

    /// Whether the next packet is not written, and a later one's doorbell was rung.
    pub(super) fn is_stuck(&self) -> bool {
        let next = self.header(self.read.load(Ordering::SeqCst));
        self.waiting() > 0 && is_invalid(next.load(Ordering::Acquire))
    }

    /// Takes the next packet, if its doorbell was rung and it is written, with its index.
    pub(super) fn take(&self) -> Option<(u64, Packet)> {
        if self.waiting() == 0 {
            return None;
        }
        let index = self.read.load(Ordering::SeqCst);
        let packet = self.written(index)?;
        // In this order: the program may write the next packet to this place once the index has moved.
        self.header(index).store(TYPE_INVALID, Ordering::Release);
        self.read.store(index + 1, Ordering::SeqCst);
        Some((index, packet))
    }

    /// The packet of an index, if it is written.
    fn written(&self, index: u64) -> Option<Packet> {
        let header = self.header(index).load(Ordering::Acquire);
        if is_invalid(header) {
            return None;
        }
        let place = ptr::with_exposed_provenance::<[u8; PACKET_SIZE]>(self.address(index));
        // SAFETY: it lies in the ring's pages. The program has written it before its header, which was read
        // atomically, and does not touch it until it was taken.
        Some(Packet(unsafe { place.read() }))
    }
}
