//! Offload entries (`__tgt_offload_entry`): the table that ties a host address to the name of a device
//! symbol.
//!
//! LLVM 19: 32-byte records in section `omp_offloading_entries`, packed back to back. LLVM 22: 56-byte
//! records in `llvm_offload_entries`, which OpenMP, CUDA and HIP share. Equal records may occur twice: entry
//! globals have weak linkage without a comdat, so a kernel in a header leaves one record per translation
//! unit. Source: `llvm/Frontend/Offloading/Utility.h` and `Utility.cpp`.

use std::mem::{offset_of, size_of};

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::version::EntryFormat;
use crate::{FormatError, LlvmVersion, OffloadKind, Problem, fat_binary};

/// Name of the record's type in IR, without the `%`.
pub const IR_STRUCT_NAME: &str = "struct.__tgt_offload_entry";

/// How the names of entry globals start: `.offloading.entry.<entry name>`.
pub const GLOBAL_PREFIX: &str = ".offloading.entry.";

/// Name of the globals that hold entry names, before LLVM makes it unique (`.offloading.entry_name.3`).
pub const NAME_GLOBAL: &str = ".offloading.entry_name";

/// Value of the version field of an LLVM 22 record.
pub const RECORD_VERSION: u16 = 1;

/// Name of the entry global for the entry called `name`.
pub fn global_name(name: &str) -> String {
    format!("{GLOBAL_PREFIX}{name}")
}

/// Name of the entry of a `requires` directive.
pub const fn requires_name(version: LlvmVersion) -> &'static str {
    match version.entries {
        EntryFormat::Legacy => "",
        EntryFormat::Version1 => ".requires",
    }
}

/// Section that OpenMP entries stand in. It is a C identifier, so that the linker gives it start and stop
/// symbols.
pub const fn section(version: LlvmVersion) -> &'static str {
    match version.entries {
        EntryFormat::Legacy => "omp_offloading_entries",
        EntryFormat::Version1 => "llvm_offload_entries",
    }
}

/// The programming model whose entries stand in the section `name`, if any do: OpenMP in [`section`] and, in
/// LLVM 19, CUDA and HIP in sections of their own. In LLVM 22 all share one section, and each record says
/// whose it is. An object merged by `-r` has `_` and a hash in hexadecimal digits behind the name.
pub fn producer(version: LlvmVersion, name: &str) -> Option<OffloadKind> {
    let of = |kind, section: &str| {
        let rest = name.strip_prefix(section)?;
        let hash = rest.strip_prefix('_').unwrap_or_default();
        let merged = !hash.is_empty() && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        (rest.is_empty() || merged).then_some(kind)
    };
    let mut runtimes = [fat_binary::CUDA, fat_binary::HIP].into_iter();
    of(OffloadKind::OpenMp, section(version))
        .or_else(|| runtimes.find_map(|runtime| of(runtime.kind, runtime.entry_section(version))))
}

/// Every section that entries of a release stand in: in LLVM 22 thrice the same.
pub const fn sections(version: LlvmVersion) -> [&'static str; 3] {
    [
        section(version),
        fat_binary::CUDA.entry_section(version),
        fat_binary::HIP.entry_section(version),
    ]
}

/// Section that entry names stand in; `None`: they go where the compiler puts strings.
pub const fn name_section(version: LlvmVersion) -> Option<&'static str> {
    match version.entries {
        EntryFormat::Legacy => None,
        EntryFormat::Version1 => Some(".llvm.rodata.offloading"),
    }
}

/// Symbol that the linker puts at the start of the entry table.
pub const fn start_symbol(version: LlvmVersion) -> &'static str {
    match version.entries {
        EntryFormat::Legacy => "__start_omp_offloading_entries",
        EntryFormat::Version1 => "__start_llvm_offload_entries",
    }
}

/// Symbol that the linker puts behind the entry table.
pub const fn stop_symbol(version: LlvmVersion) -> &'static str {
    match version.entries {
        EntryFormat::Legacy => "__stop_omp_offloading_entries",
        EntryFormat::Version1 => "__stop_llvm_offload_entries",
    }
}

/// Empty global that the wrapper puts in the section, so that it exists in a program without entries.
pub const fn dummy_symbol(version: LlvmVersion) -> &'static str {
    match version.entries {
        EntryFormat::Legacy => "__dummy.omp_offloading_entries",
        EntryFormat::Version1 => "__dummy.llvm_offload_entries",
    }
}

/// Alignment in bytes that the IR gives an entry global.
pub const fn alignment(version: LlvmVersion) -> u32 {
    match version.entries {
        EntryFormat::Legacy => 1,
        EntryFormat::Version1 => 8,
    }
}

/// Size of a record in bytes.
pub const fn size(version: LlvmVersion) -> usize {
    match version.entries {
        EntryFormat::Legacy => size_of::<LegacyRecord>(),
        EntryFormat::Version1 => size_of::<Record1>(),
    }
}

/// Offset in a record of the pointer to the host symbol.
pub const fn address_offset(version: LlvmVersion) -> usize {
    match version.entries {
        EntryFormat::Legacy => offset_of!(LegacyRecord, address),
        EntryFormat::Version1 => offset_of!(Record1, address),
    }
}

/// Offset in a record of the pointer to the NUL-terminated entry name.
pub const fn name_offset(version: LlvmVersion) -> usize {
    match version.entries {
        EntryFormat::Legacy => offset_of!(LegacyRecord, name),
        EntryFormat::Version1 => offset_of!(Record1, name),
    }
}

/// What a field of a record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryField {
    /// Zero.
    Reserved,
    /// [`RECORD_VERSION`].
    Version,
    /// The programming model's number.
    Kind,
    /// [`EntryFlags`].
    Flags,
    /// Address of the host symbol.
    Address,
    /// Address of the NUL-terminated name.
    Name,
    /// Bytes that a variable takes.
    Size,
    /// The clauses of `requires`.
    Data,
    /// A further pointer, which CUDA's managed variables have.
    AuxAddress,
}

/// The type of a field in IR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FieldType {
    /// `ptr`.
    Pointer,
    /// An integer of 16 bits.
    I16,
    /// An integer of 32 bits.
    I32,
    /// An integer of 64 bits.
    I64,
}

impl FieldType {
    /// The type as IR spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pointer => "ptr",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
        }
    }

    /// Bytes that it takes.
    pub const fn size(self) -> usize {
        match self {
            Self::I16 => 2,
            Self::I32 => 4,
            Self::Pointer | Self::I64 => 8,
        }
    }
}

/// The fields of a record in IR, in order, with their types. They lie back to back.
pub const fn fields(version: LlvmVersion) -> &'static [(EntryField, FieldType)] {
    use EntryField::{Address, AuxAddress, Data, Flags, Kind, Name, Reserved, Size, Version};
    use FieldType::{I16, I32, I64, Pointer};
    match version.entries {
        EntryFormat::Legacy => &[
            (Address, Pointer),
            (Name, Pointer),
            (Size, I64),
            (Flags, I32),
            (Data, I32),
        ],
        EntryFormat::Version1 => &[
            (Reserved, I64),
            (Version, I16),
            (Kind, I16),
            (Flags, I32),
            (Address, Pointer),
            (Name, Pointer),
            (Size, I64),
            (Data, I64),
            (AuxAddress, Pointer),
        ],
    }
}

/// The place of a field among [`fields`], and its type; `None`: records of the release have no such field.
pub fn field(version: LlvmVersion, field: EntryField) -> Option<(u32, FieldType)> {
    (0..)
        .zip(fields(version))
        .find(|(_, (of, _))| *of == field)
        .map(|(number, (_, field_type))| (number, *field_type))
}

/// Flags of an OpenMP entry, the same numbers in every known release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EntryFlags(pub u32);

impl EntryFlags {
    /// A target region (entry size 0), or a `to` or `enter` variable (entry size > 0).
    pub const NONE: Self = Self(0);
    /// A `link` variable: the address is that of `<name>_decl_tgt_ref_ptr`, the size that of a pointer.
    pub const LINK: Self = Self(1);
    /// An `enter` variable in LLVM's enumeration. Compilers write [`EntryFlags::NONE`] for one.
    pub const ENTER: Self = Self(2);
    /// A target region (entry size 0) that constructs globals. Compilers up to LLVM 17 wrote it; no later
    /// runtime knows it.
    pub const CONSTRUCTOR: Self = Self(2);
    /// A target region (entry size 0) that destroys globals. Compilers up to LLVM 17 wrote it; no later
    /// runtime knows it.
    pub const DESTRUCTOR: Self = Self(4);
    /// An `indirect` function: the address is the function, the size that of a pointer.
    pub const INDIRECT: Self = Self(8);
    /// A `requires` directive: address null, size 0, the clauses are in the entry's data.
    pub const REQUIRES: Self = Self(16);
    /// An `indirect` vtable (LLVM 22 only).
    pub const INDIRECT_VTABLE: Self = Self(32);
}

/// What an entry stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A target region.
    Kernel,
    /// A target region that constructs globals.
    Constructor,
    /// A target region that destroys globals.
    Destructor,
    /// A `declare target to` or `enter` variable.
    Variable,
    /// A `declare target link` variable.
    Link,
    /// A `declare target indirect` function.
    Indirect,
    /// A `requires` directive.
    Requires,
    /// A vtable of classes with `indirect` virtual functions.
    IndirectVtable,
    /// Flags that no known release writes.
    Unknown,
}

/// A record of either release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Programming model. LLVM 19 has a section per model instead of this field.
    pub kind: OffloadKind,
    /// What the entry stands for, with [`Entry::size`].
    pub flags: EntryFlags,
    /// Address of the host symbol: a kernel's region id, a variable, a function; null for `requires`.
    pub address: u64,
    /// Address of the NUL-terminated name of the device symbol.
    pub name: u64,
    /// Bytes that the variable takes; 0 for a target region.
    pub size: u64,
    /// The clauses of `requires`, otherwise 0. LLVM 19 has 32 bits of it.
    pub data: u64,
    /// Further pointer, null for OpenMP. LLVM 19 has no such field.
    pub aux_address: u64,
}

impl Entry {
    /// What the entry stands for.
    pub const fn entry_kind(&self) -> EntryKind {
        match self.flags {
            EntryFlags::NONE if self.size == 0 => EntryKind::Kernel,
            EntryFlags::NONE => EntryKind::Variable,
            EntryFlags::CONSTRUCTOR if self.size == 0 => EntryKind::Constructor,
            EntryFlags::DESTRUCTOR if self.size == 0 => EntryKind::Destructor,
            EntryFlags::LINK => EntryKind::Link,
            EntryFlags::INDIRECT => EntryKind::Indirect,
            EntryFlags::REQUIRES => EntryKind::Requires,
            EntryFlags::INDIRECT_VTABLE => EntryKind::IndirectVtable,
            _ => EntryKind::Unknown,
        }
    }

    /// The same as a record of `producer`'s section, see [`producer`]: those of LLVM 19 do not say themselves
    /// whose they are.
    pub fn of_producer(self, version: LlvmVersion, producer: OffloadKind) -> Self {
        match version.entries {
            EntryFormat::Legacy => Self {
                kind: producer,
                ..self
            },
            EntryFormat::Version1 => self,
        }
    }

    /// The record's bytes, [`size`] of them; `None` where `version` has no room for a field's value.
    pub fn encode(&self, version: LlvmVersion) -> Option<Vec<u8>> {
        let Self {
            kind,
            flags,
            address,
            name,
            size,
            data,
            aux_address,
        } = *self;
        Some(match version.entries {
            EntryFormat::Legacy => {
                if kind != OffloadKind::OpenMp || aux_address != 0 {
                    return None;
                }
                let record = LegacyRecord {
                    address: address.into(),
                    name: name.into(),
                    size: size.into(),
                    flags: flags.0.into(),
                    data: u32::try_from(data).ok()?.into(),
                };
                record.as_bytes().to_vec()
            }
            EntryFormat::Version1 => {
                let record = Record1 {
                    reserved: 0.into(),
                    version: RECORD_VERSION.into(),
                    kind: kind.number(version)?.into(),
                    flags: flags.0.into(),
                    address: address.into(),
                    name: name.into(),
                    size: size.into(),
                    data: data.into(),
                    aux_address: aux_address.into(),
                };
                record.as_bytes().to_vec()
            }
        })
    }

    /// Reads the record at the start of `bytes`.
    ///
    /// # Errors
    /// The bytes are too few, or are not a record of `version`.
    pub fn parse(version: LlvmVersion, bytes: &[u8]) -> Result<Self, FormatError> {
        match version.entries {
            EntryFormat::Legacy => {
                let record: &LegacyRecord = prefix(bytes)?;
                Ok(Self {
                    kind: OffloadKind::OpenMp,
                    flags: EntryFlags(record.flags.get()),
                    address: record.address.get(),
                    name: record.name.get(),
                    size: record.size.get(),
                    data: record.data.get().into(),
                    aux_address: 0,
                })
            }
            EntryFormat::Version1 => Self::from_record1(prefix(bytes)?),
        }
    }

    fn from_record1(record: &Record1) -> Result<Self, FormatError> {
        if record.reserved != 0 {
            return Err(FormatError::new(
                offset_of!(Record1, reserved) as u64,
                Problem::ReservedNotZero {
                    what: RECORD,
                    found: record.reserved.get(),
                },
            ));
        }
        if record.version != RECORD_VERSION {
            return Err(FormatError::new(
                offset_of!(Record1, version) as u64,
                Problem::UnsupportedVersion {
                    what: RECORD,
                    found: record.version.get().into(),
                    supported: RECORD_VERSION.into(),
                },
            ));
        }
        let found = record.kind.get();
        let kind = OffloadKind::from_number(found).ok_or_else(|| {
            FormatError::new(
                offset_of!(Record1, kind) as u64,
                Problem::UnknownOffloadKind { found },
            )
        })?;
        Ok(Self {
            kind,
            flags: EntryFlags(record.flags.get()),
            address: record.address.get(),
            name: record.name.get(),
            size: record.size.get(),
            data: record.data.get(),
            aux_address: record.aux_address.get(),
        })
    }
}

/// Reads a whole entry table, record by record.
///
/// # Errors
/// The table is not a whole number of records; each item says whether its record is well formed, with offsets
/// from the start of the table.
pub fn parse_table(
    version: LlvmVersion,
    bytes: &[u8],
) -> Result<impl Iterator<Item = Result<Entry, FormatError>>, FormatError> {
    let record_size = size(version);
    if !bytes.len().is_multiple_of(record_size) {
        return Err(FormatError::new(
            0,
            Problem::PartialRecord {
                what: "the offload entry table",
                size: bytes.len() as u64,
                record_size: record_size as u64,
            },
        ));
    }
    Ok(bytes
        .chunks_exact(record_size)
        .enumerate()
        .map(move |(index, record)| {
            Entry::parse(version, record).map_err(|error| error.at_base((index * record_size) as u64))
        }))
}

const RECORD: &str = "an offload entry";

fn prefix<T: FromBytes + KnownLayout + Immutable + Unaligned>(bytes: &[u8]) -> Result<&T, FormatError> {
    match T::ref_from_prefix(bytes) {
        Ok((record, _)) => Ok(record),
        Err(_) => Err(FormatError::new(
            0,
            Problem::Truncated {
                what: RECORD,
                needed: size_of::<T>() as u64,
                available: bytes.len() as u64,
            },
        )),
    }
}

/// A record of [`EntryFormat::Legacy`].
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct LegacyRecord {
    address: U64,
    name: U64,
    size: U64,
    flags: U32,
    data: U32,
}

const _: () = {
    assert!(size_of::<LegacyRecord>() == 32);
    assert!(offset_of!(LegacyRecord, name) == 8);
    assert!(offset_of!(LegacyRecord, size) == 16);
    assert!(offset_of!(LegacyRecord, flags) == 24);
    assert!(offset_of!(LegacyRecord, data) == 28);
};

/// A record of [`EntryFormat::Version1`].
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Record1 {
    reserved: U64,
    version: U16,
    kind: U16,
    flags: U32,
    address: U64,
    name: U64,
    size: U64,
    data: U64,
    aux_address: U64,
}

const _: () = {
    assert!(size_of::<Record1>() == 56);
    assert!(offset_of!(Record1, version) == 8);
    assert!(offset_of!(Record1, kind) == 10);
    assert!(offset_of!(Record1, flags) == 12);
    assert!(offset_of!(Record1, address) == 16);
    assert!(offset_of!(Record1, name) == 24);
    assert!(offset_of!(Record1, size) == 32);
    assert!(offset_of!(Record1, data) == 40);
    assert!(offset_of!(Record1, aux_address) == 48);
};

#[cfg(test)]
mod tests;
