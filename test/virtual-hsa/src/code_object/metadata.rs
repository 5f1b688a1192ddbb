//! Kernels as the note of a code object says them: "Code Object V5 Metadata" of LLVM's AMDGPUUsage.

use rmpv::ValueRef;

use super::CodeObjectFault as Fault;
use crate::isa::{MAX_GROUP_SEGMENT, MAX_WORKGROUP_SIZE, TargetId};

/// What the runtime knows of a kernel. Sizes are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelMetadata {
    pub(crate) name: String,
    /// Name of the descriptor.
    pub(crate) symbol: String,
    pub(crate) kernarg_size: u32,
    pub(crate) kernarg_align: u32,
    pub(crate) group_size: u32,
    pub(crate) private_size: u32,
    pub(crate) wavefront_size: u32,
    pub(crate) max_flat_workgroup_size: u32,
    /// The one size of work-groups that the kernel runs with.
    pub(crate) required_workgroup: Option<[u32; 3]>,
    pub(crate) uses_dynamic_stack: bool,
    /// Bytes of what the program passes. What the compiler adds comes behind.
    pub(crate) explicit_size: u32,
    /// Arguments that the compiler has added and that say the launch's sizes.
    pub(crate) sizes: Vec<SizeArgument>,
}

/// An argument that says a size of the launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SizeArgument {
    pub(crate) kind: SizeKind,
    /// 0 for x, 1 for y, 2 for z.
    pub(crate) dimension: usize,
    pub(crate) offset: u32,
}

/// Which size it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SizeKind {
    /// Work-groups that are whole: 4 bytes.
    BlockCount,
    /// Work-items of a work-group: 2 bytes.
    GroupSize,
}

/// Values of `.value_kind`.
const VALUE_KINDS: [&str; 32] = [
    "by_value",
    "global_buffer",
    "dynamic_shared_pointer",
    "sampler",
    "image",
    "pipe",
    "queue",
    "hidden_block_count_x",
    "hidden_block_count_y",
    "hidden_block_count_z",
    "hidden_group_size_x",
    "hidden_group_size_y",
    "hidden_group_size_z",
    "hidden_remainder_x",
    "hidden_remainder_y",
    "hidden_remainder_z",
    "hidden_global_offset_x",
    "hidden_global_offset_y",
    "hidden_global_offset_z",
    "hidden_grid_dims",
    "hidden_none",
    "hidden_printf_buffer",
    "hidden_hostcall_buffer",
    "hidden_heap_v1",
    "hidden_default_queue",
    "hidden_completion_action",
    "hidden_multigrid_sync_arg",
    "hidden_dynamic_lds_size",
    "hidden_private_base",
    "hidden_shared_base",
    "hidden_queue_ptr",
    "hidden_private_size",
];

/// Reads and checks the metadata of a code object with this `EI_ABIVERSION`, whose header is for `target`.
pub(super) fn parse(note: &[u8], abi: u8, target: &TargetId) -> Result<Vec<KernelMetadata>, Fault> {
    let mut rest = note;
    let root =
        rmpv::decode::read_value_ref(&mut rest).map_err(|error| Fault::MessagePack(error.to_string()))?;
    if rest.iter().any(|byte| *byte != 0) {
        return Err(Fault::MessagePack("more bytes follow".to_owned()));
    }
    let root = Map::new(&root, "the root".to_owned())?;
    let version = root
        .integers::<2>("amdhsa.version")?
        .ok_or_else(|| root.missing("amdhsa.version"))?;
    if version != [1, u64::from(abi.min(3)) - 1] {
        return Err(Fault::MetadataVersion { found: version, abi });
    }
    let named = root
        .text("amdhsa.target")?
        .ok_or_else(|| root.missing("amdhsa.target"))?;
    // LLVM 23 names the environment that the triple does not have.
    if named.replacen("-unknown-", "--", 1) != target.isa_name() {
        return Err(Fault::TargetsDiffer {
            metadata: named.to_owned(),
            header: target.isa_name(),
        });
    }
    let kernels = root
        .list("amdhsa.kernels")?
        .ok_or_else(|| root.missing("amdhsa.kernels"))?;
    let each = kernels.iter().enumerate();
    each.map(|(index, kernel)| check_kernel(&Map::new(kernel, format!("kernel {index}"))?, target))
        .collect()
}

fn check_kernel(map: &Map<'_>, target: &TargetId) -> Result<KernelMetadata, Fault> {
    let mut kernel = KernelMetadata {
        name: map.text(".name")?.ok_or_else(|| map.missing(".name"))?.to_owned(),
        symbol: map
            .text(".symbol")?
            .ok_or_else(|| map.missing(".symbol"))?
            .to_owned(),
        kernarg_size: map.needed(".kernarg_segment_size")?,
        kernarg_align: map.needed(".kernarg_segment_align")?,
        group_size: map.needed(".group_segment_fixed_size")?,
        private_size: map.needed(".private_segment_fixed_size")?,
        wavefront_size: map.needed(".wavefront_size")?,
        max_flat_workgroup_size: map.needed(".max_flat_workgroup_size")?,
        uses_dynamic_stack: map.flag(".uses_dynamic_stack")?.unwrap_or(false),
        ..KernelMetadata::default()
    };
    for key in [".sgpr_count", ".vgpr_count"] {
        map.needed(key)?;
    }
    kernel.required_workgroup = required_workgroup(map)?;
    check_arguments(map, &mut kernel)?;
    check_numbers(&kernel, target)?;
    Ok(kernel)
}

fn required_workgroup(map: &Map<'_>) -> Result<Option<[u32; 3]>, Fault> {
    let Some(sizes) = map.integers::<3>(".reqd_workgroup_size")? else {
        return Ok(None);
    };
    let narrow = sizes.map(|size| u32::try_from(size).unwrap_or(u32::MAX));
    Ok((narrow != [0; 3]).then_some(narrow))
}

/// Checks the arguments, and takes from them what launches are checked by.
fn check_arguments(map: &Map<'_>, kernel: &mut KernelMetadata) -> Result<(), Fault> {
    let name = kernel.name.clone();
    let mut end = 0;
    for (index, argument) in map.list(".args")?.unwrap_or_default().iter().enumerate() {
        let map = Map::new(argument, format!("argument {index} of kernel `{name}`"))?;
        let (offset, size) = (map.needed(".offset")?, map.needed(".size")?);
        let kind = map
            .text(".value_kind")?
            .ok_or_else(|| map.missing(".value_kind"))?;
        let wrong = |what: &str| wrong(&name, format!("argument {index} {what}"));
        if !VALUE_KINDS.contains(&kind) {
            return Err(wrong(&format!("has the unknown kind `{kind}`")));
        }
        if offset < end {
            return Err(wrong("begins before the end of the one before"));
        }
        end = offset
            .checked_add(size)
            .filter(|end| *end <= kernel.kernarg_size)
            .ok_or_else(|| wrong("goes beyond `.kernarg_segment_size`"))?;
        if !kind.starts_with("hidden_") {
            kernel.explicit_size = end;
        }
        kernel
            .sizes
            .extend(size_argument(kind, offset, size).map_err(wrong)?);
    }
    Ok(())
}

/// What a hidden argument says of the launch's sizes.
fn size_argument(kind: &str, offset: u32, size: u32) -> Result<Option<SizeArgument>, &'static str> {
    let Some((name, dimension)) = kind.rsplit_once('_') else {
        return Ok(None);
    };
    let Some(dimension) = ["x", "y", "z"].iter().position(|found| *found == dimension) else {
        return Ok(None);
    };
    let (kind, bytes) = match name {
        "hidden_block_count" => (SizeKind::BlockCount, 4),
        "hidden_group_size" => (SizeKind::GroupSize, 2),
        _ => return Ok(None),
    };
    if size != bytes {
        return Err("is a size of the launch, and has not its number of bytes");
    }
    Ok(Some(SizeArgument {
        kind,
        dimension,
        offset,
    }))
}

fn check_numbers(kernel: &KernelMetadata, target: &TargetId) -> Result<(), Fault> {
    let most = kernel.max_flat_workgroup_size;
    let required = kernel
        .required_workgroup
        .map(|sizes| sizes.iter().map(|size| u64::from(*size)).product());
    let processor = target.processor;
    let checks = [
        (
            kernel.symbol == format!("{}.kd", kernel.name),
            format!("its `.symbol` `{}` is not its name with `.kd`", kernel.symbol),
        ),
        (
            kernel.kernarg_align.is_power_of_two(),
            format!(
                "`.kernarg_segment_align` {} is no power of 2",
                kernel.kernarg_align
            ),
        ),
        (
            kernel.group_size <= MAX_GROUP_SEGMENT,
            format!(
                "`.group_segment_fixed_size` {} is beyond {MAX_GROUP_SEGMENT}",
                kernel.group_size
            ),
        ),
        (
            processor.takes_wavefronts_of(u64::from(kernel.wavefront_size)),
            format!(
                "{} has no wavefronts of {}",
                processor.name, kernel.wavefront_size
            ),
        ),
        (
            (1..=MAX_WORKGROUP_SIZE).contains(&most),
            format!("`.max_flat_workgroup_size` {most} is not from 1 to {MAX_WORKGROUP_SIZE}"),
        ),
        (
            required.is_none_or(|required: u64| required != 0 && required <= u64::from(most)),
            format!("`.reqd_workgroup_size` does not fit `.max_flat_workgroup_size` {most}"),
        ),
    ];
    match checks.into_iter().find(|(is_right, _)| !is_right) {
        Some((_, what)) => Err(wrong(&kernel.name, what)),
        None => Ok(()),
    }
}

/// A fault of a kernel.
fn wrong(kernel: &str, what: impl Into<String>) -> Fault {
    Fault::Kernel {
        kernel: kernel.to_owned(),
        what: what.into(),
    }
}

/// A map of the metadata, and which one it is.
struct Map<'a> {
    entries: &'a [(ValueRef<'a>, ValueRef<'a>)],
    place: String,
}

impl<'a> Map<'a> {
    fn new(value: &'a ValueRef<'a>, place: String) -> Result<Self, Fault> {
        match value {
            ValueRef::Map(entries) => Ok(Self { entries, place }),
            _ => Err(Fault::MessagePack(format!("{place} is no map"))),
        }
    }

    fn get(&self, key: &str) -> Option<&'a ValueRef<'a>> {
        let is_it =
            |found: &ValueRef<'_>| matches!(found, ValueRef::String(text) if text.as_str() == Some(key));
        self.entries
            .iter()
            .find(|(found, _)| is_it(found))
            .map(|(_, value)| value)
    }

    fn missing(&self, key: &'static str) -> Fault {
        Fault::Missing {
            key,
            place: self.place.clone(),
        }
    }

    /// The value of a key, if there is one, as `read` takes it.
    fn read<T>(
        &self,
        key: &'static str,
        wanted: &'static str,
        read: impl Fn(&'a ValueRef<'a>) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let found = read(value).ok_or_else(|| Fault::Kind {
            key,
            place: self.place.clone(),
            wanted,
        })?;
        Ok(Some(found))
    }

    fn text(&self, key: &'static str) -> Result<Option<&'a str>, Fault> {
        self.read(key, "a text", |value| match value {
            ValueRef::String(text) => text.as_str(),
            _ => None,
        })
    }

    fn flag(&self, key: &'static str) -> Result<Option<bool>, Fault> {
        self.read(key, "true or false", |value| match value {
            ValueRef::Boolean(flag) => Some(*flag),
            _ => None,
        })
    }

    fn list(&self, key: &'static str) -> Result<Option<&'a [ValueRef<'a>]>, Fault> {
        self.read(key, "a list", |value| match value {
            ValueRef::Array(list) => Some(&list[..]),
            _ => None,
        })
    }

    fn needed(&self, key: &'static str) -> Result<u32, Fault> {
        let found = self.read(key, "a number of 32 bits", |value| {
            integer(value)?.try_into().ok()
        })?;
        found.ok_or_else(|| self.missing(key))
    }

    fn integers<const N: usize>(&self, key: &'static str) -> Result<Option<[u64; N]>, Fault> {
        self.read(key, "a list of as many numbers as it has", |value| match value {
            ValueRef::Array(list) => {
                let numbers: Option<Vec<_>> = list.iter().map(integer).collect();
                numbers?.try_into().ok()
            }
            _ => None,
        })
    }
}

fn integer(value: &ValueRef<'_>) -> Option<u64> {
    match value {
        ValueRef::Integer(number) => number.as_u64(),
        _ => None,
    }
}
