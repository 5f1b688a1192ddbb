//! Launches: limits, parameters, and what is told when a kernel fails.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use offloom_virtual_gpu::{Fault, Launch, LaunchOptions, Output, Report, ReportKind, Statistics, launch};

use crate::capture;
use crate::driver::{Driver, lock};
use crate::error::{CudaError, Result};
use crate::function::Function;
use crate::message;
use crate::settings::Settings;
use crate::stream::Stream;

/// What a program asks for.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared_bytes: u32,
    pub(crate) parameters: Vec<u8>,
}

impl Request {
    /// Checks what the driver refuses before anything runs.
    fn check(&self, function: &Function) -> Result<()> {
        let properties = function.properties();
        let is_within = |size: [u32; 3], most: [u32; 3]| {
            size.iter()
                .zip(most)
                .all(|(&size, most)| (1..=most).contains(&size))
        };
        let threads: u64 = self.block.iter().map(|&size| u64::from(size)).product();
        if !is_within(self.grid, properties.max_grid)
            || !is_within(self.block, properties.max_block)
            || threads > u64::from(properties.max_threads_per_block)
            || self.dynamic_shared_bytes > function.max_dynamic_shared.load(Ordering::Relaxed)
            || function
                .kernel
                .required_block
                .is_some_and(|required| required != self.block)
        {
            return Err(CudaError::INVALID_VALUE);
        }
        if threads > u64::from(function.max_threads()) {
            return Err(CudaError::LAUNCH_OUT_OF_RESOURCES);
        }
        Ok(())
    }

    /// Checks that all blocks run at the same time, so that they can wait for each other.
    pub(crate) fn check_cooperative(&self, function: &Function) -> Result<()> {
        self.check(function)?;
        let blocks: u64 = self.grid.iter().map(|&size| u64::from(size)).product();
        let threads = self.block.iter().product();
        let at_once = function.blocks_per_multiprocessor(threads, self.dynamic_shared_bytes.into());
        if blocks > u64::from(at_once) * u64::from(function.properties().multiprocessors) {
            return Err(CudaError::COOPERATIVE_LAUNCH_TOO_LARGE);
        }
        Ok(())
    }
}

/// Submits a launch to a stream.
pub(crate) fn submit(
    driver: &'static Driver,
    stream: &Arc<Stream>,
    function: &Arc<Function>,
    request: Request,
) -> Result<()> {
    if !Arc::ptr_eq(&stream.context, &function.module.context) {
        return Err(CudaError::INVALID_HANDLE);
    }
    request.check(function)?;
    if capture::record(stream, function, &request) {
        return Ok(());
    }
    if stream.is_default() {
        capture::check_use(stream)?;
    }
    if driver.settings.skips_kernels {
        return Ok(());
    }
    let limits = *lock(&stream.context.limits);
    let options = LaunchOptions {
        workers: driver.settings.workers,
        schedule: driver.settings.schedule,
        poison: driver.settings.poison,
        stack_bytes: u32::try_from(limits.stack).unwrap_or(u32::MAX),
        time_limit: Some(driver.settings.timeout),
        count_lines: function.module.profile.is_some(),
        output: Some(standard_output()),
        ..LaunchOptions::default()
    };
    let function = Arc::clone(function);
    stream.submit(Box::new(move |state| {
        state?;
        let device = function.module.context.its_device(driver)?;
        device
            .running
            .during(|| run(&function, &request, &options, &driver.settings))
    }))?;
    Ok(())
}

/// Runs a kernel in its stream's turn, and tells what was wrong, and in files what was executed, if that is
/// wanted.
fn run(function: &Function, request: &Request, options: &LaunchOptions, settings: &Settings) -> Result<()> {
    let wanted = Launch {
        kernel: &function.kernel.name,
        grid: request.grid,
        block: request.block,
        dynamic_shared_bytes: request.dynamic_shared_bytes,
        parameters: &request.parameters,
    };
    match launch(&function.module.program, &wanted, options) {
        Ok(statistics) => {
            for report in &statistics.reports {
                tell(report);
            }
            let kernel = &function.kernel.name;
            if let Some(file) = &settings.counts {
                let noted = note(file, kernel, &statistics);
                tell_of_file("OFFLOOM_VIRTUAL_GPU_COUNTS", file, noted);
            }
            if let (Some(folder), Some(profile)) = (&settings.profile, &function.module.profile) {
                let added = profile.add(folder, function.module.handle, kernel, &statistics.lines);
                tell_of_file("OFFLOOM_VIRTUAL_GPU_PROFILE", folder, added);
            }
            Ok(())
        }
        Err(fault) => {
            message::line(Failure(&fault));
            Err(CudaError::of_fault(fault.kind))
        }
    }
}

/// Adds a line on a launch to a file: the kernel, the instructions that lanes and warps have executed, and
/// the most of one warp, with tabs between them.
fn note(file: &Path, kernel: &str, statistics: &Statistics) -> io::Result<()> {
    let line = format!(
        "{kernel}\t{}\t{}\t{}\n",
        statistics.lane_instructions, statistics.warp_instructions, statistics.longest_warp
    );
    // One write, so that lines of several streams do not mix.
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(file)?
        .write_all(line.as_bytes())
}

/// Tells if what a setting asks for could not be written.
fn tell_of_file(setting: &str, file: &Path, written: io::Result<()>) {
    if let Err(error) = written {
        message::line(format_args!("{setting}: `{}`: {error}", file.display()));
    }
}

/// A fault with the code that the program gets.
struct Failure<'a>(&'a Fault);

impl std::fmt::Display for Failure<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{} (error {})",
            self.0,
            CudaError::of_fault(self.0.kind).0
        )
    }
}

/// Tells of a place once in a process, however many launches come to it.
fn tell(report: &Report) {
    type Place = (String, u32, ReportKind);
    static TOLD: Mutex<Option<HashSet<Place>>> = Mutex::new(None);
    let place = (report.place.kernel.clone(), report.place.line, report.kind);
    if lock(&TOLD).get_or_insert_default().insert(place) {
        message::line(format_args!("warning: {report}"));
    }
}

/// The program's own standard output, through its C library: what a kernel prints keeps its place among what
/// the host prints.
fn standard_output() -> Output {
    Arc::new(|bytes| {
        // SAFETY: `fwrite` reads so many bytes; `stdout` is a stream of the C library as long as the process
        // runs.
        unsafe { fwrite(bytes.as_ptr().cast(), 1, bytes.len(), stdout) };
    })
}

unsafe extern "C" {
    static stdout: *mut std::ffi::c_void;
    fn fwrite(
        bytes: *const std::ffi::c_void,
        size: usize,
        count: usize,
        file: *mut std::ffi::c_void,
    ) -> usize;
}
