//! Runs a dumped launch by itself: its ahead-of-time code and its variant, in turns, each from the same
//! memory.
//!
//! Memory is put where it was, so that what points into it is right. The device image is wherever the loader
//! puts it: words that pointed into it are moved along with it.

mod call;
mod memory;

use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::Ordering;
use std::time::Instant;

use offloom_abi::jit_bundle::BundleId;
use offloom_abi::jit_compile::{Priority, Request};
use offloom_abi::jit_image::{ImageAnnouncement, Slot};
use offloom_jit_cache::dump::{Comparison, IMAGE_FILE, Launch, MEMORY_FILE, Run};
use offloom_jit_policy::backend::Backend;
use offloom_jit_policy::image::ImageCopy;
use offloom_jit_policy::process::settings::settings;
use offloom_jit_policy::replay::{self, Code, Replay};

use crate::compile::compile;
use crate::host::image_file::ImageFile;
use crate::host::{Host, image as device_image};
pub(crate) use memory::Memory;
use memory::MemoryError;

/// Why a dump cannot be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error("the bundle has no kernel `{0}` with as many arguments as the launch has")]
    Kernel(String),
    #[error("cannot load `{file}`: {reason}")]
    Load { file: String, reason: String },
    #[error("the image does not belong to the bundle")]
    OtherImage,
    #[error("there is no variant: {0}")]
    NoVariant(String),
}

impl Failure {
    /// Whether the next process may be luckier: other things lie where the launch's memory was.
    pub(crate) fn is_for_this_process_alone(&self) -> bool {
        matches!(self, Self::Memory(MemoryError::Taken(_)))
    }
}

/// A dumped launch on this processor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dumped<'a> {
    /// Where the dump is.
    pub(crate) folder: &'a Path,
    /// The launch.
    pub(crate) launch: &'a Launch,
    /// Libraries that the image takes functions from without naming them.
    pub(crate) libraries: &'a [PathBuf],
    /// Where the image was loaded.
    pub(crate) image: Run,
}

impl Dumped<'_> {
    /// Keeps the addresses of the launch's memory free of other things.
    pub(crate) fn reserve(&self) -> Result<Memory, Failure> {
        Ok(Memory::reserve(self.launch, &self.folder.join(MEMORY_FILE))?)
    }

    /// Replays the launch, whose bundle is attached.
    pub(crate) fn run(
        &self,
        memory: Memory,
        bundle: BundleId,
        stage: impl Fn(&str),
    ) -> Result<Comparison, Failure> {
        let (image, kernel) = self.load(bundle)?;
        let moved = Move::to_where_it_is(self.launch, self.image, image, kernel)?;
        let arguments = self.launch.arguments.iter().map(|word| moved.word(*word));

        stage("compiling the variant");
        let start = Instant::now();
        let object = make_object(self.launch, image)?;
        let compile_us = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        let variant = device_image::link(image, &self.launch.kernel, 0, &object)
            .map_err(|error| Failure::NoVariant(error.to_string()))?;
        let mut ready = Ready {
            launch: self.launch,
            memory,
            arguments: arguments.collect(),
            variant: variant.entry.pointer(),
            moved,
        };
        let found = replay::compare(&mut ready, stage)?;
        Ok(Comparison {
            compile_us,
            object_bytes: object.len() as u64,
            ..found
        })
    }

    /// Loads what the image needs, and the image; and says which of its bundle's kernels it is about.
    fn load(&self, bundle: BundleId) -> Result<(&'static ImageCopy<Host>, usize), Failure> {
        let attached = Host::registry().attached(bundle).ok_or(Failure::OtherImage)?;
        let (name, arguments) = (&self.launch.kernel, self.launch.arguments.len());
        let kernels = &attached.bundle.contents.kernels;
        let kernel = kernels
            .iter()
            .position(|kernel| kernel.name == name && kernel.parameters.len() == arguments);
        let kernel = kernel.filter(|_| arguments <= call::MOST_ARGUMENTS);
        let kernel = kernel.ok_or_else(|| Failure::Kernel(name.clone()))?;
        for library in self.libraries {
            if open(library).is_err() {
                // Another machine may have it elsewhere.
                open(Path::new(library.file_name().unwrap_or_default()))?;
            }
        }
        open(&self.folder.join(IMAGE_FILE))?;
        let image = Host::registry().last_image().ok_or(Failure::OtherImage)?;
        Ok((image, kernel))
    }
}

/// A launch of which everything is loaded.
struct Ready<'a> {
    launch: &'a Launch,
    memory: Memory,
    arguments: Vec<u64>,
    variant: *const c_void,
    moved: Move,
}

impl Replay for Ready<'_> {
    type Error = Failure;

    fn run(&mut self, code: Code) -> Result<u64, Failure> {
        let code = match code {
            Code::AheadOfTime => self.moved.ahead_of_time,
            Code::Variant => self.variant,
        };
        self.memory.restore(&self.moved)?;
        let start = Instant::now();
        // SAFETY: the code is the kernel's, and its memory is as it was at the launch.
        unsafe { call::call(code, &self.arguments) };
        Ok(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn remember(&mut self) -> Result<(), Failure> {
        self.memory.remember();
        Ok(())
    }

    fn leave_out_what_differs(&mut self) -> Result<(), Failure> {
        self.memory.leave_out_what_differs();
        Ok(())
    }

    fn differences(&mut self) -> Result<Comparison, Failure> {
        Ok(self.memory.differences(self.launch, &self.moved))
    }
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
    let compiled = compile(&request, Priority::Program, &mut || ());
    let (compiled, _) = compiled.map_err(|failure| Failure::NoVariant(failure.into_reason()))?;
    Ok(compiled.object)
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
    fn to_where_it_is(
        launch: &Launch,
        then: Run,
        image: &ImageCopy<Host>,
        kernel: usize,
    ) -> Result<Self, Failure> {
        let file = ImageFile::of_address(image.device.announcement).map_err(|reason| Failure::Load {
            file: IMAGE_FILE.to_owned(),
            reason,
        })?;
        let moved = |address: u64| address.wrapping_sub(then.start).wrapping_add(file.extent.start);
        let same = file.extent.length == then.length
            && file.variables.len() == launch.variables.len()
            && file
                .variables
                .iter()
                .zip(&launch.variables)
                .all(|(now, run)| now.start == moved(run.start) && now.length == run.length);
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
            from: then.start,
            length: then.length,
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
        launch.argument_below(address)
    }

    /// Leaves every kernel to its ahead-of-time code: slots are among the variables.
    fn empty_slots(&self) {
        for slot in self.slots {
            slot.inline_cache.store(ptr::null_mut(), Ordering::Release);
            slot.dispatch.store(ptr::null_mut(), Ordering::Release);
        }
    }
}
