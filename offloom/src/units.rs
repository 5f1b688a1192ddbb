//! Numbers for people: sizes, times, counts.

use jiff::Timestamp;

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

/// Nanoseconds as milliseconds.
pub(crate) fn milliseconds(nanoseconds: f64) -> String {
    without_sign_of_zero(format!("{:.2}", nanoseconds / 1e6))
}

/// Nanoseconds of one launch as milliseconds.
pub(crate) fn launch_milliseconds(nanoseconds: u64) -> String {
    format!("{:.4}", nanoseconds as f64 / 1e6)
}

/// What was rounded to nothing is nothing, on whichever side of it it was.
fn without_sign_of_zero(number: String) -> String {
    match number.strip_prefix('-') {
        Some(rest) if rest.bytes().all(|byte| matches!(byte, b'0' | b'.')) => rest.to_owned(),
        _ => number,
    }
}

/// How often.
pub(crate) fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        _ => format!("{count} times"),
    }
}

/// Seconds since 1970 as date and time (UTC); nothing where no calendar goes that far.
pub(crate) fn date(seconds: u64) -> Option<String> {
    let timestamp = Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
    Some(timestamp.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
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

    #[test]
    fn nothing_has_no_sign() {
        assert_eq!(milliseconds(-4000.0), "0.00");
        assert_eq!(milliseconds(-0.0), "0.00");
        assert_eq!(milliseconds(-6_000.0), "-0.01");
        assert_eq!(launch_milliseconds(197_300), "0.1973");
    }

    #[test]
    fn once_is_a_word() {
        assert_eq!(times(1), "once");
        assert_eq!(times(0), "0 times");
    }

    #[test]
    fn dates_are_of_any_time() {
        assert_eq!(date(1_700_000_000).unwrap(), "2023-11-14 22:13:20 UTC");
        assert_eq!(date(u64::MAX), None);
    }
}
