//! The worker process compiles a kernel that spills many registers once more, with more vectors, and no other.
//!
//! The kernels are those of the workload `fmm`, for a processor on which LLVM leaves its complex numbers scalar (the cost of the vectors is
//! 3 more, of 156 operations). Nothing is run, so the processor need not be there.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test whose tools or worker fail has failed"
)]

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};

use offloom_abi::jit_compile::{Header, Reply, Request};

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
        let request = Request {
            target_triple: "x86_64-pc-linux-gnu",
            optimization_level: 3,
            processor: "x86-64-v3",
            features: "+avx,+avx2,+fma",
            brief_features: "",
            kernel,
            descriptor: &format!("kernel={kernel};arch=x86-64;{terms_argument}=i32:0x5"),
            match_floating_point: true,
            deadline: 600_000,
            bitcode,
        };
        self.socket.write_all(&request.encode_head()).expect("it listens");
        self.socket.write_all(bitcode).expect("it listens");
        let mut header = [0; Header::SIZE];
        self.socket.read_exact(&mut header).expect("it answers");
        let length = Header::parse(header).expect("a message").length;
        let mut reply = vec![0; usize::try_from(length).expect("a length")];
        self.socket.read_exact(&mut reply).expect("a whole answer");
        match Reply::parse(&reply).expect("an answer") {
            Reply::Object { object, .. } => object,
            Reply::Failure { reason, .. } | Reply::Unable { reason } => panic!("{kernel}: {reason}"),
        }
    }

    fn end(mut self) {
        drop(self.socket);
        self.process.wait().expect("it ends");
    }
}

#[test]
fn vectors_are_preferred_where_registers_are_spilled() {
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
    let kernel = |part: &str| {
        let named = |name: &&str| name.starts_with("__omp_offloading_") && name.contains(part);
        symbols.lines().find(named).expect("the kernel is there")
    };
    let bitcode = std::fs::read(&module).expect("the module is there");

    let mut worker = Worker::start();
    let other = worker.compile(&bitcode, kernel("locals_of_level"), 4);
    let object = worker.compile(&bitcode, kernel("far_fields"), 3);
    let file = folder.path().join("far_fields.o");
    std::fs::write(&file, &object).expect("a file");
    let code = tool("llvm-objdump", &["-d"], &file);
    let count = |instruction| {
        code.split_whitespace()
            .filter(|word| *word == instruction)
            .count()
    };
    let (packed, scalar) = (count("vmulpd"), count("vmulsd"));
    assert!(
        packed > scalar,
        "{packed} packed and {scalar} scalar multiplications"
    );
    assert!(
        other == worker.compile(&bitcode, kernel("locals_of_level"), 4),
        "what is compiled afterwards is compiled as before"
    );
    worker.end();
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
