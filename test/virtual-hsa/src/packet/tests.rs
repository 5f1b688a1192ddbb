//! Packets that are right, and what changes of them are told as.

use std::sync::Arc;

use super::{Device, Packet, PacketFault, Work, check, check_end};
use crate::abi::{Handle, Status};
use crate::code_object::CodeObject;
use crate::code_object::tests::KERNELS;
use crate::executable::{FoundKernel, Loaded};

const AGENT: Handle = 0xa6;
const SIGNAL: Handle = 0x510;
/// Where the image is, and where the descriptors of `add` and `fixed` are in it.
const BASE: usize = 0x10_0000;
const ADD: u64 = BASE as u64 + 0x6c0;
const FIXED: u64 = BASE as u64 + 0x700;
/// Where arguments are.
const ARGUMENTS: u64 = 0x7000;
/// A kernel whose executable was destroyed.
const GONE: u64 = 0x9000;

/// A device with one image and one live signal.
struct Known {
    image: Arc<Loaded>,
    is_frozen: bool,
    agent: Handle,
    /// Block count and group size, as the arguments say them.
    sizes: (u32, u16),
}

impl Known {
    fn new() -> Self {
        let code = Arc::new(CodeObject::parse(KERNELS).unwrap());
        let image = Loaded {
            number: 0,
            agent: AGENT,
            code,
            base: BASE,
        };
        Self {
            image: Arc::new(image),
            is_frozen: true,
            agent: AGENT,
            sizes: (4, 64),
        }
    }
}

impl Device for Known {
    fn agent(&self) -> Handle {
        self.agent
    }

    fn kernel(&self, object: u64) -> Result<FoundKernel, Option<String>> {
        if object == GONE {
            return Err(Some("gone".to_owned()));
        }
        let mut kernels = self.image.code.kernels.iter();
        let found = kernels.find(|kernel| self.image.address(kernel.descriptor) == object);
        let kernel = found.ok_or(None)?.clone();
        Ok(FoundKernel {
            image: Arc::clone(&self.image),
            kernel,
            executable: 1,
            is_frozen: self.is_frozen,
        })
    }

    fn arguments(&self, address: u64, size: u32) -> Result<Vec<u8>, String> {
        if address != ARGUMENTS {
            return Err(format!("{address:#x} is elsewhere"));
        }
        let mut bytes = vec![0; size as usize];
        bytes[16..20].copy_from_slice(&self.sizes.0.to_le_bytes());
        bytes[28..30].copy_from_slice(&self.sizes.1.to_le_bytes());
        Ok(bytes)
    }

    fn is_live(&self, signal: Handle) -> bool {
        signal == SIGNAL
    }
}

/// Puts bytes to an offset of a packet.
fn put(packet: &mut Packet, offset: usize, bytes: &[u8]) {
    packet.0[offset..offset + bytes.len()].copy_from_slice(bytes);
}

/// A launch of `add`: 256 work-items in work-groups of 64.
fn launch() -> Packet {
    let mut packet = Packet([0; 64]);
    // Kernel dispatch, fences of the system's scope.
    put(&mut packet, 0, &0x1402_u16.to_le_bytes());
    put(&mut packet, 2, &1_u16.to_le_bytes());
    for (offset, size) in [(4, 64_u16), (6, 1), (8, 1)] {
        put(&mut packet, offset, &size.to_le_bytes());
    }
    for (offset, number) in [(12, 256_u32), (16, 1), (20, 1), (24, 16), (28, 128)] {
        put(&mut packet, offset, &number.to_le_bytes());
    }
    for (offset, number) in [(32, ADD), (40, ARGUMENTS), (56, SIGNAL)] {
        put(&mut packet, offset, &number.to_le_bytes());
    }
    packet
}

/// A launch of `fixed`, which takes no arguments.
fn launch_of_fixed() -> Packet {
    let mut packet = launch();
    put(&mut packet, 2, &[2]);
    put(&mut packet, 4, &[32, 0, 2, 0]);
    put(&mut packet, 16, &[2]);
    put(&mut packet, 32, &FIXED.to_le_bytes());
    put(&mut packet, 40, &[0; 8]);
    packet
}

/// A barrier that waits for one signal.
fn barrier(kind: u8) -> Packet {
    let mut packet = Packet([0; 64]);
    put(&mut packet, 0, &[kind, 0x14]);
    put(&mut packet, 24, &SIGNAL.to_le_bytes());
    packet
}

/// A barrier of AMD's, which waits until a signal is at least 5.
fn value_barrier() -> Packet {
    let mut packet = Packet([0; 64]);
    put(&mut packet, 0, &[0, 0x14, 2, 0]);
    put(&mut packet, 8, &SIGNAL.to_le_bytes());
    put(&mut packet, 16, &5_u64.to_le_bytes());
    put(&mut packet, 24, &0xff_u64.to_le_bytes());
    put(&mut packet, 32, &[3]);
    packet
}

/// What is told of a packet with these bytes put to an offset.
fn told(mut packet: Packet, offset: usize, bytes: &[u8]) -> String {
    put(&mut packet, offset, bytes);
    check(&packet, &Known::new()).unwrap_err().to_string()
}

#[test]
fn right_packets_are_taken() {
    let known = Known::new();
    let Work::Dispatch(dispatch) = check(&launch(), &known).unwrap() else {
        panic!("no dispatch");
    };
    assert_eq!((dispatch.grid, dispatch.workgroup), ([256, 1, 1], [64, 1, 1]));
    assert_eq!((dispatch.arguments.len(), dispatch.completion), (32, SIGNAL));
    check(&launch_of_fixed(), &known).unwrap();
    for (kind, any) in [(3, false), (5, true)] {
        let Work::Barrier(found) = check(&barrier(kind), &known).unwrap() else {
            panic!("no barrier");
        };
        assert_eq!((found.any, found.signals.len(), found.completion), (any, 1, 0));
    }
    let Work::Barrier(found) = check(&value_barrier(), &known).unwrap() else {
        panic!("no barrier");
    };
    let (handle, condition, mask) = found.signals[0];
    assert_eq!((handle, mask), (SIGNAL, 0xff));
    assert!(condition.holds(5) && !condition.holds(4));
}

#[test]
fn what_is_wrong_with_a_header_is_told() {
    let headers: [(u16, &str); 8] = [
        (
            0x1404,
            "its header 0x1404 has type 4, which queues of these devices do not take",
        ),
        (
            0x1400,
            "its header 0x1400 has type 0, which queues of these devices do not take",
        ),
        (
            0x1406,
            "its header 0x1406 has type 6, which queues of these devices do not take",
        ),
        (
            0x1602,
            "its header 0x1602 has an acquire fence scope 3, which does not exist",
        ),
        (
            0x1c02,
            "its header 0x1c02 has a release fence scope 3, which does not exist",
        ),
        (0x3402, "its header 0x3402 has reserved bits"),
        (0x8002, "its header 0x8002 has reserved bits"),
        (
            0x14ff,
            "its header 0x14ff has type 255, which queues of these devices do not take",
        ),
    ];
    for (header, message) in headers {
        assert_eq!(told(launch(), 0, &header.to_le_bytes()), message);
    }
    assert_eq!(
        told(launch(), 2, &[0]),
        "its setup says 0 dimensions, where 1 to 3 are wanted"
    );
    assert_eq!(told(launch(), 2, &[5]), "its setup 0x0005 has reserved bits");
}

#[test]
fn what_is_wrong_with_sizes_is_told() {
    let cases: [(usize, &[u8], &str); 8] = [
        (4, &[0], "its work-group size is 0 in dimension x"),
        (8, &[0], "its work-group size is 0 in dimension z"),
        (12, &[0, 0], "its grid size is 0 in dimension x"),
        (20, &[0], "its grid size is 0 in dimension z"),
        (
            16,
            &[9],
            "its grid size is 9 in dimension y, which it does not have",
        ),
        (
            6,
            &[2],
            "its work-group size is 2 in dimension y, which it does not have",
        ),
        (
            4,
            &[1, 4],
            "its work-groups have 1025 work-items, at most 1024 are possible",
        ),
        (
            4,
            &[1, 1],
            "kernel `add` takes 256 work-items in a work-group at most, the packet says 257",
        ),
    ];
    for (offset, bytes, message) in cases {
        assert_eq!(told(launch(), offset, bytes), message);
    }
    assert_eq!(
        told(launch_of_fixed(), 4, &[16]),
        "kernel `fixed` wants work-groups of [32, 2, 1], the packet says [16, 2, 1]"
    );
}

#[test]
fn what_is_wrong_with_segments_and_arguments_is_told() {
    let cases: [(usize, &[u8], &str); 10] = [
        (10, &[1], "reserved0 is not zero"),
        (48, &[1], "reserved2 is not zero"),
        (
            24,
            &[8],
            "kernel `add` needs 16 bytes of private segment, the packet says 8",
        ),
        (
            28,
            &[64],
            "kernel `add` needs 128 bytes of group segment, the packet says 64",
        ),
        (30, &[1], "its group segment of 65664 bytes is larger than 65536"),
        (
            40,
            &[0; 8],
            "kernel `add` takes arguments, and the packet's kernarg_address is null",
        ),
        (40, &[8], "its kernarg_address 0x7008 is no multiple of 16"),
        (41, &[0x80], "its kernarg_address: 0x8000 is elsewhere"),
        (
            12,
            &[0, 2],
            "hidden argument hidden_block_count_x is 4, the packet's sizes say 8",
        ),
        (56, &[0x20], "its completion_signal 0x520 is no live signal"),
    ];
    for (offset, bytes, message) in cases {
        assert_eq!(told(launch(), offset, bytes), message);
    }
    let other_size = Known {
        sizes: (4, 32),
        ..Known::new()
    };
    assert_eq!(
        check(&launch(), &other_size).unwrap_err().to_string(),
        "hidden argument hidden_group_size_x is 32, the packet's sizes say 64"
    );
}

#[test]
fn kernels_are_live_and_of_the_device() {
    assert_eq!(told(launch(), 32, &[0; 8]), "its kernel object is null");
    assert_eq!(
        told(launch(), 32, &(ADD + 64 + 64).to_le_bytes()),
        "its kernel object 0x100740 is no descriptor of a loaded kernel"
    );
    assert_eq!(
        told(launch(), 32, &GONE.to_le_bytes()),
        "its kernel object 0x9000 is that of kernel `gone`, whose executable was destroyed"
    );
    let unfrozen = Known {
        is_frozen: false,
        ..Known::new()
    };
    assert_eq!(
        check(&launch(), &unfrozen).unwrap_err().to_string(),
        "kernel `add` is of an executable that is not frozen"
    );
    let other = Known {
        agent: 0xa7,
        ..Known::new()
    };
    let fault = check(&launch(), &other).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "kernel `add` was loaded for another agent, 0xa6"
    );
    assert_eq!(fault.status(), Status::ERROR_INVALID_ISA);
}

#[test]
fn a_launch_needs_its_kernel_and_arguments_until_it_has_ended() {
    let known = Known::new();
    let Work::Dispatch(dispatch) = check(&launch(), &known).unwrap() else {
        panic!("no dispatch");
    };
    check_end(&dispatch, &known).unwrap();
    let changed = Known {
        image: Arc::clone(&known.image),
        sizes: (5, 64),
        ..Known::new()
    };
    assert_eq!(
        check_end(&dispatch, &changed).unwrap_err().to_string(),
        "arguments of kernel `add` were freed or changed before the launch has ended"
    );
    // Another image lies in the place of the first.
    assert_eq!(
        check_end(&dispatch, &Known::new()).unwrap_err().to_string(),
        "the executable of kernel `add` was destroyed before the launch has ended"
    );
}

#[test]
fn what_is_wrong_with_barriers_is_told() {
    assert_eq!(told(barrier(3), 2, &[1]), "reserved0 is not zero");
    assert_eq!(told(barrier(3), 4, &[1]), "reserved1 is not zero");
    assert_eq!(told(barrier(5), 48, &[1]), "reserved2 is not zero");
    assert_eq!(
        told(barrier(5), 40, &[1]),
        "its dep_signal[4] 0x1 is no live signal"
    );
    assert_eq!(told(value_barrier(), 3, &[1]), "reserved is not zero");
    assert_eq!(
        told(value_barrier(), 8, &[0; 8]),
        "its signal 0x0 is no live signal"
    );
    assert_eq!(told(value_barrier(), 32, &[4]), "its condition 4 does not exist");
}

#[test]
fn callbacks_are_told_what_kind_of_fault_it_is() {
    let status = |mut packet: Packet, offset, bytes: &[u8]| {
        put(&mut packet, offset, bytes);
        check(&packet, &Known::new())
            .map_err(|fault: PacketFault| fault.status())
            .unwrap_err()
    };
    assert_eq!(status(launch(), 10, &[1]), Status::ERROR_INVALID_PACKET_FORMAT);
    assert_eq!(status(launch(), 32, &[0; 8]), Status::ERROR_INVALID_CODE_OBJECT);
    assert_eq!(status(launch(), 4, &[0]), Status::ERROR_INVALID_ARGUMENT);
    assert_eq!(status(launch(), 30, &[1]), Status::ERROR_INVALID_ALLOCATION);
    assert_eq!(status(launch(), 41, &[0x80]), Status::ERROR_MEMORY_FAULT);
    assert_eq!(status(launch(), 56, &[0x20]), Status::ERROR_INVALID_SIGNAL);
}
