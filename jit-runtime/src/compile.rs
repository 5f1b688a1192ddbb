//! From a bundle's bitcode to a kernel's object, on a thread that LLVM may lose.
//!
//! A fatal error of LLVM parks the thread it happens on for ever; the launch that waits here only sees an error.

use std::fmt;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use offloom_abi::jit_bundle::Bundle;
use offloom_ir::codegen::{MachineOptions, emit_object, run_pipeline, target_machine};
use offloom_ir::inkwell::context::Context;
use offloom_ir::jit_diagnostics::CollectedErrors;
use offloom_ir::jit_fatal_errors::park_this_thread_on_fatal_error;
use offloom_ir::link_modules::parse_bitcode;
use offloom_jit_passes::prune::prune;

/// LLVM recurses deeply over large functions.
const STACK_SIZE: usize = 16 << 20;

/// A kernel's relocatable object, without addresses, good for every device of its architecture.
pub(crate) struct Compiled {
    /// The object file.
    pub(crate) object: Vec<u8>,
    /// How long each phase took.
    pub(crate) phases: Phases,
}

/// Time spent in each phase of a compile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Phases {
    parse: Duration,
    optimize: Duration,
    generate: Duration,
}

impl fmt::Display for Phases {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        let total = self.parse + self.optimize + self.generate;
        write!(
            formatter,
            "{:.1} ms (parse {:.1}, optimise {:.1}, generate {:.1})",
            ms(total),
            ms(self.parse),
            ms(self.optimize),
            ms(self.generate)
        )
    }
}

/// Compiles a kernel of the bundle and waits for it.
///
/// # Errors
/// One line for the user: what LLVM said, whether as an error or as a fatal one.
pub(crate) fn compile(bundle: &'static Bundle<'static>, kernel: &'static str) -> Result<Compiled, String> {
    let (sender, receiver) = mpsc::channel();
    let on_fatal_error = sender.clone();
    let work = move || {
        park_this_thread_on_fatal_error(move |reason| {
            // The other end waits until it has an answer.
            let _ = on_fatal_error.send(Err(format!("fatal error in LLVM: {reason}")));
        });
        let _ = sender.send(compile_here(bundle, kernel));
    };
    spawn(work).map_err(|error| format!("cannot start a thread: {error}"))?;
    // Both senders are gone when the thread panicked; the panic's message has been printed.
    receiver
        .recv()
        .unwrap_or_else(|_| Err("an internal error (a panic)".to_owned()))
}

/// Starts the thread with all signals blocked: handlers of the program are not to run on it.
fn spawn(work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    // SAFETY: both sets are local and initialised by the calls; the mask is restored before returning.
    unsafe {
        let mut all = std::mem::zeroed::<libc::sigset_t>();
        let mut before = std::mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let thread = thread::Builder::new()
            .name("offloom-jit".to_owned())
            .stack_size(STACK_SIZE)
            .spawn(work);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        thread.map(drop)
    }
}

fn compile_here(bundle: &Bundle<'_>, kernel: &str) -> Result<Compiled, String> {
    let start = Instant::now();
    let context = Context::create();
    let errors = CollectedErrors::install(&context);
    let machine = target_machine(&MachineOptions {
        triple: bundle.target_triple,
        // Functions carry the processor the ahead-of-time code was made for.
        cpu: "",
        features: "",
        optimization_level: bundle.optimization_level,
    })
    .map_err(|error| error.to_string())?;
    let module =
        parse_bitcode(&context, &errors, "JIT bundle", bundle.bitcode).map_err(|error| error.to_string())?;
    prune(&module, kernel, &machine, &errors).map_err(|error| error.to_string())?;
    let parsed = Instant::now();
    // The pipeline of the ahead-of-time code, which link-time optimisation compiled from the same IR.
    let pipeline = format!("lto<O{}>", bundle.optimization_level);
    run_pipeline(&module, &machine, &errors, &pipeline).map_err(|error| error.to_string())?;
    let optimized = Instant::now();
    let object = emit_object(&module, &machine, &errors).map_err(|error| error.to_string())?;
    let object = object.as_slice().to_vec();
    Ok(Compiled {
        object,
        phases: Phases {
            parse: parsed - start,
            optimize: optimized - parsed,
            generate: optimized.elapsed(),
        },
    })
}
