//! Sizes for people.

/// A size in bytes, with three digits at most.
pub(crate) fn size(bytes: u64) -> String {
    let mut amount = bytes as f64;
    for unit in ["B", "KiB", "MiB"] {
        if amount < 1024.0 {
            return match unit {
                "B" => format!("{bytes} B"),
                _ => format!("{amount:.1} {unit}"),
            };
        }
        amount /= 1024.0;
    }
    format!("{amount:.1} GiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(3 << 30), "3.0 GiB");
        assert_eq!(size(1 << 50), "1048576.0 GiB");
    }
}
