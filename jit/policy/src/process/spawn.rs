//! Starts a process that is not the program's child: a program that waits for its children must not meet
//! ours.

use std::ffi::{CStr, CString, OsStr, c_int, c_void};
use std::io::{self, PipeReader, PipeWriter};
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::ptr;

use offloom_thread::leave_real_time;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::Pid;

use crate::process::processors;
use crate::process::settings::variable_at_start;

/// How the worker's C library gets memory: for its one busy thread as for the first, and in large steps. By
/// default that thread's memory grows by a page or two at a time, 200 times in the first compile.
const ALLOCATION: &CStr = c"GLIBC_TUNABLES=glibc.malloc.arena_max=1:glibc.malloc.top_pad=4194304";

/// The first descriptor that is no standard stream.
const FIRST_OTHER: c_int = 3;
/// Where there is no list of open descriptors, those below are closed.
const MOST_UNLISTED: c_int = 1 << 16;

/// Enough for the few calls between clone and exec, aligned as the ABI wants a stack.
#[repr(align(16))]
struct Stack([u8; 16 << 10]);

/// What the two short-lived children need, prepared before they start: they may not allocate.
struct Plan {
    program: CString,
    arguments: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
    /// Standard input and output; -1: nowhere.
    streams: [c_int; 2],
    leads_group: bool,
    stack: Box<Stack>,
    /// The process that becomes the program.
    started: c_int,
    /// What exec said, if it came back.
    error: c_int,
}

/// Whether a process whose parent has ended may become a child of this one.
pub fn adopts_orphans() -> bool {
    let mut subreaper: c_int = 0;
    // SAFETY: the call fills the number.
    unsafe { libc::prctl(libc::PR_GET_CHILD_SUBREAPER, &raw mut subreaper) };
    subreaper != 0 || std::process::id() == 1
}

/// A pair of sockets, neither of which is a standard stream: a program that was started without these may
/// print to what has their numbers.
///
/// # Errors
/// When there is none.
pub fn socket_pair() -> io::Result<(UnixStream, UnixStream)> {
    without_standard_streams(UnixStream::pair)
}

/// As [`socket_pair`], of sockets that keep messages apart.
///
/// # Errors
/// When there is none.
pub fn packet_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    without_standard_streams(|| {
        let pair = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        );
        pair.map_err(io::Error::from)
    })
}

/// The ends of a pipe, to read and to write, as [`socket_pair`].
///
/// # Errors
/// When there is none.
pub fn pipe() -> io::Result<(PipeReader, PipeWriter)> {
    without_standard_streams(io::pipe)
}

fn without_standard_streams<T>(open: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    // They keep the lowest numbers until the sockets have others. What is printed to them meanwhile is lost,
    // as it is without them.
    let mut taken = Vec::new();
    while let Ok(file) = memfd_create(c"taken", MemfdFlags::CLOEXEC)
        && file.as_raw_fd() < FIRST_OTHER
    {
        taken.push(file);
    }
    open()
}

/// What is started.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// Its file.
    pub program: &'a Path,
    /// What it is called with, besides its own path.
    pub arguments: &'a [&'a OsStr],
    /// Variables that it gets as this process was started with them. Of others only what it takes to find
    /// libraries; above all no `LD_PRELOAD`.
    pub passed_on: &'a [&'a str],
    /// Its standard input; none: nothing.
    pub input: Option<BorrowedFd<'a>>,
    /// Its standard output; none: nowhere. Neither is a standard stream of this process.
    pub output: Option<BorrowedFd<'a>>,
    /// Whether it is the first of a group of processes of its own.
    pub leads_group: bool,
}

/// Starts it, with nothing open but standard streams. It blocks all signals, and is no child of this process
/// by the time this returns, unless this one [`adopts_orphans`]: its end is seen at what it has open.
///
/// Memory is not copied (the children share it until exec), so the time does not depend on how large the
/// program is.
///
/// # Errors
/// When it cannot be started.
pub fn spawn_detached(start: &Start<'_>) -> io::Result<Option<Pid>> {
    let program = CString::new(start.program.as_os_str().as_bytes())?;
    let arguments = start.arguments.iter();
    let arguments: Vec<CString> = arguments
        .map(|argument| CString::new(argument.as_bytes()))
        .collect::<Result<_, _>>()?;
    let environment = ["LD_LIBRARY_PATH"]
        .iter()
        .chain(start.passed_on)
        .filter_map(|name| Some((name, variable_at_start(name)?)))
        .map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()))
        .collect::<Result<Vec<_>, _>>()?;
    let null_terminated = |strings: &mut dyn Iterator<Item = &CStr>| -> Vec<*const libc::c_char> {
        strings.map(CStr::as_ptr).chain([ptr::null()]).collect()
    };
    let mut plan = Plan {
        arguments: null_terminated(
            &mut std::iter::once(program.as_c_str()).chain(arguments.iter().map(CString::as_c_str)),
        ),
        environment: null_terminated(
            &mut std::iter::once(ALLOCATION).chain(environment.iter().map(CString::as_c_str)),
        ),
        program,
        streams: [start.input, start.output].map(|stream| stream.map_or(-1, |stream| stream.as_raw_fd())),
        leads_group: start.leads_group,
        stack: Box::new(Stack([0; 16 << 10])),
        started: 0,
        error: 0,
    };
    let mut stack = Box::new(Stack([0; 16 << 10]));
    // SAFETY: the sets are initialised by the calls that fill them. The child runs on a stack of its own
    // while this thread waits (CLONE_VFORK), and uses only what `plan` holds. No signal handler of the
    // program can run in it, since it inherits the blocked signals. It is reaped here: without an exit signal
    // only __WALL sees it.
    unsafe {
        let mut all = mem::zeroed::<libc::sigset_t>();
        let mut before = mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let child = clone(between, top(&mut stack), (&raw mut plan).cast());
        let failed = (child < 0).then(io::Error::last_os_error);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
        if let Some(error) = failed {
            return Err(error);
        }
        while libc::waitpid(child, ptr::null_mut(), libc::__WALL) < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
    match plan.error {
        0 => Ok(Pid::from_raw(plan.started)),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

unsafe extern "C" {
    /// `clone`, by a name before which ThreadSanitizer, in a program that is built with it, puts no function
    /// of its own: that one takes each child for one with a copy of the memory, and ends the process.
    #[link_name = "__clone"]
    fn clone_of_c_library(
        function: extern "C" fn(*mut c_void) -> c_int,
        stack: *mut c_void,
        flags: c_int,
        argument: *mut c_void,
        ...
    ) -> c_int;
}

/// Starts a child that shares this process's memory until exec, and whose end the program is not told of.
///
/// What emulates processors for programs alone (qemu, and containers for another processor that use it) has
/// no such children: there it is one that is told of, with a copy of the memory, so that it cannot tell this
/// process how it went.
///
/// # Safety
/// As `clone`: the function may run in this memory, on this stack.
unsafe fn clone(
    function: extern "C" fn(*mut c_void) -> c_int,
    stack: *mut c_void,
    argument: *mut c_void,
) -> c_int {
    let flags = libc::CLONE_VM | libc::CLONE_VFORK;
    // SAFETY: as the caller promises.
    unsafe {
        let child = clone_of_c_library(function, stack, flags, argument);
        if child >= 0 || *libc::__errno_location() != libc::EINVAL {
            return child;
        }
        clone_of_c_library(function, stack, flags | libc::SIGCHLD, argument)
    }
}

fn top(stack: &mut Stack) -> *mut c_void {
    stack.0.as_mut_ptr_range().end.cast()
}

/// The child in between: starts the real one and ends, which makes that one an orphan. Runs in the program's
/// memory.
extern "C" fn between(plan: *mut c_void) -> c_int {
    // SAFETY: `spawn_detached` waits and keeps the plan; nobody else uses it.
    unsafe {
        let plan = plan.cast::<Plan>();
        let stack = top(&mut (*plan).stack);
        let child = clone(become_program, stack, plan.cast());
        (*plan).started = child;
        if child < 0 {
            (*plan).error = *libc::__errno_location();
        } else if (*plan).error != 0 {
            // It could not become the program, and must not be left to a program that adopts orphans.
            while libc::waitpid(child, ptr::null_mut(), libc::__WALL) < 0
                && *libc::__errno_location() == libc::EINTR
            {}
        }
    }
    0
}

/// The real child, up to exec. Runs in the program's memory, so it may neither allocate nor lock.
extern "C" fn become_program(plan: *mut c_void) -> c_int {
    // SAFETY: as above; descriptors are this process's own since CLONE_FILES is not given.
    unsafe {
        let plan = plan.cast::<Plan>();
        processors::use_all();
        leave_real_time();
        // Exec would keep that the program ignores it, and what is started could not wait for what it starts.
        let default: libc::sigaction = mem::zeroed();
        libc::sigaction(libc::SIGCHLD, &raw const default, ptr::null_mut());
        if (*plan).leads_group {
            libc::setpgid(0, 0);
        }
        // It may be a standard stream itself, if the program has closed one. The others are none.
        let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        let nowhere = libc::fcntl(nowhere, libc::F_DUPFD_CLOEXEC, FIRST_OTHER);
        libc::dup2(nowhere, 2);
        for (number, stream) in (0..).zip((*plan).streams) {
            libc::dup2(if stream < 0 { nowhere } else { stream }, number);
        }
        close_others_at_exec();
        libc::execve(
            (*plan).program.as_ptr(),
            (*plan).arguments.as_ptr(),
            (*plan).environment.as_ptr(),
        );
        (*plan).error = *libc::__errno_location();
    }
    127
}

/// An array of the kernel's records (`linux_dirent64`), of which each begins at a multiple of 8.
#[repr(align(8))]
struct Entries([u8; 2 << 10]);

/// Where a record has its own length, and where its name begins.
const ENTRY_LENGTH: usize = 16;
const ENTRY_NAME: usize = 19;

/// Has exec close all descriptors but the standard streams. For the child before exec, as [`become_program`].
///
/// # Safety
/// The descriptors are this process's own.
unsafe fn close_others_at_exec() {
    // SAFETY: as the caller promises.
    unsafe {
        if libc::syscall(
            libc::SYS_close_range,
            FIRST_OTHER,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        ) == 0
        {
            return;
        }
        // Linux before 5.11, or a filter of system calls. A limit on descriptors says little: it may be a
        // billion.
        if !close_listed_at_exec() {
            (FIRST_OTHER..MOST_UNLISTED).for_each(|descriptor| close_at_exec(descriptor));
        }
    }
}

/// Has exec close what the system lists as open; false if there is no list.
///
/// # Safety
/// As [`close_others_at_exec`].
unsafe fn close_listed_at_exec() -> bool {
    let mut entries = Entries([0; 2 << 10]);
    // SAFETY: as the caller promises; the kernel fills as much of the buffer as it says.
    unsafe {
        let list = libc::open(c"/proc/self/fd".as_ptr(), libc::O_RDONLY | libc::O_DIRECTORY);
        loop {
            let read = libc::syscall(libc::SYS_getdents64, list, &raw mut entries, size_of::<Entries>());
            let Ok(read) = usize::try_from(read) else {
                return false;
            };
            if read == 0 {
                return true;
            }
            let mut rest = entries.0.get(..read).unwrap_or_default();
            while let Some(&[low, high]) = rest.get(ENTRY_LENGTH..ENTRY_LENGTH + 2) {
                let length = usize::from(u16::from_ne_bytes([low, high]));
                let Some((entry, others)) = rest.split_at_checked(length) else {
                    break;
                };
                if let Some(descriptor) = number(entry.get(ENTRY_NAME..).unwrap_or_default())
                    && descriptor >= FIRST_OTHER
                {
                    close_at_exec(descriptor);
                }
                rest = others;
            }
        }
    }
}

/// # Safety
/// As [`close_others_at_exec`].
unsafe fn close_at_exec(descriptor: c_int) {
    // SAFETY: as the caller promises.
    unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
}

/// The number that a string which ends with NUL is.
fn number(name: &[u8]) -> Option<c_int> {
    let digits = name.split(|byte| *byte == 0).next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The folder that this library was loaded from.
pub fn library_folder() -> Option<PathBuf> {
    // SAFETY: the record is filled by the call, which is given an address of this library; its strings live
    // as long as the library, which is never unloaded.
    let file = unsafe {
        let mut info = mem::zeroed::<libc::Dl_info>();
        let found = libc::dladdr(library_folder as *const c_void, &raw mut info) != 0;
        (found && !info.dli_fname.is_null()).then(|| CStr::from_ptr(info.dli_fname))
    }?;
    let file = Path::new(OsStr::from_bytes(file.to_bytes()));
    Some(std::path::absolute(file).ok()?.parent()?.to_owned())
}
