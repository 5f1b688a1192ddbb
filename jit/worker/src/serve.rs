//! Answers requests one after the other, on a thread that may be lost with the process.

use std::convert::Infallible;
use std::ffi::NulError;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::exit;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use offloom_abi::Triple;
use offloom_abi::jit_base_image::{BaseImage, BaseImageRequest};
use offloom_abi::jit_bundle::ExecutionMode;
use offloom_abi::jit_compile::{GpuRequest, Priority, Reply, Request, WORKER_NAME, Work};
use offloom_abi::jit_message::{Header, MessageError};
use offloom_ir::command_line::{reset_llvm_option, set_llvm_options};
use offloom_ir::crash_report;
use offloom_ir::heap::populate_heap;
use offloom_ir::processor::brief_features;
use offloom_ir::sacrificial_thread::{Lost, park_this_thread_on_fatal_error};
use offloom_jit_passes::base_image::compile_base_image;
use offloom_jit_passes::compile::Compiled;
use offloom_jit_passes::gpu::generate::generate;
use offloom_jit_passes::pipeline::VARIANT_OPTION;
use offloom_jit_passes::retarget::native_processor;
use offloom_thread::spawn_without_signals;
use rustix::stdio::stdin;

use crate::assemble::assemble_kernel;
use crate::code_object::code_object;
use crate::gpu_image::gpu_image;
use crate::kernel::compile_kernel;
use crate::limits;
use crate::link_image::{LinkError, link_image};
use crate::replies::{SOURCES, crash, failure, last_failure, made, unable};
use crate::watch::Watch;

/// Bytes of a message for which there is room before they come.
const MOST_RESERVED: usize = 1 << 20;

/// Bytes of the heap that the compile of a small kernel uses.
const SMALL_COMPILE: usize = 2 << 20;

/// Why the worker stops.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    /// Standard input is not a socket, or broke.
    #[error("cannot talk to the program: {0}")]
    Socket(#[from] io::Error),
    /// The watch cannot be kept.
    #[error("cannot wait for the program: {0}")]
    Watch(#[from] rustix::io::Errno),
    /// The program says something else.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// LLVM's options cannot be passed on.
    #[error("cannot set options of LLVM: {0}")]
    Options(#[from] NulError),
}

/// Says what ends the process.
pub(crate) fn report(error: &ServeError) {
    // The program may have closed its error output, or its reader may be gone: then there is nobody to tell.
    let _ = writeln!(io::stderr(), "offloom-jit-worker: {error}");
}

/// Serves until the program closes its end, which ends the process. Requests are read, compiled and answered
/// on one thread, since to hand them to another one takes up to a millisecond where processors are few.
pub(crate) fn serve(priority: Priority) -> Result<Infallible, ServeError> {
    // Nearly all requests are for kernels.
    let for_variants = Switch::turned_on(VARIANT_OPTION)?;
    let mut socket = UnixStream::from(stdin().try_clone_to_owned()?);
    let watch = Arc::new(Watch::new(socket.try_clone()?, priority)?);
    while let Err(error) = start_answering(socket.try_clone()?, for_variants, Arc::clone(&watch)) {
        if read_message(&mut socket)?.is_none() {
            exit(0);
        }
        socket.write_all(&unable(Lost::NoThread(error)).encode(SOURCES))?;
    }
    // Beside what comes before they are needed, which takes as long.
    know_processor();
    populate_heap(SMALL_COMPILE);
    Err(watch.keep().into())
}

fn start_answering(mut socket: UnixStream, for_variants: Switch, watch: Arc<Watch>) -> io::Result<()> {
    spawn_without_signals(move || {
        limits::take(watch.priority());
        let served = answer_all(&mut socket, for_variants, &watch);
        // LLVM's exit handlers are not to run while another thread is in LLVM.
        know_processor();
        exit(i32::from(served.inspect_err(report).is_err()));
    })
}

/// Answers one request after the other.
fn answer_all(
    socket: &mut UnixStream,
    mut for_variants: Switch,
    watch: &Arc<Watch>,
) -> Result<(), ServeError> {
    crash_report::leave(stdin(), |signal| crash(signal).encode(SOURCES));
    let lost = Arc::clone(watch);
    park_this_thread_on_fatal_error(move |reason| {
        lost.give_up(last_failure(Lost::FatalError(reason)));
    });
    let mut saving = Switch::off(SAVING_OPTION);
    while let Some(message) = read_message(socket)? {
        let work = Work::parse(&message)?;
        for_variants.turn(matches!(work, Work::Kernel(_)))?;
        saving.turn(is_nvidia_kernel(&work))?;
        watch.begin(Duration::from_millis(u64::from(work.deadline())))?;
        let reply =
            catch_unwind(AssertUnwindSafe(|| answer(&work, watch))).unwrap_or_else(|_| failure(Lost::Panic));
        while !watch.end() {
            // The process ends.
            thread::park();
        }
        socket.write_all(&reply.encode(SOURCES))?;
    }
    Ok(())
}

fn answer(work: &Work<'_>, watch: &Watch) -> Reply {
    let done = match work {
        Work::Kernel(request @ Request { gpu: Some(gpu), .. }) => {
            return gpu_kernel(request, gpu, watch).unwrap_or_else(|reply| reply);
        }
        Work::Kernel(request) => {
            let so_far = |compiled: &Compiled| watch.has_so_far(made(compiled.clone()));
            compile_kernel(request, so_far).map_err(failure)
        }
        Work::BaseImage(BaseImageRequest {
            gpu: Some(gpu),
            bitcode,
            ..
        }) => gpu_image(bitcode, gpu, watch),
        Work::BaseImage(request) => base_image(request),
    };
    done.map_or_else(|reply| reply, made)
}

/// LLVM's switch for leaving kernels as they are that were written for one thread of a team. Otherwise all
/// threads may come to execute them, and launches are made for the image's kernel.
const GENERIC_SWITCH: &str = "-openmp-opt-disable-spmdization";

/// Turns that switch.
pub(crate) fn keep_generic_kernels(on: bool) -> Result<(), Reply> {
    set_llvm_options(WORKER_NAME, &[format!("{GENERIC_SWITCH}={on}")]).map_err(unable)
}

/// By LLVM, and then by the assembler, a cubin; for an AMD GPU by the linker, a code object.
fn gpu_kernel(request: &Request<'_>, gpu: &GpuRequest<'_>, watch: &Watch) -> Result<Reply, Reply> {
    // With arguments as constants, what kept LLVM from it may be gone.
    keep_generic_kernels(gpu.mode == ExecutionMode::Generic)?;
    let generated = generate(request, gpu).map_err(failure)?;
    let (Compiled { object, phases }, resources) = match Triple(request.target_triple).is_amd_gpu() {
        true => code_object(&generated, request)?,
        false => assemble_kernel(&generated, request, gpu, watch)?,
    };
    Ok(Reply::Object {
        object,
        phases,
        resources: Some(resources),
    })
}

/// Finds out what is remembered of this machine's processor, for which kernels are mostly compiled.
fn know_processor() {
    let (processor, features) = native_processor();
    let _ = brief_features(&processor, &features);
}

fn is_nvidia_kernel(work: &Work<'_>) -> bool {
    matches!(work, Work::Kernel(request) if request.gpu.is_some() && !Triple(request.target_triple).is_amd_gpu())
}

/// LLVM's option for what is less when addresses in loops are rewritten: instructions come before registers.
/// PTX has as many of these as it likes, and what runs on a host has few.
const SAVING_OPTION: &str = "lsr-insns-cost";

/// One of LLVM's options, which is true or not given. It belongs to all of the process's LLVM, of
/// which nothing may be running when it is turned.
#[derive(Debug, Clone, Copy)]
struct Switch {
    option: &'static str,
    is_on: bool,
}

impl Switch {
    const fn off(option: &'static str) -> Self {
        Self { option, is_on: false }
    }

    /// On, for the process's start, when LLVM does nothing yet.
    fn turned_on(option: &'static str) -> Result<Self, NulError> {
        let mut switch = Self::off(option);
        switch.set(true)?;
        Ok(switch)
    }

    fn turn(&mut self, on: bool) -> Result<(), NulError> {
        if self.is_on == on {
            return Ok(());
        }
        // Another thread may be about to.
        know_processor();
        self.set(on)
    }

    fn set(&mut self, on: bool) -> Result<(), NulError> {
        let Self { option, .. } = *self;
        if on {
            set_llvm_options(WORKER_NAME, &[format!("-{option}=true")])?;
        } else {
            // A default may be something else than not given.
            let is_there = reset_llvm_option(option);
            debug_assert!(is_there, "LLVM has no option `{option}`");
        }
        self.is_on = on;
        Ok(())
    }
}

fn base_image(request: &BaseImageRequest<'_>) -> Result<Compiled, Reply> {
    let made = compile_base_image(request.bitcode).map_err(failure)?;
    let image = link_image(&made.object, &request.libraries).map_err(LinkError::reply)?;
    let both = BaseImage {
        bundle: &made.bundle,
        image: &image,
    };
    Ok(Compiled {
        object: both.encode(),
        phases: made.phases,
    })
}

/// The bytes behind the next header; `None` at the end.
fn read_message(socket: &mut UnixStream) -> Result<Option<Vec<u8>>, ServeError> {
    let mut header = [0; Header::SIZE];
    match socket.read_exact(&mut header) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = Header::parse(header)?.length;
    // Not all of it reserved ahead: the length comes from outside.
    let mut message = Vec::with_capacity(usize::try_from(length).unwrap_or(0).min(MOST_RESERVED));
    if socket.take(length).read_to_end(&mut message)? as u64 != length {
        return Ok(None);
    }
    Ok(Some(message))
}
