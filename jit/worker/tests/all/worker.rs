//! A worker process, as its other end sees it.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};

use offloom_abi::jit_compile::{Priority, Reply, Request};
use offloom_abi::jit_message::Header;

pub(crate) struct Worker {
    pub(crate) process: Child,
    socket: UnixStream,
}

impl Worker {
    pub(crate) fn start(priority: Priority) -> Self {
        let (socket, theirs) = UnixStream::pair().expect("a pair of sockets");
        let process = Command::new(env!("CARGO_BIN_EXE_offloom-jit-worker"))
            .args(["4096", &(priority as u32).to_string()])
            .stdin(OwnedFd::from(theirs))
            .spawn()
            .expect("the worker starts");
        Self { process, socket }
    }

    /// The object for x86-64-v3, with five terms in the kernel's last scalar argument.
    pub(crate) fn compile(&mut self, bitcode: &[u8], kernel: &str, terms_argument: u32) -> Vec<u8> {
        self.ask(bitcode, kernel, terms_argument, 600_000);
        match self.answer() {
            Reply::Object { object, .. } => object,
            other => panic!("{kernel}: {other:?}"),
        }
    }

    /// Asks for that within so many milliseconds.
    pub(crate) fn ask(&mut self, bitcode: &[u8], kernel: &str, terms_argument: u32, deadline: u32) {
        let request = Request {
            target_triple: "x86_64-pc-linux-gnu",
            optimization_level: 3,
            processor: "x86-64-v3",
            features: "+avx,+avx2,+fma",
            kernel,
            descriptor: &format!("kernel={kernel};arch=x86-64;{terms_argument}=i32:0x5"),
            match_floating_point: true,
            deadline,
            gpu: None,
            bitcode,
        };
        self.send(&request);
    }

    pub(crate) fn send(&mut self, request: &Request<'_>) {
        self.socket.write_all(&request.encode_head()).expect("it listens");
        self.socket.write_all(request.bitcode).expect("it listens");
    }

    pub(crate) fn answer(&mut self) -> Reply {
        let mut header = [0; Header::SIZE];
        self.socket.read_exact(&mut header).expect("it answers");
        let length = Header::parse(header).expect("a message").length;
        let mut reply = vec![0; usize::try_from(length).expect("a length")];
        self.socket.read_exact(&mut reply).expect("a whole answer");
        Reply::parse(&reply).expect("an answer").1
    }

    pub(crate) fn end(mut self) {
        drop(self.socket);
        self.process.wait().expect("it ends");
    }
}
