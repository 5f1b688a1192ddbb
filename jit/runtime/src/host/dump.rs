//! What a dumped launch is to be run with: files, and memory.
//!
//! A launch may reach what its argument words, its image's variables, or words in memory that it may reach,
//! point into. The sizes of mapped objects are not known here, so whole mappings of the process's own
//! writable memory are taken, less the pages that hold nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use offloom_jit_cache::dump::{Device, DumpError, MOST_BYTES, Region, Run, Writer, add_run, words_of};
use offloom_jit_policy::dump::{self, Found};
use offloom_jit_policy::image::ImageCopy;
use offloom_jit_policy::kernel::Kernel;
use offloom_jit_variants::signature::Launch as _;
use offloom_jit_variants::tracker::LaunchKey;
use rustix::param::page_size;

use crate::host::Host;
use crate::host::image_file::ImageFile;
use crate::host::launch::ArgumentWords;

/// Bytes read at a time.
const CHUNK: u64 = 1 << 20;

/// Why a launch is not dumped.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Dump(#[from] DumpError),
    #[error("the process's memory cannot be read: {0}")]
    Memory(#[from] io::Error),
    #[error("it may reach more than {} MiB of memory", MOST_BYTES >> 20)]
    TooMuch,
    #[error("the file of its device image: {0}")]
    Image(String),
}

/// Dumps a launch, if that is asked for.
pub(crate) fn dump(
    kernel: &Kernel<Host>,
    image: &ImageCopy<Host>,
    key: &LaunchKey,
    launch: ArgumentWords<'_>,
) {
    let arguments = launch.arguments();
    dump::dump(kernel, image, key, arguments, |writer| {
        find(writer, image, arguments)
    });
}

fn find(writer: &mut Writer, copy: &ImageCopy<Host>, arguments: &[u64]) -> Result<Found, Failure> {
    let image = ImageFile::of_address(copy.device.announcement).map_err(Failure::Image)?;
    let memory = File::open("/proc/self/mem")?;
    let slots = copy.device.slots();
    let mut words = arguments.to_vec();
    let mut variables = Vec::new();
    for run in &image.variables {
        let begin = variables.len();
        variables.resize(begin + run.length as usize, 0);
        memory.read_exact_at(&mut variables[begin..], run.start)?;
        // This library's own state is behind the slots.
        let pointers = words_of(run.start, &variables[begin..]);
        words.extend(pointers.filter_map(|(address, word)| (!slots.contains(&address)).then_some(word)));
    }
    let regions = write_reachable(writer, &memory, image.extent, &words)?;
    writer.add_memory(&variables)?;
    Ok(Found {
        device: Device::Host {
            libraries: [c"__kmpc_fork_call", c"__tgt_target_kernel"]
                .into_iter()
                .filter_map(library_of)
                .collect(),
            image: image.extent,
        },
        image: image.bytes,
        variables: image.variables,
        regions,
    })
}

/// The library that kernels take a function from.
fn library_of(function: &CStr) -> Option<PathBuf> {
    // SAFETY: the record is filled by the call; its strings live as long as the library, which this process
    // needs to the end.
    let file = unsafe {
        let function = libc::dlsym(libc::RTLD_DEFAULT, function.as_ptr());
        let mut info = std::mem::zeroed::<libc::Dl_info>();
        let found = !function.is_null() && libc::dladdr(function, &raw mut info) != 0;
        (found && !info.dli_fname.is_null()).then(|| CStr::from_ptr(info.dli_fname))
    }?;
    std::path::absolute(OsStr::from_bytes(file.to_bytes())).ok()
}

/// Writes the memory that words lead to, directly or through memory, less the image's.
fn write_reachable(
    writer: &mut Writer,
    memory: &File,
    image: Run,
    words: &[u64],
) -> Result<Vec<Region>, Failure> {
    let mappings = outside(image, writable_mappings()?);
    let find = |word: u64| {
        let after = mappings.partition_point(|mapping| mapping.start <= word);
        let index = after.checked_sub(1)?;
        (word < mappings[index].end()).then_some(index)
    };
    // Which pages are there at all: others are zero, and reading them would make them.
    let pages = File::open("/proc/self/pagemap")?;
    let mut reached: BTreeSet<usize> = words.iter().filter_map(|word| find(*word)).collect();
    let mut waiting: Vec<usize> = reached.iter().copied().collect();
    let mut regions = BTreeMap::new();
    while let Some(index) = waiting.pop() {
        let extent = mappings[index];
        let mut runs: Vec<Run> = Vec::new();
        let mut contents = Vec::new();
        for_each_page(extent, memory, &pages, |address, page| {
            let length = page.len() as u64;
            for word in page.as_chunks().0 {
                if let Some(next) = find(u64::from_le_bytes(*word))
                    && reached.insert(next)
                {
                    waiting.push(next);
                }
            }
            contents.extend_from_slice(page);
            add_run(
                &mut runs,
                Run {
                    start: address,
                    length,
                },
            );
            contents.len() as u64 <= MOST_BYTES
        })?;
        regions.insert(index, (Region { extent, runs }, contents));
        let size: usize = regions.values().map(|(_, contents)| contents.len()).sum();
        if size as u64 > MOST_BYTES {
            return Err(Failure::TooMuch);
        }
    }
    let mut written = Vec::new();
    for (region, contents) in regions.into_values() {
        writer.add_memory(&contents)?;
        written.push(region);
    }
    Ok(written)
}

/// Calls `visit` with each page that holds something, until it returns false.
fn for_each_page(
    extent: Run,
    memory: &File,
    pages: &File,
    mut visit: impl FnMut(u64, &[u8]) -> bool,
) -> io::Result<()> {
    /// The page is in memory.
    const PRESENT: u64 = 1 << 63;
    /// It is in memory, swapped out, or guarded: what is behind a stack, for instance.
    const THERE: u64 = 3 << 62;
    let page_size = page_size() as u64;
    let mut bytes = vec![0; page_size as usize];
    let mut entries = vec![0; (CHUNK / page_size * 8) as usize];
    for start in (extent.start..extent.end()).step_by(CHUNK as usize) {
        let length = CHUNK.min(extent.end() - start);
        let entries = &mut entries[..(length / page_size * 8) as usize];
        pages.read_exact_at(entries, start / page_size * 8)?;
        for (number, entry) in entries.as_chunks().0.iter().enumerate() {
            let entry = u64::from_le_bytes(*entry);
            if entry & THERE == 0 {
                continue;
            }
            let address = start + number as u64 * page_size;
            match memory.read_exact_at(&mut bytes, address) {
                // What is guarded (`MADV_GUARD_INSTALL`), the kernel cannot read either.
                Err(error) if entry & PRESENT == 0 && error.raw_os_error() == Some(libc::EIO) => continue,
                read => read?,
            }
            if bytes.iter().any(|byte| *byte != 0) && !visit(address, &bytes) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// What is left of mappings without the pages of the image: the system takes memory behind its variables,
/// which are no file's either, for one with what lies next to it.
fn outside(image: Run, mappings: Vec<Run>) -> Vec<Run> {
    let page = page_size() as u64;
    let pages = image.start / page * page..image.end().next_multiple_of(page);
    let parts = mappings.into_iter().flat_map(|mapping| {
        let before = mapping.start..mapping.end().min(pages.start);
        let behind = mapping.start.max(pages.end)..mapping.end();
        [before, behind]
    });
    let parts = parts.filter(|part| part.start < part.end);
    parts
        .map(|part| Run {
            start: part.start,
            length: part.end - part.start,
        })
        .collect()
}

/// The process's own memory that is no file's and no code, by address.
fn writable_mappings() -> io::Result<Vec<Run>> {
    // Paths in it need not be UTF-8.
    let text = std::fs::read("/proc/self/maps")?;
    let text = String::from_utf8_lossy(&text);
    let mappings = text.lines().filter_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let private_data = fields.next()? == "rw-p";
        let name = fields.nth(3).unwrap_or_default();
        let anonymous = name.is_empty() || name == "[heap]" || name.starts_with("[anon");
        let start = u64::from_str_radix(start, 16).ok()?;
        let length = u64::from_str_radix(end, 16).ok()?.checked_sub(start)?;
        (private_data && anonymous).then_some(Run { start, length })
    });
    Ok(mappings.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_cut_out_of_the_mappings_that_it_touches() {
        let page = page_size() as u64;
        let run = |start: u64, end: u64| Run {
            start: start * page,
            length: (end - start) * page,
        };
        let image = Run {
            start: 10 * page,
            length: 5 * page - 1,
        };
        let mappings = vec![run(1, 3), run(8, 12), run(12, 13), run(14, 20), run(30, 31)];
        let left = [run(1, 3), run(8, 10), run(15, 20), run(30, 31)];
        assert_eq!(outside(image, mappings), left);
        assert_eq!(outside(image, vec![run(8, 20)]), [run(8, 10), run(15, 20)]);
    }

    #[test]
    fn guarded_pages_are_left_out() {
        const MADV_GUARD_INSTALL: libc::c_int = 102;
        let page = page_size();
        // SAFETY: new memory of three pages, of which the middle one is never touched once it is guarded.
        let (start, guarded) = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let start = libc::mmap(std::ptr::null_mut(), 3 * page, protection, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            start.cast::<u8>().write_bytes(7, 3 * page);
            let guarded = libc::madvise(start.byte_add(page), page, MADV_GUARD_INSTALL) == 0;
            (start as u64, guarded)
        };
        let page = page as u64;
        let extent = Run {
            start,
            length: 3 * page,
        };
        let [memory, pages] =
            ["mem", "pagemap"].map(|file| File::open(format!("/proc/self/{file}")).unwrap());
        let mut seen = Vec::new();
        for_each_page(extent, &memory, &pages, |address, _| {
            seen.push((address - start) / page);
            true
        })
        .unwrap();
        // Linux before 6.13 guards nothing.
        let expected: &[u64] = if guarded { &[0, 2] } else { &[0, 1, 2] };
        assert_eq!(seen, expected);
    }
}
