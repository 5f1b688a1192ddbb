//! What the code objects of AMD GPUs say of a kernel.
//!
//! Source: "Kernel Descriptor" and "compute_pgm_rsrc1" of LLVM's "User Guide for AMDGPU Backend".

/// What follows a kernel's name in that of its descriptor.
pub const DESCRIPTOR_SUFFIX: &str = ".kd";

/// What the hardware reads of a kernel before it starts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelDescriptor {
    /// Bytes of a workgroup's memory (LDS), without what the launch adds.
    pub group_segment: u32,
    /// Bytes of a work-item's stack.
    pub private_segment: u32,
    /// Bytes of the kernel's arguments, those that the launch adds included.
    pub kernel_arguments: u32,
    /// `compute_pgm_rsrc1`.
    resources: u32,
    /// `kernel_code_properties`.
    properties: u16,
}

impl KernelDescriptor {
    /// Bytes of a descriptor.
    pub const SIZE: usize = 64;

    /// Reads the descriptor that the bytes begin with. `None`: they are fewer.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::SIZE] = bytes.first_chunk()?;
        let word = |at: usize| {
            let mut word = [0; 4];
            word.copy_from_slice(&bytes[at..at + 4]);
            u32::from_le_bytes(word)
        };
        Some(Self {
            group_segment: word(0),
            private_segment: word(4),
            kernel_arguments: word(8),
            resources: word(48),
            properties: u16::from_le_bytes([bytes[56], bytes[57]]),
        })
    }

    /// Vector registers of a work-item, as they are encoded here: in units that depend on the processor, such
    /// as `gfx90a`. The hardware may allocate more. Accumulation registers count where they are of the same
    /// file.
    pub fn vector_registers(&self, processor: &str) -> u32 {
        const COUNT: u32 = 0x3f;
        const IS_WAVEFRONT_32: u16 = 1 << 10;
        let is_unified =
            matches!(processor, "gfx90a" | "gfx950" | "gfx9-4-generic") || processor.starts_with("gfx94");
        let unit = match is_unified || self.properties & IS_WAVEFRONT_32 != 0 {
            true => 8,
            false => 4,
        };
        ((self.resources & COUNT) + 1) * unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_the_guide_has_them() {
        let mut bytes = [0; KernelDescriptor::SIZE];
        bytes[0] = 1;
        bytes[5] = 1;
        bytes[8] = 40;
        bytes[48] = 0b1100_0011;
        let descriptor = KernelDescriptor::parse(&bytes).expect("there are enough bytes");
        let sizes = [
            descriptor.group_segment,
            descriptor.private_segment,
            descriptor.kernel_arguments,
        ];
        assert_eq!(sizes, [1, 256, 40]);
        assert_eq!(descriptor.vector_registers("gfx906"), 16);
        assert_eq!(descriptor.vector_registers("gfx90a"), 32);
        bytes[57] = 1 << 2;
        let wavefront_32 = KernelDescriptor::parse(&bytes).expect("there are enough bytes");
        assert_eq!(wavefront_32.vector_registers("gfx1030"), 32);
        assert_eq!(KernelDescriptor::parse(&bytes[1..]), None);
    }
}
