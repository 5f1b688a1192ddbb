//! What agents and their memory pools say of themselves. The first agent is the host's.

use crate::abi::attribute::{agent, isa, pool};
use crate::abi::{Handle, QUEUE_TYPE_MULTI, Status};
use crate::isa::{MAX_WORKGROUP_SIZE, TargetId};
use crate::memory::PAGE;
use crate::runtime::{Failure, Result};

const FIRST_AGENT: Handle = 0xa6e0_0000;
const FIRST_POOL: Handle = 0x9001_0000;
/// The instruction set of an agent has the agent's handle with these bits.
const ISA_BITS: Handle = 0x15a << 32;

/// Packets of a queue. Both are powers of 2.
pub(crate) const QUEUE_MIN_SIZE: u32 = 4;
pub(crate) const QUEUE_MAX_SIZE: u32 = 1 << 17;

/// `hsa_amd_memory_pool_global_flag_t`.
pub(crate) const KERNARG_INIT: u32 = 1;
const FINE_GRAINED: u32 = 2;
const COARSE_GRAINED: u32 = 4;

/// `hsa_amd_segment_t`.
const SEGMENT_GLOBAL: u32 = 0;
const SEGMENT_GROUP: u32 = 3;

/// `hsa_amd_memory_pool_access_t`.
const ACCESS_NEVER: u32 = 0;
const ACCESS_BY_DEFAULT: u32 = 1;
const ACCESS_WHEN_ALLOWED: u32 = 2;

/// Bytes that a pool says it has.
const POOL_SIZE: u64 = 64 << 30;
/// Ticks of the devices' clocks in a second.
const DEVICE_FREQUENCY: u64 = 100_000_000;

/// An agent.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) handle: Handle,
    /// What it runs. `None`: it is the host's.
    pub(crate) device: Option<TargetId>,
    node: u32,
}

/// A memory pool of an agent.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) handle: Handle,
    pub(crate) owner: Handle,
    segment: u32,
    pub(crate) flags: u32,
}

/// All agents and their pools.
#[derive(Debug)]
pub(crate) struct Agents {
    pub(crate) all: Vec<Agent>,
    pools: Vec<Pool>,
}

impl Agents {
    /// The host's, and one for each device.
    pub(crate) fn new(devices: &[TargetId]) -> Self {
        let devices = devices.iter().cloned().map(Some);
        let all: Vec<_> = std::iter::once(None)
            .chain(devices)
            .zip(0..)
            .map(|(device, node)| Agent {
                handle: FIRST_AGENT + Handle::from(node),
                device,
                node,
            })
            .collect();
        let mut pools = Vec::new();
        for agent in &all {
            let kinds: &[(u32, u32)] = match agent.device {
                None => &[
                    (SEGMENT_GLOBAL, FINE_GRAINED),
                    (SEGMENT_GLOBAL, FINE_GRAINED | KERNARG_INIT),
                    (SEGMENT_GLOBAL, COARSE_GRAINED),
                ],
                Some(_) => &[(SEGMENT_GLOBAL, COARSE_GRAINED), (SEGMENT_GROUP, 0)],
            };
            for (segment, flags) in kinds {
                pools.push(Pool {
                    handle: FIRST_POOL + pools.len() as Handle,
                    owner: agent.handle,
                    segment: *segment,
                    flags: *flags,
                });
            }
        }
        Self { all, pools }
    }

    /// The agent of a handle.
    pub(crate) fn get(&self, handle: Handle) -> Result<&Agent> {
        self.all
            .iter()
            .find(|agent| agent.handle == handle)
            .ok_or_else(|| Failure::fault(Status::ERROR_INVALID_AGENT, format!("{handle:#x} is no agent")))
    }

    /// The agent whose instruction set has a handle.
    pub(crate) fn of_isa(&self, isa: Handle) -> Result<&TargetId> {
        let agent = self.all.iter().find(|agent| agent.isa() == Some(isa));
        agent.and_then(|agent| agent.device.as_ref()).ok_or_else(|| {
            Failure::fault(
                Status::ERROR_INVALID_ISA,
                format!("{isa:#x} is no instruction set"),
            )
        })
    }

    /// The pools of an agent.
    pub(crate) fn pools_of(&self, agent: Handle) -> impl Iterator<Item = &Pool> {
        self.pools.iter().filter(move |pool| pool.owner == agent)
    }

    /// The pool of a handle.
    pub(crate) fn pool(&self, handle: Handle) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.handle == handle)
    }
}

/// A text as a C array of `N` bytes, which end with zeros.
fn text<const N: usize>(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes()[..text.len().min(N - 1)].to_vec();
    bytes.resize(N, 0);
    bytes
}

/// Numbers as C arrays of 32 and of 16 bits.
fn words<const N: usize>(words: [u32; N]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn halves<const N: usize>(halves: [u16; N]) -> Vec<u8> {
    halves.iter().flat_map(|half| half.to_le_bytes()).collect()
}

fn long(long: u64) -> Vec<u8> {
    long.to_le_bytes().to_vec()
}

impl Agent {
    /// The handle of its instruction set.
    pub(crate) fn isa(&self) -> Option<Handle> {
        self.device.is_some().then_some(self.handle | ISA_BITS)
    }

    /// What `hsa_agent_get_info` writes. `None`: nobody knows such an attribute.
    pub(crate) fn info(&self, attribute: u32) -> Option<Vec<u8>> {
        let is_gpu = u32::from(self.device.is_some());
        let only_gpu = |number: u32| words([if is_gpu == 1 { number } else { 0 }]);
        let name = self
            .device
            .as_ref()
            .map_or("virtual host", |device| device.processor.name);
        Some(match attribute {
            agent::NAME => text::<64>(name),
            agent::VENDOR_NAME => text::<64>(if is_gpu == 1 { "AMD" } else { "CPU" }),
            agent::PRODUCT_NAME => text::<64>(&format!("virtual {name}, which executes nothing")),
            agent::UUID => text::<21>(&format!("GPU-{:016x}", self.node)),
            // Kernel dispatch.
            agent::FEATURE => only_gpu(1),
            agent::MACHINE_MODEL => words([1]),
            agent::PROFILE => words([1 - is_gpu]),
            agent::DEFAULT_FLOAT_ROUNDING_MODE => words([2]),
            agent::FAST_F16_OPERATION => vec![u8::from(is_gpu == 1)],
            agent::WAVEFRONT_SIZE => words([self
                .device
                .as_ref()
                .map_or(0, |device| device.processor.wavefront_size())]),
            agent::WORKGROUP_MAX_DIM => {
                halves([MAX_WORKGROUP_SIZE as u16; 3].map(|size| size * is_gpu as u16))
            }
            agent::WORKGROUP_MAX_SIZE => only_gpu(MAX_WORKGROUP_SIZE),
            agent::GRID_MAX_DIM => words([u32::MAX * is_gpu; 3]),
            agent::GRID_MAX_SIZE => only_gpu(u32::MAX),
            agent::FBARRIER_MAX_SIZE => only_gpu(32),
            agent::QUEUES_MAX => only_gpu(128),
            agent::QUEUE_MIN_SIZE => only_gpu(QUEUE_MIN_SIZE),
            agent::QUEUE_MAX_SIZE => only_gpu(QUEUE_MAX_SIZE),
            agent::QUEUE_TYPE => words([QUEUE_TYPE_MULTI]),
            agent::NODE | agent::DRIVER_NODE_ID => words([self.node]),
            agent::DEVICE => words([is_gpu]),
            agent::CACHE_SIZE => words([16 << 10, 8 << 20, 0, 0]),
            agent::ISA => long(self.isa().unwrap_or(0)),
            agent::EXTENSIONS => vec![0; 128],
            agent::VERSION_MAJOR | agent::VERSION_MINOR => halves([1]),
            agent::CHIP_ID => words([0x740c]),
            agent::CACHELINE_SIZE => words([64]),
            agent::COMPUTE_UNIT_COUNT => words([16]),
            agent::MAX_CLOCK_FREQUENCY => words([1700]),
            agent::BDFID => words([self.node << 8]),
            agent::MAX_WAVES_PER_CU => only_gpu(32),
            agent::NUM_SIMDS_PER_CU => only_gpu(4),
            agent::NUM_SHADER_ENGINES => only_gpu(1),
            agent::COOPERATIVE_QUEUES => vec![0],
            agent::TIMESTAMP_FREQUENCY => long(DEVICE_FREQUENCY),
            // Its memory is not the host's.
            agent::MEMORY_PROPERTIES => vec![0; 8],
            _ => return None,
        })
    }

    /// What `hsa_amd_agent_memory_pool_get_info` writes for a pool and this agent.
    pub(crate) fn pool_info(&self, pool: &Pool, attribute: u32) -> Option<Vec<u8>> {
        use crate::abi::attribute::agent_pool;

        let is_mine = pool.owner == self.handle;
        let access = match pool.segment {
            SEGMENT_GLOBAL if is_mine => ACCESS_BY_DEFAULT,
            SEGMENT_GLOBAL => ACCESS_WHEN_ALLOWED,
            _ => ACCESS_NEVER,
        };
        match attribute {
            agent_pool::ACCESS => Some(words([access])),
            agent_pool::NUM_LINK_HOPS => Some(words([u32::from(!is_mine)])),
            _ => None,
        }
    }
}

impl Pool {
    /// Whether programs may allocate from it.
    pub(crate) fn is_global(&self) -> bool {
        self.segment == SEGMENT_GLOBAL
    }

    /// What `hsa_amd_memory_pool_get_info` writes.
    pub(crate) fn info(&self, attribute: u32) -> Option<Vec<u8>> {
        let is_global = self.is_global();
        let bytes = |bytes: u64| long(if is_global { bytes } else { 0 });
        Some(match attribute {
            pool::SEGMENT => words([self.segment]),
            pool::GLOBAL_FLAGS => words([self.flags]),
            pool::SIZE => long(if is_global {
                POOL_SIZE
            } else {
                u64::from(crate::isa::MAX_GROUP_SEGMENT)
            }),
            pool::RUNTIME_ALLOC_ALLOWED => vec![u8::from(is_global)],
            pool::RUNTIME_ALLOC_GRANULE | pool::RUNTIME_ALLOC_ALIGNMENT => bytes(PAGE as u64),
            pool::ACCESSIBLE_BY_ALL => vec![0],
            pool::ALLOC_MAX_SIZE => bytes(POOL_SIZE),
            _ => return None,
        })
    }
}

/// What `hsa_isa_get_info_alt` writes.
pub(crate) fn isa_info(device: &TargetId, attribute: u32) -> Option<Vec<u8>> {
    let name = device.isa_name();
    Some(match attribute {
        // With the zero at its end.
        isa::NAME_LENGTH => words([name.len() as u32 + 1]),
        isa::NAME => [name.as_bytes(), &[0]].concat(),
        isa::MACHINE_MODELS => vec![0, 1],
        isa::PROFILES => vec![1, 0],
        isa::WORKGROUP_MAX_DIM => halves([MAX_WORKGROUP_SIZE as u16; 3]),
        isa::WORKGROUP_MAX_SIZE => words([MAX_WORKGROUP_SIZE]),
        isa::GRID_MAX_DIM => words([u32::MAX; 3]),
        isa::GRID_MAX_SIZE => long(u64::from(u32::MAX)),
        isa::FBARRIER_MAX_SIZE => words([32]),
        _ => return None,
    })
}
