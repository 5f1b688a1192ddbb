//! All that may be wrong with a packet.

use thiserror::Error;

use crate::abi::Status;

/// What is wrong with a packet.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum PacketFault {
    #[error("its header {header:#06x} has type {kind}, which queues of these devices do not take")]
    Type { header: u16, kind: u16 },
    #[error("its header {header:#06x} has {which} fence scope 3, which does not exist")]
    Fence { header: u16, which: &'static str },
    #[error("its header {0:#06x} has reserved bits")]
    HeaderReserved(u16),
    #[error("its setup {0:#06x} has reserved bits")]
    SetupReserved(u16),
    #[error("its setup says {0} dimensions, where 1 to 3 are wanted")]
    Dimensions(u16),
    #[error("{0} is not zero")]
    Reserved(&'static str),
    #[error("its {which} size is 0 in dimension {dimension}")]
    ZeroSize { which: &'static str, dimension: char },
    #[error("its {which} size is {size} in dimension {dimension}, which it does not have")]
    UnusedDimension {
        which: &'static str,
        dimension: char,
        size: u32,
    },
    #[error("its work-groups have {0} work-items, at most 1024 are possible")]
    WorkgroupTooLarge(u64),
    #[error("its kernel object is null")]
    NoKernel,
    #[error("its kernel object {0:#x} is no descriptor of a loaded kernel")]
    UnknownKernel(u64),
    #[error("its kernel object {object:#x} is that of kernel `{name}`, whose executable was destroyed")]
    DestroyedKernel { object: u64, name: String },
    #[error("kernel `{name}` is of an executable that is not frozen")]
    NotFrozen { name: String },
    #[error("kernel `{name}` was loaded for another agent, {agent:#x}")]
    OtherAgent { name: String, agent: u64 },
    #[error("kernel `{name}` takes {most} work-items in a work-group at most, the packet says {size}")]
    BeyondFlat { name: String, most: u32, size: u64 },
    #[error("kernel `{name}` wants work-groups of {wanted:?}, the packet says {found:?}")]
    NotRequired {
        name: String,
        wanted: [u32; 3],
        found: [u32; 3],
    },
    #[error("kernel `{name}` needs {wanted} bytes of {which} segment, the packet says {found}")]
    SegmentTooSmall {
        name: String,
        which: &'static str,
        wanted: u32,
        found: u32,
    },
    #[error("its group segment of {0} bytes is larger than 65536")]
    GroupTooLarge(u32),
    #[error("kernel `{name}` takes arguments, and the packet's kernarg_address is null")]
    NoArguments { name: String },
    #[error("its kernarg_address {address:#x} is no multiple of {align}")]
    ArgumentsUnaligned { address: u64, align: u32 },
    #[error("its kernarg_address: {0}")]
    Arguments(String),
    #[error("hidden argument {which}_{dimension} is {found}, the packet's sizes say {wanted}")]
    HiddenSize {
        which: &'static str,
        dimension: char,
        found: u64,
        wanted: u64,
    },
    #[error("the executable of kernel `{name}` was destroyed before the launch has ended")]
    FreedKernel { name: String },
    #[error("arguments of kernel `{name}` were freed or changed before the launch has ended")]
    FreedArguments { name: String },
    #[error("its {which} {handle:#x} is no live signal")]
    DeadSignal { which: String, handle: u64 },
    #[error("its condition {0} does not exist")]
    Condition(u32),
}

impl PacketFault {
    /// What the queue's callback is told.
    pub(crate) fn status(&self) -> Status {
        match self {
            Self::UnknownKernel(_) | Self::DestroyedKernel { .. } | Self::NoKernel => {
                Status::ERROR_INVALID_CODE_OBJECT
            }
            Self::OtherAgent { .. } => Status::ERROR_INVALID_ISA,
            Self::BeyondFlat { .. }
            | Self::NotRequired { .. }
            | Self::WorkgroupTooLarge(_)
            | Self::ZeroSize { .. }
            | Self::UnusedDimension { .. }
            | Self::HiddenSize { .. } => Status::ERROR_INVALID_ARGUMENT,
            Self::GroupTooLarge(_) => Status::ERROR_INVALID_ALLOCATION,
            Self::Arguments(_)
            | Self::NoArguments { .. }
            | Self::FreedKernel { .. }
            | Self::FreedArguments { .. } => Status::ERROR_MEMORY_FAULT,
            Self::DeadSignal { .. } => Status::ERROR_INVALID_SIGNAL,
            _ => Status::ERROR_INVALID_PACKET_FORMAT,
        }
    }
}
