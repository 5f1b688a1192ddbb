//! Which memory of the process there is that the program has from elsewhere than the driver.

use std::fs;

/// The part of the process's memory that holds these bytes, and that may be read and written: start and size.
///
/// Parts that follow each other are one. `None` where a byte is in no such part.
pub(super) fn writable_part(address: u64, size: u64) -> Option<(u64, u64)> {
    part_of(&fs::read_to_string("/proc/self/maps").ok()?, address, size)
}

/// As [`writable_part`], of the text of `/proc/self/maps`: a line for each part, in the order of addresses.
fn part_of(maps: &str, address: u64, size: u64) -> Option<(u64, u64)> {
    let end = address.checked_add(size)?;
    let mut part: Option<(u64, u64)> = None;
    for line in maps.lines() {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let from = u64::from_str_radix(from, 16).ok()?;
        let to = u64::from_str_radix(to, 16).ok()?;
        if !rest.starts_with("rw") {
            continue;
        }
        part = match part {
            Some((start, last)) if last == from => Some((start, to)),
            _ => Some((from, to)),
        };
        let (start, last) = part?;
        // A part that ends here may go on in the next line.
        if start <= address && end <= last {
            return Some((start, last - start));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
00001000-00002000 r--p 00000000 08:01 1 /bin/program
00002000-00003000 rw-p 00001000 08:01 1 /bin/program
00003000-00005000 rw-p 00000000 00:00 0 [heap]
00006000-00007000 rw-p 00000000 00:00 0
";

    #[test]
    fn parts_are_found() {
        assert_eq!(part_of(MAPS, 0x2000, 8), Some((0x2000, 0x1000)));
        assert_eq!(part_of(MAPS, 0x2FFC, 8), Some((0x2000, 0x3000)));
        assert_eq!(part_of(MAPS, 0x6FFF, 1), Some((0x6000, 0x1000)));
    }

    #[test]
    fn what_is_not_there_or_read_only_is_none() {
        for (address, size) in [
            (0, 1),
            (0x1000, 8),
            (0x1FFC, 8),
            (0x4FFC, 8),
            (0x6FFF, 2),
            (u64::MAX, 2),
        ] {
            assert_eq!(part_of(MAPS, address, size), None, "{address:#x}");
        }
        assert_eq!(part_of("nonsense", 0, 1), None);
    }

    #[test]
    fn a_variable_of_the_process_is_there() {
        let value = [7_u64; 4];
        let address = std::ptr::from_ref(&value).addr() as u64;
        let (start, size) = writable_part(address, 32).unwrap();
        assert!(start <= address && address + 32 <= start + size);
    }
}
