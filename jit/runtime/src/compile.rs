//! Has a kernel compiled: in the [worker process](worker), or, where there is none, on a thread that LLVM may
//! lose.

pub(crate) mod remote;
pub(crate) mod worker;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Once, OnceLock};
use std::time::Duration;

use offloom_abi::jit_base_image::BaseImageRequest;
use offloom_abi::jit_compile::{ASSEMBLER_NAME, Priority, Reply, Request, Work};
use offloom_abi::jit_message::Header;
use offloom_ir::inkwell::support::get_llvm_version;
use offloom_ir::sacrificial_thread::{Lost, run_on_sacrificial_thread};
use offloom_jit_cache::settings::{SETTINGS, Settings};
use offloom_jit_passes::compile::compile as compile_here;
use offloom_jit_policy::backend::{Compiled, Compiler, Failure, Place};
use offloom_jit_policy::kernel::usual_priority;
use rustix::process::nice;

use offloom_jit_policy::process::exit_gate;
use offloom_jit_policy::process::report;
use offloom_jit_policy::process::settings::settings;
use worker::{Limits, Message, WorkerError};

/// Kernels over which workers may be lost, one after the other, before no more is compiled: they would be
/// over the next as well.
const MOST_LOST: u32 = 3;

/// Of the thread that compiles in the program where nothing waits for it: on a processor that one other
/// thread wants as well it has 3.4 %.
const NICENESS_IN_PROGRAM: i32 = 15;

/// Kernels that no worker has answered for since the last that one did.
static LOST: AtomicU32 = AtomicU32::new(0);

/// What makes objects. Of another build's objects nobody knows what it has mended.
pub(crate) fn compiler() -> &'static Compiler {
    static COMPILER: OnceLock<Compiler> = OnceLock::new();
    COMPILER.get_or_init(|| {
        let (major, minor, patch) = get_llvm_version();
        Compiler {
            offloom: concat!(env!("CARGO_PKG_VERSION"), "+", env!("OFFLOOM_SOURCES")),
            llvm: format!("{major}.{minor}.{patch}"),
        }
    })
}

/// The program that assembles by nvJitLink; none: it is not installed.
pub(crate) fn assembler_on_nvjitlink() -> Option<PathBuf> {
    worker::program_of(ASSEMBLER_NAME)
}

/// Where kernels for the host are compiled if nothing goes wrong. Those for GPUs are nowhere else than in the
/// worker process, which has their code generators and starts the assembler.
pub(crate) fn usual_place() -> Place {
    if settings().worker && worker::may_be_had() {
        Place::Worker
    } else {
        Place::Program
    }
}

/// Has the worker process started, where there is one: something to compile is expected soon, and a launch
/// will wait for it.
pub(crate) fn expect() {
    if settings().worker {
        report::log("the compile worker is started: the cache may not have what is launched");
        worker::start(limits(usual_priority()));
    }
}

/// Compiles what the request says and waits for it. Once it is under way in the worker process, `meanwhile`
/// is called.
///
/// # Errors
/// When there is no object.
pub(crate) fn compile(
    request: &Request<'_>,
    priority: Priority,
    meanwhile: &mut dyn FnMut(),
) -> Result<(Compiled, Place), Failure> {
    let needs_worker = request.gpu.is_some();
    if !settings().worker && !needs_worker {
        return compile_in_process(request, priority);
    }
    let message = Message {
        head: request.encode_head(),
        bitcode: request.bitcode,
        deadline: request.deadline,
        needs_worker,
    };
    let mut waiting = |waited: Duration| {
        if waited.is_zero() {
            meanwhile();
        }
    };
    match ask_worker(&message, priority, &mut waiting)? {
        Ok(compiled) => Ok((compiled, Place::Worker)),
        Err(reason) if needs_worker => Err(Failure::OfProcess(reason)),
        Err(reason) => {
            report::log(format_args!("{reason}; compiling in the program"));
            compile_in_process(request, priority)
        }
    }
}

/// Makes a base image and waits for it: a [`BaseImage`](offloom_abi::jit_base_image::BaseImage) as object.
/// Always in the worker process, since linking takes a process of its own anyway, and at the program's
/// priority, which waits for it. Once it is under way, `waiting` is called now and again with how long it has
/// taken so far.
///
/// # Errors
/// When there is none.
pub(crate) fn compile_base_image(
    request: &BaseImageRequest<'_>,
    waiting: &mut dyn FnMut(Duration),
) -> Result<Compiled, Failure> {
    let message = Message {
        head: request.encode_head(),
        bitcode: request.bitcode,
        deadline: request.deadline,
        needs_worker: true,
    };
    ask_worker(&message, Priority::Program, waiting)?.map_err(Failure::OfProcess)
}

/// What the worker may use.
fn limits(priority: Priority) -> Limits {
    Limits {
        memory: u32::try_from(settings().memory_limit >> 20).unwrap_or(u32::MAX),
        priority,
    }
}

/// What the worker answers; or, in the inner result, that there is none to ask.
fn ask_worker(
    message: &Message<'_>,
    priority: Priority,
    waiting: &mut dyn FnMut(Duration),
) -> Result<Result<Compiled, String>, Failure> {
    if LOST.load(Ordering::Relaxed) >= MOST_LOST {
        return Err(Failure::OfProcess(
            "too many compile workers were lost".to_owned(),
        ));
    }
    let mut answer = worker::ask(message, limits(priority), waiting);
    if let Err(WorkerError::Died) = answer {
        // Maybe before it was asked: it is the first to go where the machine's memory runs out.
        answer = worker::ask(message, limits(priority), waiting);
    }
    if let Ok(Reply::Starved) = answer {
        report::log("no processor has time for the compile worker: it gets a small share");
        answer = worker::ask(message, limits(Priority::Share), waiting);
    }
    suspect_memory_limit(&answer);
    match answer {
        Ok(reply) => {
            LOST.store(0, Ordering::Relaxed);
            match reply {
                Reply::Object { object, phases, .. } => Ok(Ok(Compiled { object, phases })),
                Reply::Failure { reason, .. } => Err(Failure::OfKernel(reason)),
                Reply::Unable { reason } => Err(Failure::OfProcess(reason)),
                Reply::Starved => Err(Failure::OfProcess(
                    "no processor has time to compile it".to_owned(),
                )),
            }
        }
        Err(WorkerError::Unavailable(reason)) => Ok(Err(reason)),
        Err(error) => {
            LOST.fetch_add(1, Ordering::Relaxed);
            Err(Failure::OfProcess(error.to_string()))
        }
    }
}

/// Says, once, which setting may be to blame where a compile has ended as one does that finds no memory, and
/// was allowed less than by default.
fn suspect_memory_limit(answer: &Result<Reply, WorkerError>) {
    const NAME: &str = "OFFLOOM_JIT_MEMORY_LIMIT";
    static SAID: Once = Once::new();
    let may_lack_memory = match answer {
        Ok(Reply::Failure { reason, .. } | Reply::Unable { reason }) => {
            reason.contains("no memory") || reason.contains("cannot start a thread")
        }
        Err(WorkerError::Died) => true,
        Ok(Reply::Object { .. } | Reply::Starved) | Err(_) => false,
    };
    let default = Settings::default();
    if may_lack_memory && settings().memory_limit < default.memory_limit {
        SAID.call_once(|| {
            let setting = SETTINGS.iter().find(|setting| setting.name == NAME);
            let value = |settings| setting.map_or_else(String::new, |setting| setting.value(settings));
            report::line(format_args!(
                "{NAME}={} may be too little for a compile, which has failed: {} is the default",
                value(settings()),
                value(&default)
            ));
        });
    }
}

fn compile_in_process(request: &Request<'_>, priority: Priority) -> Result<(Compiled, Place), Failure> {
    let deadline = Duration::from_millis(u64::from(request.deadline));
    // The thread may outlive this call, so it owns what it works on, as the worker does.
    let message = [&request.encode_head()[Header::SIZE..], request.bitcode].concat();
    // The program's end waits for the thread, which may go on after its deadline, not for this call.
    let work = exit_gate::enter().ok_or(Failure::TooLate)?;
    let outcome = run_on_sacrificial_thread(deadline, move || {
        let _work = work;
        if priority != Priority::Program {
            // Never idle: it may hold locks that the program's threads wait for.
            let _ = nice(NICENESS_IN_PROGRAM);
        }
        match Work::parse(&message).map_err(|error| error.to_string())? {
            Work::Kernel(request) => compile_here(&request).map_err(|error| error.to_string()),
            Work::BaseImage(_) => Err("base images are not made in the program".to_owned()),
        }
    });
    if let Err(Lost::FatalError(_)) = outcome {
        drop(exit_gate::Work::of_parked_thread());
    }
    match outcome {
        Ok(compiled) => compiled
            .map(|compiled| {
                let compiled = Compiled {
                    object: compiled.object,
                    phases: compiled.phases,
                };
                (compiled, Place::Program)
            })
            .map_err(Failure::OfKernel),
        Err(lost @ (Lost::NoThread(_) | Lost::NotAtWork { .. })) => Err(Failure::OfProcess(lost.to_string())),
        Err(lost) => Err(Failure::OfKernel(lost.to_string())),
    }
}
