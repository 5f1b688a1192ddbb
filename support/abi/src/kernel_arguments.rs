//! `__tgt_kernel_arguments`, what the host hands to `__tgt_target_kernel` at every launch, and its map types.
//!
//! The same layout in every known release; another version number since LLVM 23. Source: `KernelArgsTy` in
//! `offload/include/Shared/APITypes.h`, `OpenMPOffloadMappingFlags` in `llvm/Frontend/OpenMP/OMPConstants.h`.

use std::ffi::c_void;
use std::mem::{align_of, offset_of, size_of};

/// Name of the record's type in IR, without the `%`.
pub const IR_STRUCT_NAME: &str = "struct.__tgt_kernel_arguments";

/// Value of [`KernelArguments::version`] until LLVM 22. The newest libomptarget takes it for GPUs alone.
pub const VERSION: u32 = 3;

/// Value of [`KernelArguments::version`] since LLVM 23: the last argument is the launch environment, a null
/// pointer by value.
pub const VERSION_WITH_LAUNCH_ENVIRONMENT: u32 = 5;

/// The record as it lies in the launching program's memory, on 64-bit hosts.
///
/// `__tgt_target_kernel` writes into it: the argument count grows by one for the implicit first argument (of
/// [`VERSION`]), and unset team and thread counts are normalised. Whoever launches twice from one record
/// copies it first.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct KernelArguments {
    /// [`VERSION`] or [`VERSION_WITH_LAUNCH_ENVIRONMENT`].
    pub version: u32,
    /// Length of the five arrays. More than the kernel has arguments: count the [`MapType::TARGET_PARAM`]
    /// bits.
    pub number_of_arguments: u32,
    /// Host base pointers, or the bits of a literal.
    pub base_pointers: *mut *mut c_void,
    /// Host addresses of the first mapped byte, or the bits of a literal.
    pub pointers: *mut *mut c_void,
    /// Mapped bytes of each argument.
    pub sizes: *mut i64,
    /// A [`MapType`] for each argument.
    pub map_types: *mut i64,
    /// Source names for messages; null without debug information.
    pub map_names: *mut *mut c_void,
    /// User-defined mappers; null or an array that may hold nulls.
    pub mappers: *mut *mut c_void,
    /// Iterations of a `distribute` or loop region, otherwise 0.
    pub trip_count: u64,
    /// Bit 0: launched with `nowait`.
    pub flags: u64,
    /// Teams in each dimension; -1 in the first: unset.
    pub number_of_teams: [u32; 3],
    /// Threads of a team in each dimension; 0 in the first: unset.
    pub thread_limit: [u32; 3],
    /// Bytes of dynamic memory shared by a team.
    pub dynamic_memory: u32,
}

const _: () = {
    assert!(size_of::<KernelArguments>() == 104);
    assert!(align_of::<KernelArguments>() == 8);
    assert!(offset_of!(KernelArguments, number_of_arguments) == 4);
    assert!(offset_of!(KernelArguments, base_pointers) == 8);
    assert!(offset_of!(KernelArguments, pointers) == 16);
    assert!(offset_of!(KernelArguments, sizes) == 24);
    assert!(offset_of!(KernelArguments, map_types) == 32);
    assert!(offset_of!(KernelArguments, map_names) == 40);
    assert!(offset_of!(KernelArguments, mappers) == 48);
    assert!(offset_of!(KernelArguments, trip_count) == 56);
    assert!(offset_of!(KernelArguments, flags) == 64);
    assert!(offset_of!(KernelArguments, number_of_teams) == 72);
    assert!(offset_of!(KernelArguments, thread_limit) == 84);
    assert!(offset_of!(KernelArguments, dynamic_memory) == 96);
};

/// How one argument is mapped: a set of bits and, in the top 16, a 1-based index of the argument it is a
/// member of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MapType(pub u64);

impl MapType {
    /// Copied to the device.
    pub const TO: Self = Self(0x1);
    /// Copied from the device.
    pub const FROM: Self = Self(0x2);
    /// Copied whatever the reference count is.
    pub const ALWAYS: Self = Self(0x4);
    /// Reference count forced to zero.
    pub const DELETE: Self = Self(0x8);
    /// A pointer together with what it points to.
    pub const PTR_AND_OBJ: Self = Self(0x10);
    /// Becomes an argument of the kernel.
    pub const TARGET_PARAM: Self = Self(0x20);
    /// Its device address is returned in place of the host address.
    pub const RETURN_PARAM: Self = Self(0x40);
    /// Private to the construct.
    pub const PRIVATE: Self = Self(0x80);
    /// Passed by value: the pointer arrays hold the bits themselves.
    pub const LITERAL: Self = Self(0x100);
    /// Not named in a clause.
    pub const IMPLICIT: Self = Self(0x200);
    /// Wanted in memory close to the device.
    pub const CLOSE: Self = Self(0x400);
    /// Must be mapped already.
    pub const PRESENT: Self = Self(0x1000);
    /// Held by a second reference count (`ompx_hold`).
    pub const OMPX_HOLD: Self = Self(0x2000);
    /// Attaches a pointer to what it points to; not an argument (LLVM 22 only).
    pub const ATTACH: Self = Self(0x4000);
    /// A non-contiguous range: the pointer leads to a descriptor of its dimensions.
    pub const NON_CONTIG: Self = Self(0x1000_0000_0000);
    /// The bits of [`MapType::member_of`].
    pub const MEMBER_OF: Self = Self(0xffff_0000_0000_0000);

    /// Whether every bit of `bits` is set.
    pub const fn contains(self, bits: Self) -> bool {
        self.0 & bits.0 == bits.0
    }

    /// Index of the argument that this one is a member of.
    pub const fn member_of(self) -> Option<u16> {
        match self.0 >> 48 {
            0 => None,
            index => Some((index - 1) as u16),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_types_that_clang_writes() {
        let scalar = MapType(800);
        assert!(scalar.contains(MapType::LITERAL) && scalar.contains(MapType::TARGET_PARAM));
        let array = MapType(35);
        assert!(
            array.contains(MapType::TO) && array.contains(MapType::FROM) && !array.contains(MapType::LITERAL)
        );
        assert!(!MapType(16384).contains(MapType::TARGET_PARAM));
    }

    #[test]
    fn member_of_is_one_based() {
        assert_eq!(MapType(0x23).member_of(), None);
        assert_eq!(MapType(0x0001_0000_0000_0003).member_of(), Some(0));
        assert_eq!(MapType(u64::MAX).member_of(), Some(0xfffe));
    }
}
