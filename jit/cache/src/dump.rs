//! One launch on disk: what `OFFLOOM_JIT_DUMP_DIR` makes the runtime write and `offloom replay` runs by
//! itself.
//!
//! A dump is a folder of four files. [`LAUNCH_FILE`] is one JSON object, [`Launch`]. [`BUNDLE_FILE`] is the
//! bundle of the program or library, with the bitcode; [`Launch::image_file`] the device image, with the
//! ahead-of-time code; [`MEMORY_FILE`] what the launch finds in memory: the bytes of every [`Run`] of
//! [`Launch::regions`], then of every run of [`Launch::variables`], one after the other.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::{Builder, TempDir};

use crate::process::Process;

/// How the name of a folder begins to which a dump is being written; that of the writing process follows.
const UNFINISHED: &str = ".offloom-jit-dump.";

/// The version of the format; another one is not read.
pub const VERSION: u32 = 2;
/// The launch.
pub const LAUNCH_FILE: &str = "launch.json";
/// The bundle.
pub const BUNDLE_FILE: &str = "bundle";
/// The device image of a processor.
pub const IMAGE_FILE: &str = "image.so";
/// That of a GPU.
pub const GPU_IMAGE_FILE: &str = "image.cubin";
/// What is in memory.
pub const MEMORY_FILE: &str = "memory";
/// What regions are made of: the least page of memory that any system has. A page may be several of these.
pub const PAGE: u64 = 4096;
/// A launch that may reach more bytes of memory than these is not dumped.
pub const MOST_BYTES: u64 = 1 << 30;
/// Addresses of a processor end here.
const END_OF_ADDRESSES: u64 = 1 << 47;
/// Those that GPUs have end here.
pub const END_OF_GPU_ADDRESSES: u64 = 1 << 57;

/// A launch, all but its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// [`VERSION`].
    pub version: u32,
    /// The version of Offloom that wrote it.
    pub offloom: String,
    /// The version of LLVM that it worked with.
    pub llvm: String,
    /// The kernel's name.
    pub kernel: String,
    /// What the variant is specialised to, as [`offloom_descriptor::text`] describes it.
    pub descriptor: String,
    /// The argument words.
    pub arguments: Vec<u64>,
    /// The processor that the variant is for, and its features in LLVM's form.
    pub processor: [String; 2],
    /// Whether the variant must give the bits of the ahead-of-time code.
    pub match_floating_point: bool,
    /// Environment variables that OpenMP's runtime library looks at.
    pub environment: BTreeMap<String, String>,
    /// What it ran on.
    pub device: Device,
    /// The image's variables. On a GPU, those that variants share with it, in the order of the bundle's
    /// anchors (the address alone of one that is a function), and then what the device runtime knows of the
    /// device.
    pub variables: Vec<Run>,
    /// The memory that the launch may reach, at its addresses.
    pub regions: Vec<Region>,
    /// BLAKE3 checksums of the other files, as hexadecimal digits.
    pub checksums: BTreeMap<String, String>,
}

/// What a launch ran on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Device {
    /// The process's own processor.
    Host {
        /// Libraries that the image takes functions from without naming them.
        libraries: Vec<PathBuf>,
        /// Where the image was loaded.
        image: Run,
    },
    /// A GPU of NVIDIA's.
    Gpu(Gpu),
}

/// A GPU, and how the kernel was launched there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpu {
    /// Its name.
    pub name: String,
    /// Its compute capability, major and minor.
    pub capability: [u32; 2],
    /// Blocks, in one direction.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of shared memory of a block that the launch asks for.
    pub dynamic_shared_bytes: u32,
    /// Bytes of stack of a thread, as the context was set.
    pub stack_bytes: u64,
    /// Bytes that kernels of the context may allocate.
    pub heap_bytes: u64,
}

/// Whether OpenMP's runtime library looks at the environment variable of this name.
pub fn is_openmp_variable(name: &str) -> bool {
    name.starts_with("OMP_") || name.starts_with("KMP_")
}

/// Memory: whole pages, or an allocation on a GPU. What is in none of the runs is zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Where it lies.
    pub extent: Run,
    /// What is in it, by address.
    pub runs: Vec<Run>,
}

/// Bytes at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The address of the first.
    pub start: u64,
    /// How many.
    pub length: u64,
}

impl Run {
    /// The address behind the last byte.
    pub const fn end(self) -> u64 {
        self.start.saturating_add(self.length)
    }

    /// Whether some byte is in both.
    pub const fn overlaps(self, other: Self) -> bool {
        self.start < other.end() && other.start < self.end()
    }

    /// Whether `other` is a part of this.
    const fn holds(self, other: Self) -> bool {
        self.start <= other.start && other.end() <= self.end()
    }
}

/// Adds bytes that lie behind all others to runs: to the last one if they follow it.
pub fn add_run(runs: &mut Vec<Run>, run: Run) {
    match runs.last_mut() {
        Some(last) if last.end() == run.start => last.length += run.length,
        _ => runs.push(run),
    }
}

/// The bytes at an address that come before the first aligned word.
fn misaligned(start: u64, length: usize) -> usize {
    ((start.wrapping_neg() % 8) as usize).min(length)
}

/// The aligned words of bytes at an address, with their addresses: what may be pointers.
pub fn words_of(start: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, u64)> {
    let misaligned = misaligned(start, bytes.len());
    let words = bytes[misaligned..].as_chunks().0.iter();
    let addresses = (start + misaligned as u64..).step_by(8);
    addresses.zip(words.map(|word| u64::from_le_bytes(*word)))
}

/// Changes these words.
pub fn change_words(start: u64, bytes: &mut [u8], change: impl Fn(u64) -> u64) {
    let misaligned = misaligned(start, bytes.len());
    for word in bytes[misaligned..].as_chunks_mut().0 {
        *word = change(u64::from_le_bytes(*word)).to_le_bytes();
    }
}

/// Why a dump cannot be written or used.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The system said no.
    #[error("cannot {what} `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// It is no dump.
    #[error("`{}` is no launch of the JIT: {source}; OFFLOOM_JIT_DUMP_DIR makes a program write them", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Where and what.
        source: serde_json::Error,
    },
    /// It is of another version of Offloom.
    #[error("`{}` is of version {found} of dumps, this is version {VERSION}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// A file is not as it was written.
    #[error("`{}` is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
}

/// A dump that is being written: nothing is there until [`finish`](Self::finish).
#[derive(Debug)]
pub struct Writer {
    folder: TempDir,
    memory: BufWriter<File>,
    checksum: blake3::Hasher,
    /// Bytes of memory so far.
    written: u64,
}

impl Writer {
    /// Begins a dump in a folder, which is made if it is not there. A dump holds what the program works with:
    /// what is made can be read by the user alone.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn create(parent: &Path) -> Result<Self, DumpError> {
        let failed = failed_to("write", parent);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(parent);
        made.map_err(|error| match error.kind() {
            // What is there is no folder.
            io::ErrorKind::AlreadyExists => failed(io::ErrorKind::NotADirectory.into()),
            _ => failed(error),
        })?;
        remove_unfinished(parent);
        let folder = Builder::new()
            .prefix(&(UNFINISHED.to_owned() + &Process::current().name()))
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)
            .map_err(&failed)?;
        let memory = create_private(&folder.path().join(MEMORY_FILE)).map_err(&failed)?;
        Ok(Self {
            folder,
            memory: BufWriter::new(memory),
            checksum: blake3::Hasher::new(),
            written: 0,
        })
    }

    /// Adds the bytes of the next run.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add_memory(&mut self, bytes: &[u8]) -> Result<(), DumpError> {
        self.checksum.update(bytes);
        self.written += bytes.len() as u64;
        self.memory
            .write_all(bytes)
            .map_err(failed_to("write", self.folder.path()))
    }

    /// Bytes of memory so far.
    pub const fn memory_size(&self) -> u64 {
        self.written
    }

    /// Writes the rest, and gives the dump its name in the folder.
    ///
    /// # Errors
    /// A file cannot be written, or there is a dump of this name.
    pub fn finish(
        mut self,
        mut launch: Launch,
        bundle: &[u8],
        image: &[u8],
        name: &str,
    ) -> Result<PathBuf, DumpError> {
        let failed = failed_to("write", self.folder.path());
        self.memory.flush().map_err(&failed)?;
        for (name, bytes) in [(BUNDLE_FILE, bundle), (launch.image_file(), image)] {
            write_private(&self.folder.path().join(name), bytes).map_err(&failed)?;
            let checksum = blake3::hash(bytes).to_string();
            launch.checksums.insert(name.to_owned(), checksum);
        }
        let checksum = self.checksum.finalize().to_string();
        launch.checksums.insert(MEMORY_FILE.to_owned(), checksum);
        let mut text = serde_json::to_vec_pretty(&launch).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        write_private(&self.folder.path().join(LAUNCH_FILE), &text).map_err(&failed)?;
        let place = self.folder.path().with_file_name(name);
        fs::rename(self.folder.path(), &place).map_err(failed_to("write", &place))?;
        // It is no longer there to be removed.
        let _ = self.folder.keep();
        Ok(place)
    }
}

impl Launch {
    /// Reads a dump's launch, and checks that the other files are as they were written and fit it.
    ///
    /// # Errors
    /// A file cannot be read, or is not what was written.
    pub fn read(folder: &Path) -> Result<Self, DumpError> {
        let path = folder.join(LAUNCH_FILE);
        let failed = |source| DumpError::Format {
            path: path.clone(),
            source,
        };
        let bytes = fs::read(&path).map_err(failed_to("read", &path))?;
        let value: serde_json::Value = serde_json::from_slice(&bytes).map_err(failed)?;
        // Before anything whose form depends on it.
        if let Some(found) = value.get("version").and_then(serde_json::Value::as_u64)
            && found != u64::from(VERSION)
        {
            return Err(DumpError::Version { path, found });
        }
        let launch: Self = serde_json::from_value(value).map_err(failed)?;
        if let Some(what) = launch.fault() {
            return Err(DumpError::Damaged { path, what });
        }
        for name in [BUNDLE_FILE, launch.image_file(), MEMORY_FILE] {
            let path = folder.join(name);
            let (checksum, size) = checksum_of(&path).map_err(failed_to("read", &path))?;
            if launch.checksums.get(name) != Some(&checksum) {
                let what = "it is not what the launch was dumped with";
                return Err(DumpError::Damaged { path, what });
            }
            if name == MEMORY_FILE && launch.memory_size() != Some(size) {
                let what = "it is not as long as the launch says";
                return Err(DumpError::Damaged { path, what });
            }
        }
        Ok(launch)
    }

    /// The name of the file that holds the device image.
    pub const fn image_file(&self) -> &'static str {
        match self.device {
            Device::Host { .. } => IMAGE_FILE,
            Device::Gpu(_) => GPU_IMAGE_FILE,
        }
    }

    /// Every run, in the order of the memory file.
    pub fn runs(&self) -> impl Iterator<Item = Run> {
        let regions = self.regions.iter().flat_map(|region| &region.runs);
        regions.chain(&self.variables).copied()
    }

    /// The pointer argument that is nearest below an address in one of the regions.
    pub fn argument_below(&self, address: u64) -> Option<usize> {
        let mut extents = self.regions.iter().map(|region| region.extent);
        let extent = extents.find(|extent| extent.start <= address && address < extent.end())?;
        let arguments = self.arguments.iter().enumerate();
        let below = arguments.filter(|(_, word)| (extent.start..=address).contains(word));
        below.max_by_key(|(_, word)| **word).map(|(index, _)| index)
    }

    /// How long the memory file is; nothing if no file is so long.
    fn memory_size(&self) -> Option<u64> {
        self.runs()
            .try_fold(0_u64, |sum, run| sum.checked_add(run.length))
    }

    /// What cannot be.
    fn fault(&self) -> Option<&'static str> {
        let (end, unit) = match self.device {
            Device::Host { .. } => (END_OF_ADDRESSES, PAGE),
            Device::Gpu(_) => (END_OF_GPU_ADDRESSES, 1),
        };
        let in_order = |mut runs: &mut dyn Iterator<Item = Run>| {
            let mut last = 0;
            Iterator::all(&mut runs, |run| {
                let fits = last <= run.start && run.end() <= end && run.length > 0;
                last = run.end();
                fits
            })
        };
        let of_units = |run: Run| run.start.is_multiple_of(unit) && run.length.is_multiple_of(unit);
        let regions = &self.regions;
        if !in_order(&mut regions.iter().map(|region| region.extent))
            || !regions.iter().all(|region| of_units(region.extent))
        {
            return Some("regions are not pages, or allocations, in order");
        }
        let runs_fit = |region: &Region| {
            in_order(&mut region.runs.iter().copied())
                && region.runs.iter().all(|run| region.extent.holds(*run))
        };
        if !regions.iter().all(runs_fit) {
            return Some("a region has memory outside it");
        }
        let variables = &self.variables;
        match &self.device {
            Device::Host { image, .. } => {
                if regions.iter().any(|region| region.extent.overlaps(*image)) {
                    return Some("a region is in the image's place");
                }
                if !in_order(&mut variables.iter().copied()) || !variables.iter().all(|run| image.holds(*run))
                {
                    return Some("a variable is not in the image");
                }
            }
            Device::Gpu(_) if variables.iter().any(|run| run.end() > end) => {
                return Some("a variable is where no memory is");
            }
            // Zero pages are read back all the same, once a kernel has run.
            Device::Gpu(_) => {
                let extents = regions.iter().map(|region| region.extent);
                let sizes = extents.chain(variables.iter().copied());
                let total = sizes.fold(0_u64, |total, run| total.saturating_add(run.length));
                if total > MOST_BYTES {
                    return Some("its memory is larger than that of any dump");
                }
            }
        }
        None
    }
}

/// How far a replay is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// It is doing this.
    Doing(String),
    /// It cannot go on, for this reason.
    Failed(String),
    /// It has come to an end.
    Done(Comparison),
}

/// What a replay has found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// Bytes of memory that were compared, those that are zero all along not counted.
    pub compared_bytes: u64,
    /// Words of 8 bytes in which two runs of the ahead-of-time code differ; they were left out.
    pub unstable_words: u64,
    /// Words of 8 bytes in which the variant differs from the ahead-of-time code.
    pub different_words: u64,
    /// The first of them.
    pub differences: Vec<Difference>,
    /// How long the compile took, in microseconds.
    pub compile_us: u64,
    /// Bytes of the variant's object.
    pub object_bytes: u64,
    /// How often each was run to be timed.
    pub runs: u32,
    /// The fastest run of the ahead-of-time code, in nanoseconds.
    pub ahead_of_time_ns: u64,
    /// The fastest run of the variant, in nanoseconds.
    pub variant_ns: u64,
}

impl Comparison {
    /// Takes note of a word that differs.
    pub fn add(&mut self, difference: Difference) {
        const MOST_TOLD: usize = 8;
        self.different_words += 1;
        if self.differences.len() < MOST_TOLD {
            self.differences.push(difference);
        }
    }
}

/// Up to eight bytes as a word.
pub fn word_of(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// A word in which the variant differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Its address at the launch.
    pub address: u64,
    /// The pointer argument that is nearest below it, if it is in memory; none: it is in a variable.
    pub argument: Option<usize>,
    /// What the ahead-of-time code leaves there.
    pub ahead_of_time: u64,
    /// What the variant leaves there.
    pub variant: u64,
}

/// Removes what processes have left in a folder that ended while they wrote.
fn remove_unfinished(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let writer = name.to_str().and_then(|name| name.strip_prefix(UNFINISHED));
        if writer
            .and_then(Process::from_name)
            .is_some_and(|writer| writer.is_gone())
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Makes a file that the user alone may read and write.
fn create_private(path: &Path) -> io::Result<File> {
    File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create_private(path)?.write_all(bytes)
}

fn checksum_of(path: &Path) -> io::Result<(String, u64)> {
    let mut hasher = blake3::Hasher::new();
    let mut file = File::open(path)?;
    let mut bytes = vec![0; 1 << 20];
    let mut size = 0;
    loop {
        let read = file.read(&mut bytes)?;
        if read == 0 {
            return Ok((hasher.finalize().to_string(), size));
        }
        hasher.update(&bytes[..read]);
        size += read as u64;
    }
}

fn failed_to(what: &'static str, path: &Path) -> impl Fn(io::Error) -> DumpError + use<> {
    let path = path.to_owned();
    move |source| DumpError::Io {
        what,
        path: path.clone(),
        source,
    }
}

#[cfg(test)]
mod tests;
