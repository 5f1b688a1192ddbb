//! Ranges on a profiler's time line, by NVTX: what threads do that compile and load variants. Without a
//! profiler that has itself loaded for them (`NVTX_INJECTION64_PATH`) they are nowhere.

/// A range of this thread, which lasts until it is dropped. Ranges of a thread lie within each other.
#[derive(Debug)]
pub(crate) struct Range(());

impl Range {
    /// Begins the range in which this is done for a kernel.
    pub(crate) fn begin(work: &str, kernel: &str) -> Self {
        nvtx::range_push!("{}", name(work, kernel));
        Self(())
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        nvtx::range_pop!();
    }
}

/// The name of a range, up to a zero byte, where C's strings end.
fn name(work: &str, kernel: &str) -> String {
    let kernel = kernel.split('\0').next().unwrap_or_default();
    format!("Offloom: {work} {kernel}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_c_cannot_hold_is_cut_off() {
        let kernel = "main_l1\0rest";
        assert_eq!(name("load", kernel), "Offloom: load main_l1");
        drop(Range::begin("load", kernel));
    }
}
