//! Names for processes, by which what a dead one left behind is recognised.

use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// How many hexadecimal digits the identity of a running system has.
const BOOT_DIGITS: usize = 16;

/// This process, as it was last asked for, with its number and its process numbers' namespace: what is read
/// of `/proc` to name it takes as long as to write an image. A forked child is another process, and may be in
/// another namespace.
static CURRENT: Mutex<Option<(PathBuf, Process)>> = Mutex::new(None);

/// A process: the running system it is of, its number, and when it started, so that a number used again is
/// told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    boot: String,
    number: u32,
    start: u64,
}

impl Process {
    /// This process.
    pub(crate) fn current() -> Self {
        let number = std::process::id();
        let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        // Not held while something is read, and not waited for: a thread that a forked child does not have
        // may hold it for ever.
        if let Ok(current) = CURRENT.try_lock()
            && let Some((of, current)) = &*current
            && (of, current.number) == (&namespace, number)
        {
            return current.clone();
        }
        let current = Self {
            boot: boot(&namespace),
            number,
            start: start_of(number).unwrap_or(0),
        };
        if let Ok(mut known) = CURRENT.try_lock() {
            *known = Some((namespace, current.clone()));
        }
        current
    }

    /// The process that a [`name`](Self::name) was made for, whatever follows it; nothing if it was made for
    /// none.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let mut parts = name.split('.');
        let boot = parts.next()?;
        Some(Self {
            boot: is_hexadecimal(boot, BOOT_DIGITS).then(|| boot.to_owned())?,
            number: parts.next()?.parse().ok()?,
            start: parts.next()?.parse().ok()?,
        })
    }

    /// A name for it that may begin the name of a file.
    pub(crate) fn name(&self) -> String {
        format!("{}.{}.{}.", self.boot, self.number, self.start)
    }

    /// Whether the process is known to be gone. Of one on another machine nothing is known.
    pub(crate) fn is_gone(&self) -> bool {
        let current = Self::current();
        *self != current && self.boot == current.boot && start_of(self.number) != Some(self.start)
    }
}

/// The identity of the running system and of the namespace of its process numbers: containers on one machine
/// have their own. Where the system says none (the namespaces of two systems may have one number), it is one
/// that no other process has: nobody takes this process for one that is gone.
fn boot(namespace: &Path) -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let boot = boot.unwrap_or_else(|_| RandomState::new().hash_one(()).to_string());
    let identity = format!("{} {}", boot.trim(), namespace.display());
    blake3::hash(identity.as_bytes()).to_hex()[..BOOT_DIGITS].to_owned()
}

/// Whether a name is that many hexadecimal digits, as BLAKE3's are written.
pub(crate) fn is_hexadecimal(name: &str, digits: usize) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    name.len() == digits && name.bytes().all(is_digit)
}

/// When a process started, in clock ticks since the system did; nothing if there is no such process.
fn start_of(number: u32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{number}/stat")).ok()?;
    // The name, in parentheses, may hold anything, which need not be UTF-8.
    let stat = String::from_utf8_lossy(&stat);
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let state = fields.next()?;
    let threads: u64 = fields.nth(16)?.parse().ok()?;
    // Its first thread may have ended before the others.
    if state == "Z" && threads <= 1 {
        return None;
    }
    fields.nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_that_its_first_thread_has_left_is_not_gone() {
        // A zombie whose other thread sleeps until its input ends.
        const PROGRAM: &str = "import ctypes, threading, sys; threading.Thread(target=sys.stdin.read).start(); \
                               ctypes.CDLL(None).pthread_exit(None)";
        let mut child = Command::new("python3")
            .args(["-c", PROGRAM])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let started = start_of(child.id()).unwrap();
        let is_zombie = |number| {
            fs::read_to_string(format!("/proc/{number}/stat"))
                .unwrap()
                .contains(") Z ")
        };
        while !is_zombie(child.id()) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(start_of(child.id()), Some(started));
        child.kill().unwrap();
        while start_of(child.id()).is_some() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        child.wait().unwrap();
    }

    #[test]
    fn a_process_is_gone_once_it_ended() {
        let current = Process::current();
        assert_eq!(Process::from_name(&current.name()).as_ref(), Some(&current));
        assert!(!current.is_gone());
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        let sleeping = Process {
            number: child.id(),
            start: start_of(child.id()).unwrap(),
            ..current.clone()
        };
        assert!(!sleeping.is_gone());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(sleeping.is_gone());
        let elsewhere = Process {
            boot: "0123".to_owned(),
            ..sleeping
        };
        assert!(!elsewhere.is_gone());
        let number_used_again = Process {
            start: current.start + 1,
            ..current
        };
        assert!(number_used_again.is_gone());
    }
}
