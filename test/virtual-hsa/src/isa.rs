//! Processors, and which code they take. Source: "AMDGPU Processors" and "ELF Header" of LLVM's AMDGPUUsage.

use std::fmt;

/// Work-items of a work-group, at most, on every processor.
pub(crate) const MAX_WORKGROUP_SIZE: u32 = 1024;

/// Bytes of group memory that a work-group may have, on every processor.
pub(crate) const MAX_GROUP_SEGMENT: u32 = 64 << 10;

/// A processor.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Processor {
    pub(crate) name: &'static str,
    /// `EF_AMDGPU_MACH` in the header of its code.
    pub(crate) machine: u32,
    has_xnack: bool,
    has_sramecc: bool,
}

/// One row for each processor.
const fn row(name: &'static str, machine: u32, has_xnack: bool, has_sramecc: bool) -> Processor {
    Processor {
        name,
        machine,
        has_xnack,
        has_sramecc,
    }
}

/// Those for which Debian's LLVM has a device runtime, and their successors.
const PROCESSORS: &[Processor] = &[
    row("gfx700", 0x022, false, false),
    row("gfx701", 0x023, false, false),
    row("gfx801", 0x028, true, false),
    row("gfx803", 0x02a, false, false),
    row("gfx900", 0x02c, true, false),
    row("gfx902", 0x02d, true, false),
    row("gfx906", 0x02f, true, true),
    row("gfx908", 0x030, true, true),
    row("gfx90a", 0x03f, true, true),
    row("gfx90c", 0x032, true, false),
    row("gfx940", 0x040, true, true),
    row("gfx941", 0x04b, true, true),
    row("gfx942", 0x04c, true, true),
    row("gfx1010", 0x033, true, false),
    row("gfx1030", 0x036, false, false),
    row("gfx1031", 0x037, false, false),
    row("gfx1032", 0x038, false, false),
    row("gfx1033", 0x039, false, false),
    row("gfx1034", 0x03e, false, false),
    row("gfx1035", 0x03d, false, false),
    row("gfx1036", 0x045, false, false),
    row("gfx1100", 0x041, false, false),
    row("gfx1101", 0x046, false, false),
    row("gfx1102", 0x047, false, false),
    row("gfx1103", 0x044, false, false),
    row("gfx1150", 0x043, false, false),
    row("gfx1151", 0x04a, false, false),
    row("gfx1152", 0x055, false, false),
    row("gfx1200", 0x048, false, false),
    row("gfx1201", 0x04e, false, false),
];

impl Processor {
    /// The processor of a name, as in `gfx90a`.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        PROCESSORS.iter().find(|processor| processor.name == name)
    }

    /// The processor of a number in an ELF header.
    pub(crate) fn of_machine(machine: u32) -> Option<&'static Self> {
        PROCESSORS.iter().find(|processor| processor.machine == machine)
    }

    /// `90` of `gfx90a`, `10` of `gfx1030`: what comes before the last two digits, which are hexadecimal.
    pub(crate) fn generation(&self) -> u32 {
        let digits = self.name.trim_start_matches("gfx");
        digits[..digits.len() - 2].parse().unwrap_or(0)
    }

    /// Work-items of a wavefront, as the runtime reports them.
    pub(crate) fn wavefront_size(&self) -> u32 {
        if self.generation() >= 10 { 32 } else { 64 }
    }

    /// Whether a kernel may have wavefronts of this size.
    pub(crate) fn takes_wavefronts_of(&self, size: u64) -> bool {
        size == 64 || (size == 32 && self.generation() >= 10)
    }

    /// Whether descriptors have the fields of gfx90a and gfx940 in `compute_pgm_rsrc3`.
    pub(crate) fn is_like_gfx90a(&self) -> bool {
        self.name == "gfx90a" || self.name.starts_with("gfx94")
    }
}

/// What code demands of a feature, or a device says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// The processor does not have it.
    Unsupported,
    /// Code that runs either way.
    Any,
    Off,
    On,
}

impl Feature {
    /// As the two bits of `e_flags` say it.
    fn from_bits(bits: u32) -> Self {
        match bits & 3 {
            0 => Self::Unsupported,
            1 => Self::Any,
            2 => Self::Off,
            _ => Self::On,
        }
    }
}

/// A processor with its features: a device's, or what code is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TargetId {
    pub(crate) processor: &'static Processor,
    pub(crate) sramecc: Feature,
    pub(crate) xnack: Feature,
}

/// `EF_AMDGPU_MACH`.
const MACHINE_MASK: u32 = 0xff;
/// `EF_AMDGPU_FEATURE_XNACK_V4` and `EF_AMDGPU_FEATURE_SRAMECC_V4`, which begin at these bits.
const XNACK_SHIFT: u32 = 8;
const SRAMECC_SHIFT: u32 = 10;
/// All bits of `e_flags` that have a meaning up to code object version 5.
pub(crate) const KNOWN_FLAGS: u32 = 0xfff;

impl TargetId {
    /// A device's, as in `gfx90a:sramecc+:xnack-`. What is not named is as most machines have it: SRAM ECC
    /// on, XNACK off.
    pub(crate) fn of_device(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let processor = Processor::named(parts.next()?)?;
        let mut target = Self {
            processor,
            sramecc: if processor.has_sramecc {
                Feature::On
            } else {
                Feature::Unsupported
            },
            xnack: if processor.has_xnack {
                Feature::Off
            } else {
                Feature::Unsupported
            },
        };
        for part in parts {
            let (field, name) = match part.strip_suffix(['+', '-'])? {
                "sramecc" => (&mut target.sramecc, part),
                "xnack" => (&mut target.xnack, part),
                _ => return None,
            };
            if *field == Feature::Unsupported {
                return None;
            }
            *field = if name.ends_with('+') {
                Feature::On
            } else {
                Feature::Off
            };
        }
        Some(target)
    }

    /// What code with these `e_flags` is for. `None`: no processor of the table.
    pub(crate) fn of_flags(flags: u32) -> Option<Self> {
        Some(Self {
            processor: Processor::of_machine(flags & MACHINE_MASK)?,
            sramecc: Feature::from_bits(flags >> SRAMECC_SHIFT),
            xnack: Feature::from_bits(flags >> XNACK_SHIFT),
        })
    }

    /// Whether the processor has the features that are named.
    pub(crate) fn is_possible(&self) -> bool {
        let fits = |has: bool, feature| has || feature == Feature::Unsupported;
        fits(self.processor.has_sramecc, self.sramecc) && fits(self.processor.has_xnack, self.xnack)
    }

    /// Whether code that is for `code` runs on a device that is this one.
    pub(crate) fn runs(&self, code: &Self) -> bool {
        let fits = |device: Feature, code: Feature| match code {
            Feature::Unsupported | Feature::Any => true,
            demanded => device == demanded,
        };
        self.processor == code.processor && fits(self.sramecc, code.sramecc) && fits(self.xnack, code.xnack)
    }

    /// With the triple, as `hsa_isa_get_info_alt` and `amdhsa.target` say it.
    pub(crate) fn isa_name(&self) -> String {
        format!("amdgcn-amd-amdhsa--{self}")
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.processor.name)?;
        for (name, feature) in [("sramecc", self.sramecc), ("xnack", self.xnack)] {
            match feature {
                Feature::On => write!(formatter, ":{name}+")?,
                Feature::Off => write!(formatter, ":{name}-")?,
                Feature::Any | Feature::Unsupported => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_the_features_of_its_processor() {
        assert_eq!(
            TargetId::of_device("gfx90a").unwrap().to_string(),
            "gfx90a:sramecc+:xnack-"
        );
        let given = TargetId::of_device("gfx90a:sramecc-:xnack+").unwrap();
        assert_eq!(given.to_string(), "gfx90a:sramecc-:xnack+");
        assert_eq!(TargetId::of_device("gfx1030").unwrap().to_string(), "gfx1030");
        for wrong in ["gfx1030:xnack+", "gfx90a:xnack", "gfx90a:speed+", "sm_80", ""] {
            assert_eq!(TargetId::of_device(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn code_runs_where_its_processor_and_features_are() {
        let device = TargetId::of_device("gfx90a").unwrap();
        let runs = |flags| device.runs(&TargetId::of_flags(flags).unwrap());
        assert!(runs(0x53f), "any of both");
        assert!(runs(0xe3f), "as the device");
        assert!(!runs(0x73f | 0x100), "XNACK on");
        assert!(!runs(0x93f), "SRAM ECC off");
        assert!(!runs(0x530), "gfx908");
    }

    #[test]
    fn generations_and_wavefronts() {
        let of = |name| Processor::named(name).unwrap();
        assert_eq!(
            ["gfx90a", "gfx1030", "gfx803"].map(|name| of(name).generation()),
            [9, 10, 8]
        );
        assert_eq!(of("gfx90a").wavefront_size(), 64);
        assert_eq!(of("gfx1030").wavefront_size(), 32);
        assert!(of("gfx1030").takes_wavefronts_of(64));
        assert!(!of("gfx90a").takes_wavefronts_of(32));
    }
}
