//! Runs a dumped launch by itself, on the device that it is for.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use offloom_abi::jit_bundle::{Bundle, BundleId};
use offloom_jit_cache::dump::{BUNDLE_FILE, Comparison, Device, DumpError, Launch, Progress};
use offloom_jit_cuda::backend::replay as cuda;
use offloom_jit_policy::process::guard::guarded;

use crate::attach::attach;
use crate::host::replay as host;

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
    #[error("`{BUNDLE_FILE}`: {0}")]
    Bundle(String),
    #[error(transparent)]
    Host(#[from] host::Failure),
    #[error(transparent)]
    Gpu(#[from] cuda::Failure),
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
        Err(Failure::Host(failure)) if failure.is_for_this_process_alone() => {
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
    match &launch.device {
        Device::Host { libraries, image } => {
            let launch = host::Dumped {
                folder,
                launch: &launch,
                libraries,
                image: *image,
            };
            // Before anything else is where it was.
            let memory = launch.reserve()?;
            Ok(launch.run(memory, attach_bundle(folder)?, stage)?)
        }
        Device::Gpu(gpu) => {
            let launch = cuda::Dumped {
                folder,
                launch: &launch,
                gpu,
            };
            Ok(launch.run(attach_bundle(folder)?, stage)?)
        }
    }
}

/// Takes the bundle of a dump as that of a program.
fn attach_bundle(folder: &Path) -> Result<BundleId, Failure> {
    let bytes = fs::read(folder.join(BUNDLE_FILE)).map_err(|error| Failure::Bundle(error.to_string()))?;
    let (bundle, id) = Bundle::parse(&bytes).map_err(|error| Failure::Bundle(error.to_string()))?;
    let (ours, its) = (offloom_ir::LLVM.major(), bundle.llvm_major);
    if ours != its {
        return Err(Failure::Bundle(format!(
            "it is of LLVM {its}; replay it with the Offloom for that"
        )));
    }
    attach(&bytes);
    Ok(id)
}
