//! Stores that benchmarks start and end.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

/// How long a server may take to start, or a program to put things into it.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a slow server takes for each answer.
const SLOW: Duration = Duration::from_secs(2);

/// A real server, which is ended when this is dropped.
pub(super) struct Redis {
    socket: PathBuf,
    server: Child,
}

impl Redis {
    /// Starts it on this socket.
    pub(super) fn start(socket: &Path) -> Result<Self> {
        let server = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--unixsocket"])
            .arg(socket)
            .stdout(Stdio::null())
            .spawn()
            .context("cannot start `redis-server`: install Debian's package of this name")?;
        let redis = Self {
            socket: socket.to_owned(),
            server,
        };
        redis.wait("redis-server does not start", || {
            Ok(redis.ask(&["ping"])? == "PONG")
        })?;
        Ok(redis)
    }

    pub(super) fn url(&self) -> String {
        format!("redis+unix://{}", self.socket.display())
    }

    /// Waits until a program has put so many objects, and its list, into the store.
    pub(super) fn wait_for_objects(&self, count: usize) -> Result<()> {
        let names = |kind: &str| -> Result<usize> {
            let names = self.ask(&["keys", &format!("offloom/1/{kind}/*")])?;
            Ok(names.lines().count())
        };
        self.wait("a program does not put its variants into the store", || {
            Ok(names("object")? == count && !names("list")?.eq(&0))
        })
    }

    fn wait(&self, what: &str, is_so: impl Fn() -> Result<bool>) -> Result<()> {
        let begun = Instant::now();
        while !is_so()? {
            ensure!(begun.elapsed() < PATIENCE, "{what}");
            sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    fn ask(&self, words: &[&str]) -> Result<String> {
        let mut command = Command::new("redis-cli");
        command.arg("-s").arg(&self.socket).args(words);
        let asked = command.output().context("cannot start `redis-cli`")?;
        Ok(String::from_utf8_lossy(&asked.stdout).trim().to_owned())
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = fs::remove_file(&self.socket);
    }
}

/// A server that is of no use, until the benchmark ends.
pub(super) struct BadServer(String);

impl BadServer {
    /// One that takes [`SLOW`] to say that it has nothing.
    pub(super) fn that_is_slow() -> Result<Self> {
        Self::start(|_| {
            sleep(SLOW);
            b"$-1\r\n".to_vec()
        })
    }

    /// One that answers what is no answer, of several kinds in turn.
    pub(super) fn that_answers_garbage() -> Result<Self> {
        const GARBAGE: [&[u8]; 3] = [b"$99999999999\r\n", b"*-7\r\n", b"\x00\xff\x80 garbage"];
        Self::start(|number| GARBAGE[number % GARBAGE.len()].to_vec())
    }

    fn start(answer: impl Fn(usize) -> Vec<u8> + Copy + Send + 'static) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen on 127.0.0.1")?;
        let url = format!("redis://{}", listener.local_addr()?);
        spawn(move || {
            for (number, client) in listener.incoming().flatten().enumerate() {
                spawn(move || serve(client, number, answer));
            }
        });
        Ok(Self(url))
    }

    pub(super) fn url(&self) -> &str {
        &self.0
    }
}

fn serve(mut client: TcpStream, first: usize, answer: impl Fn(usize) -> Vec<u8>) {
    let mut asked = [0; 1 << 16];
    for number in first.. {
        match client.read(&mut asked) {
            Ok(1..) if client.write_all(&answer(number)).is_ok() => {}
            _ => return,
        }
    }
}
