//! What is attached: bundles, each for one kind of device.

use std::ffi::c_void;
use std::sync::Once;

use libc::atexit;
use offloom_abi::Triple;
use offloom_abi::jit_bundle::{Bundle, BundleId};
use offloom_ir::sacrificial_thread::run_on_sacrificial_thread;
use offloom_jit_cache::settings::{CacheMode, Mode};
use offloom_jit_cache::stats as stats_file;
use offloom_jit_cuda::backend::{self as cuda, Cuda};
use offloom_jit_hsa::backend::{self as hsa, Hsa};
use offloom_jit_policy::backend::{Backend, Services};
use offloom_jit_policy::disk_cache;
use offloom_jit_policy::kernel::Kernel;
use offloom_jit_policy::process::exit_gate;
use offloom_jit_policy::process::fork_gate;
use offloom_jit_policy::process::guard::guarded_on_foreign_thread;
use offloom_jit_policy::process::processors;
use offloom_jit_policy::process::queue;
use offloom_jit_policy::process::report;
use offloom_jit_policy::process::settings::settings;
use offloom_jit_policy::registry::Attached;
use offloom_jit_policy::remote;

use offloom_text_table::counted;

use crate::compile::{self, worker};
use crate::exit_handlers;
use crate::host::{Host, closed_libraries, interposition};
use crate::stats;

/// Has this library take part in the process's forks and its exit, from here on.
pub(crate) fn join_process() {
    exit_gate::guard_exit(exit_handlers::run_first);
    if remote::is_wanted() {
        compile::remote::use_it();
    }
    fork_gate::watch_forks(&[
        worker::leave_to_parent,
        compile::remote::leave_to_parent,
        queue::remember_fork,
        disk_cache::forget_uses,
        stats::remember_fork,
    ]);
}

/// Takes a copy of a bundle, if this library can use it.
pub(crate) fn attach(bytes: &[u8]) {
    if settings().mode == Mode::Off {
        return;
    }
    worker::locate();
    let Some(_change) = fork_gate::enter() else { return };
    closed_libraries::keep_readable(bytes);
    let (id, triple) = match Bundle::parse(bytes) {
        Ok((bundle, id)) if bundle.llvm_major == offloom_ir::LLVM.major() => {
            (id, Triple(bundle.target_triple))
        }
        Ok((bundle, _)) => {
            return report::failure(format_args!(
                "this library is for LLVM {}, the program was linked with --jit for LLVM {}: kernels stay ahead of time",
                offloom_ir::LLVM.major(),
                bundle.llvm_major
            ));
        }
        Err(error) => return report::failure(format_args!("{error}: kernels stay ahead of time")),
    };
    if triple.is_nvidia_gpu() {
        if let Some(attached) = cuda::attach(id, bytes, SERVICES, compile::assembler_on_nvjitlink) {
            begin(attached);
        }
    } else if triple.is_amd_gpu() {
        attach_for_amd(id, bytes);
    } else if let Some(attached) = Host::registry().attach(id, bytes) {
        begin(attached);
    }
}

/// Takes a bundle for AMD GPUs where the user wants that.
fn attach_for_amd(id: BundleId, bytes: &[u8]) {
    if !settings().amdgpu {
        return report::log(
            "kernels on AMD GPUs stay ahead of time: the JIT has never run on one (OFFLOOM_JIT_AMDGPU=on tries it)",
        );
    }
    if let Some(attached) = hsa::attach(id, bytes, SERVICES) {
        // SAFETY: the bundle lies in the program, or the library, that is being started.
        let libomptarget = unsafe { interposition::libomptarget_of(bytes.as_ptr().cast()) };
        if let Some(libomptarget) = libomptarget {
            hsa::expect_runtime(libomptarget);
        }
        begin(attached);
    }
}

/// Has launches on GPUs seen, where an executable or library in which `inside` lies has registered images for
/// some.
pub(crate) fn registered(inside: *const c_void) {
    if settings().mode == Mode::Off || !(Cuda::has_bundles() || Hsa::has_bundles()) {
        return;
    }
    // SAFETY: as the caller promises.
    let libomptarget = unsafe { interposition::libomptarget_of(inside) };
    let Some(libomptarget) = libomptarget else { return };
    if Cuda::has_bundles() {
        cuda::take_part(libomptarget);
    }
    if Hsa::has_bundles() {
        hsa::registered(libomptarget);
    }
}

/// What has kernels compiled for GPUs.
const SERVICES: Services = Services {
    compile: compile::compile,
    compiler: compile::compiler,
};

/// Begins to serve a bundle.
fn begin<B: Backend>(attached: Attached<B>) {
    processors::note();
    join_process();
    act_at_exit();
    let contents = &attached.bundle.contents;
    report::log(format_args!(
        "attached {}, {}, {} bytes of bitcode",
        counted(contents.kernels.len() as u64, "kernel", "kernels"),
        counted(contents.anchors.len() as u64, "anchor", "anchors"),
        contents.bitcode.len()
    ));
    let may_specialize = |kernels: &[_]| {
        kernels
            .iter()
            .any(|kernel: &Kernel<B>| kernel.left_ahead_of_time.is_none())
    };
    if !may_specialize(attached.kernels) || (settings().mode != Mode::Sync && !remote::is_wanted()) {
        return;
    }
    let key = attached.bundle.key_of_start();
    let may_lack_some = disk_cache::note_start(&key);
    // What is needed starts while libomptarget does.
    if settings().mode == Mode::Sync && may_lack_some {
        compile::expect();
    }
    if remote::is_wanted() {
        remote::expect(key.hash(), may_lack_some);
    }
}

/// Has launches logged, statistics written, and uses of the cache counted when the process ends. Asked for
/// when the first program or library is attached, which is before most of their exit handlers are registered:
/// those run first.
fn act_at_exit() {
    let says = settings().log || settings().stats.is_some();
    if !says && settings().cache_mode != CacheMode::ReadWrite {
        return;
    }
    static AT_EXIT: Once = Once::new();
    if says {
        stats::remember_process();
    }
    // SAFETY: the handler is a function of this library, which is never unloaded: images hold pointers into
    // it.
    AT_EXIT.call_once(|| unsafe {
        atexit(at_exit);
    });
}

/// What every kernel has come to.
fn statistics() -> Vec<stats_file::Kernel> {
    let mut kernels = Host::registry().statistics();
    kernels.extend(Cuda::registry().statistics());
    kernels.extend(Hsa::registry().statistics());
    kernels
}

extern "C" fn at_exit() {
    guarded_on_foreign_thread((), || {
        // A thread that this process does not have may have held the lock when it was forked.
        let Some(_change) = fork_gate::enter() else { return };
        Host::registry().log_launches();
        Cuda::registry().log_launches();
        Hsa::registry().log_launches();
    });
    guarded_on_foreign_thread((), || stats::write(statistics));
    guarded_on_foreign_thread((), || {
        // Not on a thread that may wait for a file server for ever.
        if disk_cache::has_uses() {
            let _ = run_on_sacrificial_thread(stats::PATIENCE, disk_cache::note_uses);
        }
    });
}
