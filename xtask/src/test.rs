//! `cargo xtask test`: everything that must hold before a change is good, for every LLVM.

use std::process::Command;
use std::slice;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle, Scope};

use anyhow::{Result, anyhow};
use offloom_find_llvm::Llvm;

use crate::build::{self, LlvmBuilds, Staged, Staging};
use crate::command::run_shown;
use crate::llvm;
use crate::setup::Extent;
use crate::specialize_check::Device;
use crate::steps::Steps;
use crate::virtual_gpu::hsa::check;
use crate::workspace::{Workspace, cargo};
use crate::{
    bench, bench_launch, bench_link, corpus, cuda, dist, jit_check, lint, lit, matrix, s3_server, setup,
    specialize_check, virtual_gpu_check,
};

/// The tests that need a build with other atomics than the standard library's.
const EVERY_ORDER: [&str; 8] = [
    "test",
    "--locked",
    "-p",
    "offloom-jit-variants",
    "--features",
    "loom",
    "--lib",
    "orders",
];

/// Runs `cargo xtask test`.
pub(crate) fn run(arguments: &LlvmBuilds) -> Result<()> {
    let workspace = Workspace::find()?;
    let majors = arguments.llvm.wanted();
    let runner = Runner::find();
    // Set-up, CUDA's tools, an S3 server, lint, links by GNU ld and every order of steps are for all LLVMs;
    // for each there are builds and what is checked with them.
    let mut steps = Steps::of(5 + lint::steps(1) + majors.len() * (runner.steps() + 1 + CHECKS));
    // Compiles while set-up waits for the network.
    let s3_server = start_installing_s3_server(&workspace);
    let Some(llvms) = steps.run("set-up", || setup::install(&majors, Extent::All)) else {
        // No program is left behind.
        let _ = s3_server.join();
        return steps.finish();
    };
    // Cargo's unoptimised builds, and what they test, hardly use two processors.
    let builds = start_building(&workspace, &llvms, &arguments.staging);
    steps.run("CUDA's tools", || cuda::install(&workspace));
    if let Some(llvm) = llvms.first() {
        // The source is the same for all.
        // Debian's compiler comes without clippy.
        let missing = lint::Missing::IsLeftOut;
        lint::lint(&workspace, slice::from_ref(llvm), missing, &mut steps);
    }
    for (index, llvm) in llvms.iter().enumerate() {
        rust_tests(&workspace, llvm, index == 0, runner, &mut steps);
    }
    steps.run("launches beside changes, in every order", || {
        let mut command = Command::new(cargo());
        command.current_dir(&workspace.root).args(EVERY_ORDER);
        run_shown(&mut command)
    });
    steps.run("an S3 server", || {
        let ended = s3_server.join();
        ended.unwrap_or_else(|_| Err(anyhow!("its installation panicked")))
    });
    // All builds first: some tests mix the builds of two LLVMs.
    let builds: Vec<_> = llvms
        .iter()
        .filter_map(|llvm| {
            steps.run(&format!("build, LLVM {}", llvm.major), || {
                let built = builds.recv();
                built.unwrap_or_else(|_| Err(anyhow!("the build panicked")))
            })
        })
        .collect();
    if let Some(staged) = builds.first() {
        steps.run("links by GNU ld", || {
            build::link_by_gnu_ld(&workspace, &staged.llvm)
        });
    }
    thread::scope(|scope| {
        let beside = start_beside(&workspace, &builds, scope);
        for (index, staged) in builds.iter().enumerate() {
            check_build(&workspace, staged, index == 0, &beside, &mut steps);
        }
    });
    steps.finish()
}

/// How many steps [`check_build`] takes.
const CHECKS: usize = 12;

/// Checks what was built for one LLVM. `first`: it is the first one; `beside`: what is done beside it.
fn check_build(
    workspace: &Workspace,
    staged: &Staged,
    first: bool,
    beside: &Receiver<Result<()>>,
    steps: &mut Steps,
) {
    let major = staged.llvm.major;
    steps.run(&format!("lit, LLVM {major}"), || {
        lit::run_lit(workspace, staged, &[])
    });
    steps.run(&format!("corpus, LLVM {major}"), || {
        corpus::check_all(workspace, staged, &corpus::Extent::short(), &[])
    });
    steps.run(&format!("forms of links, LLVM {major}"), || {
        matrix::check(workspace, staged, matrix::Slice::SHORT)
    });
    steps.run(&format!("programs on the virtual GPU, LLVM {major}"), || {
        let parts = virtual_gpu_check::Parts::short(first);
        virtual_gpu_check::check(workspace, staged, parts, &[])
    });
    steps.run(&format!("workloads for AMD GPUs, LLVM {major}"), || {
        check::check(workspace, staged, &check::SHORT)
    });
    steps.run(&format!("modes of the JIT, LLVM {major}"), || {
        jit_check::check(workspace, staged, jit_check::SHORT, &[])
    });
    steps.run(&format!("workloads in every form, LLVM {major}"), || {
        bench::check(workspace, staged, &bench::Extent::short())
    });
    steps.run(&format!("benchmarks of launches and links, LLVM {major}"), || {
        let output = workspace.target.join("bench-results");
        bench_launch::measure(
            workspace,
            staged,
            &bench_launch::Extent::short(),
            Some(output.as_path()),
        )?;
        bench_link::measure(
            workspace,
            staged,
            &bench_link::Extent::short(),
            Some(output.as_path()),
        )
    });
    for (name, device) in [
        ("specialised kernels", Device::Host),
        ("specialised kernels with the JIT", Device::Jit),
    ] {
        steps.run(&format!("{name}, LLVM {major}"), || {
            specialize_check::check(workspace, staged, &specialize_check::Extent::short(device))
        });
    }
    for name in ["specialised kernels on the virtual GPU", "packages"] {
        steps.run(&format!("{name}, LLVM {major}"), || {
            let done = beside.recv();
            done.unwrap_or_else(|_| Err(anyhow!("it panicked")))
        });
    }
}

/// Does for each build, beside this thread, what hardly uses two processors: those are never all in use by
/// the other checks either. What comes of each is received in the order in which [`check_build`] asks for it.
fn start_beside<'scope>(
    workspace: &'scope Workspace,
    builds: &'scope [Staged],
    scope: &'scope Scope<'scope, '_>,
) -> Receiver<Result<()>> {
    let (sender, done) = mpsc::channel();
    scope.spawn(move || {
        for staged in builds {
            let mut extent = specialize_check::Extent::short(Device::Gpu);
            if !llvm::version(staged.llvm.major).is_ok_and(|version| version.gpu_runtime == version.major()) {
                // LLVM's link of kernels with another LLVM's device runtime takes ten times as long.
                extent.cases /= 10;
            }
            let kernels = specialize_check::check(workspace, staged, &extent);
            let packages = dist::check(workspace, staged);
            for result in [kernels, packages] {
                if sender.send(result).is_err() {
                    return;
                }
            }
        }
    });
    done
}

fn start_installing_s3_server(workspace: &Workspace) -> JoinHandle<Result<()>> {
    let workspace = workspace.clone();
    thread::spawn(move || s3_server::install(&workspace))
}

/// Builds for one LLVM after the other, beside this thread; what comes of each is received in that order.
/// The worker is laid out anew for the first.
fn start_building(workspace: &Workspace, llvms: &[Llvm], staging: &Staging) -> Receiver<Result<Staged>> {
    let (workspace, llvms, mut staging) = (workspace.clone(), llvms.to_vec(), staging.clone());
    // Its lines would come between those of other steps.
    staging.folded = true;
    let (sender, built) = mpsc::channel();
    thread::spawn(move || {
        for llvm in llvms {
            if sender.send(build::build(&workspace, llvm, &staging)).is_err() {
                return;
            }
            staging.plain_worker = true;
        }
    });
    built
}

/// The program that runs Rust tests.
#[derive(Debug, Clone, Copy)]
enum Runner {
    /// `cargo nextest run`, faster; it leaves documentation tests out.
    Nextest,
    /// `cargo test`.
    CargoTest,
}

impl Runner {
    /// cargo-nextest where it is installed.
    fn find() -> Self {
        let nextest = Command::new(cargo()).args(["nextest", "--version"]).output();
        if nextest.is_ok_and(|output| output.status.success()) {
            Self::Nextest
        } else {
            Self::CargoTest
        }
    }

    /// How many steps it takes for one LLVM.
    fn steps(self) -> usize {
        match self {
            Self::Nextest => 2,
            Self::CargoTest => 1,
        }
    }
}

/// The tests that Cargo builds. `first`: this is the first LLVM, so those of the packages without LLVM run
/// too.
fn rust_tests(workspace: &Workspace, llvm: &Llvm, first: bool, runner: Runner, steps: &mut Steps) {
    let cargo_command = |task: &[&str]| -> Result<Command> {
        let mut command = Command::new(cargo());
        command
            .current_dir(&workspace.root)
            .args(task)
            .args(["--workspace", "--locked"]);
        if !first {
            command.args(llvm::without_packages_of_none()?);
            command.args(llvm::SAME_WITH_ALL.map(|name| format!("--exclude={name}")));
        }
        command.args(llvm::features(llvm.major));
        command.arg("--target-dir").arg(workspace.llvm_target(llvm.major));
        Ok(command)
    };
    let major = llvm.major;
    match runner {
        Runner::Nextest => {
            steps.run(&format!("Rust tests, LLVM {major}"), || {
                run_shown(&mut cargo_command(&["nextest", "run", "--no-fail-fast"])?)
            });
            steps.run(&format!("documentation tests, LLVM {major}"), || {
                run_shown(&mut cargo_command(&["test", "--doc"])?)
            });
        }
        Runner::CargoTest => {
            steps.run(&format!("Rust tests, LLVM {major}"), || {
                run_shown(&mut cargo_command(&["test", "--no-fail-fast"])?)
            });
        }
    }
}
