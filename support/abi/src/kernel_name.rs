//! Names of target regions: `__omp_offloading_<device id>_<file id>_<parent>_l<line>[_<count>]`.
//!
//! Source: `TargetRegionEntryInfo` in `llvm/Frontend/OpenMP/OMPIRBuilder.h`; the same in every known release.
//!
//! A name is read from both ends: the ids are hexadecimal and so hold no underscore, the line and the count
//! are decimal and close the name. What is left between is the parent, which may itself contain `_l12` or
//! `_3`: `…_f_l12_l7` is line 7 of `f_l12`, `…_f_l12_3` is the fourth region on line 12 of `f`. No name has
//! two readings.
//!
//! Two things a name cannot tell: the device symbol of an `indirect` function follows the same scheme (its
//! entry has flags [`crate::entry::EntryFlags::INDIRECT`]), and so does the host fallback of a kernel.

use std::fmt;

/// How every name starts.
pub const PREFIX: &str = "__omp_offloading_";

/// How the device constant for an `indirect` table of virtual functions ends (LLVM 22): a name of the scheme
/// comes before.
pub const VTABLE_SUFFIX: &str = "addr";

/// Whether the device constant of this name holds the address of an `indirect` table of virtual functions.
pub fn is_vtable_constant(name: &str) -> bool {
    name.strip_suffix(VTABLE_SUFFIX)
        .is_some_and(|name| KernelName::parse(name).is_some())
}

/// The parts of a target region's name, borrowed from it.
///
/// [`KernelName::parse`] accepts exactly what [`fmt::Display`] prints: no leading zeros, lower-case
/// hexadecimal, no `_0` for the first region of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KernelName<'a> {
    /// Device number (`st_dev`) of the file that holds the directive.
    pub device_id: u32,
    /// File number (`st_ino`) of the file that holds the directive.
    pub file_id: u32,
    /// Mangled name of the function that holds the directive.
    pub parent: &'a str,
    /// Line of the directive.
    pub line: u32,
    /// How many regions stand before this one on the same line of the same parent.
    pub count: u32,
}

impl<'a> KernelName<'a> {
    /// Takes a name apart; `None` if it is not of this scheme.
    pub fn parse(name: &'a str) -> Option<Self> {
        let rest = name.strip_prefix(PREFIX)?;
        let (device_id, rest) = rest.split_once('_')?;
        let (file_id, rest) = rest.split_once('_')?;
        let (parent, line, count) = split_line(rest).or_else(|| {
            let (rest, count) = rest.rsplit_once('_')?;
            let count = decimal(count).filter(|&count| count != 0)?;
            let (parent, line, _) = split_line(rest)?;
            Some((parent, line, count))
        })?;
        Some(Self {
            device_id: hexadecimal(device_id)?,
            file_id: hexadecimal(file_id)?,
            parent,
            line,
            count,
        })
    }
}

impl fmt::Display for KernelName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            device_id,
            file_id,
            parent,
            line,
            count,
        } = self;
        write!(f, "{PREFIX}{device_id:x}_{file_id:x}_{parent}_l{line}")?;
        if *count > 0 {
            write!(f, "_{count}")?;
        }
        Ok(())
    }
}

/// Name of the host global whose address identifies the kernel: `.<kernel>.region_id`.
pub fn region_id_name(kernel: &str) -> String {
    format!(".{kernel}.region_id")
}

/// The kernel's name in the name of its region id; `None` if `name` is not one.
pub fn kernel_of_region_id(name: &str) -> Option<&str> {
    name.strip_prefix('.')?.strip_suffix(".region_id")
}

fn split_line(text: &str) -> Option<(&str, u32, u32)> {
    let (parent, line) = text.rsplit_once("_l")?;
    Some((parent, decimal(line)?, 0))
}

fn decimal(text: &str) -> Option<u32> {
    number(text, 10)
}

fn hexadecimal(text: &str) -> Option<u32> {
    number(text, 16)
}

/// A number without sign, leading zeros or capital letters.
fn number(text: &str, radix: u32) -> Option<u32> {
    let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let leading_zero = text.len() > 1 && text.starts_with('0');
    if !digits || leading_zero {
        return None;
    }
    u32::from_str_radix(text, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn clangs_names() {
        let name = "__omp_offloading_fe00_98c2ad__Z7genericPiPFiiE_l31";
        let parsed = KernelName::parse(name).unwrap();
        assert_eq!(
            parsed,
            KernelName {
                device_id: 0xfe00,
                file_id: 0x98_c2ad,
                parent: "_Z7genericPiPFiiE",
                line: 31,
                count: 0
            }
        );
        assert_eq!(KernelName::parse("__omp_offloading_1_2_f_l2_1").unwrap().count, 1);
    }

    #[test]
    fn a_parent_that_looks_like_the_end_of_a_name() {
        let parsed = KernelName::parse("__omp_offloading_1_2_f_l12_l7").unwrap();
        assert_eq!((parsed.parent, parsed.line, parsed.count), ("f_l12", 7, 0));
        let parsed = KernelName::parse("__omp_offloading_1_2_f_l12_3").unwrap();
        assert_eq!((parsed.parent, parsed.line, parsed.count), ("f", 12, 3));
        let parsed = KernelName::parse("__omp_offloading_1_2_f_l1_3_l4_5").unwrap();
        assert_eq!((parsed.parent, parsed.line, parsed.count), ("f_l1_3", 4, 5));
    }

    #[test]
    fn other_names_are_refused() {
        for name in [
            "",
            "main",
            "__omp_offloading_",
            "__omp_offloading_1_2_f",
            "__omp_offloading_1_2_f_l",
            "__omp_offloading_1_2_f_l3_0",
            "__omp_offloading_1_2_f_l03",
            "__omp_offloading_1_2_f_l+3",
            "__omp_offloading_FE_2_f_l3",
            "__omp_offloading_1_2_f_l3.omp_outlined",
            "__omp_offloading_1_2_f_l3_kernel_environment",
            "__omp_offloading_1_2_f_l99999999999",
            "__omp_offloading_123456789_2_f_l3",
        ] {
            assert_eq!(KernelName::parse(name), None, "{name}");
        }
    }

    #[test]
    fn region_ids() {
        let kernel = "__omp_offloading_1_2_f_l3";
        assert_eq!(kernel_of_region_id(&region_id_name(kernel)), Some(kernel));
        assert_eq!(kernel_of_region_id("g"), None);
    }

    proptest! {
        #[test]
        fn printing_and_parsing_agree(
            device_id: u32, file_id: u32, parent in "[a-zA-Z_0-9$.]{0,12}(_l[0-9]{1,3})?(_[0-9]{1,2})?", line: u32, count: u32
        ) {
            let name = KernelName { device_id, file_id, parent: &parent, line, count };
            let text = name.to_string();
            prop_assert_eq!(KernelName::parse(&text), Some(name));
        }

        #[test]
        fn what_parses_prints_back(
            text in "__omp_offloading_[0-9a-f]{1,8}_[0-9a-f]{1,8}_[a-z_0-9]{0,8}_l[0-9]{1,4}(_[0-9l]{1,3})?"
        ) {
            if let Some(name) = KernelName::parse(&text) {
                prop_assert_eq!(name.to_string(), text);
            }
        }

        #[test]
        fn arbitrary_text_never_panics(text in ".*") {
            let _ = KernelName::parse(&text);
        }
    }
}
