//! Kernel dispatches and barriers against what they name.

use std::sync::Arc;

use super::{Packet, PacketFault as Fault};
use crate::abi::Handle;
use crate::code_object::{KernelMetadata, SizeKind};
use crate::executable::FoundKernel;
use crate::isa::{MAX_GROUP_SEGMENT, MAX_WORKGROUP_SIZE};
use crate::signal::Condition;

/// `hsa_packet_type_t`, as far as devices take them.
const VENDOR_SPECIFIC: u16 = 0;
const KERNEL_DISPATCH: u16 = 2;
const BARRIER_AND: u16 = 3;
const BARRIER_OR: u16 = 5;
/// `HSA_AMD_PACKET_TYPE_BARRIER_VALUE`, the format of a packet of AMD's that waits for a value.
const BARRIER_VALUE: u8 = 2;
/// What a kernel's arguments lie at a multiple of, where the kernel wants less.
const ARGUMENT_ALIGN: u32 = 16;
const DIMENSIONS: [char; 3] = ['x', 'y', 'z'];

/// What a packet is checked against.
pub(crate) trait Device {
    /// The agent of the queue.
    fn agent(&self) -> Handle;
    /// The kernel of a descriptor, or the name of one that was there.
    fn kernel(&self, object: u64) -> Result<FoundKernel, Option<String>>;
    /// The arguments of a kernel at an address, or why they cannot be there.
    fn arguments(&self, address: u64, size: u32) -> Result<Vec<u8>, String>;
    /// Whether a signal lives.
    fn is_live(&self, signal: Handle) -> bool;
}

/// What a packet asks for.
#[derive(Debug)]
pub(crate) enum Work {
    Dispatch(Box<Dispatch>),
    Barrier(Barrier),
}

/// A kernel launch.
#[derive(Debug)]
pub(crate) struct Dispatch {
    /// Where the kernel's descriptor is.
    pub(crate) object: u64,
    pub(crate) kernel: FoundKernel,
    /// Where its arguments are.
    pub(crate) address: u64,
    /// Work-items of the grid and of a work-group.
    pub(crate) grid: [u32; 3],
    pub(crate) workgroup: [u32; 3],
    /// Bytes for a work-item and for a work-group.
    pub(crate) private_size: u32,
    pub(crate) group_size: u32,
    /// All arguments.
    pub(crate) arguments: Vec<u8>,
    /// What is counted down behind it. 0: nothing.
    pub(crate) completion: Handle,
}

/// A wait of the queue.
#[derive(Debug)]
pub(crate) struct Barrier {
    /// What is waited for: with these signals, the condition of their values under a mask.
    pub(crate) signals: Vec<(Handle, Condition, i64)>,
    /// Whether one of them is enough.
    pub(crate) any: bool,
    /// What is counted down behind it. 0: nothing.
    pub(crate) completion: Handle,
}

/// Checks a packet.
///
/// # Errors
///
/// The first thing that is wrong with it.
pub(crate) fn check(packet: &Packet, device: &impl Device) -> Result<Work, Fault> {
    let header = packet.header();
    if header >> 13 != 0 {
        return Err(Fault::HeaderReserved(header));
    }
    for (shift, which) in [(9, "an acquire"), (11, "a release")] {
        if header >> shift & 3 == 3 {
            return Err(Fault::Fence { header, which });
        }
    }
    match header & 0xff {
        KERNEL_DISPATCH => Ok(Work::Dispatch(Box::new(dispatch(packet, device)?))),
        BARRIER_AND => Ok(Work::Barrier(barrier(packet, false, device)?)),
        BARRIER_OR => Ok(Work::Barrier(barrier(packet, true, device)?)),
        VENDOR_SPECIFIC if packet.0[2] == BARRIER_VALUE => Ok(Work::Barrier(barrier_value(packet, device)?)),
        kind => Err(Fault::Type { header, kind }),
    }
}

/// Checks what a launch needs until it has ended: its kernel and its arguments.
///
/// # Errors
///
/// What the program has freed or changed too early.
pub(crate) fn check_end(dispatch: &Dispatch, device: &impl Device) -> Result<(), Fault> {
    let metadata = &dispatch.kernel.kernel.metadata;
    let name = || metadata.name.clone();
    match device.kernel(dispatch.object) {
        Ok(found) if Arc::ptr_eq(&found.image, &dispatch.kernel.image) => {}
        _ => return Err(Fault::FreedKernel { name: name() }),
    }
    match arguments(dispatch.address, metadata, device) {
        Ok(arguments) if arguments == dispatch.arguments => Ok(()),
        _ => Err(Fault::FreedArguments { name: name() }),
    }
}

fn dispatch(packet: &Packet, device: &impl Device) -> Result<Dispatch, Fault> {
    let (grid, workgroup) = sizes(packet)?;
    for (name, is_zero) in [
        ("reserved0", packet.half(10) == 0),
        ("reserved2", packet.long(48) == 0),
    ] {
        if !is_zero {
            return Err(Fault::Reserved(name));
        }
    }
    let (object, address) = (packet.long(32), packet.long(40));
    let kernel = find_kernel(object, device)?;
    let metadata = &kernel.kernel.metadata;
    check_workgroup(metadata, workgroup)?;
    let (private_size, group_size) = (packet.word(24), packet.word(28));
    check_segments(metadata, private_size, group_size)?;
    let arguments = arguments(address, metadata, device)?;
    check_hidden_sizes(metadata, &arguments, grid, workgroup)?;
    Ok(Dispatch {
        object,
        address,
        grid,
        workgroup,
        private_size,
        group_size,
        arguments,
        completion: completion(packet, device)?,
        kernel,
    })
}

/// The sizes of grid and work-groups.
fn sizes(packet: &Packet) -> Result<([u32; 3], [u32; 3]), Fault> {
    let setup = packet.half(2);
    if setup & !3 != 0 {
        return Err(Fault::SetupReserved(setup));
    }
    let dimensions = setup & 3;
    if dimensions == 0 {
        return Err(Fault::Dimensions(dimensions));
    }
    let workgroup = [4, 6, 8].map(|offset| u32::from(packet.half(offset)));
    let grid = [12, 16, 20].map(|offset| packet.word(offset));
    for (which, sizes) in [("work-group", workgroup), ("grid", grid)] {
        for (index, (size, dimension)) in sizes.into_iter().zip(DIMENSIONS).enumerate() {
            if size == 0 {
                return Err(Fault::ZeroSize { which, dimension });
            }
            if size != 1 && index >= usize::from(dimensions) {
                return Err(Fault::UnusedDimension {
                    which,
                    dimension,
                    size,
                });
            }
        }
    }
    let flat = product(workgroup);
    if flat > u64::from(MAX_WORKGROUP_SIZE) {
        return Err(Fault::WorkgroupTooLarge(flat));
    }
    Ok((grid, workgroup))
}

/// Work-items of a work-group. Three numbers of 16 bits have a product of 48.
fn product(sizes: [u32; 3]) -> u64 {
    sizes.iter().map(|size| u64::from(*size)).product()
}

fn find_kernel(object: u64, device: &impl Device) -> Result<FoundKernel, Fault> {
    if object == 0 {
        return Err(Fault::NoKernel);
    }
    let found = device.kernel(object).map_err(|gone| match gone {
        Some(name) => Fault::DestroyedKernel { object, name },
        None => Fault::UnknownKernel(object),
    })?;
    let name = || found.kernel.metadata.name.clone();
    if !found.is_frozen {
        return Err(Fault::NotFrozen { name: name() });
    }
    let agent = found.image.agent;
    if agent != device.agent() {
        return Err(Fault::OtherAgent { name: name(), agent });
    }
    Ok(found)
}

fn check_workgroup(metadata: &KernelMetadata, workgroup: [u32; 3]) -> Result<(), Fault> {
    let name = || metadata.name.clone();
    let (size, most) = (product(workgroup), metadata.max_flat_workgroup_size);
    if size > u64::from(most) {
        return Err(Fault::BeyondFlat {
            name: name(),
            most,
            size,
        });
    }
    match metadata.required_workgroup {
        Some(wanted) if wanted != workgroup => Err(Fault::NotRequired {
            name: name(),
            wanted,
            found: workgroup,
        }),
        _ => Ok(()),
    }
}

fn check_segments(metadata: &KernelMetadata, private_size: u32, group_size: u32) -> Result<(), Fault> {
    let segments = [
        ("private", metadata.private_size, private_size),
        ("group", metadata.group_size, group_size),
    ];
    for (which, wanted, found) in segments {
        if found < wanted {
            return Err(Fault::SegmentTooSmall {
                name: metadata.name.clone(),
                which,
                wanted,
                found,
            });
        }
    }
    if group_size > MAX_GROUP_SEGMENT {
        return Err(Fault::GroupTooLarge(group_size));
    }
    Ok(())
}

fn arguments(address: u64, metadata: &KernelMetadata, device: &impl Device) -> Result<Vec<u8>, Fault> {
    if metadata.kernarg_size == 0 {
        return Ok(Vec::new());
    }
    if address == 0 {
        return Err(Fault::NoArguments {
            name: metadata.name.clone(),
        });
    }
    let align = metadata.kernarg_align.max(ARGUMENT_ALIGN);
    if !address.is_multiple_of(u64::from(align)) {
        return Err(Fault::ArgumentsUnaligned { address, align });
    }
    device
        .arguments(address, metadata.kernarg_size)
        .map_err(Fault::Arguments)
}

/// Checks arguments that say the launch's sizes. Code that was compiled for them takes their word.
fn check_hidden_sizes(
    metadata: &KernelMetadata,
    arguments: &[u8],
    grid: [u32; 3],
    workgroup: [u32; 3],
) -> Result<(), Fault> {
    for argument in &metadata.sizes {
        let bytes = arguments.get(argument.offset as usize..).unwrap_or_default();
        let at = |index: usize| u64::from(bytes.get(index).copied().unwrap_or(0));
        let (grid, workgroup) = (grid[argument.dimension], workgroup[argument.dimension]);
        let (which, found, wanted) = match argument.kind {
            SizeKind::BlockCount => {
                let found = (0..4).map(|index| at(index) << (8 * index)).sum();
                ("hidden_block_count", found, u64::from(grid / workgroup))
            }
            SizeKind::GroupSize => ("hidden_group_size", at(0) | at(1) << 8, u64::from(workgroup)),
        };
        if found != wanted {
            return Err(Fault::HiddenSize {
                which,
                dimension: DIMENSIONS[argument.dimension],
                found,
                wanted,
            });
        }
    }
    Ok(())
}

fn barrier(packet: &Packet, any: bool, device: &impl Device) -> Result<Barrier, Fault> {
    let reserved = [
        ("reserved0", u64::from(packet.half(2))),
        ("reserved1", u64::from(packet.word(4))),
        ("reserved2", packet.long(48)),
    ];
    check_zero(reserved)?;
    let mut signals = Vec::new();
    for index in 0..5 {
        let handle = packet.long(8 + 8 * index);
        if handle != 0 {
            check_live(handle, || format!("dep_signal[{index}]"), device)?;
            signals.push((handle, Condition::Equal(0), -1));
        }
    }
    Ok(Barrier {
        signals,
        any,
        completion: completion(packet, device)?,
    })
}

fn barrier_value(packet: &Packet, device: &impl Device) -> Result<Barrier, Fault> {
    let reserved = [
        ("reserved", u64::from(packet.0[3])),
        ("reserved0", u64::from(packet.word(4))),
        ("reserved1", u64::from(packet.word(36))),
        ("reserved2", packet.long(40)),
        ("reserved3", packet.long(48)),
    ];
    check_zero(reserved)?;
    let handle = packet.long(8);
    check_live(handle, || "signal".to_owned(), device)?;
    let number = packet.word(32);
    let compared = packet.long(16).cast_signed();
    let condition = Condition::new(number, compared).ok_or(Fault::Condition(number))?;
    Ok(Barrier {
        signals: vec![(handle, condition, packet.long(24).cast_signed())],
        any: false,
        completion: completion(packet, device)?,
    })
}

fn check_zero<const N: usize>(fields: [(&'static str, u64); N]) -> Result<(), Fault> {
    match fields.into_iter().find(|(_, value)| *value != 0) {
        Some((name, _)) => Err(Fault::Reserved(name)),
        None => Ok(()),
    }
}

fn completion(packet: &Packet, device: &impl Device) -> Result<Handle, Fault> {
    let handle = packet.long(56);
    if handle != 0 {
        check_live(handle, || "completion_signal".to_owned(), device)?;
    }
    Ok(handle)
}

fn check_live(handle: Handle, which: impl Fn() -> String, device: &impl Device) -> Result<(), Fault> {
    if device.is_live(handle) {
        return Ok(());
    }
    Err(Fault::DeadSignal {
        which: which(),
        handle,
    })
}
