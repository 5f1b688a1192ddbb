//! Runs a dumped launch by itself: its ahead-of-time code and its variant, in turns, each from the same
//! memory.
//!
//! Memory is put where it was, so that what points into it is right. The device image is wherever the loader
//! puts it: words that pointed into it are moved along with it.

mod call;
mod memory;

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use offloom_abi::jit_bundle::Bundle;
use offloom_abi::jit_compile::{Priority, Request};
use offloom_abi::jit_image::{ImageAnnouncement, Slot};
use offloom_jit_cache::dump::{
    BUNDLE_FILE, Comparison, DumpError, IMAGE_FILE, Launch, MEMORY_FILE, Progress,
};

use crate::attach::attach;
use crate::compile::compile;
use crate::host::image_file::ImageFile;
use crate::host::{Host, image as device_image};
use memory::{Memory, MemoryError};
use offloom_jit_policy::backend::{Backend, Failure as CompileFailure};
use offloom_jit_policy::image::ImageCopy;
use offloom_jit_policy::process::guard::guarded;
use offloom_jit_policy::process::settings::settings;

/// How often each code is run to be timed, at least once.
const RUNS: u32 = 10;
/// After this, no more runs are begun.
const PATIENCE: Duration = Duration::from_secs(20);

/// How a replay ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The progress says how.
    Told,
    /// Something else lies where the dump's memory was.
    AddressesTaken,
}

/// Why a dump cannot be run.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Dump(#[from] DumpError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error("`{BUNDLE_FILE}`: {0}")]
    Bundle(String),
    #[error("the bundle has no kernel `{0}` with as many arguments as the launch has")]
    Kernel(String),
    #[error("cannot load `{file}`: {reason}")]
    Load { file: String, reason: String },
    #[error("the image does not belong to the bundle")]
    OtherImage,
    #[error("there is no variant: {0}")]
    NoVariant(String),
}

/// Runs the dumped launch in a folder, its ahead-of-time code and its variant, compares what they leave in
/// memory, and prints, one on a line, how far it is: [`Progress`]. What the kernel prints goes to the
/// standard error stream. For a process of its own, which has done nothing yet, with `OFFLOOM_JIT=sync`.
/// Returns 0, or 1 when other things lie at the addresses of the dump: the next process may be luckier.
///
/// # Safety
/// `folder` points to a string that ends with NUL. The code in the dump is run.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn offloom_jit_replay(folder: *const c_char) -> c_int {
    guarded(0, || {
        // SAFETY: as the caller promises.
        let folder = unsafe { CStr::from_ptr(folder) };
        let folder = Path::new(OsStr::from_bytes(folder.to_bytes()));
        c_int::from(replay(folder) == End::AddressesTaken)
    })
}

/// Replays the dump in `folder` and prints what comes of it.
fn replay(folder: &Path) -> End {
    let Ok(output) = take_output() else {
        return End::Told;
    };
    let tell = |what: Progress| {
        let text = serde_json::to_string(&what).unwrap_or_default();
        // Whoever reads it says that there is nothing.
        let _ = (&output).write_all(format!("{text}\n").as_bytes());
    };
    match run(folder, |stage| tell(Progress::Doing(stage.to_owned()))) {
        Ok(comparison) => tell(Progress::Done(comparison)),
        Err(Failure::Memory(MemoryError::Taken(_))) => {
            let reason = "other things lie at the addresses of the launch's memory, in every new process";
            tell(Progress::Failed(reason.to_owned()));
            return End::AddressesTaken;
        }
        Err(failure) => tell(Progress::Failed(failure.to_string())),
    }
    End::Told
}

/// The standard output, which is from here on the standard error stream for all others.
fn take_output() -> io::Result<File> {
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    // SAFETY: both are open, and stay so.
    if unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(output.into())
}

fn run(folder: &Path, stage: impl Fn(&str)) -> Result<Comparison, Failure> {
    stage("reading the dump");
    let launch = Launch::read(folder)?;
    // Before anything else is where it was.
    let mut memory = Memory::reserve(&launch, &folder.join(MEMORY_FILE))?;
    let (image, kernel) = load(folder, &launch)?;
    let moved = Move::to_where_it_is(&launch, image, kernel)?;
    let arguments: Vec<u64> = launch.arguments.iter().map(|word| moved.word(*word)).collect();

    stage("compiling the variant");
    let start = Instant::now();
    let object = make_object(&launch, image)?;
    let compile_us = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    let variant = device_image::link(image, &launch.kernel, 0, &object)
        .map_err(|error| Failure::NoVariant(error.to_string()))?;

    let timed = |memory: &mut Memory, code: *const c_void| -> Result<u64, Failure> {
        memory.restore(&moved)?;
        let start = Instant::now();
        // SAFETY: the code is the kernel's, and its memory is as it was at the launch.
        unsafe { call::call(code, &arguments) };
        Ok(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    };
    let start = Instant::now();
    stage("running the ahead-of-time code");
    let ahead_of_time = moved.ahead_of_time;
    let mut ahead_of_time_ns = timed(&mut memory, ahead_of_time)?;
    memory.remember();
    // What two runs of the same code do not agree on says nothing about the variant.
    ahead_of_time_ns = timed(&mut memory, ahead_of_time)?.min(ahead_of_time_ns);
    memory.leave_out_what_differs();
    stage("running the variant");
    let mut variant_ns = timed(&mut memory, variant.entry.pointer())?;
    let found = memory.differences(&launch, &moved);
    stage("timing both");
    let mut runs = 1;
    while runs < RUNS && start.elapsed() < PATIENCE {
        ahead_of_time_ns = timed(&mut memory, ahead_of_time)?.min(ahead_of_time_ns);
        variant_ns = timed(&mut memory, variant.entry.pointer())?.min(variant_ns);
        runs += 1;
    }
    Ok(Comparison {
        compile_us,
        object_bytes: object.len() as u64,
        runs,
        ahead_of_time_ns,
        variant_ns,
        ..found
    })
}

/// Loads what the image needs, and the image; and says which of its bundle's kernels it is about.
fn load(folder: &Path, launch: &Launch) -> Result<(&'static ImageCopy<Host>, usize), Failure> {
    let bytes = fs::read(folder.join(BUNDLE_FILE)).map_err(|error| Failure::Bundle(error.to_string()))?;
    let (bundle, _) = Bundle::parse(&bytes).map_err(|error| Failure::Bundle(error.to_string()))?;
    let (ours, its) = (offloom_ir::LLVM.major(), bundle.llvm_major);
    if ours != its {
        return Err(Failure::Bundle(format!(
            "it is of LLVM {its}; replay it with the Offloom for that"
        )));
    }
    let kernel = bundle
        .kernels
        .iter()
        .position(|kernel| kernel.name == launch.kernel && kernel.parameters.len() == launch.arguments.len());
    let kernel = kernel.filter(|_| launch.arguments.len() <= call::MOST_ARGUMENTS);
    let kernel = kernel.ok_or_else(|| Failure::Kernel(launch.kernel.clone()))?;
    attach(&bytes);
    for library in &launch.libraries {
        if open(library).is_err() {
            // Another machine may have it elsewhere.
            open(Path::new(library.file_name().unwrap_or_default()))?;
        }
    }
    open(&folder.join(IMAGE_FILE))?;
    let image = Host::registry().last_image().ok_or(Failure::OtherImage)?;
    Ok((image, kernel))
}

fn open(library: &Path) -> Result<(), Failure> {
    let failed = |reason: String| Failure::Load {
        file: library.display().to_string(),
        reason,
    };
    let name = CString::new(library.as_os_str().as_bytes()).map_err(|error| failed(error.to_string()))?;
    // SAFETY: the file's constructors are run, as whoever replays a dump wants; the message is read before
    // the next call.
    unsafe {
        if !libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL).is_null() {
            return Ok(());
        }
        let message = libc::dlerror();
        Err(failed(if message.is_null() {
            "no reason is given".to_owned()
        } else {
            CStr::from_ptr(message).to_string_lossy().into_owned()
        }))
    }
}

fn make_object(launch: &Launch, image: &ImageCopy<Host>) -> Result<Vec<u8>, Failure> {
    let bundle = &image.bundle.contents;
    let request = Request {
        target_triple: bundle.target_triple,
        optimization_level: bundle.optimization_level,
        processor: &launch.processor[0],
        features: &launch.processor[1],
        kernel: &launch.kernel,
        descriptor: &launch.descriptor,
        match_floating_point: launch.match_floating_point,
        deadline: settings().time_limit,
        gpu: None,
        bitcode: bundle.bitcode_of_variants(launch.match_floating_point),
    };
    match compile(&request, Priority::Program, &mut || ()) {
        Ok((compiled, _)) => Ok(compiled.object),
        Err(CompileFailure::OfKernel(reason) | CompileFailure::OfProcess(reason)) => {
            Err(Failure::NoVariant(reason))
        }
        Err(CompileFailure::TooLate) => Err(Failure::NoVariant("the process is ending".to_owned())),
    }
}

/// Where the image was, and where it is now.
#[derive(Debug)]
struct Move {
    from: u64,
    length: u64,
    to: u64,
    /// The kernel's code.
    ahead_of_time: *const c_void,
    slots: &'static [Slot],
}

impl Move {
    fn to_where_it_is(launch: &Launch, image: &ImageCopy<Host>, kernel: usize) -> Result<Self, Failure> {
        let file = ImageFile::of_address(image.device.announcement).map_err(|reason| Failure::Load {
            file: IMAGE_FILE.to_owned(),
            reason,
        })?;
        let moved = |address: u64| {
            address
                .wrapping_sub(launch.image.start)
                .wrapping_add(file.extent.start)
        };
        let same = file.extent.length == launch.image.length
            && file.variables.len() == launch.variables.len()
            && file
                .variables
                .iter()
                .zip(&launch.variables)
                .all(|(now, then)| now.start == moved(then.start) && now.length == then.length);
        // SAFETY: the image is loaded and stays so. Its announcement was checked when it was announced.
        let slots = unsafe {
            let announcement = &*(image.device.announcement as *const ImageAnnouncement);
            std::slice::from_raw_parts::<Slot>(announcement.slots, announcement.slot_count as usize)
        };
        let slot = slots.iter().find(|slot| slot.kernel as usize == kernel);
        let code = slot.map(|slot| slot.ahead_of_time.load(Ordering::Acquire).cast_const());
        let ahead_of_time = code
            .filter(|code| same && !code.is_null())
            .ok_or(Failure::OtherImage)?;
        Ok(Self {
            from: launch.image.start,
            length: launch.image.length,
            to: file.extent.start,
            ahead_of_time,
            slots,
        })
    }

    /// A word as it is now.
    fn word(&self, word: u64) -> u64 {
        self.moved(word, self.from, self.to)
    }

    /// Where an address of now was.
    fn back(&self, address: u64) -> u64 {
        self.moved(address, self.to, self.from)
    }

    /// What becomes of a word when the image moves: it stays unless it points into the image.
    const fn moved(&self, word: u64, from: u64, to: u64) -> u64 {
        let offset = word.wrapping_sub(from);
        if offset < self.length { to + offset } else { word }
    }

    /// The pointer argument that is nearest below an address outside the image.
    fn argument_below(&self, launch: &Launch, address: u64) -> Option<usize> {
        if self.back(address) != address {
            return None;
        }
        let arguments = launch.arguments.iter().enumerate();
        let region = launch
            .regions
            .iter()
            .find(|region| region.extent.start <= address && address < region.extent.end())?;
        let below = arguments.filter(|(_, word)| (region.extent.start..=address).contains(word));
        below.max_by_key(|(_, word)| **word).map(|(index, _)| index)
    }

    /// Leaves every kernel to its ahead-of-time code: slots are among the variables.
    fn empty_slots(&self) {
        for slot in self.slots {
            slot.inline_cache.store(ptr::null_mut(), Ordering::Release);
            slot.dispatch.store(ptr::null_mut(), Ordering::Release);
        }
    }
}
