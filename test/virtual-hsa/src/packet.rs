//! Packets as bytes, and what may be wrong with one. Source: "Architected Queuing Language" of the HSA
//! Platform System Architecture Specification 1.2.
//!
//! | module | job |
//! | --- | --- |
//! | [`check`](mod@check) | kernel dispatches and barriers against what they name |
//! | [`fault`] | all that may be wrong |

mod check;
mod fault;
#[cfg(test)]
mod tests;

pub(crate) use check::{Barrier, Device, Dispatch, Work, check, check_end};
pub(crate) use fault::PacketFault;

/// Bytes of a packet.
pub(crate) const PACKET_SIZE: usize = 64;

/// `HSA_PACKET_TYPE_INVALID`, which the packet processor leaves in the header of what it has taken.
pub(crate) const TYPE_INVALID: u16 = 1;

/// A packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet(pub(crate) [u8; PACKET_SIZE]);

impl Packet {
    /// The header: type, barrier bit, fences.
    pub(crate) fn header(&self) -> u16 {
        self.half(0)
    }

    fn half(&self, offset: usize) -> u16 {
        u16::from_le_bytes(self.array(offset))
    }

    fn word(&self, offset: usize) -> u32 {
        u32::from_le_bytes(self.array(offset))
    }

    fn long(&self, offset: usize) -> u64 {
        u64::from_le_bytes(self.array(offset))
    }

    fn array<const N: usize>(&self, offset: usize) -> [u8; N] {
        std::array::from_fn(|index| self.0[offset + index])
    }
}

/// Whether a header is of a packet that nobody has written yet.
pub(crate) fn is_invalid(header: u16) -> bool {
    header & 0xff == TYPE_INVALID
}
