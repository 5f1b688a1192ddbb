//! Answers requests one after the other, each compiled on a thread that may be lost.

use std::error::Error;
use std::ffi::NulError;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use offloom_abi::jit_base_image::{BaseImage, BaseImageRequest};
use offloom_abi::jit_compile::{Header, MessageError, Reply, WORKER_NAME, Work};
use offloom_ir::command_line::set_llvm_options;
use offloom_ir::expendable_thread::{Lost, run_on_expendable_thread};
use offloom_ir::last_words;
use offloom_ir::processor::brief_features;
use offloom_jit_passes::base_image::compile_base_image;
use offloom_jit_passes::compile::Compiled;
use offloom_jit_passes::pipeline::VARIANT_SWITCH;
use offloom_jit_passes::retarget::native_processor;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, getpid, kill_process};
use rustix::stdio::stdin;

use crate::kernel::compile_kernel;
use crate::link_image::{LinkError, link_image};

/// Of what the worker was built (`sources.rs`); the runtime compares it with its own.
const SOURCES: &str = env!("OFFLOOM_SOURCES");

/// Bytes of a message for which there is room before they come.
const MOST_RESERVED: usize = 1 << 20;

/// Why the worker stops.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    /// Standard input is not a socket, or broke.
    #[error("cannot talk to the program: {0}")]
    Socket(#[from] io::Error),
    /// The program says something else.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// LLVM's options cannot be passed on.
    #[error("cannot set options of LLVM: {0}")]
    Options(#[from] NulError),
}

/// Serves until the program closes its end.
pub(crate) fn serve() -> Result<(), ServeError> {
    let mut switch = VariantSwitch::turned_on()?;
    // Beside what comes before it is needed, which takes as long. Where there is no thread for it, it is found out then.
    let _ = thread::Builder::new().spawn(know_processor);
    let mut socket = UnixStream::from(stdin().try_clone_to_owned()?);
    let watched = socket.try_clone()?;
    // Where there is no thread for it, the end is seen at the next request, and there is none to compile on either.
    let _ = thread::Builder::new().spawn(move || end_with_the_program(&watched));
    while let Some(message) = read_message(&mut socket)? {
        let Answer { reply, is_last } = answer(message, &mut switch)?;
        socket.write_all(&reply.encode(SOURCES))?;
        if is_last {
            // A thread is still inside LLVM; leaving in the ordinary way would wait for it or crash it.
            end_now();
        }
    }
    Ok(())
}

/// What is answered, and whether nothing can be asked for afterwards.
struct Answer {
    reply: Reply,
    is_last: bool,
}

fn answer(message: Vec<u8>, switch: &mut VariantSwitch) -> Result<Answer, ServeError> {
    let work = Work::parse(&message)?;
    let deadline = Duration::from_millis(u64::from(work.deadline()));
    switch.turn(matches!(work, Work::Kernel(_)))?;
    let outcome = run_on_expendable_thread(deadline, move || {
        last_words::leave(stdin(), |signal| crash(signal).encode(SOURCES));
        let done = match Work::parse(&message) {
            Ok(Work::Kernel(request)) => compile_kernel(&request).map_err(failure),
            Ok(Work::BaseImage(request)) => base_image(&request),
            Err(error) => Err(failure(error)),
        };
        done.map_or_else(
            |reply| reply,
            |Compiled { object, phases }| Reply::Object { object, phases },
        )
    });
    let lost = match outcome {
        Ok(reply) => {
            return Ok(Answer {
                reply,
                is_last: false,
            });
        }
        Err(lost) => lost,
    };
    let is_last = matches!(
        lost,
        Lost::FatalError(_) | Lost::Deadline(_) | Lost::NotAtWork { .. }
    );
    let reply = match lost {
        Lost::NoThread(_) | Lost::NotAtWork { .. } => unable(lost),
        Lost::FatalError(_) | Lost::Deadline(_) => Reply::Failure {
            reason: lost.to_string(),
            last: true,
        },
        Lost::Panic => failure(lost),
    };
    Ok(Answer { reply, is_last })
}

/// What is said of a compile that LLVM crashes over, which includes that it gets no memory.
fn crash(signal: &str) -> Reply {
    Reply::Failure {
        reason: format!("LLVM crashed or found no memory ({signal})"),
        last: true,
    }
}

fn failure(error: impl Error) -> Reply {
    Reply::Failure {
        reason: error.to_string(),
        last: false,
    }
}

fn unable(error: impl Error) -> Reply {
    Reply::Unable {
        reason: error.to_string(),
    }
}

/// Finds out what is remembered of this machine's processor, for which kernels are mostly compiled.
fn know_processor() {
    let (processor, features) = native_processor();
    let _ = brief_features(&processor, &features);
}

/// LLVM's switch for variants. It belongs to all of the process's LLVM, of which nothing may be running when it is turned.
struct VariantSwitch {
    is_on: bool,
}

impl VariantSwitch {
    /// On, for the process's start: nearly all requests are for kernels.
    fn turned_on() -> Result<Self, NulError> {
        let mut switch = Self { is_on: false };
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
        set_llvm_options(WORKER_NAME, &[format!("{VARIANT_SWITCH}={on}")])?;
        self.is_on = on;
        Ok(())
    }
}

fn base_image(request: &BaseImageRequest<'_>) -> Result<Compiled, Reply> {
    let made = compile_base_image(request.bitcode).map_err(failure)?;
    let image = link_image(&made.object, &request.libraries).map_err(|error| match error {
        LinkError::Undefined(_) => failure(error),
        LinkError::Run(_) | LinkError::Killed(_) | LinkError::Other(_) => unable(error),
    })?;
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

/// Waits for the program to close its end, as it also does by ending in whatever way, and ends the process even while it
/// compiles.
fn end_with_the_program(socket: &UnixStream) {
    let mut hang_up = [PollFd::new(socket, PollFlags::empty())];
    loop {
        match poll(&mut hang_up, None) {
            Ok(_) if hang_up[0].revents().contains(PollFlags::HUP) => end_now(),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Ends without running exit handlers, which would take LLVM's state from under the thread that compiles.
fn end_now() {
    let _ = kill_process(getpid(), Signal::KILL);
}
