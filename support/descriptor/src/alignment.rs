//! Alignment classes of pointers: the JIT paper's section 4.4.

/// How a pointer is aligned, as far as code can gain from it: to 8, 16, 32, 64 or 128 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Alignment(u8);

impl Alignment {
    /// Every class, the strictest first.
    pub const ALL: [Self; 5] = [Self(128), Self(64), Self(32), Self(16), Self(8)];

    /// The strictest class that `address` belongs to; none if it is not even aligned to 8 bytes. Zero belongs
    /// to all.
    pub const fn of(address: u64) -> Option<Self> {
        let lowest_set_bit = address & address.wrapping_neg();
        if lowest_set_bit == 0 || lowest_set_bit >= 128 {
            return Some(Self(128));
        }
        Self::from_bytes(lowest_set_bit)
    }

    /// The class of this many bytes, if there is one.
    pub const fn from_bytes(bytes: u64) -> Option<Self> {
        match bytes {
            8 | 16 | 32 | 64 | 128 => Some(Self(bytes as u8)),
            _ => None,
        }
    }

    /// The alignment in bytes.
    pub const fn bytes(self) -> u64 {
        self.0 as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gets_the_first_class_that_divides_it() {
        // The JIT paper's wording: go through the classes in decreasing order, take the first that fits.
        for address in (0..2048).chain([u64::MAX - 127, u64::MAX]) {
            let first = Alignment::ALL
                .into_iter()
                .find(|class| address % class.bytes() == 0);
            assert_eq!(Alignment::of(address), first, "{address:#x}");
        }
    }
}
