//! The process as `liboffloom_jit.so` sees it, before a real Redis server: verdicts of other machines, and
//! how many requests a program with many variants takes.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by it")]

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use offloom_abi::jit_bundle::BundleId;
use offloom_abi::jit_remote::{Answer, Device, InBatch, MOST_BYTES, Question};
use offloom_jit_cache::remote::{REST, name_of_trouble};
use offloom_jit_cache::store::{ImageKey, KeyHash, Place, Record, Store, StoreOptions};
use offloom_jit_variants::trial::Times;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};
use tempfile::TempDir;

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);
/// Names what a program wants.
const LIST: [u8; 32] = [7; 32];
const SLOWER: Times = Times {
    variant: 200,
    ahead_of_time: 100,
};
const FASTER: Times = Times {
    variant: 50,
    ahead_of_time: 100,
};

/// A server of its own, which is ended at the end.
struct Server {
    folder: TempDir,
    server: Child,
    client: redis::Connection,
}

impl Server {
    fn start() -> Self {
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

    fn url(&self) -> String {
        format!("redis+unix://{}", self.folder.path().join("socket").display())
    }

    fn ask<T: redis::FromRedisValue>(&mut self, words: &[&str]) -> T {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]).query(&mut self.client).unwrap()
    }

    /// The names of entries of a kind.
    fn names(&mut self, kind: &str) -> Vec<String> {
        self.ask(&["KEYS", &format!("offloom/1/{kind}/*")])
    }

    /// How often each command was given since this was asked before.
    fn requests(&mut self) -> HashMap<String, u64> {
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
struct Machine(TempDir);

impl Machine {
    /// One that makes a key.
    fn new() -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        machine.command(&["key-new", "test"]);
        machine
    }

    /// One that trusts another one's key.
    fn trusting(other: &Self) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        machine.command(&["key-trust", other.keys().join("test.pub").to_str().unwrap()]);
        machine
    }

    fn keys(&self) -> PathBuf {
        self.0.path().join("keys")
    }

    fn command(&self, words: &[&str]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_offloom-jit-remote"));
        command.env("OFFLOOM_JIT_REMOTE_KEYS", self.keys()).args(words);
        let done = command.output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    fn store(&self) -> Store {
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
    fn fill(&self, count: u64) {
        let store = self.store();
        for value in 0..count {
            store.publish(&key(value), &image(value)).unwrap();
        }
    }

    fn load(&self, value: u64) -> Option<Record> {
        self.store().load(&key(value))
    }

    /// Starts the process for a program that has this list.
    fn start(&self, server: &Server) -> Process {
        self.start_at(&server.url())
    }

    /// Starts it before the store with this URL.
    fn start_at(&self, url: &str) -> Process {
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
struct Process {
    process: Child,
    socket: Option<OwnedFd>,
}

impl Process {
    fn say(&self, question: &Question<'_>) {
        let socket = self.socket.as_ref().unwrap();
        send(socket, &question.encode(9), SendFlags::NOSIGNAL).unwrap();
    }

    /// Hears answers until one is the last.
    fn hear(&self, mut is_last: impl FnMut(&Answer<'_>) -> bool) {
        let socket = self.socket.as_ref().unwrap();
        let mut buffer = vec![0; MOST_BYTES];
        loop {
            let patience = Timespec::try_from(PATIENCE).unwrap();
            let heard = poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&patience)).unwrap();
            assert_eq!(heard, 1, "nothing comes");
            let (length, _) = recv(socket, &mut buffer, RecvFlags::empty()).unwrap();
            assert!(length > 0, "the process has ended");
            let (_, answer) = Answer::parse(&buffer[..length]).unwrap();
            if is_last(&answer) {
                return;
            }
        }
    }

    /// The number of verdicts that are told of next.
    fn hear_of_verdicts(&self) -> u32 {
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
    fn hear_a_refusal(&self) -> String {
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

    fn judged(&self, device: Device<'_>, value: u64, times: Times) {
        self.say(&Question::Judged {
            list: LIST,
            device,
            hash: key(value).hash().0,
            variant: times.variant,
            ahead_of_time: times.ahead_of_time,
        });
    }

    fn expects(&self, device: Device<'_>) {
        self.say(&Question::ExpectVerdicts { list: LIST, device });
    }

    /// Ends the program, and waits until the process has put into the store what it was told of.
    fn end(mut self) {
        self.socket = None;
        assert!(self.process.wait().unwrap().success());
    }
}

fn key(value: u64) -> ImageKey {
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

fn image(value: u64) -> Record {
    Record::Image(vec![value as u8; 4000])
}

fn timed(value: u64, times: Times) -> Record {
    Record::Timed(times, vec![value as u8; 4000])
}

/// A machine that has put three images into the store, and what their launches took: of the first on its
/// processor, of the second on a GPU.
fn maker(server: &Server) -> Machine {
    let maker = Machine::new();
    maker.fill(3);
    let process = maker.start(server);
    for value in 0..3 {
        process.say(&Question::Publish {
            hash: key(value).hash().0,
        });
    }
    process.judged(Device::Processor, 0, SLOWER);
    process.judged(Device::Gpu("NVIDIA A"), 1, FASTER);
    process.end();
    maker
}

#[test]
fn verdicts_travel_to_machines_with_such_a_device() {
    let mut server = Server::start();
    let maker = maker(&server);
    assert_eq!(server.names("object").len(), 3);
    assert_eq!(server.names("verdicts").len(), 2);

    // That of the processor comes with the list, in one request with it, and before anything that is asked
    // for by itself, which waits for the list.
    let reader = Machine::trusting(&maker);
    server.requests();
    let process = reader.start(&server);
    process.say(&Question::Fetch {
        hash: key(0).hash().0,
        deadline: 60_000,
        patience: 60_000,
    });
    assert_eq!(process.hear_of_verdicts(), 1);
    process.hear(|answer| *answer == Answer::Arrived);
    let requests = server.requests();
    assert_eq!(requests.get("mget"), Some(&2), "{requests:?}");
    assert_eq!(requests.get("get"), None, "{requests:?}");

    // What another GPU takes is not that of this one.
    process.expects(Device::Gpu("NVIDIA B"));
    process.expects(Device::Gpu("NVIDIA A"));
    assert_eq!(process.hear_of_verdicts(), 1);
    // Whether that had a file of its own before or not.
    assert_eq!(reader.load(1), Some(timed(1, FASTER)));
    process.end();
    assert_eq!(reader.load(0), Some(timed(0, SLOWER)));
    assert_eq!(reader.load(1), Some(timed(1, FASTER)));
    assert_eq!(reader.load(2), Some(image(2)));
}

#[test]
fn a_verdict_is_put_into_the_store_once() {
    let mut server = Server::start();
    let maker = maker(&server);
    for (times, puts) in [(SLOWER, None), (FASTER, Some(&1)), (FASTER, None)] {
        server.requests();
        let process = maker.start(&server);
        process.judged(Device::Processor, 0, times);
        process.end();
        assert_eq!(server.requests().get("set"), puts, "{times:?}");
    }
    let reader = Machine::trusting(&maker);
    let process = reader.start(&server);
    assert_eq!(process.hear_of_verdicts(), 1);
    process.end();
    // Who has no private key puts nothing there.
    server.requests();
    let process = reader.start(&server);
    process.judged(Device::Processor, 2, SLOWER);
    process.end();
    assert_eq!(server.requests().get("set"), None);
}

#[test]
fn verdicts_that_are_altered_moved_or_of_strangers_are_refused() {
    let mut server = Server::start();
    let maker = maker(&server);
    let reader = Machine::trusting(&maker);
    // Under the name of another device.
    let process = maker.start(&server);
    process.judged(Device::Gpu("NVIDIA B"), 1, SLOWER);
    process.end();
    let names = server.names("verdicts");
    for name in &names[1..] {
        let _: () = server.ask(&["COPY", &names[0], name, "REPLACE"]);
    }
    let process = reader.start(&server);
    for device in [
        Device::Processor,
        Device::Gpu("NVIDIA A"),
        Device::Gpu("NVIDIA B"),
    ] {
        process.expects(device);
    }
    // One of the three names is its own. That of the processor is asked for twice.
    for _ in 0..2 {
        process.hear(
            |answer| matches!(answer, Answer::Refused(reason) if reason.contains("for another object")),
        );
    }
    process.end();
    // Altered.
    for name in &names {
        let _: i64 = server.ask(&["SETRANGE", name, "200", "altered!"]);
    }
    let process = reader.start(&server);
    assert!(process.hear_a_refusal().contains("signature is wrong"));
    process.end();
    // Signed by nobody who is trusted; what is not trusted is replaced by who is.
    let stranger = Machine::new();
    stranger.fill(1);
    let process = stranger.start(&server);
    process.judged(Device::Processor, 0, FASTER);
    process.end();
    let process = reader.start(&server);
    assert!(process.hear_a_refusal().contains("not trusted here"));
    process.end();
    let process = maker.start(&server);
    process.judged(Device::Processor, 2, FASTER);
    process.end();
    let process = reader.start(&server);
    assert_eq!(process.hear_of_verdicts(), 1);
    process.end();
}

/// A question that nobody waits for the answer of.
fn beside(value: u64) -> Question<'static> {
    Question::Fetch {
        hash: key(value).hash().0,
        deadline: 0,
        patience: 0,
    }
}

#[test]
fn what_nobody_waits_for_the_store_is_asked_also_of_what_is_here() {
    let mut server = Server::start();
    let machine = maker(&server);
    let process = machine.start(&server);
    server.requests();
    process.say(&beside(0));
    process.hear(|answer| *answer == Answer::Arrived);
    assert_eq!(server.requests().get("get"), Some(&1));
    process.end();
}

#[test]
fn three_failures_are_told_to_other_processes_also_after_the_program() {
    for (failures, is_out_of_order) in [(2, false), (3, true)] {
        let machine = Machine::new();
        let url = format!("redis+unix://{}", machine.0.path().join("nothing").display());
        let process = machine.start_at(&url);
        for value in 0..failures {
            process.say(&beside(value));
        }
        process.end();
        let trouble = name_of_trouble(&url);
        assert_eq!(machine.store().is_out_of_order(&trouble, REST), is_out_of_order);
    }
}

#[test]
fn five_hundred_variants_come_in_eight_requests() {
    const VARIANTS: u64 = 500;
    let mut server = Server::start();
    let maker = Machine::new();
    maker.fill(VARIANTS);
    let process = maker.start(&server);
    for value in 0..VARIANTS {
        process.say(&Question::Publish {
            hash: key(value).hash().0,
        });
        // No more may wait at a time than a few hundred.
        while value % 100 == 99 && server.names("object").len() as u64 <= value {
            sleep(Duration::from_millis(1));
        }
    }
    process.end();
    assert_eq!(server.names("object").len() as u64, VARIANTS);

    let reader = Machine::trusting(&maker);
    server.requests();
    let process = reader.start(&server);
    let mut brought = 0;
    process.hear(|answer| {
        if let Answer::Brought { batch, objects } = answer {
            brought += objects.len() as u64;
            assert!(is_there(&reader, batch, objects));
        }
        brought == VARIANTS
    });
    // Whatever is asked for meanwhile waits for these, and asks the store for nothing.
    for value in (0..VARIANTS).rev() {
        process.say(&Question::Fetch {
            hash: key(value).hash().0,
            deadline: 60_000,
            patience: 60_000,
        });
        process.hear(|answer| *answer == Answer::Arrived);
    }
    let requests = server.requests();
    let asked: HashMap<_, _> = requests.iter().filter(|(name, _)| name.contains("get")).collect();
    assert_eq!(
        asked,
        HashMap::from([(&"mget".to_owned(), &(1 + VARIANTS.div_ceil(64)))])
    );
    process.end();
    for value in 0..VARIANTS {
        assert_eq!(reader.load(value), Some(image(value)));
    }
    let being_written = std::fs::read_dir(reader.0.path().join("cache/v2/temporary")).unwrap();
    assert_eq!(being_written.count(), 0);
}

/// Whether a program that is told of these has them: from one file, or each from its own.
fn is_there(machine: &Machine, batch: &str, objects: &[InBatch]) -> bool {
    let store = machine.store();
    objects.iter().all(|object| {
        let place = Place {
            batch: batch.into(),
            offset: object.offset,
            size: object.size,
        };
        let hash = KeyHash(object.hash);
        store.load_from_batch(hash, &place).is_some() || store.is_in_private_layer(hash)
    })
}
