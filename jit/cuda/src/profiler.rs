//! Ranges on a profiler's time line, by NVTX: what threads do that compile and load variants. Without a
//! profiler that has itself loaded for them (`NVTX_INJECTION64_PATH`) they cost nothing.

use std::fmt::{self, Display};

/// A range of this thread, which lasts until it is dropped. Ranges of a thread lie within each other.
#[derive(Debug)]
pub(crate) struct Range(());

impl Range {
    /// Begins the range in which this is done for a kernel.
    pub(crate) fn begin(work: &'static str, kernel: &str) -> Self {
        nvtx::range_push!("{}", Name { work, kernel });
        Self(())
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        nvtx::range_pop!();
    }
}

/// The name of a range, up to a zero byte, where C's strings end.
struct Name<'a> {
    work: &'static str,
    kernel: &'a str,
}

impl Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernel = self.kernel.split('\0').next().unwrap_or_default();
        write!(f, "Offloom: {} {kernel}", self.work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_c_cannot_hold_is_cut_off() {
        let kernel = "main_l1\0rest";
        let name = Name { work: "load", kernel };
        assert_eq!(name.to_string(), "Offloom: load main_l1");
        drop(Range::begin("load", kernel));
    }
}
