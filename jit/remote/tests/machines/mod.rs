//! Machines, each with the process before a store, and a Redis server of their own.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use offloom_abi::jit_bundle::BundleId;
use offloom_abi::jit_remote::{Answer, Device, MOST_BYTES, Question};
use offloom_jit_cache::store::{ImageKey, Model, Record, Store, StoreOptions, Timed};
use offloom_jit_variants::trial::Times;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Far more than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Names what a program wants.
pub(crate) const LIST: [u8; 32] = [7; 32];
pub(crate) const SLOWER: Times = Times {
    variant: 200,
    ahead_of_time: 100,
};
pub(crate) const FASTER: Times = Times {
    variant: 50,
    ahead_of_time: 100,
};

/// A server of its own, which is ended at the end.
pub(crate) struct Server {
    folder: TempDir,
    server: Child,
    client: redis::Connection,
}

impl Server {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let server = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--unixsocket"])
            .arg(&socket)
            .stdout(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("Debian's package redis-server is needed: {error}"));
        let client = redis::Client::open(format!("redis+unix://{}", socket.display())).unwrap();
        let begun = Instant::now();
        let client = loop {
            match client.get_connection() {
                Ok(connection) => break connection,
                Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
            }
            sleep(Duration::from_millis(5));
        };
        Self {
            folder,
            server,
            client,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis+unix://{}", self.folder.path().join("socket").display())
    }

    pub(crate) fn ask<T: redis::FromRedisValue>(&mut self, words: &[&str]) -> T {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]).query(&mut self.client).unwrap()
    }

    /// The names of entries of a kind.
    pub(crate) fn names(&mut self, kind: &str) -> Vec<String> {
        self.ask(&["KEYS", &format!("offloom/1/{kind}/*")])
    }

    /// How often each command was given since this was asked before.
    pub(crate) fn requests(&mut self) -> HashMap<String, u64> {
        let statistics: String = self.ask(&["INFO", "commandstats"]);
        let _: () = self.ask(&["CONFIG", "RESETSTAT"]);
        let lines = statistics.lines().filter_map(|line| {
            let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            Some((name.to_owned(), rest.split_once(',')?.0.parse().ok()?))
        });
        lines.collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A machine: a folder of the cache, and one of keys.
pub(crate) struct Machine(pub(crate) TempDir);

impl Machine {
    /// One that makes a key.
    pub(crate) fn new() -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        machine.command(&["key-new", "test"]);
        machine
    }

    /// One that trusts another one's key.
    pub(crate) fn trusting(other: &Self) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        machine.command(&["key-trust", other.keys().join("test.pub").to_str().unwrap()]);
        machine
    }

    pub(crate) fn keys(&self) -> PathBuf {
        self.0.path().join("keys")
    }

    pub(crate) fn command(&self, words: &[&str]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_offloom-jit-remote"));
        command.env("OFFLOOM_JIT_REMOTE_KEYS", self.keys()).args(words);
        let done = command.output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    pub(crate) fn store(&self) -> Store {
        let (store, errors) = Store::open(&StoreOptions {
            directory: Some(self.0.path().join("cache")),
            read_only: false,
            shared: Vec::new(),
            size_limit: 1 << 30,
            claim_limit: PATIENCE,
        });
        assert!(errors.is_empty(), "{errors:?}");
        store
    }

    /// Puts images of so many keys into the folder.
    pub(crate) fn fill(&self, count: u64) {
        let store = self.store();
        for value in 0..count {
            store.publish(&key(value), &image(value)).unwrap();
        }
    }

    pub(crate) fn load(&self, value: u64) -> Option<Record> {
        self.store().load(&key(value))
    }

    /// Starts the process for a program that has this list.
    pub(crate) fn start(&self, server: &Server) -> Process {
        self.start_at(&server.url())
    }

    /// Starts it before the store with this URL.
    pub(crate) fn start_at(&self, url: &str) -> Process {
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .unwrap();
        let process = Command::new(env!("CARGO_BIN_EXE_offloom-jit-remote"))
            .stdin(Stdio::from(theirs))
            .spawn()
            .unwrap();
        let process = Process {
            process,
            socket: Some(ours),
        };
        let variable = |name, value: &Path| (name, value.as_os_str().as_bytes().to_vec());
        let variables = [
            variable("OFFLOOM_JIT_CACHE_DIR", &self.0.path().join("cache")),
            variable("OFFLOOM_JIT_REMOTE_KEYS", &self.keys()),
            variable("OFFLOOM_JIT_REMOTE", Path::new(OsStr::new(url))),
        ];
        let variables = variables.iter().map(|(name, value)| (*name, value.as_slice()));
        process.say(&Question::Begin {
            variables: variables.collect(),
        });
        process.say(&Question::Expect { list: LIST });
        process
    }
}

/// The process, and the library's end of the socket.
pub(crate) struct Process {
    pub(crate) process: Child,
    pub(crate) socket: Option<OwnedFd>,
}

impl Process {
    pub(crate) fn say(&self, question: &Question<'_>) {
        let socket = self.socket.as_ref().unwrap();
        send(socket, &question.encode(9), SendFlags::NOSIGNAL).unwrap();
    }

    /// Hears answers until one is the last.
    pub(crate) fn hear(&self, mut is_last: impl FnMut(&Answer<'_>) -> bool) {
        let socket = self.socket.as_ref().unwrap();
        let mut buffer = vec![0; MOST_BYTES];
        loop {
            self.wait_for_an_answer();
            let (length, _) = recv(socket, &mut buffer, RecvFlags::empty()).unwrap();
            assert!(length > 0, "the process has ended");
            let (_, answer) = Answer::parse(&buffer[..length]).unwrap();
            if is_last(&answer) {
                return;
            }
        }
    }

    /// The number of verdicts that are told of next.
    pub(crate) fn hear_of_verdicts(&self) -> u32 {
        let mut count = 0;
        self.hear(|answer| match answer {
            Answer::Verdicts(told) => {
                count = *told;
                true
            }
            Answer::Refused(_) | Answer::Failed(_) | Answer::Unusable(_) => panic!("{answer:?}"),
            _ => false,
        });
        count
    }

    /// Why an entry is not used, as is told next.
    pub(crate) fn hear_a_refusal(&self) -> String {
        let mut reason = String::new();
        self.hear(|answer| match answer {
            Answer::Refused(told) => {
                (*told).clone_into(&mut reason);
                true
            }
            Answer::Verdicts(_) | Answer::Failed(_) | Answer::Unusable(_) => panic!("{answer:?}"),
            _ => false,
        });
        reason
    }

    /// Hears that an entry is not used, for this reason.
    pub(crate) fn hear_a_refusal_for(&self, reason: &str) {
        let told = self.hear_a_refusal();
        assert!(told.contains(reason), "{told}");
    }

    pub(crate) fn judged(&self, device: Device<'_>, value: u64, times: Times) {
        self.say(&judged(device, value, times));
    }

    pub(crate) fn expects(&self, device: Device<'_>) {
        self.say(&Question::ExpectVerdicts { list: LIST, device });
    }

    /// Waits until something is said to the program, which does not hear it.
    pub(crate) fn wait_for_an_answer(&self) {
        let socket = self.socket.as_ref().unwrap();
        let patience = Timespec::try_from(PATIENCE).unwrap();
        let heard = poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&patience)).unwrap();
        assert_eq!(heard, 1, "nothing comes");
    }

    /// Ends the program while the process does nothing, and waits as [`Self::end`].
    pub(crate) fn end_while_stopped(mut self, last: &Question<'_>) {
        let process = Pid::from_child(&self.process);
        kill_process(process, Signal::STOP).unwrap();
        self.say(last);
        self.socket = None;
        kill_process(process, Signal::CONT).unwrap();
        self.end();
    }

    /// Ends the program, and waits until the process has put into the store what it was told of.
    pub(crate) fn end(mut self) {
        self.socket = None;
        assert!(self.process.wait().unwrap().success());
    }
}

pub(crate) fn key(value: u64) -> ImageKey {
    ImageKey {
        offloom_version: "0.1.0".to_owned(),
        llvm_version: "19.1.7".to_owned(),
        bundle: BundleId([7; 16]),
        target_triple: "x86_64-pc-linux-gnu".to_owned(),
        target_features: String::new(),
        options: String::new(),
        source: String::new(),
        descriptor: format!("kernel=k;arch=x86-64;0=i64:{value}").parse().unwrap(),
    }
}

/// What launches of the image with this value took.
pub(crate) fn judged(device: Device<'_>, value: u64, times: Times) -> Question<'_> {
    Question::Judged {
        list: LIST,
        device,
        hash: key(value).hash().0,
        variant: times.variant,
        ahead_of_time: times.ahead_of_time,
    }
}

pub(crate) fn image(value: u64) -> Record {
    Record::Image(vec![value as u8; 4000])
}

pub(crate) fn timed(device: Device<'_>, value: u64, times: Times) -> Record {
    let model = Model::of(device);
    Record::Timed(Timed { model, times }, vec![value as u8; 4000])
}
