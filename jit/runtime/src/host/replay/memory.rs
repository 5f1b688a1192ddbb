//! The memory of a dumped launch: put where it was, and compared after runs.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::ptr;

use offloom_jit_cache::dump::{Comparison, Difference, Launch, PAGE, Run, change_words, word_of};

use super::Move;

/// Why memory cannot be as it was.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MemoryError {
    /// Something else is there.
    #[error("address {0:#x} is taken")]
    Taken(u64),
    /// The system said no.
    #[error("cannot map the memory of the launch: {0}")]
    Map(io::Error),
    /// The file cannot be read.
    #[error("cannot read the memory of the launch: {0}")]
    Read(#[from] io::Error),
}

/// Memory at the addresses of a launch.
pub(crate) struct Memory {
    file: File,
    regions: Vec<Run>,
    /// What the file holds, in its order; those of variables where the image was.
    runs: Vec<Run>,
    /// Where the image's variables are now.
    variables: Vec<Run>,
    /// What the regions and variables held when it was remembered: pages that were not zero.
    remembered: Vec<(u64, Vec<u8>)>,
    unstable: HashSet<u64>,
}

impl Memory {
    /// Maps the regions of a launch, empty.
    ///
    /// # Errors
    /// Other things are there, or the system says no.
    pub(super) fn reserve(launch: &Launch, file: &Path) -> Result<Self, MemoryError> {
        let regions: Vec<Run> = launch.regions.iter().map(|region| region.extent).collect();
        for region in &regions {
            let flags =
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
            let wanted = ptr::without_provenance_mut(region.start as usize);
            let access = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: nothing that is there is replaced.
            let mapped = unsafe { libc::mmap(wanted, region.length as usize, access, flags, -1, 0) };
            if mapped == libc::MAP_FAILED {
                let error = io::Error::last_os_error();
                return Err(match error.raw_os_error() {
                    Some(libc::EEXIST) => MemoryError::Taken(region.start),
                    _ => MemoryError::Map(error),
                });
            }
        }
        Ok(Self {
            file: File::open(file)?,
            regions,
            runs: launch.runs().collect(),
            variables: Vec::new(),
            remembered: Vec::new(),
            unstable: HashSet::new(),
        })
    }

    /// Makes regions and variables as they were at the launch.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn restore(&mut self, moved: &Move) -> Result<(), MemoryError> {
        for region in &self.regions {
            // SAFETY: the region is this object's own mapping; its pages are zero afterwards.
            let emptied = unsafe {
                libc::madvise(
                    ptr::without_provenance_mut(region.start as usize),
                    region.length as usize,
                    libc::MADV_DONTNEED,
                )
            };
            if emptied != 0 {
                return Err(MemoryError::Map(io::Error::last_os_error()));
            }
        }
        let mut offset = 0;
        self.variables.clear();
        for run in &self.runs {
            let start = moved.word(run.start);
            // SAFETY: the run is in a region, or in the image's variables, as was checked; no kernel is
            // running.
            let bytes =
                unsafe { std::slice::from_raw_parts_mut(start as usize as *mut u8, run.length as usize) };
            self.file.read_exact_at(bytes, offset)?;
            offset += run.length;
            change_words(start, bytes, |word| moved.word(word));
            if start != run.start {
                self.variables.push(Run {
                    start,
                    length: run.length,
                });
            }
        }
        moved.empty_slots();
        Ok(())
    }

    /// Remembers what memory holds now.
    pub(super) fn remember(&mut self) {
        let pages = self
            .pages()
            .filter(|(_, page)| page.iter().any(|byte| *byte != 0));
        self.remembered = pages.map(|(address, page)| (address, page.to_vec())).collect();
    }

    /// From now on, words that differ from what is remembered are not compared.
    pub(super) fn leave_out_what_differs(&mut self) {
        let mut unstable = HashSet::new();
        self.compare(|address, _, _| {
            unstable.insert(address);
        });
        self.unstable = unstable;
    }

    /// How memory differs from what is remembered.
    pub(super) fn differences(&self, launch: &Launch, moved: &Move) -> Comparison {
        let mut found = Comparison {
            compared_bytes: self.remembered.iter().map(|(_, page)| page.len() as u64).sum(),
            unstable_words: self.unstable.len() as u64,
            ..Comparison::default()
        };
        self.compare(|address, ahead_of_time, variant| {
            if !self.unstable.contains(&address) {
                found.add(Difference {
                    address: moved.back(address),
                    argument: moved.argument_below(launch, address),
                    ahead_of_time,
                    variant,
                });
            }
        });
        found
    }

    /// Calls `visit` with address, remembered and present value of each word that differs.
    fn compare(&self, mut visit: impl FnMut(u64, u64, u64)) {
        let mut remembered = self.remembered.iter().peekable();
        for (address, now) in self.pages() {
            let then = remembered.next_if(|(other, _)| *other == address);
            if then.is_some_and(|(_, then)| then == now) {
                continue;
            }
            for (index, word) in now.chunks(8).enumerate() {
                let before = then
                    .and_then(|(_, page)| page.chunks(8).nth(index))
                    .unwrap_or(&[]);
                let [before, after] = [word_of(before), word_of(word)];
                if before != after {
                    visit(address + 8 * index as u64, before, after);
                }
            }
        }
    }

    /// What memory holds, page by page: regions, then variables.
    fn pages(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let runs = self.regions.iter().chain(&self.variables);
        runs.flat_map(|run| {
            let starts = (run.start..run.end()).step_by(PAGE as usize);
            starts.map(|start| {
                let length = PAGE.min(run.end() - start);
                // SAFETY: regions and variables are mapped as long as this; no kernel is running.
                let page =
                    unsafe { std::slice::from_raw_parts(start as usize as *const u8, length as usize) };
                (start, page)
            })
        })
    }
}
