//! Has a worker compile the workloads' kernels.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use offloom_abi::HostProcessor;
use offloom_abi::jit_compile::{Reply, Request};
use offloom_abi::jit_message::Header;

use crate::build::Staged;
use crate::corpus::device_code;
use crate::corpus::program::{Source, WORKLOADS, programs_in};
use crate::openmp::{DEVICE_TRIPLE, OpenMp};
use crate::workspace::Workspace;

/// The processor that is compiled for, whichever is there, and what variants are compiled with beside its own
/// features: the newest of x86-64's levels, as most users have it or nearly so, and an Arm processor of
/// servers.
fn processor() -> [&'static str; 2] {
    match HostProcessor::NATIVE.name {
        "aarch64" => ["neoverse-v2", "-fullfp16,-bf16"],
        _ => [
            "x86-64-v4",
            "+prefer-256-bit,+prefer-no-gather,+prefer-no-scatter",
        ],
    }
}

/// Memory that the worker may use, in MiB.
const MEMORY: &str = "8192";

/// Milliseconds that a compile may take, of which a minute is more than enough.
const DEADLINE: u32 = 600_000;

/// Compiles each kernel of each workload once, in one worker, which is left to end by itself. `folder` is for
/// what is in between.
pub(super) fn compile_workloads(
    workspace: &Workspace,
    staged: &Staged,
    worker: &Path,
    folder: &Path,
) -> Result<()> {
    let openmp = OpenMp::prepare(workspace, &staged.llvm)?;
    let root = workspace.root.join(WORKLOADS);
    let (mut socket, theirs) = UnixStream::pair().context("cannot make sockets")?;
    let mut process = Command::new(worker)
        .args([MEMORY, "0"])
        .stdin(OwnedFd::from(theirs))
        .spawn()
        .with_context(|| format!("cannot run `{}`", worker.display()))?;
    let bitcode = folder.join("device.bc");
    let mut compile = |source: &Source| {
        device_code::compile(staged, &openmp, &root.join("common"), source, &bitcode)?;
        let kernels = device_code::kernels_if_any(staged, &bitcode)?;
        let code = fs::read(&bitcode).with_context(|| format!("cannot read `{}`", bitcode.display()))?;
        for kernel in kernels {
            compile_kernel(&mut socket, &kernel, &code)
                .with_context(|| format!("`{}` of `{}`", kernel, source.path.display()))?;
        }
        Ok::<_, anyhow::Error>(())
    };
    let programs = programs_in(&root)?;
    let wanted = programs
        .iter()
        .filter(|program| program.is_for_llvm(staged.llvm.major));
    let compiled = wanted
        .flat_map(|program| &program.sources)
        .try_for_each(&mut compile);
    // It ends when there is nothing more to read. Where its other end was closed, it would end at once,
    // without a trace.
    socket
        .shutdown(Shutdown::Write)
        .context("cannot tell the worker that nothing follows")?;
    let status = process.wait().context("cannot wait for the worker")?;
    compiled?;
    ensure!(status.success(), "`{}` ended with {status}", worker.display());
    Ok(())
}

fn compile_kernel(socket: &mut UnixStream, kernel: &str, bitcode: &[u8]) -> Result<()> {
    let [processor, features] = processor();
    let request = Request {
        target_triple: DEVICE_TRIPLE,
        optimization_level: 3,
        processor,
        features,
        kernel,
        descriptor: &format!("kernel={kernel};arch={}", HostProcessor::NATIVE.architecture),
        match_floating_point: true,
        deadline: DEADLINE,
        gpu: None,
        bitcode,
    };
    socket.write_all(&request.encode_head())?;
    socket.write_all(bitcode)?;
    let mut header = [0; Header::SIZE];
    socket.read_exact(&mut header)?;
    let mut reply = vec![0; usize::try_from(Header::parse(header)?.length)?];
    socket.read_exact(&mut reply)?;
    match Reply::parse(&reply)?.1 {
        Reply::Object { .. } => Ok(()),
        Reply::Failure { reason, .. } | Reply::Unable { reason } => bail!("{reason}"),
        Reply::Starved => bail!("the worker was started with another priority than the program's"),
    }
}
