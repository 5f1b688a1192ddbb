//! Keeps the addresses of closed libraries readable, where libomptarget still reads them.
//!
//! LLVM 19's libomptarget goes through all images that were ever registered when another library is, and
//! reads the first bytes of each, also where the library that held it was closed since; LLVM 21's does so
//! when the program ends. A library that is opened again mostly comes to lie where it was; with threads that
//! map memory meanwhile, as this library's do, it lies elsewhere, and the program crashes
//! (`PluginManager::registerLib`; LLVM 22 goes through the new images alone). Zeros are an image that fits no
//! device.

use std::ops::Range;
use std::sync::{Mutex, OnceLock};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::host::libraries::LoadedObject;
use offloom_jit_policy::process::guard::guarded_on_foreign_thread;
use offloom_jit_policy::process::lock::lock;

/// The addresses of libraries that were seen here. Leaked, as all of this library's state.
static SEEN: OnceLock<&'static Mutex<Vec<Range<usize>>>> = OnceLock::new();

/// Called before the images of the library that holds `bundle` are registered: maps zeros where libraries
/// that were seen here lay, and nothing lies now. What is closed later is seen to when the program ends,
/// before the images of libraries that were there earlier are taken back.
pub(crate) fn keep_readable(bundle: &[u8]) {
    if !offloom_ir::LLVM.keeps_closed_images {
        return;
    }
    let mut seen = lock(SEEN.get_or_init(|| Box::leak(Box::default())));
    // The first is mostly the program, before which nothing was closed.
    if !seen.is_empty() {
        map_what_is_gone(&seen);
    }
    // SAFETY: the handler may be called at any time.
    let _ = unsafe { libc::atexit(map_at_the_end) };
    let range = LoadedObject::containing(bundle.as_ptr().cast()).range;
    if !seen.contains(&range) {
        seen.push(range);
    }
}

extern "C" fn map_at_the_end() {
    guarded_on_foreign_thread((), || {
        if let Some(seen) = SEEN.get() {
            map_what_is_gone(&lock(seen));
        }
    });
}

fn map_what_is_gone(seen: &[Range<usize>]) {
    for range in gaps(seen, &mapped()) {
        map_zeros(range);
    }
}

/// What is mapped in this process, in ascending order; nothing if that cannot be found out.
fn mapped() -> Vec<Range<usize>> {
    // Paths in it need not be UTF-8.
    let maps = std::fs::read("/proc/self/maps").unwrap_or_default();
    let maps = String::from_utf8_lossy(&maps);
    let range = |line: &str| {
        let (start, end) = line.split_once(' ')?.0.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        Some(address(start)?..address(end)?)
    };
    maps.lines().filter_map(range).collect()
}

/// The parts of `ranges` between those in `mapped`, which ascend.
fn gaps(ranges: &[Range<usize>], mapped: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut gaps = Vec::new();
    if mapped.is_empty() {
        return gaps;
    }
    for range in ranges {
        let mut from = range.start;
        let overlapping = mapped
            .iter()
            .filter(|there| there.end > range.start && there.start < range.end);
        for there in overlapping {
            if from < there.start {
                gaps.push(from..there.start);
            }
            from = there.end;
        }
        if from < range.end {
            gaps.push(from..range.end);
        }
    }
    gaps
}

/// Does nothing where another thread was faster.
fn map_zeros(range: Range<usize>) {
    // SAFETY: of what is mapped, nothing is replaced.
    let _ = unsafe {
        mmap_anonymous(
            std::ptr::without_provenance_mut(range.start),
            range.len(),
            ProtFlags::READ,
            MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE | MapFlags::NORESERVE,
        )
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_what_is_not_mapped() {
        let mapped = [10..20, 30..40, 40..50];
        assert_eq!(gaps(&[5..60, 12..18], &mapped), [5..10, 20..30, 50..60]);
        assert_eq!(gaps(&[15..35, 35..55], &mapped), [20..30, 50..55]);
        assert!(gaps(&[5..60, 12..18], &[]).is_empty());
    }

    #[test]
    fn this_code_is_mapped() {
        let here = this_code_is_mapped as fn() as usize;
        let mapped = mapped();
        assert!(mapped.iter().any(|range| range.contains(&here)));
    }
}
