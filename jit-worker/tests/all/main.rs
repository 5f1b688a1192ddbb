//! The worker process, talked to as `liboffloom_jit.so` talks to it.
//!
//! The kernels are those of the workload `fmm`, for a processor on which LLVM leaves its complex numbers scalar (the cost of the vectors is
//! 3 more, of 156 operations). Nothing is run, so the processor need not be there.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test whose tools or worker fail has failed"
)]

mod late;
mod spills;

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};

use offloom_abi::jit_compile::{Header, Reply, Request};
use tempfile::TempDir;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../test/workloads/fmm/kernels.cpp");

struct Worker {
    process: Child,
    socket: UnixStream,
}

impl Worker {
    fn start() -> Self {
        let (socket, theirs) = UnixStream::pair().expect("a pair of sockets");
        let process = Command::new(env!("CARGO_BIN_EXE_offloom-jit-worker"))
            .args(["4096", "0"])
            .stdin(OwnedFd::from(theirs))
            .spawn()
            .expect("the worker starts");
        Self { process, socket }
    }

    /// The object for x86-64-v3, with five terms in the kernel's last scalar argument.
    fn compile(&mut self, bitcode: &[u8], kernel: &str, terms_argument: u32) -> Vec<u8> {
        self.ask(bitcode, kernel, terms_argument, 600_000);
        match self.answer() {
            Reply::Object { object, .. } => object,
            Reply::Failure { reason, .. } | Reply::Unable { reason } => panic!("{kernel}: {reason}"),
        }
    }

    /// Asks for that within so many milliseconds.
    fn ask(&mut self, bitcode: &[u8], kernel: &str, terms_argument: u32, deadline: u32) {
        let request = Request {
            target_triple: "x86_64-pc-linux-gnu",
            optimization_level: 3,
            processor: "x86-64-v3",
            features: "+avx,+avx2,+fma",
            brief_features: "",
            kernel,
            descriptor: &format!("kernel={kernel};arch=x86-64;{terms_argument}=i32:0x5"),
            match_floating_point: true,
            deadline,
            bitcode,
        };
        self.socket.write_all(&request.encode_head()).expect("it listens");
        self.socket.write_all(bitcode).expect("it listens");
    }

    fn answer(&mut self) -> Reply {
        let mut header = [0; Header::SIZE];
        self.socket.read_exact(&mut header).expect("it answers");
        let length = Header::parse(header).expect("a message").length;
        let mut reply = vec![0; usize::try_from(length).expect("a length")];
        self.socket.read_exact(&mut reply).expect("a whole answer");
        Reply::parse(&reply).expect("an answer")
    }

    fn end(mut self) {
        drop(self.socket);
        self.process.wait().expect("it ends");
    }
}

/// The workload's device code.
struct DeviceCode {
    folder: TempDir,
    bitcode: Vec<u8>,
    symbols: String,
}

impl DeviceCode {
    fn compile() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let module = folder.path().join("kernels.bc");
        let options = [
            "-O3",
            "-fopenmp",
            "-fopenmp-targets=x86_64-pc-linux-gnu",
            "-foffload-lto=thin",
            "--offload-device-only",
            "-emit-llvm",
            "-c",
            SOURCE,
            "-o",
        ];
        tool("clang++", &options, &module);
        let symbols = tool("llvm-nm", &["--defined-only", "--format=just-symbols"], &module);
        let bitcode = std::fs::read(&module).expect("the module is there");
        Self {
            folder,
            bitcode,
            symbols,
        }
    }

    /// The kernel with this in its name.
    fn kernel(&self, part: &str) -> &str {
        let named = |name: &&str| name.starts_with("__omp_offloading_") && name.contains(part);
        self.symbols.lines().find(named).expect("the kernel is there")
    }
}

fn tool(name: &str, arguments: &[&str], file: &Path) -> String {
    let arguments = arguments.iter().map(OsStr::new);
    let output = Command::new(Path::new(env!("OFFLOOM_LLVM_BIN_DIR")).join(name))
        .args(arguments)
        .arg(file)
        .output()
        .expect("the tool runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
